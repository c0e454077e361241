#!/usr/bin/env python3
"""`export` and `infer` against the file itself, read by h5py: every number, to the last bit."""
import csv
import io
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

LETTERS = "ABCDEILMNORSUVW"
data, path, inferred = (str(tap.scratch / name) for name in ("data", "run, \"one\".h5", "inferred.h5"))
tap.program("synth", data, "-n", 20)
made = tap.ranks(2, "--data", data, "--epochs", "2,4", "--learning-rate", "0.02,1e30,0.1", "--hidden", "8x4,32x16",
                 "--holdout", 0.2, "--block", 32, "--keep-weights", "all", "-o", path)
tap.check("a file is made", made.returncode == 0, made.stderr)
file = h5py.File(path, "r")
T = len(file["trials/trial"])


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def table(name):
    out = tap.program("export", path, "--table", name)
    tap.check(f"table {name}: exported", out.returncode == 0 and not out.stderr, out.stderr)
    return list(csv.DictReader(io.StringIO(out.stdout), strict=True))


def same(said, value):
    """A field of CSV against the file's value: text as it is; a number that reads back as the same bits; NaN empty."""
    value = np.asarray(value)[()]
    if value.dtype.kind in "OSU" if hasattr(value, "dtype") else True:
        return said == text(value)
    if value.dtype.kind == "f":
        return said == "" if np.isnan(value) else value.dtype.type(said).tobytes() == value.tobytes()
    return int(said) == value


def compare(name, rows, columns, group):
    tap.check(f"table {name}: {len(rows)} rows", len(rows) == len(file[group][columns[0][1]]))
    for said, stored in columns:
        values = file[group][stored]
        wrong = [(k, row[said], values[k]) for k, row in enumerate(rows) if not same(row[said], values[k])]
        tap.check(f"table {name}: column {said}", not wrong, *wrong[:3])


NAMES = ["learning_rate", "decay", "initial_range", "epochs", "seed", "block", "hidden1", "hidden2", "status",
         "epochs_run", "train_loss", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy", "digest",
         "reason"]
compare("trials", table("trials"), [("trial", "trial")] + [(name, name) for name in NAMES], "trials")
compare("validation", table("validation"),
        [(name, name) for name in ("name", "compared", "mismatches", "max_abs_error", "result")], "validation")
compare("execution", table("execution"),
        [(name, "trial_" + name) for name in ("seconds", "rank", "device", "variant")], "execution")

loss = np.full(file["trials/loss"].shape, np.nan)
for row in table("loss"):
    loss[int(row["trial"]), int(row["epoch"]) - 1] = float(row["loss"])
tap.check("table loss: every loss", np.array_equal(loss, file["trials/loss"][()], equal_nan=True))

scores = table("scores")
stored = file["inference/scores"][()]
tap.check("table scores: a row a test sample", [int(r["sample"]) for r in scores] == list(file["dataset/test_index"]))
tap.check("table scores: every score",
          all(np.float32(row[f"score_{c}"]) == stored[k, i] for k, row in enumerate(scores) for i, c in enumerate(LETTERS)))
tap.check("table scores: letters", [(r["expected"], r["predicted"]) for r in scores] ==
          [(LETTERS[e], LETTERS[p]) for e, p in zip(file["inference/expected"], file["inference/predicted"])])
confusion = {(r["expected"], r["predicted"]): int(r["count"]) for r in table("confusion")}
tap.check("table confusion: every cell", len(confusion) == 225 and
          all(confusion[a, b] == file["inference/confusion"][i, j]
              for i, a in enumerate(LETTERS) for j, b in enumerate(LETTERS)))
hosts = table("ranks")
tap.check("table ranks: hosts and seconds", len(hosts) == 2 and
          [r["host"] for r in hosts] == [text(h) for h in file["execution/rank_host"]] and
          [float(r["train_s"]) for r in hosts] == [float(f"{s:.9g}") for s in file["execution/rank_seconds"][:, 1]], hosts)

# ---- JSON
out = tap.program("export", path, "--format", "json")
tap.check("JSON: exported", out.returncode == 0 and not out.stderr, out.stderr)
whole = json.loads(out.stdout)
tap.check("JSON: the head", whole["format"] == "libras-results" and whole["format_version"] == 1 and
          whole["arithmetic_version"] == file.attrs["arithmetic_version"])
