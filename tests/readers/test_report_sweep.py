#!/usr/bin/env python3
"""results/report.py on the file of a sweep: leaderboard, rungs and configurations are the file's own, and so are its
tables. A run's file is made that of a sweep by BUILD/tests/make_sweep."""

import csv
import html
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py", "matplotlib", "pandas")
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from report_page import Page, report  # noqa: E402

MAKE = pathlib.Path(tap.ROOT, os.environ.get("LIBRAS_BUILD", "build"), "tests", "make_sweep")
if not os.access(MAKE, os.X_OK):
    tap.skip_all(f"{MAKE} is not built: make tests")
data, run, one_seed = tap.scratch / "data", tap.scratch / "run.h5", tap.scratch / "one.h5"
tap.program("synth", data, "-n", 20)
common = ("--data", data, "--learning-rate", "0.02,0.05,0.1,1e30", "--block", 32, "--holdout", 0.2, "-q")
tap.program(*common, "--epochs", "2,4", "--seed", "1:3", "-o", run)
tap.program(*common, "--epochs", 2, "--seed", 7, "-o", one_seed)


def make(source, name, *arguments):
    path = tap.scratch / name
    done = subprocess.run([MAKE, source, path, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    tap.check(f"{name}: made", done.returncode == 0, done.stderr)
    return path


def page_of(what, *files, code=0):
    folder = tap.scratch / "page"
    shutil.rmtree(folder, ignore_errors=True)
    ended, said = report(*files, "-o", folder)
    page = Page(folder)
    tap.check(f"{what}: a page of good form", ended == code and not page.problem, ended, said, page.problem)
    return page


def tables(page):
    """Each table of the page: its rows, the head first, as texts."""
    found = []
    for part in re.findall(r"<table.*?</table>", page.source, re.S):
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", part, re.S)]
        found.append([[html.unescape(re.sub("<.*?>", "", cell)) for cell in row] for row in rows])
    return found


def table_with(page, *heads):
    return next((t for t in tables(page) if set(heads) <= set(t[0])), None)


def column(found, head):
    return [row[found[0].index(head)] for row in found[1:]]


def percent(value):
    return f"{100 * value:.2f} %"


grid = make(run, "grid.h5", "grid", 9)
halving = make(run, "halving.h5", "halving", 20, "accuracy")
single = make(one_seed, "single.h5", "random", 20)

# ---- a grid
page = page_of("a grid", grid)
with h5py.File(grid) as file:
    leaders, first = file["sweep/trial"][()], file["configurations/first_trial"][()]
    trials = {name: file["trials"][name][()] for name in file["trials"]}
    means = {name: item[()] for name, item in file["configurations"].items()}
board = table_with(page, "place", "trial", "test accuracy")
tap.check("a grid: the leaderboard's trials in order", board and column(board, "trial") == [str(t) for t in leaders], board)
tap.check(
    "a grid: their settings and scores",
    column(board, "seed") == [str(trials["seed"][t]) for t in leaders]
    and column(board, "epochs") == [str(trials["epochs"][t]) for t in leaders]
    and column(board, "validation loss") == [f"{trials['validation_loss'][t]:.4g}" for t in leaders]
    and column(board, "validation accuracy") == [percent(trials["validation_accuracy"][t]) for t in leaders]
    and all(c.startswith(percent(trials["test_accuracy"][t]) + " [") for c, t in zip(column(board, "test accuracy"), leaders)),
    board,
)
tap.check("a grid: no rungs", "rung" not in board[0] and "Rungs of the search" not in page.text)
order = np.argsort(np.nan_to_num(means["loss_mean"], nan=np.inf), kind="stable")
shown = table_with(page, "seeds that ended well", "validation loss, mean")
tap.check(
    "a grid: configurations by mean loss, with intervals",
    column(shown, "validation loss, mean")
    == [
        f"{means['loss_mean'][k]:.4g} [{means['loss_low'][k]:.4g}, {means['loss_high'][k]:.4g}]" if means["ok"][k] else "n/a"
        for k in order
    ],
    shown,
)
tap.check(
    "a grid: their settings, their seeds, and who diverged",
    column(shown, "seeds that ended well") == [str(means["ok"][k]) for k in order]
    and column(shown, "diverged") == [str(means["diverged"][k]) for k in order]
    and column(shown, "diverged")[-1] == "3"
    and column(shown, "epochs") == [str(means["epochs"][k]) for k in order],
    shown,
)
alts = [alt for alt, _ in page.pictures if alt.startswith("Configurations by mean validation loss")]
tap.check(
    "a grid: a picture of them, the best first",
    len(alts) == 1 and f"has {means['loss_mean'][order[0]]:.4g};" in alts[0] and (tap.scratch / "page/configurations.png").exists(),
    alts,
)
tap.check("a grid: the best trial on top is the leader", page.values.get("best_trial") == str(leaders[0]), page.values)
tap.check("a grid: one leaderboard alone", "Settings in order of their median" not in page.text)

# ---- the notes of what the program timed: the page's speed is theirs, and a resumed sweep's ranks are without trials
n_trials = len(trials["seed"])


def noted(source, name, seconds, trainings, updates):
    path = tap.scratch / name
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        for key, value in (("train_seconds", seconds), ("trainings", trainings), ("updates", updates)):
            file["provenance"].attrs[key] = value
    return path


def timeline(page):
    return next(png for alt, png in page.pictures if "each rank by phase" in alt)


plain, told = timeline(page), "ended in earlier starts"
tap.check("without notes nothing is said of earlier starts", told not in page.text)
for what, source, count, resumed in (
    ("a whole sweep", grid, n_trials, False),
    ("a resumed sweep", grid, n_trials - 5, True),
    ("a run", run, n_trials, False),
):
    page = page_of(f"{what} with notes", noted(source, "noted.h5", "0.5", str(count), "1234567"))
    tap.check(f"{what}: updates a second by the notes", float(page.values["updates_per_s"]) == 2469134, page.values)
    said = f"({count / 0.5:.3g} trainings a second)"
    tap.check(f"{what}: trainings a second by the notes", said in page.text, page.text[:2000])
    tap.check(f"{what}: earlier starts", (f"5 of its {n_trials} trials {told}" in page.text) == resumed == (told in page.text))
    if source == grid:
        tap.check(f"{what}: trials beside the ranks", (timeline(page) == plain) != resumed)
page = page_of("notes that are no numbers", noted(grid, "noted.h5", "soon", "1", "1"))
tap.check("notes that are no numbers: as without", timeline(page) == plain and float(page.values["updates_per_s"]) > 0)

# ---- the page's other words and pictures of a sweep
tap.check("one block size: no picture of block sizes", not any("by block size" in alt for alt, _ in page.pictures))
wide = tap.scratch / "wide.h5"
shutil.copy(grid, wide)
with h5py.File(wide, "r+") as file:
    file["configurations/loss_low"][...] = -0.5
    file["configurations/accuracy_low"][...] = -0.25
    file["configurations/accuracy_high"][...] = 1.25
shown = table_with(page_of("wide intervals", wide), "seeds that ended well", "validation loss, mean")
tap.check(
    "intervals are cut to what a score can be",
    all("[0, " in cell for cell in column(shown, "validation loss, mean") if cell != "n/a")
    and all(cell.endswith("[0.00, 100.00]") for cell in column(shown, "validation accuracy, mean") if cell != "n/a")
    and not set(column(shown, "validation loss, mean")) <= {"n/a"},
    shown,
)
drawn = ("--learning-rate", "0.001:0.1:log26", "--decay", "0.9,1", "--initial-range", "0.05,0.1", "--epochs", 1, "--seed", 1)
tap.program(*common[:2], *drawn, "--holdout", 0.2, "-q", "-o", tap.scratch / "many.h5")
page = page_of("values in bins", tap.scratch / "many.h5")
shown = table_with(page, "setting", "from", "to")
row = dict(zip(shown[0], shown[1]))
tap.check(
    "values in bins: from the least to the largest that was trained, and said to be bins",
    (row["from"], row["to"]) == ("0.001", "0.1") and row["best value"].startswith("about ")
    and "Along learning rate values are in bins." in page.text,
    shown,
)
page = page_of("a grid again", grid)
tap.program(*common[:2], "--epochs", 1, "--seed", "1:3", "--holdout", 0.2, "-q", "-o", tap.scratch / "alike.h5")
page = page_of("seeds alone", make(tap.scratch / "alike.h5", "alike-grid.h5", "grid", 9))
tap.check(
    "seeds alone: a sweep file is where to give several values",
    "give a parameter several values in the sweep file" in page.text and "give an option" not in page.text,
    page.text[:3000],
)
page = page_of("seeds alone, a run", tap.scratch / "alike.h5")
tap.check("seeds alone, a run: an option is", "give an option several values: --learning-rate" in page.text)

# ---- a halving by accuracy
page = page_of("a halving", halving)
with h5py.File(halving) as file:
    leaders, rung = file["sweep/trial"][()], file["trials/rung"][()]
    status, run_epochs = file["trials/status"].asstr()[()], file["trials/epochs_run"][()]
board = table_with(page, "place", "trial", "rung")
tap.check(
    "a halving: rungs on the leaderboard, the highest first",
    column(board, "trial") == [str(t) for t in leaders[:15]]
    and column(board, "rung") == [str(rung[t]) for t in leaders[:15]]
    and column(board, "rung")[0] == "2",
    board,
)
rungs = table_with(page, "trials that reached it")
ok = status == "ok"
tap.check(
    "a halving: trials and epochs of each rung",
    column(rungs, "trials that reached it") == [str((rung >= r).sum()) for r in range(3)]
    and column(rungs, "went on") == [str((rung > r).sum()) for r in range(3)]
    and column(rungs, "epochs of those that stayed") == ["2 to 4"] * 3
    and column(rungs, "diverged or failed there") == [str(((rung == r) & ~ok).sum()) for r in range(3)],
    rungs,
)
tap.check("a halving: by accuracy", "highest validation accuracy, of those on the highest rung" in page.text, page.text[:3000])
best = page.values.get("best_trial")
tap.check("a halving: the best trial is the leader, not that of the lowest loss", best == str(leaders[0]), best, leaders[:3])
page = page_of("a grid beside a halving", grid, halving)
page = page_of("a sweep beside a run", halving, run)

# ---- without seeds, and damaged
page = page_of("one seed", single)
tap.check(
    "one seed: a leaderboard, and no configurations",
    table_with(page, "place", "trial") is not None and table_with(page, "seeds that ended well") is None
    and "drawn at random" in page.text,
    page.text[:3000],
)


def broken(name, change):
    path = tap.scratch / name
    shutil.copy(halving, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


for name, change, text in (
    ("place.h5", lambda f: f["sweep/trial"].__setitem__(0, 900), "sweep/trial names a trial that is not there"),
    ("rows.h5", lambda f: f["configurations"].__delitem__("loss_sd"), "configurations/loss_sd is missing"),
    ("group.h5", lambda f: f.__delitem__("configurations"), "configurations/first_trial is missing"),
):
    page = page_of(f"damaged: {text}", broken(name, change), code=1)
    tap.check(f"the page says '{text}', and goes on", text in page.text and "Where the time went" in page.text)

# ---- tables
for path in (grid, halving):
    out = tap.scratch / f"tables-{path.name}"
    ended, said = report(path, "-o", out, "--csv", "--only-tables")
    tap.check(f"{path.name}: tables", ended == 0 and not said, said)
    for name in ("configurations", "leaderboard", "trials"):
        theirs = list(csv.reader(io.StringIO(tap.program("export", path, "--table", name).stdout)))
        ours = list(csv.reader(open(out / f"{name}.csv", newline=""))) if (out / f"{name}.csv").exists() else [[]]

        def same(a, b):
            try:
                return a == b or abs(float(a) - float(b)) <= 1e-6 * abs(float(b))
            except ValueError:
                return False

        wrong = [(x, y) for x, y in zip(ours[1:], theirs[1:]) if len(x) != len(y) or not all(map(same, x, y))]
        head = sorted(ours[0]) == sorted(theirs[0]) if name == "trials" else ours[0] == theirs[0]
        tap.check(f"{path.name}: {name}.csv is export's table", head and len(ours) == len(theirs) > 1 and not wrong,
                  ours[0], theirs[0], *wrong[:2])

tap.finish()
