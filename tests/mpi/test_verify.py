#!/usr/bin/env python3
"""One bit changed anywhere in a results file's answer: `verify` finds it. Damaged files: a message, never a crash."""
import concurrent.futures
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

GROUP = "weights/64-32-16-15"
pool = concurrent.futures.ThreadPoolExecutor(4)  # an MPI program mostly waits while it starts
data, good, bare = (str(tap.scratch / name) for name in ("data", "good.h5", "bare.h5"))
tap.program("synth", data, "-n", 20)
short = ("--data", data, "--epochs", "3,4", "--block", "32,64")
made = tap.ranks(2, *short, "--holdout", 0.2, "-o", good)
tap.check("a good file is made", made.returncode == 0, made.stderr)
made = tap.program(*short, "--keep-weights", "none", "-o", bare)
tap.check("a file without weights is made", made.returncode == 0, made.stderr)
for path in (good, bare):
    found = tap.program("verify", path)
    tap.check(f"{path[-7:]} is VALID", found.returncode == 0 and "verdict    VALID" in found.stdout, found.stderr)


def next_value(value):
    """The next float up, or the next whole number, of a numpy scalar."""
    return np.nextafter(value, value.dtype.type(np.inf)) if value.dtype.kind == "f" else value + value.dtype.type(1)


def bump(name, *place):
    def change(file):
        values = file[name][()]
        if place:
            values[place] = next_value(values[place])
        else:
            values = next_value(values)
        file[name][()] = values
    return change


def put(name, value, *place):
    def change(file):
        if place:
            file[name][place] = value
        else:
            file[name][()] = value
    return change


def other_digit(name, *place):
    def change(file):
        text = (file[name][place] if place else file[name][()]).decode()
        put(name, ("1" if text[0] == "0" else "0") + text[1:], *place)(file)
    return change


def remove(name):
    def change(file):
        del file[name]
    return change


def attribute(group, name, value):
    def change(file):
        file[group].attrs.modify(name, value)
    return change


