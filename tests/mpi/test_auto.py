#!/usr/bin/env python3
"""--device auto by this machine's calibration, and without one: what is chosen and said, /model, the history on disk; and
that no choice, and nothing that is wrong with these files, changes a bit of the answer. The calibration is this
machine's, then written over by hand: no time is asserted."""
import csv
import io
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

tap.PROGRAM = os.path.abspath(tap.PROGRAM)
here = tap.scratch / "here"
here.mkdir()
os.chdir(here)
data, host = tap.scratch / "data", socket.gethostname()
machine, history = here / f"results/machine_{host}.txt", here / f"results/history_{host}.txt"
tap.program("synth", data, "-n", 12)
no_gpu = not re.search(r"^gpu:.* yes ", tap.program("info").stdout, re.M)
QUICK = ("--data", data, "--epochs", 2, "--seed", "1:3", "--block", 32)
count = 0


def text(value):
    return value.decode() if isinstance(value, bytes) else value


class Made:
    """A file, and its /model."""

    def __init__(self, name, path, done):
        self.path, self.done, self.name = path, done, name
        tap.check(f"{name}: exit 0", done.returncode == 0, done.stderr)
        self.said = [line for line in done.stderr.splitlines() if line.startswith("libras_mpi: ")]
        with h5py.File(path) as file:
            group = file["model"]
            self.by, self.why = (text(group.attrs[key]) for key in ("decided_by", "decision"))
            rows = {key: [text(v) for v in group[key][()].tolist()] for key in group if key != "candidate"}
            self.rows = [dict(zip(rows, values)) for values in zip(*rows.values())]
            self.variants = {text(v) for v in file["execution/trial_variant"][()]}
            self.seconds = file["execution/rank_seconds"][()]
            self.train_seconds = float(text(file["provenance"].attrs.get("train_seconds", b"nan")))

    def chosen(self, phase):
        found = [row for row in self.rows if row["phase"] == phase and row["chosen"] == 1]
        tap.check(f"{self.name}: one choice of {phase}", len(found) == 1, self.rows)
        return found[0]

    def says(self, pattern, times=1):
        tap.check(f"{self.name}: says {pattern}", sum(bool(re.search(pattern, line)) for line in self.said) == times,
                  self.done.stderr)


def make(name, *arguments, ranks=0):
    global count
    count += 1
    path = here / f"{count}.h5"
    done = tap.ranks(ranks, *arguments, "-o", path) if ranks else tap.program(*arguments, "-o", path)
    return Made(name, path, done)


def same(name, a, b):
    done = tap.program("verify", a.path, b.path, "-q")
    tap.check(f"{name}: the same bits", done.returncode == 0 and "SAME_BITS" in done.stdout, done.stdout, done.stderr)


def lines():
    return history.read_text().splitlines() if history.is_file() else []


def change(**values):
    """Numbers of the calibration by hand: cpu_ref_train=1e15."""
    old = machine.read_text()
    for key, value in values.items():
        key = key.replace("_", ".")
        unit = "FLOP/s"
        old = re.sub(rf"^{re.escape(key)} .*\n", "", old, flags=re.M) + f"{key} {value} {unit}\n"
    machine.write_text(old)


# ---- no calibration ----
first = make("no calibration", *QUICK)
first.says(r"--device auto: .*; `libras_mpi calibrate` would let the performance model decide$")
tap.check("no calibration: /model", first.by == "rule: no calibration" and len(first.rows) == 2 and
          all(np.isnan(row["predicted"]) and np.isnan(row["regret"]) and row["where"] == "" for row in first.rows),
          first.rows)
tap.check("no calibration: what ran is measured", {first.chosen("train")["device"]} == first.variants and
          all(row["measured"] > 0 for row in first.rows), first.rows)
tap.check("no calibration: no history, and no calibration either", not machine.exists() and not history.exists())
tap.check("no calibration: nothing more in a dry run", "predicted" not in tap.program(*QUICK, "--dry-run").stdout)

# ---- this machine's ----
done = tap.program("calibrate", "--device", "cpu", "--data", data, "-q")
if not no_gpu:  # what was measured without the GPU is not of this machine
    tap.skip("the rest", "there is a GPU, and it is of a machine without one")
    tap.finish()
