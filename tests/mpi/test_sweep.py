#!/usr/bin/env python3
"""Sweeps from a file: the same answer on any number of ranks; halving promotes what a plain reading of its rule promotes;
a trial that cannot be trained is a row; the choice never looks at the test samples."""
import math
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402

LETTERS = "ABCDEILMNORSUVW"
data = str(tap.scratch / "data")
tap.program("synth", data, "-n", 30)
if tap.program("sweep", "jobs/sweep.yaml", "--dry-run").returncode == 4:
    tap.skip_all("this build has no libyaml")


def spec(name, text):
    path = str(tap.scratch / (name + ".yaml"))
    with open(path, "w") as file:
        file.write(text)
    return path


def sweep(ranks, text, name, *more):
    out = str(tap.scratch / f"{name}.{ranks}.h5")
    made = tap.ranks(ranks, "sweep", spec(name, text), "--data", more[0] if more else data, "-o", out, *more[1:])
    return made, out


def columns(path, *names):
    with h5py.File(path) as file:
        values = {name: file["trials/" + name][()].tolist() for name in names}
    return {name: [v.decode() if isinstance(v, bytes) else v for v in column] for name, column in values.items()}


# ---- the same answer everywhere ----
SPECS = {
    "grid": """
search: grid
parameters:
  learning_rate: {from: 0.005, to: 0.1, scale: log, count: 4}
  seed: [1, 2, 3]
  hidden: [[32, 16], [8, 5]]
  epochs: [4, 7]
keep_weights: {top: 4}
""",
    "random": """
search: random
trials: 23
parameters: {learning_rate: {from: 0.001, to: 0.3, scale: log}, decay: {from: 0.9, to: 1}, seed: {from: 1, to: 4}, epochs: 5}
keep_weights: all
""",
    "latin": """
search: latin
trials: 17
parameters: {learning_rate: {from: 0.001, to: 0.3, scale: log}, initial_range: {from: 0.01, to: 0.2}, epochs: 5}
keep_weights: none
objective: validation_accuracy
""",
    "halving": """
search: halving
trials: 31
parameters: {learning_rate: {from: 0.001, to: 0.5, scale: log}, seed: {from: 1, to: 50}, hidden: [[32, 16], [16, 8]]}
halving: {rungs: [2, 5, 11], keep: 0.33}
keep_weights: {top: 6}
""",
}
for name, text in SPECS.items():
    first = None
    for n in (1, 2, 3, 4, 7):
        made, out = sweep(n, text, name)
        tap.check(f"{name} on {n} ranks: ends 0 and VALID", made.returncode == 0 and "status=VALID" in made.stdout, made.stderr)
        left = [out + end for end in (".ckpt", ".status", ".part", ".lock") if os.path.exists(out + end)]
        tap.check(f"{name} on {n} ranks: nothing is left beside the file", not left, left)
        if n == 1:
            first = out
            checked = tap.program("verify", out, "--validate-replicas", 5)
            tap.check(f"{name}: the file is VALID", checked.returncode == 0, checked.stdout, checked.stderr)
        else:
            same = tap.program("verify", first, out)
            tap.check(f"{name} on {n} ranks: the bits of one rank's", same.returncode == 0, same.stdout, same.stderr)

# ---- a sweep's trial is a run's ----
made, out = sweep(2, SPECS["grid"], "grid")
plain = str(tap.scratch / "plain.h5")
tap.program("--data", data, "--holdout", "0.1", "--learning-rate", "0.005:0.1:log4", "--seed", "1,2,3", "--hidden", "32x16,8x5",
            "--epochs", "4,7", "--block", 128, "-o", plain)
NAMES = ("digest", "validation_loss", "validation_accuracy", "train_loss", "learning_rate", "seed", "epochs", "hidden1")
tap.check("a grid's trials have the bits of run's", columns(out.replace(".2.", ".1."), *NAMES) == columns(plain, *NAMES))


# ---- halving, by its rule ----
def halve(n, rungs, keep, loss_at):
    """The trials that reach each rung. loss_at(rung): validation loss of every trial after its epochs; NaN: no weights."""
    alive, reached = list(range(n)), [0] * n
    for rung in range(len(rungs) - 1):
        loss = loss_at(rung)
        ranked = sorted((loss[t], t) for t in alive if not math.isnan(loss[t]))
        kept = max(1, math.ceil(round(keep * 100) * len(alive) / 100))
        alive = sorted(t for _, t in ranked[:kept])
        for t in alive:
            reached[t] = rung + 1
    return reached