# What is changed, and how `verify FILE` ends: 3, or 2 where the file contradicts itself or its data.
CHANGES = [
    ("a score", bump("inference/scores", 7, 3), 3),
    ("the last score", bump("inference/scores", -1, -1), 3),
    ("a prediction", put("inference/predicted", 14, 0), 3),
    ("a prediction of no class", put("inference/predicted", 15, 0), 2),
    ("an expected label", bump("inference/expected", 0), 3),
    ("an expected label of no class", put("inference/expected", 200, 0), 2),
    ("a confusion cell", bump("inference/confusion", 2, 3), 3),
    ("the trial of the inference", put("inference/trial", 1), 3),
    ("no trial of the inference", put("inference/trial", -1), 3),
    ("a trial of the inference that is not there", put("inference/trial", 4), 2),
    ("a mean", bump("dataset/mean", 20), 3),
    ("a mean that is NaN", put("dataset/mean", np.nan, 20), 3),
    ("a scale", bump("dataset/scale", 63), 3),
    ("a count", bump("dataset/counts", 4), 3),
    ("a count that leaves samples without number", put("dataset/counts", 0, 4), 2),
    ("the digest of the data", other_digit("dataset/digest"), 2),
    ("a test_index", bump("dataset/test_index", 5), 3),
    ("a test_index that is no sample", put("dataset/test_index", 300, 5), 2),
    ("a train_index", bump("dataset/train_index", 0), 3),
    ("a validation_index", bump("dataset/validation_index", 0), 3),
    ("the kind of split", put("dataset/split", "tail"), 3),
    ("a kind of split that is none", put("dataset/split", "middle"), 2),
    ("no kind of split, as in older files", remove("dataset/split"), 0),
    ("the split seed", bump("dataset/split_seed"), 3),
    ("the held-out share", put("dataset/holdout", 0.1), 3),
    ("a loss", bump("trials/loss", 0, 1), 3),
    ("a last loss", bump("trials/loss", 3, 3), 3),
    ("a loss that is NaN", put("trials/loss", np.nan, 2, 0), 3),
    ("a loss of an epoch that was not run", put("trials/loss", 0.5, 0, 3), 3),
    ("a train_loss", bump("trials/train_loss", 2), 3),
    ("a validation_loss", bump("trials/validation_loss", 2), 3),
    ("a validation_accuracy", bump("trials/validation_accuracy", 1), 3),
    ("a test_loss", bump("trials/test_loss", 3), 3),
    ("a test_accuracy", bump("trials/test_accuracy", 3), 3),
    ("a test_accuracy that is NaN", put("trials/test_accuracy", np.nan, 0), 3),
    ("a digest of weights", other_digit("trials/digest", 1), 3),
    ("an empty digest", put("trials/digest", "", 1), 3),
    ("a learning rate", bump("trials/learning_rate", 0), 3),
    ("a learning rate that is NaN", put("trials/learning_rate", np.nan, 0), 2),
    ("a decay", put("trials/decay", np.nextafter(np.float32(1), np.float32(0)), 0), 3),
    ("an initial range", bump("trials/initial_range", 0), 3),
    ("a seed", bump("trials/seed", 0), 3),
    ("a hidden width", bump("trials/hidden1", 0), 2),
    ("a block that is none", bump("trials/block", 0), 2),
    ("fewer epochs run", put("trials/epochs_run", 2, 0), 3),
    ("fewer epochs run, not retrained", put("trials/epochs_run", 2, 1), 3),
    ("more epochs run than asked for", put("trials/epochs_run", 4, 0), 2),
    ("more epochs asked for", put("trials/epochs", 4, 0), 3),
    ("more epochs asked for than losses", put("trials/epochs", 5, 0), 2),
    ("status diverged", put("trials/status", "diverged", 0), 3),
    ("status failed", put("trials/status", "failed", 0), 3),
    ("status failed, not retrained", put("trials/status", "failed", 2), 3),
    ("status not run", put("trials/status", "not run", 3), 3),
    ("a status that is none", put("trials/status", "fine", 0), 2),
    ("the trial of a row of weights", put(GROUP + "/trial", [0, 1, 2, 4]), 2),
    ("two rows of weights in another order", put(GROUP + "/trial", [1, 0, 2, 3]), 2),
    ("another arithmetic", attribute("/", "arithmetic_version", np.uint32(2)), 2),
    ("another format", attribute("/", "format", "libras"), 2),
    ("a newer format", attribute("/", "format_version", np.uint32(2)), 2),
    ("where it ran (not the answer)", put("execution/trial_rank", 1, 0), 0),
    ("how long it took (not the answer)", bump("execution/trial_seconds", 0), 0),
    ("who made it (not the answer)", attribute("provenance", "command_line", "another"), 0),
]
for layer, last in (("w1", (31, 63)), ("b1", (31,)), ("w2", (15, 31)), ("b2", (15,)), ("w3", (14, 15)), ("b3", (14,))):
    CHANGES.append((f"the first {layer} of the first trial", bump(f"{GROUP}/{layer}", *(0,) * (len(last) + 1)), 3))
    CHANGES.append((f"the last {layer} of the last trial", bump(f"{GROUP}/{layer}", 3, *last), 3))
for bits in (0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0x7F800001, 0x7F800000, 0xFF800000):
    value = np.array(bits, np.uint32).view(np.float32)[()]
    CHANGES.append((f"a score that is {value} ({bits:#x})", put("inference/scores", value, 3, 3), 3))
    CHANGES.append((f"a weight that is {value} ({bits:#x})", put(GROUP + "/w2", value, 2, 3, 3), 3))