tap.check("calibrated", done.returncode == 0 and machine.exists(), done.stderr)
good = machine.read_text()
plan = tap.program("plan", *QUICK).stdout
for ranks in (0, 1, 2, 3):
    name = f"{ranks} ranks" if ranks else "no mpirun"
    before = len(lines())
    run = make(name, *QUICK, ranks=ranks)
    run.says(r"--device auto: training: cpu.* s, there is no GPU that can; scoring: cpu")
    tap.check(f"{name}: why is in the file", any(run.why in line for line in run.said), run.why)
    train, infer = run.chosen("train"), run.chosen("infer")
    tap.check(f"{name}: by the model", run.by == "model", run.by)
    tap.check(f"{name}: what was chosen ran", run.variants == {train["device"]}, run.variants)
    tap.check(f"{name}: measured", abs(train["measured"] - run.train_seconds) < 1e-6 and
              infer["measured"] == run.seconds[:, 2].max(), train, infer)
    others = min(row["predicted"] for row in run.rows if row["phase"] == "train" and row["device"] != train["device"])
    tap.check(f"{name}: regret", abs(train["regret"] - max(0, train["measured"] / others - 1)) < 1e-9, train, others)
    tap.check(f"{name}: none for those that did not run", all(
        np.isnan(row["measured"]) and np.isnan(row["regret"]) for row in run.rows if not row["chosen"]))
    tap.check(f"{name}: two lines more of history", len(lines()) == before + (2 if before else 3), *lines())
    same(name, first, run)
    alone = run if ranks == 0 else alone
said = re.search(r"^cpu-ref +one core +(\S+)", plan, re.M).group(1)
ours = next(row for row in alone.rows if row["phase"] == "train" and row["device"] == "cpu-ref")
tap.check("the prediction is plan's", abs(ours["predicted"] / float(said) - 1) < 1e-3, ours, said)
phase, device, where, size, predicted, measured, unit = lines()[-2].split("\t")
tap.check("a line of the history is the row", phase == "train" and unit == "s" and (device, where) == (train["device"], train["where"]) and
          all(abs(float(a) / b - 1) < 1e-6 for a, b in ((size, train["size"]), (predicted, train["predicted"]),
                                                        (measured, train["measured"]))), lines()[-2], train)
with h5py.File(run.path) as file:
    steps = float(text(file["provenance"].attrs["updates"]))
tap.check("the size is the training steps", train["size"] == steps, train["size"], steps)
quiet = make("quiet", *QUICK, "-q")
tap.check("quiet: not a word", quiet.done.stderr == "", quiet.done.stderr)
dry = tap.program(*QUICK, "--dry-run")
tap.check("dry run: the choice", dry.returncode == 0 and re.search(r"^training   predicted: cpu\S+ \([a-z ]+\): \S+ s, ", dry.stdout,
                                                                   re.M), dry.stdout)
dry = tap.program(*QUICK, "--dry-run", "--device", "cpu-ref")
tap.check("dry run: what is asked for", re.search(r"^training   predicted: cpu-ref \(one core\): \S+ s, as asked for$",
                                                  dry.stdout, re.M), dry.stdout)

# ---- export ----
rows = list(csv.DictReader(io.StringIO(tap.program("export", run.path, "--table", "model").stdout)))
tap.check("export: every row", len(rows) == len(run.rows) and all(
    row["device"] == ours["device"] and row["where"] == ours["where"] and float(row["predicted_s"]) == ours["predicted"] and
    row["measured_s"] == ("" if np.isnan(ours["measured"]) else f"{ours['measured']:.17g}") and
    int(row["chosen"]) == ours["chosen"] for row, ours in zip(rows, run.rows)), rows)
whole = json.loads(tap.program("export", run.path, "--format", "json").stdout)["model"]
tap.check("export: JSON", whole["decided_by"] == run.by and len(whole["candidates"]) == len(run.rows) and
          [c["predicted_s"] for c in whole["candidates"]] == [row["predicted"] for row in run.rows], whole)

