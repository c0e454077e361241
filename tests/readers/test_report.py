#!/usr/bin/env python3
"""results/report.py: the page says what the file says, says what it lacks, and leaves other people's files alone."""

import hashlib
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py", "matplotlib", "pandas")
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from report_page import Page, command, grey_pixels, report  # noqa: E402

LETTERS = "ABCDEILMNORSUVW"
scratch = tap.scratch
data = scratch / "data"
tap.program("synth", data, "-n", 20)


def run(name, *arguments, ranks=1):
    """A results file of a real run."""
    path = scratch / name
    done = (tap.program if ranks == 1 else lambda *a: tap.ranks(ranks, *a))(*arguments, "-q", "-o", path)
    tap.check(f"{name}: made", path.exists(), done.stderr)
    return path


def page_of(what, *arguments, code=0):
    """The page of these files: its form is checked, and its exit code."""
    folder = scratch / "page"
    shutil.rmtree(folder, ignore_errors=True)
    ended, said = report(*arguments, "-o", folder)
    page = Page(folder)
    tap.check(
        f"{what}: a page of good form",
        ended == code and not page.problem and bool(said) == bool(code),
        ended,
        said,
        page.problem,
    )
    return page


def copy(source, name, change):
    """A copy of a file, changed by h5py."""
    path = scratch / name
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def says(what, page, *texts):
    for text in texts:
        tap.check(f"{what}: says '{text}'", text in page.text, page.text[:2000])


def says_not(what, page, *texts):
    for text in texts:
        tap.check(f"{what}: does not say '{text}'", text not in page.text)


# ---- the default run, as a user makes it: the built-in data, which the program draws again for the pictures
begin = time.monotonic()
default = run("default.h5", ranks=2)
took = time.monotonic() - begin
out = scratch / "default page"
done = command(default, "-o", out)
tap.check(
    "default: ends 0 and names the page",
    done.returncode == 0 and not done.stderr and done.stdout == f"{out}/report.html\n",
    done.returncode,
    done.stdout,
    done.stderr,
)
page = Page(out)
tap.check("default: the page has good form", not page.problem, page.problem)
tap.check(
    "default: nothing from the network",
    not any(w in page.source for w in ("http:", "https:", 'src="//', "url(", "@import"))
    and "default-src 'none'" in page.source,
)
with h5py.File(default) as file:
    confusion, scores = file["inference/confusion"][()], file["inference/scores"][()].astype(float)
    expected, predicted, index = (
        file[n][()] for n in ("inference/expected", "inference/predicted", "dataset/test_index")
    )
    seconds, run_epochs = file["execution/rank_seconds"][()], file["trials/epochs_run"][()]
    n_train, accuracy = len(file["dataset/train_index"]), file["trials/test_accuracy"][0]
    between = float(file["provenance"].attrs["train_seconds"])  # of the two barriers: a little more than any rank's own
right, n = int(np.trace(confusion)), int(confusion.sum())
tap.check("default: the verdict", page.values.get("verdict") == "VALID" and "✓ VALID" in page.text)
tap.check(
    "default: right on the test samples",
    page.values.get("right") == str(right)
    and f"{100 * accuracy:.2f} %" in page.text
    and f"{right:,} of {n:,}" in page.text,
    page.values,
)
tap.check(
    "default: sample updates a second",
    abs(float(page.values["updates_per_s"]) / (run_epochs.sum() * n_train / between) - 1) < 1e-9,
    page.values,
)
tap.check("default: in the time between the barriers", seconds[:, 1].max() <= between < took, between, took)
tap.check("default: samples a second", abs(float(page.values["samples_per_s"]) / (n / seconds[:, 2].max()) - 1) < 1e-9)
tap.check("default: samples and trials", page.values["samples"] == "4410" and page.values["trials"] == "4", page.values)
says(
    "default",
    page,
    "One setting, so there is nothing to rank",
    "decided_by",
    "5 checks passed",
    "64-32-16-15",
    "--seed 1:32",
)
alts = " ".join(alt for alt, _ in page.pictures)
tap.check("default: the confusion picture's text", f"{right:,} of {n:,} samples right" in alts, alts)
wrong = confusion.copy()
np.fill_diagonal(wrong, 0)
a, b = np.unravel_index(wrong.argmax(), wrong.shape)
says("default", page, f"{LETTERS[a]} read as {LETTERS[b]} ({wrong.max()})")