# Without weights, the retrained trial (0) is the only witness of its row.
BARE_CHANGES = [
    ("a score", bump("inference/scores", 0, 0), 3),
    ("status failed", put("trials/status", "failed", 0), 3),
    ("status not run, not retrained", put("trials/status", "not run", 1), 3),
    ("a test_loss", bump("trials/test_loss", 0), 3),
    ("a test_accuracy", bump("trials/test_accuracy", 0), 3),
    ("a validation_loss from nowhere", put("trials/validation_loss", 0.1, 0), 3),
    ("a train_loss", bump("trials/train_loss", 1), 3),
    ("a digest", other_digit("trials/digest", 0), 3),
    ("a learning rate", bump("trials/learning_rate", 0), 3),
    ("a hidden width", bump("trials/hidden1", 0), 3),
]


def changed(original, k, change):
    path = f"{original}.{k}.h5"
    shutil.copy(original, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def messages(found):
    """The program's own words about a failure."""
    return re.findall(r"^libras_mpi: .+$", found.stderr, re.M)


def verdict_of(found):
    return (re.findall(r"^verdict +(\S+)$", found.stdout, re.M) or [None])[-1]


def check_all(original, changes):
    paths = [changed(original, k, change) for k, (_, change, _) in enumerate(changes)]
    for (name, _, code), found in zip(changes, pool.map(lambda path: tap.program("verify", path), paths)):
        if code == 2:
            right = found.returncode == 2 and len(messages(found)) == 1 and not verdict_of(found)
        else:
            right = found.returncode == code and verdict_of(found) == ("INVALID" if code else "VALID")
        tap.check(f"{os.path.basename(original)}: {name}: {code}", right,
                  f"it ended {found.returncode}", found.stdout, found.stderr)
    return paths


paths = check_all(good, CHANGES)
check_all(bare, BARE_CHANGES)

# ---- two files
seeded, moved, others = (str(tap.scratch / name) for name in ("seeded.h5", "moved.h5", "others"))
tap.program(*short, "--holdout", 0.2, "--seed", 1338, "-o", seeded)
names = [name for name, _, _ in CHANGES]


def pair(name, path, code, word):
    found = tap.program("verify", good, path)
    tap.check(f"two files, {name}: {code}", found.returncode == code and verdict_of(found) == word,
              f"it ended {found.returncode}", found.stdout, found.stderr)
    return found


found = tap.program("verify", changed(good, "late", bump("trials/loss", 3, 1)), "--validate-replicas", 4)
tap.check("a loss of any trial, when all are retrained: 3", found.returncode == 3, found.stdout, found.stderr)
pair("another seed", seeded, 3, "DIFFERENT")
pair("a weight", paths[names.index("the last b3 of the last trial")], 3, "DIFFERENT")
pair("a loss", paths[names.index("a loss")], 3, "DIFFERENT")
pair("a score", paths[names.index("the last score")], 3, "DIFFERENT")
pair("where it ran", paths[names.index("where it ran (not the answer)")], 0, "SAME_BITS")
pair("who made it", paths[names.index("who made it (not the answer)")], 0, "SAME_BITS")
found = pair("another arithmetic", paths[names.index("another arithmetic")], 2, None)
tap.check("it names both versions", re.search(r"arithmetic version 2; .*version 1", found.stderr), found.stderr)
pair("without weights", bare, 3, "DIFFERENT")
found = pair("a file that is not there", str(tap.scratch / "nowhere.h5"), 2, None)
tap.check("it names the file", "nowhere.h5" in found.stderr, found.stderr)

# ---- the data
tap.program("synth", others, "-n", 20, "--seed", 2)
found = tap.program("verify", good, "--data", others)
tap.check("other data: 2, by their digest", found.returncode == 2 and
          re.search(r"other data than the results were made from \(SHA-256", found.stderr), found.stderr)
os.rename(data, data + " elsewhere")
found = tap.program("verify", good)
tap.check("moved data: 2, naming --data", found.returncode == 2 and re.search(r"data: .*--data", found.stderr) or
          found.returncode == 2 and "--data DIR if it has moved" in found.stderr, found.stderr)
found = tap.program("verify", good, "--data", data + " elsewhere")
tap.check("moved data and --data: 0", found.returncode == 0, found.stderr)
os.rename(data + " elsewhere", data)

# ---- damage
with open(good, "rb") as file:
    intact = file.read()
ANSWER = ["dataset/mean", "dataset/scale", "dataset/counts", "dataset/test_index", "dataset/train_index",
          "trials/loss", "trials/train_loss", "trials/test_loss", "trials/test_accuracy", "trials/epochs_run",
          "trials/status", "trials/digest", "inference/scores", "inference/expected", "inference/predicted",
          "inference/confusion"] + [f"{GROUP}/{part}" for part in ("w1", "b1", "w2", "b2", "w3", "b3")]


def answer_of(path):
    with h5py.File(path, "r") as file:
        return [file[name][()].tobytes() if file[name].dtype.kind != "O" else file[name][()].tolist()
                for name in ANSWER]


def in_arrays():
    """Bytes of the file that are numbers of large arrays: what is left is structure, where damage is dangerous."""
    inside = np.zeros(len(intact), bool)

    def mark(_, thing):
        if isinstance(thing, h5py.Dataset) and thing.dtype.kind != "O" and thing.size > 64:
            if thing.chunks is None:
                if thing.id.get_offset() is not None:
                    inside[thing.id.get_offset():thing.id.get_offset() + thing.id.get_storage_size()] = True
            else:
                for k in range(thing.id.get_num_chunks()):
                    chunk = thing.id.get_chunk_info(k)
                    inside[chunk.byte_offset:chunk.byte_offset + chunk.size] = True
    with h5py.File(good, "r") as file:
        file.visititems(mark)
    return inside


def survives(k, content, *left_out):
    """How verify, export and infer take a damaged file: [(command, how it ended)] that are wrong."""
    path = str(tap.scratch / f"damaged{k}.h5")
    with open(path, "wb") as file:
        file.write(content)
    wrong = []
    for command in (("verify", path), ("export", path, "--format", "json"),
                    ("infer", path, "--data", data, "-o", path + ".out")):
        if command[0] in left_out:
            continue
        found = tap.program(*command)
        said = messages(found) or found.returncode == 3 and verdict_of(found) == "INVALID"
        if found.returncode not in (0, 2, 3) or found.returncode and not said:
            wrong.append((command[0], found.returncode, found.stderr[-500:]))
        elif command[0] == "verify" and found.returncode == 0 and answer_of(path) != answer_of(good):
            wrong.append(("verify", 0, "although the answer is another"))
    for leftover in (path, path + ".out"):
        if os.path.exists(leftover):
            os.remove(leftover)
    return wrong


sizes = [1, 8, 63, 95, 96, 512, len(intact) - 1, *range(0, len(intact), 4096)]
# verify each time; export and infer, which open a file in the same way, by turns
for size, wrong in zip(sizes, pool.map(lambda size: survives(size, intact[:size],
                                                             "export" if size // 4096 % 2 else "infer"), sizes)):
    tap.check(f"cut after {size} bytes", not wrong, *wrong)

dice = random.Random(20261130)
inside = in_arrays()
structure, numbers = np.flatnonzero(~inside), np.flatnonzero(inside)
places = [int(dice.choice(structure)) for _ in range(80)] + [int(dice.choice(numbers)) for _ in range(20)]
flips = [(place, 1 << dice.randrange(8)) for place in places]


def flip(k):
    content = bytearray(intact)
    content[flips[k][0]] ^= flips[k][1]
    return survives(f"-{k}", bytes(content), "export" if k % 2 else "infer")


wrongs = list(pool.map(flip, range(len(flips))))
for (place, bit), wrong in zip(flips, wrongs):
    if wrong:
        tap.check(f"bit {bit:#x} of byte {place} flipped", False, *wrong)
tap.check(f"{len(flips)} flipped bits, none ends verify, export or infer badly", not any(wrongs))

tap.finish()