loud = make("loud", *QUICK)
tap.check("the report says who does what", re.search(r"^devices    train on cpu\S+, infer on cpu\S+ \(model\)$", loud.done.stdout,
                                                     re.M), loud.done.stdout)

# ---- the phases may choose apart: the reference trains, the slowest way scores; and no bit is another ----
change(cpu_ref_train="1e15", cpu_ref_infer="1e10", cpu_portable_infer="1e16")
for ranks in (1, 3):
    name = f"apart, {ranks} ranks"
    run = make(name, *QUICK, ranks=ranks)
    run.says(r"training: cpu-ref \(.*; scoring: cpu:portable \(")
    tap.check(f"{name}: two backends", run.chosen("train")["device"] == "cpu-ref" and run.variants == {"cpu-ref"} and
              run.chosen("infer")["device"] == "cpu:portable", run.rows)
    tap.check(f"{name}: another calibration begins its own history", len(lines()) == (3 if ranks == 1 else 5), *lines())
    same(name, first, run)
    tap.check(f"{name}: verified", tap.program("verify", run.path, "-q").returncode == 0)

# ---- asked for ----
machine.write_text(good)
before = len(lines())
run = make("asked for", *QUICK, "--device", "cpu-ref")
tap.check("asked for: nothing is said", not any("auto" in line for line in run.said), run.done.stderr)
tap.check("asked for: /model", run.by == "asked for" and run.why == "--device cpu-ref" and
          run.chosen("train")["device"] == "cpu-ref" and run.chosen("train")["predicted"] > 0 and
          run.chosen("train")["regret"] > 0 and len(run.rows) >= 4, run.rows)
tap.check("asked for: in the history", [line.split("\t")[1] for line in lines()[1:]] == ["cpu-ref"] * 2, *lines())
same("asked for", first, run)

# ---- a file of another machine, and what is none ----
bad = {
    "another program": (re.sub(r"^key\.build .*", "key.build 0.0.1 older text", good, flags=re.M), "rule: stale calibration",
                        r"the calibration is not used: .*: the program is '0\.0\.1 older' there and '.*' here"),
    "another processor": (re.sub(r"^key\.cpu .*", "key.cpu Abacus text", good, flags=re.M), "rule: stale calibration",
                          r"the calibration is not used: .*the processor is 'Abacus' there"),
    "a GPU that is gone": (good + "key.gpu GPU-gone text\n", "rule: stale calibration",
                           r"the calibration is not used: .*the GPU is 'GPU-gone' there and 'none' here"),
    "a broken line": (good + "cpu.cores nine count\n", "rule: unreadable calibration", r"the calibration is not used: .*cpu\.cores"),
    "an empty file": ("", "rule: unreadable calibration", r"the calibration is not used: .*it is empty"),
}
kept = lines()
for name, (content, by, said) in bad.items():
    machine.write_text(content)
    run = make(name, *QUICK, ranks=2 if name == "a broken line" else 0)
    run.says(r"--device auto: " + said)
    run.says(r"--device auto: cpu[^ ]*, no GPU \(")
    tap.check(f"{name}: /model", run.by == by and len(run.rows) == 2 and np.isnan(run.rows[0]["predicted"]), run.by, run.rows)
    same(name, first, run)
    run = make(f"{name}, asked for", *QUICK, "--device", "cpu")
    tap.check(f"{name}, asked for: nothing to say of it", not any("not used" in line for line in run.said), run.done.stderr)
    if name == "another program":
        dry = tap.program(*QUICK, "--dry-run")
        tap.check("a stale file in a dry run", dry.returncode == 0 and "training   not predicted: " in dry.stdout and
                  "0.0.1 older" in dry.stdout, dry.stdout)
asked_with_gpu = [line for line in lines() if line not in kept]
tap.check("only the calibration whose GPU is gone served the CPU that was asked for", len(asked_with_gpu) == 3 and
          asked_with_gpu[0].startswith("libras-history 1|GPU-gone|"), *asked_with_gpu)
machine.unlink()
machine.mkdir()
run = make("a folder in its place", *QUICK)
tap.check("a folder in its place: /model", run.by == "rule: unreadable calibration", run.by)
machine.rmdir()