wrong = []
for t, trial in enumerate(whole["trials"]):
    for name in NAMES:
        value = file["trials"][name][t]
        number = not isinstance(value, (bytes, str))
        if number and isinstance(trial[name], float):
            right = value.dtype.type(trial[name]) == value
        elif number and trial[name] is None:
            right = math.isnan(value)
        else:
            right = trial[name] == (value if number else text(value))
        if not right:
            wrong.append((t, name, trial[name], value))
tap.check("JSON: every trial's columns", len(whole["trials"]) == T == 12 and not wrong, *wrong[:5])
tap.check("JSON: the confusion matrix", whole["inference"]["confusion"] == file["inference/confusion"][()].tolist())
tap.check("JSON: the data set", whole["dataset"]["digest"] == text(file["dataset/digest"][()]) and
          whole["dataset"]["test"] == len(file["dataset/test_index"]))
tap.check("JSON: provenance", whole["provenance"] == {k: text(v) for k, v in file["provenance"].attrs.items()})

# ---- the lab's text: of any trial that has weights
for t in (0, 9):
    out = tap.program("export", path, "--format", "lab", "--trial", t)
    tap.check(f"lab, trial {t}: exported", out.returncode == 0 and not out.stderr, out.stderr)
    lines = out.stdout.splitlines()
    shape = [64, int(file["trials/hidden1"][t]), int(file["trials/hidden2"][t]), 15]
    tap.check(f"lab, trial {t}: the head", lines[:2] ==
              ["LIBRAS_MENDELEY_GPU_V1", " ".join(map(str, shape + [len(stored)]))], lines[:2])
    group = file["weights/" + "-".join(map(str, shape))]
    row = list(group["trial"]).index(t)
    numbers = [np.array(line.split(), np.float32) for line in lines[2:]]
    layers = np.concatenate([np.column_stack([group[f"w{i}"][row], group[f"b{i}"][row]]).ravel() for i in (1, 2, 3)])
    read = np.concatenate(numbers[:sum(shape[1:])])
    tap.check(f"lab, trial {t}: every weight and bias", np.array_equal(read, layers))
    samples = np.array(numbers[sum(shape[1:]):])
    tap.check(f"lab, trial {t}: a line a test sample", samples.shape == (len(stored), 80) and
              np.array_equal(samples[:, 0], file["inference/expected"]))
    accuracy = np.mean(np.argmax(samples[:, 65:], axis=1) == samples[:, 0])
    tap.check(f"lab, trial {t}: its scores give the test accuracy", accuracy == file["trials/test_accuracy"][t])
out = tap.program("export", path, "--format", "lab", "--trial", 6)
tap.check("lab, a trial that diverged: refused", out.returncode == 2 and "trial 6 has no weights: it is diverged"
          in out.stderr, out.stderr)

# ---- infer: all samples under the same weights
out = tap.ranks(3, "infer", path, "--data", data, "-o", inferred)
tap.check("infer", out.returncode == 0, out.stderr)
with h5py.File(inferred, "r") as other:
    test = file["dataset/test_index"][()]
    tap.check("infer scores every sample of the folder", list(other["dataset/test_index"]) == list(range(300)))
    tap.check("the test samples have the bits of the run's scores",
              other["inference/scores"][()][test].tobytes() == stored.tobytes())
    right = other["inference/predicted"][()] == other["inference/expected"][()]
    tap.check("and its test accuracy", np.mean(right[test]) == file["trials/test_accuracy"][0])
    tap.check("each rank scored a third", np.bincount(other["execution/sample_rank"]).tolist() == [100] * 3)
out = tap.ranks(2, "infer", path, "--data", data, "--trial", 9, "-o", inferred, "--force")
tap.check("infer with another trial's weights", out.returncode == 0, out.stderr)
with h5py.File(inferred, "r") as other:
    right = other["inference/predicted"][()] == other["inference/expected"][()]
    tap.check("has that trial's test accuracy", np.mean(right[test]) == file["trials/test_accuracy"][9])
out = tap.program("verify", inferred)
tap.check("its file is VALID", out.returncode == 0, out.stdout, out.stderr)

tap.finish()
