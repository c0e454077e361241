#!/usr/bin/env python3
"""What a sweep adds to its file: right by another computation, verified bit for bit, and exported to the last bit.

A real run's file is made that of a sweep by BUILD/tests/make_sweep, which also prints the sweep's report.
"""
import collections
import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

MAKE = pathlib.Path(tap.ROOT, os.environ.get("LIBRAS_BUILD", "build"), "tests", "make_sweep")
if not os.access(MAKE, os.X_OK):
    tap.skip_all(f"{MAKE} is not built: make tests")
T = {2: 12.706204736174705, 3: 4.3026527297494639, 4: 3.1824463052837096}  # Student's t, 0.975, of n values
SAME = ("learning_rate", "decay", "initial_range", "epochs", "block", "hidden1", "hidden2")

data, run = tap.scratch / "data", tap.scratch / "run.h5"
tap.program("synth", data, "-n", 20)
made = tap.program("--data", data, "--epochs", "2,4", "--learning-rate", "0.02,0.1,1e30", "--seed", "1:4", "--block",
                   "32,64", "--holdout", 0.2, "-q", "-o", run)
tap.check("a run's file is made", made.returncode == 0, made.stderr)


def make(name, *arguments):
    done = subprocess.run([MAKE, run, tap.scratch / name, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    tap.check(f"{name}: made", done.returncode == 0, done.stderr)
    return str(tap.scratch / name), done.stdout


grid, grid_report = make("grid.h5", "grid", 12)
halving, halving_report = make("halving.h5", "halving", 100, "accuracy")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


# ---- the values, computed once more
def near(a, b):
    return (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def expected_of(values):
    """Mean, standard deviation and interval by Python's exact fractions."""
    mean = statistics.fmean(values) if values else math.nan
    if len(values) < 2:
        return mean, math.nan, math.nan, math.nan
    sd = statistics.stdev(values)
    half = T[len(values)] * sd / math.sqrt(len(values))
    return mean, sd, mean - half, mean + half


for path in (grid, halving):
    name = os.path.basename(path)
    with h5py.File(path) as file:
        trials = {key: item[()] for key, item in file["trials"].items()}
        found = {key: item[()] for key, item in file["configurations"].items()}
        board = {key: item[()] for key, item in file["sweep"].items()}
    rungs = trials.get("rung", np.zeros(len(trials["trial"]), int))
    status = [text(s) for s in trials["status"]]
    groups = collections.OrderedDict()
    for t in range(len(status)):
        groups.setdefault(tuple(trials[key][t] for key in SAME), []).append(t)
    tap.check(f"{name}: 12 configurations of 4 trials", len(groups) == 12 == len(found["trials"]) and
              list(found["trials"]) == [4] * 12 and list(found["configuration"]) == list(range(12)))
    wrong = []
    for k, (key, members) in enumerate(groups.items()):
        ok = [t for t in members if status[t] == "ok"]
        if (tuple(found[p][k] for p in SAME) != key or found["first_trial"][k] != members[0] or found["ok"][k] != len(ok)
                or found["diverged"][k] != sum(status[t] == "diverged" for t in members) or found["failed"][k] != 0
                or ("rung" in found) != ("rung" in trials) or ("rung" in found and found["rung"][k] != max(rungs[members]))):
            wrong.append((k, "counts"))
        for score in ("loss", "accuracy"):
            values = expected_of([float(trials["validation_" + score][t]) for t in ok])
            wrong += [(k, score, part) for part, value in zip(("mean", "sd", "low", "high"), values)
                      if not near(float(found[f"{score}_{part}"][k]), value)]
    tap.check(f"{name}: every configuration", not wrong and 0 < sum(found["ok"]) < len(status), *wrong[:5])
    ok = [t for t in range(len(status)) if status[t] == "ok"]
    loss, accuracy = trials["validation_loss"], trials["validation_accuracy"]
    order = sorted(ok, key=(lambda t: (loss[t], t)) if path == grid else
                   (lambda t: (-int(rungs[t]), -accuracy[t], loss[t], t)))
    order = order[:12] if path == grid else order
    tap.check(f"{name}: the leaderboard", list(board["trial"]) == order and
              list(board["place"]) == list(range(1, len(order) + 1)), board["trial"], order)
    tap.check(f"{name}: its scores are the trials'", all(
        board[score].tobytes() == trials[score][order].tobytes()
        for score in ("validation_loss", "validation_accuracy", "test_loss", "test_accuracy")))
    tap.check(f"{name}: search, objective and text", (text(board["search"]), text(board["objective"])) ==
              (("grid", "validation_loss") if path == grid else ("halving", "validation_accuracy")) and
              text(board["specification"]).startswith("search: grid\n"))

# ---- verify FILE
for path in (grid, halving):
    done = tap.program("verify", path)
    tap.check(f"verify {os.path.basename(path)}: VALID, with both rows", done.returncode == 0 and
              all(re.search(rf"^{row} +\d\d+ +0 +n/a  passed$", done.stdout, re.M)
                  for row in ("configurations", "leaderboard")), done.stdout, done.stderr)
done = tap.program("verify", run)
tap.check("verify of a run has no such rows", done.returncode == 0 and "leaderboard" not in done.stdout)


def changed(original, change):
    path = str(tap.scratch / "changed.h5")
    shutil.copy(original, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def bump(name, k):
    def change(file):
        value = file[name][k]
        file[name][k] = np.nextafter(value, value.dtype.type(np.inf)) if value.dtype.kind == "f" else value + 1
    return change


def put(name, value, *place):
    def change(file):
        file[name][place] = value
    return change


def swap(name):
    def change(file):
        values = file[name][()]
        values[[0, 2]] = values[[2, 0]]
        file[name][()] = values
    return change


C, L = "configurations", "leaderboard"
CHANGES = [(f"a bit of configurations/{name}", bump(f"configurations/{name}", 3), 3, C)
           for name in ("learning_rate", "decay", "initial_range", "loss_mean", "loss_sd", "loss_low", "loss_high",
                        "accuracy_mean", "accuracy_sd", "accuracy_low", "accuracy_high", "epochs", "block", "hidden1",
                        "hidden2", "rung")]
CHANGES += [(f"a bit of sweep/{name}", bump(f"sweep/{name}", 5), 3, L)
            for name in ("validation_loss", "validation_accuracy", "test_loss", "test_accuracy")]
CHANGES += [
    ("one trial less ok", put("configurations/ok", 3, 1), 3, C),
    ("one trial failed instead", put("configurations/diverged", 3, 11), 3, C),
    ("another first trial", bump("configurations/first_trial", 11), 3, C),
    ("a mean of nothing", put("configurations/loss_mean", 1.0, 11), 3, C),
    ("two places in another order", swap("sweep/trial"), 3, L),
    ("another trial in a place", put("sweep/trial", 47, 4), 3, L),
    ("a place of no trial", put("sweep/trial", 48, 4), 2, "there is no trial 48"),
    ("another objective", put("sweep/objective", "validation_loss"), 3, L),
    ("an objective that is none", put("sweep/objective", "test_loss"), 2, "test_loss"),
    ("a rung of a trial", bump("trials/rung", 24), 3, L),
    ("more rungs than epochs", put("trials/rung", 4, 0), 2, "rung 4"),
    ("one trial of a configuration more", put("configurations/trials", 5, 0), 2, "do not have the file's 48 trials"),
    ("another text of the sweep file (no answer)", put("sweep/specification", "search: latin\n"), 0, ""),
]
for name, change, code, row in CHANGES:
    done = tap.program("verify", changed(halving, change))
    if code == 3:
        right = done.returncode == 3 and re.search(rf"^{row} .* failed$", done.stdout, re.M)
    elif code == 2:
        right = done.returncode == 2 and row in done.stderr and not done.stdout
    else:
        right = done.returncode == 0 and "verdict    VALID" in done.stdout
    tap.check(f"verify: {name}: {code}", right, done.returncode, done.stdout, done.stderr)


# ---- verify A B
DIFFERENT = ("a sweep and a run", "with and without rungs")


def pair(name, a, b, code, *rows):
    done = tap.program("verify", a, b)
    failed = re.findall(r"^(\w[\w ]*?) +\d+ +\d+ +n/a  failed$", done.stdout, re.M)
    # Two sweeps with other leaders have other test scores, too.
    right = failed == list(rows) if name not in DIFFERENT else set(rows) <= set(failed)
    tap.check(f"two files, {name}: {code}", done.returncode == code and right, done.stdout, done.stderr)


pair("the same", halving, halving, 0)
pair("another text of the sweep file", halving, changed(halving, put("sweep/specification", "")), 0)
pair("another search", halving, changed(halving, put("sweep/search", "random")), 3, "search")
pair("another objective", halving, changed(halving, put("sweep/objective", "validation_loss")), 3, "search")
pair("another rung", halving, changed(halving, bump("trials/rung", 3)), 3, "rungs")
pair("a bit of a mean", halving, changed(halving, bump("configurations/accuracy_mean", 0)), 3, C)
pair("another leader", halving, changed(halving, swap("sweep/trial")), 3, L)
pair("a sweep and a run", run, grid, 3, "search", C, L)
pair("with and without rungs", grid, halving, 3, "rungs", "search", C, L)


# ---- export
def table(path, name):
    done = tap.program("export", path, "--table", name)
    tap.check(f"{os.path.basename(path)}: table {name} exported", done.returncode == 0 and not done.stderr, done.stderr)
    return list(csv.reader(io.StringIO(done.stdout), strict=True))


def same(said, value):
    if value.dtype.kind == "f":
        return said == "" if np.isnan(value) else value.dtype.type(said).tobytes() == value.tobytes()
    return int(said) == value


for path in (grid, halving):
    with h5py.File(path) as file:
        for name, group in ((C, "configurations"), (L, "sweep")):
            head, *rows = table(path, name)
            wanted = {key for key in file[group] if file[group][key].ndim == 1}
            tap.check(f"{os.path.basename(path)}: table {name} has the group's columns", set(head) == wanted, head)
            wrong = [(key, k) for c, key in enumerate(head) for k, row in enumerate(rows)
                     if not same(row[c], file[group][key][k])]
            tap.check(f"{os.path.basename(path)}: table {name}, every value",
                      not wrong and len(rows) == len(file[group][head[0]]), *wrong[:5])
        whole = json.loads(tap.program("export", path, "--format", "json").stdout)
        wrong = []
        for group, rows in (("configurations", whole["configurations"]), ("sweep", whole["sweep"]["leaderboard"])):
            for k, row in enumerate(rows):
                wrong += [(group, key, k) for key, said in row.items()
                          if not same("" if said is None else repr(said), file[group][key][k])]
            tap.check(f"{os.path.basename(path)}: JSON has all of {group}",
                      set(rows[0]) == {key for key in file[group] if file[group][key].ndim == 1} and
                      len(rows) == len(file[group]["trial" if group == "sweep" else "trials"]))
        tap.check(f"{os.path.basename(path)}: JSON, every value", not wrong, *wrong[:5])
        tap.check(f"{os.path.basename(path)}: JSON has the sweep's texts", all(
            whole["sweep"][key] == text(file["sweep"][key][()]) for key in ("search", "objective", "specification")))
        tap.check(f"{os.path.basename(path)}: rungs of the trials", [t.get("rung") for t in whole["trials"]] ==
                  (list(file["trials/rung"]) if "rung" in file["trials"] else [None] * 48))
head, *rows = table(halving, "trials")
tap.check("table trials has the rung last", head[-1] == "rung" and [int(r[-1]) for r in rows] == [t % 3 for t in range(48)])
for name in (C, L):
    done = tap.program("export", run, "--table", name)
    tap.check(f"table {name} of a run: 2, and why", done.returncode == 2 and "not of a sweep" in done.stderr and
              not done.stdout, done.stdout, done.stderr)
whole = json.loads(tap.program("export", run, "--format", "json").stdout)
tap.check("JSON of a run has no sweep", not {"sweep", "configurations"} & set(whole) and "rung" not in whole["trials"][0])
done = tap.program("export", "--help")
tap.check("--help names both tables", re.search(r"configurations\s+or leaderboard", done.stdout), done.stdout)


# ---- the report
def lines(report, title):
    part = report.split(title, 1)[1].split("\n\n")[0].splitlines()
    return part[0], part[1:]


with h5py.File(grid) as file:
    head, rows = lines(grid_report, "the best trials by validation loss\n")
    tap.check("report: 10 places, and how many more", len(rows) == 11 and rows[10] == "   ... 2 more places are in the file",
              grid_report)
    wrong = []
    for k, row in enumerate(rows[:10]):
        t = file["sweep/trial"][k]
        wanted = [str(k + 1), str(t), f"{file['trials/learning_rate'][t]:.6g}", str(file["trials/epochs"][t]),
                  "64-32-16-15", str(file["trials/seed"][t]), str(file["trials/block"][t]),
                  f"{file['trials/validation_loss'][t]:.4f}", f"{100 * file['trials/validation_accuracy'][t]:.2f}",
                  f"{100 * file['trials/test_accuracy'][t]:.2f}"]
        wrong += [] if row.split() == wanted else [(row, wanted)]
    tap.check("report: the trials' values", not wrong, *wrong)
    head, rows = lines(grid_report, "the best configurations by mean validation loss over seeds\n")
    means = np.nan_to_num(file["configurations/loss_mean"][()], nan=np.inf)
    order = np.argsort(means, kind="stable")[:10]
    wrong = []
    for place, (k, row) in enumerate(zip(order, rows), 1):
        c = {key: item[k] for key, item in file["configurations"].items()}
        shown = ["n/a" if np.isnan(c[key]) else f"{c[key]:.4f}" for key in ("loss_mean", "loss_sd", "loss_low", "loss_high")]
        wanted = [str(place), f"{c['learning_rate']:.6g}", str(c["epochs"]), "64-32-16-15", str(c["block"]), str(c["ok"]),
                  *shown, str(c["diverged"]), str(c["failed"])]
        wrong += [] if row.split() == wanted else [(row, wanted)]
    tap.check("report: the configurations' values", not wrong and rows[10].strip().startswith("... 2 more"), *wrong)
head, rows = lines(halving_report, "the best configurations by mean validation accuracy (%) over seeds that went equally far\n")
tap.check("report: rungs and accuracies of a halving", " rung " in head and len(rows) == 11 and
          [float(r.split()[7]) for r in rows[:8]] == sorted((float(r.split()[7]) for r in rows[:8]), reverse=True),
          halving_report)
seeds = tap.scratch / "one.h5"
tap.program("--data", data, "--epochs", 2, "--learning-rate", "0.02,0.1", "--block", 32, "--decay", "1,0.5", "--holdout", 0.2,
            "-q", "-o", seeds)
run = seeds
_, report = make("single.h5", "grid", 3)
tap.check("report: configurations of one trial each are not shown; decay is, where it varies",
          "configurations" not in report and " decay " in report and "range" not in report, report)

tap.finish()