# ---- a GPU that no rank has is no candidate that can be chosen ----
numbers = dict(multiprocessors="132 count", clock="1.98e9 Hz", warp="32 count", schedulers="4 count", registers="65536 count",
               threads="2048 count", blocks="32 count", shared="233472 byte", block_shared="232448 byte", banks="32 count",
               constant="65536 byte", memory="1.5e11 byte", bandwidth="4e12 byte/s", l2="6e7 byte", l2_bandwidth="7e12 byte/s",
               launch="3.7e-6 s", launch_wait="9e-6 s", staging="2e10 byte/s", allocation="4e-6 s", context="0.3 s")
numbers.update({f"latency.{k}": f"{v} cycle" for k, v in dict(**{"global": 600}, l2=270, shared=30, constant=40, operation=4).items()})
numbers.update({f"barrier.{2 ** k}": f"{10 + 2 ** k} cycle" for k in range(6)})
numbers.update({f"{way}.{kind}.rate": "8e9 byte/s" for way in ("in", "out") for kind in ("pinned", "pageable")})
numbers.update({"step.whole": "1e-9 s", "step.fast": "1e-9 s", "step.fast.full": "1e-9 s"})  # faster than any
machine.write_text(good + "".join(f"gpu.{key} {value}\n" for key, value in numbers.items()))
run = make("a GPU on paper", *QUICK, ranks=2)
devices = {row["device"] for row in run.rows if row["phase"] == "train"}
tap.check("a GPU on paper: predicted, not chosen", run.by == "model" and run.chosen("train")["device"].startswith("cpu") and
          {"gpu:fast", "gpu:whole", "gpu:batch", "gpu:resident", "gpu:naive"} < devices, run.rows)
tap.check("a GPU on paper: its places", "weights in registers" in {row["where"] for row in run.rows})
others = min(row["predicted"] for row in run.rows if row["phase"] == "train" and row["device"].startswith("cpu") and
             not row["chosen"])
train = run.chosen("train")
tap.check("a GPU on paper: no regret for it", abs(train["regret"] - max(0, train["measured"] / others - 1)) < 1e-9, train)
run.says(r"--device auto: training: cpu.*; scoring: cpu.*; no GPU for rank 0 on ")
same("a GPU on paper", first, run)

# ---- the history: ten runs, and it has a say ----
machine.write_text(good)
history.unlink()
ONE = ("--data", data, "--epochs", 1, "--block", 32, "--validate-replicas", 0, "-q")
for k in range(10):
    run = make(f"run {k + 1}", *ONE)
chosen = {phase: run.chosen(phase)["device"] for phase in ("train", "infer")}
untaught = {(row["phase"], row["device"]): row["predicted"] for row in run.rows}
tap.check("ten runs: not yet", run.by == "model" and run.chosen("train")["factor"] == 1 and len(lines()) == 21, *lines())
with open(history, "a") as file:
    file.write("no line of ours\n\ntrain\tcpu\n")  # passed over
run = make("run 11", *ONE)
ratios = {}
for phase, device, where, size, predicted, measured, unit in (l.split("\t") for l in lines()[1:-2] if l.count("\t") == 6):
    ratios.setdefault((phase, device, where), []).append(float(measured) / float(predicted))
for phase in ("train", "infer"):
    device = run.chosen(phase)["device"]
    (found,) = (ratios[key] for key in ratios if key[0] == phase)
    rows = [row for row in run.rows if row["phase"] == phase]
    tap.check(f"run 11: {phase}: the median of ten, for all of the CPU", len(found) == 10 and
              all(abs(row["factor"] / statistics.median(found) - 1) < 1e-5 for row in rows), rows, found)
    tap.check(f"run 11: {phase}: the same is chosen", device == chosen[phase], device, chosen)
tap.check("run 11: by both", run.by == "model and history" and "(with earlier runs' times)" in run.why, run.by, run.why)
tap.check("run 11: the factor is in the prediction", all(
    abs(row["predicted"] / row["factor"] / untaught[row["phase"], row["device"]] - 1) < 1e-9 for row in run.rows), run.rows)
raw = [line.split("\t") for line in lines()[1:] if line.count("\t") == 6]
tap.check("the history keeps the machine's own predictions", len({tuple(line[:5]) for line in raw}) == len(
    {tuple(line[:4]) for line in raw}), *lines())