own = scores[np.arange(n), expected]
others = scores.copy()
others[np.arange(n), expected] = -np.inf
order = np.argsort(own - others.max(axis=1), kind="stable")[:24]
shown = [(alt, png) for alt, png in page.pictures if alt.startswith("8 by 8 image")]
tap.check(
    "default: the worst images, in order",
    [alt.split("sample ")[1].split(":")[0] for alt, _ in shown] == [str(index[k]) for k in order],
    shown[:2],
)
k = order[0]
tap.check(
    "default: the first of them is wrong, with both scores",
    expected[k] != predicted[k]
    and f"{LETTERS[expected[k]]}, read as {LETTERS[predicted[k]]}" in page.text
    and f"{LETTERS[predicted[k]]} {scores[k, predicted[k]]:.2f}, {LETTERS[expected[k]]} {scores[k, expected[k]]:.2f}"
    in page.text,
)
drawn = scratch / "drawn"
tap.program("synth", drawn)
lines = [line for letter in LETTERS for line in open(drawn / f"{letter}.csv")]
tap.check(
    "default: the images are the data's, pixel by pixel",
    all(
        sum(grey_pixels(png), []) == [int(float(v)) for v in lines[index[k]].split(",")]
        for k, (_, png) in zip(order, shown)
    ),
)

names = sorted(p.name for p in out.iterdir())
tap.check(
    "default: the pictures are PNG files, too",
    {
        "confusion.png",
        "learning_curves.png",
        "letters.png",
        "worst_images.png",
        "first_layer.png",
        "rank_timeline.png",
        "block_size.png",
        "report.html",
        "report-files.json",
    }
    == set(names),
    names,
)
embedded = {hashlib.sha256(png).hexdigest() for _, png in page.pictures}
pngs = {p.name: p.read_bytes() for p in out.glob("*.png")}
tap.check(
    "default: small PNGs, those of the page",
    all(png[:8] == b"\x89PNG\r\n\x1a\n" and len(png) < 150_000 for png in pngs.values())
    and all(hashlib.sha256(png).hexdigest() in embedded for name, png in pngs.items() if name != "worst_images.png"),
)
again = command(default, "-o", out)
tap.check(
    "default: once more into the same folder, the same bytes",
    again.returncode == 0
    and pngs == {p.name: p.read_bytes() for p in out.glob("*.png")}
    and Page(out).source == page.source,
    again.stderr,
)

# ---- sweeps
sweep = run(
    "sweep.h5",
    "--data",
    data,
    "--epochs",
    8,
    "--learning-rate",
    "0.01,0.05,0.1",
    "--seed",
    "1:4",
    "--block",
    "32,64",
    "--holdout",
    0.2,
)
page = page_of("a sweep", sweep)
with h5py.File(sweep) as file:
    loss, trial_accuracy = file["trials/validation_loss"][()], file["trials/test_accuracy"][()]