halved = str(tap.scratch / "halving.1.h5")
want = columns(halved, "learning_rate", "seed", "hidden1", "hidden2")
curves = [[], [], []]  # of plain trainings with each rung's epochs
for lr, seed, a, b in zip(*(want[k] for k in ("learning_rate", "seed", "hidden1", "hidden2"))):
    one = str(tap.scratch / "one.h5")
    tap.program("--data", data, "--holdout", "0.1", "--learning-rate", repr(lr), "--seed", seed, "--hidden", f"{a}x{b}",
                "--epochs", "2,5,11", "--block", 128, "--validate-replicas", 0, "-o", one, "--force", "-q")
    for curve, loss in zip(curves, columns(one, "validation_loss")["validation_loss"]):
        curve.append(loss)
reached = halve(31, (2, 5, 11), 0.33, lambda rung: curves[rung])
found = columns(halved, "epochs", "validation_loss", "status")
tap.check("halving promotes 31, 11, 4", [sum(r >= k for r in reached) for k in range(3)] == [31, 11, 4], reached)
tap.check("the trials that the rule promotes", found["epochs"] == [(2, 5, 11)[r] for r in reached], found["epochs"], reached)
tap.check("each with the loss of a plain training", found["validation_loss"] == [curves[r][t] for t, r in enumerate(reached)])

# ---- trials that cannot be trained ----
BAD = """
parameters:
  block: [32, 4096, 48]
  learning_rate: [0.02, 1e30]
  hidden: [[32, 16], [100000, 16]]
  epochs: 3
"""
made, out = sweep(3, BAD, "bad")
tap.check("a sweep with impossible trials ends 0", made.returncode == 0, made.stderr)
rows = columns(out, "status", "reason", "block", "learning_rate", "hidden1")
tap.check("all 12 are there", len(rows["status"]) == 12, rows)
for status, reason, block, rate, width in zip(*rows.values()):
    right = "failed" if block != 32 or width > 128 else "diverged" if rate > 1 else "ok"
    whats = [str(block)] * (block != 32) + [str(width)] * (width > 128) or ["epoch 1"] * (rate > 1) + [""]
    tap.check(f"block {block}, rate {rate:g}, width {width}: {right}, and why",
              status == right and any(what in reason for what in whats), status, reason)
tap.check("its file is VALID", tap.program("verify", out).returncode == 0)
made, out = sweep(2, "parameters: {block: 4096, seed: [1, 2]}", "hopeless")
tap.check("if nothing can be trained, it ends 1 and says so", made.returncode == 1 and "4096" in made.stdout + made.stderr,
          made.stdout, made.stderr)

# ---- the test samples have no say ----
made, out = sweep(1, SPECS["grid"], "chosen")
rows = []
for letter in LETTERS:
    with open(f"{data}/{letter}.csv") as file:
        rows += [(letter, line) for line in file]
with h5py.File(out) as file:
    places = file["dataset/test_index"][()].tolist()
images = [rows[place][1] for place in places]
random.Random(7).shuffle(images)
for place, image in zip(places, images):
    rows[place] = (rows[place][0], image)
dealt = str(tap.scratch / "dealt")
shutil.copytree(data, dealt)
for letter in LETTERS:
    with open(f"{dealt}/{letter}.csv", "w") as file:
        file.writelines(line for owner, line in rows if owner == letter)
made, other = sweep(2, SPECS["grid"], "chosen", dealt)
NAMES = ("validation_loss", "validation_accuracy", "train_loss", "digest")
tap.check("with the test images dealt to other letters every validation score is the same", columns(out, *NAMES) == columns(other, *NAMES))
with h5py.File(out) as a, h5py.File(other) as b:
    tap.check("the same trial is chosen", a["inference/trial"][()] == b["inference/trial"][()])
    for group in a["weights"]:
        tap.check(f"the same trials are kept of {group}",
                  a[f"weights/{group}/trial"][()].tolist() == b[f"weights/{group}/trial"][()].tolist())
before, after = (columns(path, "test_accuracy")["test_accuracy"] for path in (out, other))
tap.check("test scores are of the four chosen ones", sum(v == v for v in before) == 4, before)
tap.check("and they alone fall", max(v for v in after if v == v) < min(v for v in before if v == v), before, after)

# ---- mistakes in the file ----
for text, why in (("parameters: {seed: 1}\nsearch: griid", ":2: .*grid"), ("parameters: {seed: }", ":1: "),
                  ("parameters: {sed: 1}", ":1: .*seed"), ("search: random\nparameters: {seed: 1}", "trials"), ("", "")):
    made, out = sweep(2, text, "wrong")
    own = [line for line in made.stderr.splitlines() if re.match(r"libras_mpi(\[\d+@\S+\])?: ", line)]
    tap.check(f"{text!r:.40} ends 2, said once, with its reason", made.returncode == 2 and len(own) == 1 and
              re.search(why, own[0]), made.stderr)
    tap.check("and leaves nothing", not os.path.exists(out) and not os.path.exists(out + ".ckpt"))
tap.finish()