# ---- where it cannot be kept ----
history.unlink()
history.mkdir()
run = make("no room for a history", *QUICK)
run.says(r"the history of run times is not kept: .*cannot be written")
tap.check("no room for a history: by the model all the same", run.by == "model", run.by)
same("no room for a history", first, run)
history.rmdir()
if os.geteuid() == 0 and shutil.which("setpriv"):
    folder = tap.scratch / "nobody"
    shutil.copytree(here / "results", folder / "results")
    shutil.copy(tap.PROGRAM, folder / "program")
    (folder / "out").mkdir()
    for path, mode in ((tap.scratch, 0o755), (folder / "results", 0o555), (folder / "out", 0o777)):
        path.chmod(mode)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={folder}/out",
                           folder / "program", *map(str, QUICK), "-o", folder / "out/r.h5"], cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    run = Made("a folder that cannot be written to", folder / "out/r.h5", done)
    run.says(r"the history of run times is not kept: .*Permission denied")
    same("a folder that cannot be written to", first, run)
else:
    tap.skip("a folder that cannot be written to", "it takes root and setpriv")

# ---- times of less than all of the work teach nothing ----
run = make("one diverges", "--data", data, "--epochs", 4, "--learning-rate", "0.02,1e30", "--block", 32)
tap.check("one diverges: measured, but not in the history", run.chosen("train")["measured"] > 0 and
          [line.split("\t")[0] for line in lines()[1:]] == ["infer"], *lines())

# ---- scoring: a folder, a packed file ----
network, pack = first.path, tap.scratch / "all.pack"
tap.program("synth", pack, "--packed", "u8", "-d", data)
scored = {}
for what, source in (("folder", data), ("packed file", pack)):
    for ranks in (1, 2):
        run = make(f"{what}, {ranks} ranks", "infer", network, "--data", source, ranks=ranks)
        run.says(r"--device auto: scoring: cpu.* s, there is no GPU that can")
        tap.check(f"{what}, {ranks} ranks: /model", run.by == "model" and {row["phase"] for row in run.rows} == {"infer"} and
                  run.chosen("infer")["size"] == 12 * 15 and
                  run.chosen("infer")["measured"] == run.seconds[:, 2].max(), run.rows)
        if what in scored:
            same(f"{what}, {ranks} ranks", scored[what], run)
        scored[what] = run
machine.unlink()
run = make("folder, no calibration", "infer", network, "--data", data)
run.says(r"`libras_mpi calibrate` would let")
same("folder, no calibration", scored["folder"], run)
machine.write_text(good)

# ---- a sweep, and one that goes on ----
spec = tap.scratch / "s.yaml"
SPEC = "parameters:\n  seed: {from: 1, to: %d}\n  epochs: 3\n  block: 32\nkeep_weights: {top: 2}\n"
spec.write_text(SPEC % 4)
dry = tap.program("sweep", spec, "--data", data, "--dry-run")
if dry.returncode == 4:
    tap.skip("a sweep", "no libyaml")
else:
    tap.check("sweep: dry run", re.search(r"^training   predicted: cpu\S+ \(", dry.stdout, re.M), dry.stdout, dry.stderr)
    half = make("sweep", "sweep", spec, "--data", data, ranks=2)
    half.says(r"--device auto: training: cpu.*; scoring: cpu")
    tap.check("sweep: by the model", half.by == "model" and half.variants == {half.chosen("train")["device"]}, half.rows)
    spec.write_text(SPEC % 8)
    fresh = make("sweep of eight", "sweep", spec, "--data", data)
    shutil.copy(half.path, here / "resumed.h5")
    done = tap.program("sweep", spec, "--data", data, "--resume", "-o", here / "resumed.h5", "--device", "cpu-ref")
    resumed = Made("sweep, resumed", here / "resumed.h5", done)
    tap.check("sweep, resumed: half of the work", fresh.chosen("train")["size"] == 2 * half.chosen("train")["size"] and
              resumed.chosen("train")["size"] == half.chosen("train")["size"], resumed.rows)
    same("sweep, resumed", fresh, resumed)
tap.finish()