best = int(np.argmin(loss))
tap.check(
    "a sweep: the best trial is that of the lowest validation loss",
    page.values.get("best_trial") == str(best) and f"{100 * trial_accuracy[best]:.2f} %" in page.text,
    page.values,
    best,
)
says("a sweep", page, "3 settings, 4 seeds, 2 block sizes", "median over seeds", f"trial {best}")
says_not("a sweep", page, "No samples were held out")
alts = " ".join(alt for alt, _ in page.pictures)
tap.check(
    "a sweep: pictures of the parameter and of the leaderboard",
    "validation accuracy against learning rate" in alts
    and "Leaderboard: " in alts
    and "First-layer weights of trial %d" % best in alts,
    alts,
)
grid = run(
    "grid.h5",
    "--data",
    data,
    "--epochs",
    "2,4",
    "--learning-rate",
    "0.01,0.05,0.1",
    "--decay",
    "1,0.9",
    "--seed",
    "1:2",
    "--block",
    32,
    "--holdout",
    0.2,
    "--hidden",
    "32x16,8x8",
)
alts = " ".join(alt for alt, _ in page_of("four parameters", grid).pictures)
tap.check("four parameters: slices", "slices along" in alts, alts)
two = run(
    "two.h5",
    "--data",
    data,
    "--epochs",
    3,
    "--learning-rate",
    "0.01:0.1:log4",
    "--decay",
    "1,0.9",
    "--block",
    32,
    "--keep-weights",
    "top:2",
)
page = page_of("two parameters", two)
tap.check("two parameters: a heat map", any("Heat map" in alt for alt, _ in page.pictures))

# ---- files that lack something
one = run("one.h5", "--data", data, "--epochs", 1, "--block", 32)
says("one trial", page_of("one trial", one), "There is one trial", "1 ok")
diverged = run(
    "diverged.h5",
    "--data",
    data,
    "--epochs",
    3,
    "--block",
    32,
    "--learning-rate",
    "0.02,1e30",
    "--keep-weights",
    "none",
)
says(
    "diverged, no weights",
    page_of("diverged, no weights", diverged),
    "1 ok, 1 diverged",
    "is not finite",
    "No samples were held out",
    "The file keeps no weights",
)
all_diverged = run("all.h5", "--data", data, "--epochs", 2, "--block", "32,64", "--learning-rate", "1e30")
page = page_of("all diverged", all_diverged)
says("all diverged", page, "✗ FAILED", "no trained network", "No trial has a finite loss", "The file has no scores")
inferred = run("inferred.h5", "infer", one, "--data", data)
says("inferred", page_of("inferred", inferred), "of 300", "under the weights of trial 0")
for name, flag, text in (("packed", [], "of 1,500"), ("unlabelled", ["--no-labels"], "The samples have no labels")):
    pack = scratch / f"{name}.pack"
    tap.program("synth", pack, "--packed", "u8", "-n", 100, *flag)
    page = page_of(name, run(f"{name}.h5", "infer", one, "--data", pack))
    says(name, page, text, "whose SHA-256 is the file's")
    tap.check(f"{name}: 24 images", sum(alt.startswith("8 by 8 image") for alt, _ in page.pictures) == 24)

lacking = {
    "validation": "nothing in it was compared",
    "trials": "no losses",
    "weights": "keeps no weights",
    "inference": "has no scores",
    "execution": "no times of its ranks",
    "provenance": "has no /provenance",
    "dataset": "dataset/test_index is missing",
}
for group, text in lacking.items():
    without = copy(sweep, f"without-{group}.h5", lambda file, group=group: file.__delitem__(group))
    says(f"without /{group}", page_of(f"without /{group}", without, code=1 if group == "dataset" else 0), text)
failed = copy(one, "failed.h5", lambda file: file["validation/result"].__setitem__(0, "failed"))
page = page_of("a failed check", failed)
says(
    "a failed check", page, "✗ INVALID", "1 of 5 checks found other values", "not stated, because the run is not valid"
)
shorter = copy(
    one,
    "shorter.h5",
    lambda file: (
        file["inference"].__delitem__("predicted"),
        file["inference"].create_dataset("predicted", data=np.zeros(3, "u1")),
    ),
)
page = page_of("contradictory sizes", shorter, code=1)
says(
    "contradictory sizes",
    page,
    "inference/predicted has the shape (3,), where 60 rows are expected",
    "first hidden layer",
)


