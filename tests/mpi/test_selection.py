#!/usr/bin/env python3
"""The best trials are chosen without a look at the test set: with the test images dealt to other letters, the same trials
are kept and no validation loss changes; only the test scores fall to chance."""
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402

LETTERS = "ABCDEILMNORSUVW"
data, dealt, first, second = (str(tap.scratch / name) for name in ("data", "dealt", "first.h5", "second.h5"))
tap.program("synth", data, "-n", 60)
job = ("--epochs", 25, "--block", 32, "--seed", "1:6", "--learning-rate", "0.01,0.05", "--keep-weights", "top:3")
made = tap.ranks(2, "--data", data, *job, "-o", first)
tap.check("a run that keeps the best three", made.returncode == 0, made.stderr)


def columns(path):
    with h5py.File(path) as file:
        kept = file["weights/64-32-16-15/trial"][()].tolist()
        return {name: file["trials/" + name][()].tolist() for name in
                ("validation_loss", "validation_accuracy", "train_loss", "digest", "test_accuracy")}, kept


rows = []
for letter in LETTERS:
    with open(f"{data}/{letter}.csv") as file:
        rows += [(letter, line) for line in file]
with h5py.File(first) as file:
    places = file["dataset/test_index"][()].tolist()
images = [rows[place][1] for place in places]
random.Random(7).shuffle(images)
for place, image in zip(places, images):
    rows[place] = (rows[place][0], image)
shutil.copytree(data, dealt)
for letter in LETTERS:
    with open(f"{dealt}/{letter}.csv", "w") as file:
        file.writelines(line for owner, line in rows if owner == letter)

made = tap.ranks(2, "--data", dealt, *job, "-o", second)
tap.check("the same run with the test images dealt anew", made.returncode == 0, made.stderr)
(before, kept_before), (after, kept_after) = columns(first), columns(second)
tap.check("the same trials are kept", kept_before == kept_after, kept_before, kept_after)
best = sorted(range(len(before["validation_loss"])), key=lambda trial: (before["validation_loss"][trial], trial))[:3]
tap.check("they are the best by validation loss", sorted(best) == kept_before, best, kept_before)
for name in ("validation_loss", "validation_accuracy", "train_loss", "digest"):
    tap.check(f"{name} is the same", before[name] == after[name], before[name], after[name])
known = [[score for score in table["test_accuracy"] if score == score] for table in (before, after)]  # of the chosen ones
tap.check("the test accuracy falls to chance", max(known[1]) < 0.3 < min(known[0]),
          before["test_accuracy"], after["test_accuracy"])
tap.finish()