def add_model(file):  # with other columns than the program's: they are shown as they are
    del file["model"]
    model = file.create_group("model")
    model.create_dataset("phase", data=["train", "infer", "train"], dtype=h5py.string_dtype())
    model.create_dataset("device", data=["cpu", "cpu", "gpu"], dtype=h5py.string_dtype())
    model.create_dataset("predicted_seconds", data=[1.0, 0.1, 0.5])
    model.create_dataset("measured_seconds", data=[1.1, 0.1, np.nan])
    model.attrs["choice"], model.attrs["regret"] = "cpu <fast>", 0.02


page = page_of("a model", copy(one, "model.h5", add_model))
says("a model", page, "Median error 4.5 %, worst 9.1 %, over 2 times", "cpu <fast>")
says("no model", page_of("no model", copy(one, "no-model.h5", lambda file: file.pop("model"))), "The file has no /model")


def forget(file):  # as without a calibration
    file["model/predicted"][...] = np.nan


says("no predictions", page_of("no predictions", copy(one, "forgotten.h5", forget)), "Nothing was both predicted and measured",
     "libras_mpi calibrate")


def predict(file):  # as the program writes it, of a machine that is calibrated
    model = file["model"]
    model["predicted"][...] = [0.5, 0.001]
    model["measured"][...] = [0.55, 0.001]
    model["bound"][...] = [0.75, 0.25]
    model["regret"][0] = 0.0625
    model.attrs["decided_by"] = "model & history"


page = page_of("the program's model", copy(one, "predicted.h5", predict))
says("the program's model", page, "Median error 4.5 %, worst 9.1 %, over 2 times", "predicted (s)", "0.0625", "model & history",
     "In bold what ran")


def shorten(file):
    least = file["model/predicted"][:1]
    del file["model/predicted"]
    file["model/predicted"] = least


damaged = copy(one, "short-model.h5", shorten)
says("a damaged model", page_of("a damaged model", damaged, code=1), "no whole column predicted")

# ---- data that are not at hand, or others
moved = copy(one, "moved.h5", lambda file: file["dataset/path"].__setitem__((), "/nowhere/<b>x</b>"))
page = page_of("data moved", moved)
says(
    "data moved",
    page,
    "the file names '/nowhere/<b>x</b>', which is not on this machine; --data DIR says where it is now",
)
says("data given", page_of("data given", moved, "--data", data), "whose SHA-256 is the file's")
done = command(moved, "-o", scratch / "other", "--data", drawn)
tap.check(
    "other data: refused",
    done.returncode == 2
    and "these are other data than the file's" in done.stderr
    and not (scratch / "other/report.html").exists(),
    done.stderr,
)

# ---- whatever a file says is text, and no markup
evil = "<script>alert(1)</script>\"'&<img src=x onerror=y>$\\frac{"


def poison(file):
    file.attrs["title"] = evil
    file["provenance"].attrs["command_line"] = file["provenance"].attrs["<i>"] = evil
    for name in (
        "dataset/path",
        "execution/rank_host",
        "execution/rank_device",
        "execution/trial_variant",
        "trials/reason",
        "validation/name",
        "dataset/classes",
    ):
        file[name][...] = evil
    file["trials/status"][...] = "diverged<br>"


poisoned = copy(one, "a<b>&'$x_1$.h5", poison)
code, said = report(poisoned, "-o", scratch / "evil")
page = Page(scratch / "evil")
tap.check(
    "markup in a file stays text",
    not page.problem
    and "<script" not in page.source
    and "<i>" not in page.source
    and "<img src=x" not in page.source
    and evil in page.text,
    code,
    said,
    page.problem,
)

# ---- two files
page = page_of("two files", sweep, default)
says(
    "two files",
    page,
    "Other data: their SHA-256 differ",
    "No trial of A has the settings and seed of one of B",
    "did not score the same samples",
)
same = run(
    "again.h5",
    "--data",
    data,
    "--epochs",
    8,
    "--learning-rate",
    "0.05,0.1,0.2",
    "--seed",
    "1:4",
    "--block",
    "32",
    "--holdout",
    0.2,
)
page = page_of("two sweeps", sweep, same)
with h5py.File(sweep) as x, h5py.File(same) as y:
    first, second = (f["inference/predicted"][()] == f["inference/expected"][()] for f in (x, y))
says(
    "two sweeps",
    page,
    "8 trials with equal settings and seed are in both; 8 of 8 trained networks are equal, bit for bit",
    f"both right {(first & second).sum()}, only A right {(first & ~second).sum()}, only B right {(~first & second).sum()}",
)
tap.check(
    "two sweeps: both files' pictures",
    {"a-confusion.png", "b-confusion.png"} <= {p.name for p in (scratch / "page").iterdir()},
)

# ---- files that are none, or broken
whole = sweep.read_bytes()
(scratch / "cut.h5").write_bytes(whole[: len(whole) // 2])
(scratch / "empty.h5").write_bytes(b"")
(scratch / "text.h5").write_text("trial,loss\n")
with h5py.File(scratch / "foreign.h5", "w") as file:
    file["x"] = 1
for name, text in (
    ("cut.h5", "the file is cut off"),
    ("empty.h5", "the file is empty"),
    ("text.h5", "this is no HDF5 file"),
    ("foreign.h5", "its attribute 'format' is missing"),
    ("none.h5", "there is no such file"),
    ("data", "this is a folder"),
):
    code, said = report(scratch / name, "-o", scratch / "bad")
    tap.check(
        f"{name}: refused in one line",
        code == 2 and text in said and said.count("\n") == 1 and name in said,
        code,
        said,
    )
noise = np.random.default_rng(1)
for k in range(4):
    damaged = bytearray(whole)
    for place in noise.integers(len(whole), size=60):
        damaged[place] ^= 1 << noise.integers(8)
    (scratch / "damaged.h5").write_bytes(damaged)
    done = command(scratch / "damaged.h5", "-o", scratch / "damaged", "-f")
    tap.check(
        f"60 flipped bits, {k}: no traceback, and a reason",
        done.returncode in (0, 1, 2) and "Traceback" not in done.stderr and bool(done.stderr) == (done.returncode > 0),
        done.returncode,
        done.stderr,
    )
for arguments, text in (
    ([], "the following arguments are required"),
    ([one, one, one, "-o", "x"], "one file, or two"),
    ([one, "-o", "x", "--only-tables"], "say --csv, --parquet or both"),
):
    code, said = report(*arguments)
    tap.check(f"bad usage: {text}", code == 2 and text in said, code, said)

# ---- other people's files
folder = scratch / "full"
folder.mkdir()
(folder / "report.html").write_text("mine")
(scratch / "outside").write_text("outside")
code, said = report(one, "-o", folder)
tap.check(
    "a foreign report.html stays",
    code == 2
    and "report.html" in said
    and "--force" in said
    and os.listdir(folder) == ["report.html"]
    and (folder / "report.html").read_text() == "mine",
    said,
    os.listdir(folder),
)
(folder / "confusion.png").symlink_to(scratch / "outside")
code, said = report(one, "-o", folder, "--force")
tap.check(
    "--force replaces it, and follows no link",
    code == 0
    and Page(folder).values["verdict"] == "VALID"
    and (scratch / "outside").read_text() == "outside"
    and not (folder / "confusion.png").is_symlink(),
    said,
)
(folder / "confusion.png").write_bytes(b"my notes")
(folder / "notes.txt").write_text("mine")
code, said = report(one, "-o", folder)
tap.check("a file of ours that was changed stays", code == 2 and "confusion.png" in said, said)
(folder / "confusion.png").unlink()
code, said = report(diverged, "-o", folder)
tap.check(
    "a picture that the next report lacks goes, other files stay",
    code == 0
    and not (folder / "first_layer.png").exists()
    and (folder / "notes.txt").exists()
    and not any(".part" in name or ".drawn" in name for name in os.listdir(folder)),
    said,
    os.listdir(folder),
)
code, said = report(one, "-o", scratch / "outside")
tap.check("-o names a file: refused", code == 2 and "this is a file" in said, said)

tap.finish()
