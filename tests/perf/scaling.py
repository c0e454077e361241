#!/usr/bin/env python3
"""scaling.py [--device NAME] [--most N] [--trials T] [--epochs E] [--samples S] [--repeats R] [--data DIR] [--machine FILE]
           [--csv FILE]

Strong and weak scaling over ranks, a GPU each (or, with --device cpu, cores): (a) a sweep of T trials, all metrics and the
ten best networks in its file; (b) inference of a packed file of S samples with stored weights. Ranks 1, 2, 4, ... up to
--most (default: as many as there are GPUs). A row a count: the median of R runs. Every answer is compared bit for bit with
that of one rank (`verify A B`); what differs makes it end 1. No time decides anything.

  seconds     of the work: training between two barriers, or inference of the slowest rank
  efficiency  strong: seconds of one / (n x seconds of n); weak (n times the work): seconds of one / seconds of n
  end         the same of the whole time of rank 0 but its start-up: with reading, gathering, scoring, checking, writing
  gather, file, start   seconds of rank 0; slow, fast: seconds of the slowest and the fastest rank in that work
  predicted, predicted_whole   of a sweep: what `plan SPEC` says of seconds and whole, where the machine was calibrated
                        (results/machine_<host>.txt, else --machine); empty for inference, which plan does not know

results/report.py makes pictures of the CSV file.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("LIBRAS_PROGRAM", os.path.join(ROOT, "libras_mpi"))
MPIRUN = os.environ.get("MPIRUN", "mpirun --oversubscribe").split()
COLUMNS = ("work", "mode", "ranks", "size", "seconds", "least", "largest", "rate", "efficiency", "whole", "end", "slow", "fast",
           "gather", "file", "start", "predicted", "predicted_whole")
if os.geteuid() == 0:
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return listed.stdout.count("UUID: GPU")
    except OSError:
        return 0


def program(ranks, *arguments, json_report=True):
    made = subprocess.run([*MPIRUN, "-np", str(ranks), PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))} on {ranks} ranks ended {made.returncode}:\n{made.stderr[-2000:]}")
    return json.loads(made.stdout) if json_report else made.stdout


def sweep(ranks, trials, out, options, scratch):
    spec = os.path.join(scratch, f"{trials}.yaml")
    with open(spec, "w") as file:
        file.write(f"""parameters:
  learning_rate: {{from: 0.005, to: 0.05, scale: log, count: 100}}
  seed: {{from: 1, to: {trials // 100}}}
  epochs: {options.epochs}
keep_weights: {{top: 10}}
""")
    more = ("--data", options.data) if options.data else ()
    said = program(ranks, "sweep", spec, "--device", options.device, "-o", out, "--force", "--format", "json", *more)
    return said, said["seconds"]["train"], [rank["train_s"] for rank in said["ranks"]]


def plan(size, options, scratch):
    """What plan says of a sweep of so many trials: {ranks: (seconds of the work, of the whole without start-up)}."""
    spec = os.path.join(scratch, f"{size}.yaml")
    more = [*(("--machine", options.machine) if options.machine else ()), *(("--data", options.data) if options.data else ())]
    made = subprocess.run([PROGRAM, "plan", spec, "--format", "json", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if made.returncode != 0:
        if not options.machine and "has not been measured" in made.stderr:
            return {}
        sys.exit(f"plan ended {made.returncode}:\n{made.stderr[-2000:]}")
    said = json.loads(made.stdout)
    tables = {table["device"]: table["counts"] for table in said["scaling"]}
    fastest = {}  # what --device cpu, gpu and auto mean
    for kind, names in (("cpu", [d for d in tables if d.startswith("cpu")]), ("gpu", [d for d in tables if d.startswith("gpu")])):
        if names:
            fastest[kind] = min(names, key=lambda d: tables[d][0]["train_s"] + tables[d][0]["score_s"])
    fastest["gpu"] = "gpu:fast" if "gpu:fast" in tables else fastest.get("gpu")
    fastest["auto"] = fastest["gpu"] or fastest.get("cpu")
    device = fastest.get(options.device, options.device.split("+")[0])
    start = said["machine"]["start_s"]
    return {row["ranks"]: (row["train_s"] + row["score_s"], row["whole_s"] - start) for row in tables.get(device, [])}


def infer(ranks, samples, out, options, scratch):
    packed = os.path.join(scratch, f"{samples}.pk")
    if not os.path.exists(packed):
        program(1, "synth", packed, "--packed", "u8", "-n", max(1, samples // 15), "-q", json_report=False)
    weights = os.path.join(scratch, "weights.h5")
    if not os.path.exists(weights):
        program(1, "--device", "cpu", "--epochs", 3, "--block", 32, "-o", weights, "-q", json_report=False)
    said = program(ranks, "infer", weights, "--data", packed, "--device", options.device, "-o", out, "--force", "--format", "json")
    seconds = [rank["infer_s"] for rank in said["ranks"]]
    return said, max(seconds), seconds


def measure(work, mode, ranks, size, out, options, scratch):
    runs = [work(ranks, size, out, options, scratch) for _ in range(options.repeats)]
    times = [seconds for _, seconds, _ in runs]
    said, _, of_ranks = sorted(runs, key=lambda run: run[1])[len(runs) // 2]
    part = said["seconds"]
    return {"work": work.__name__, "mode": mode, "ranks": ranks, "size": size, "seconds": statistics.median(times),
            "least": min(times), "largest": max(times), "rate": size / statistics.median(times),
            "whole": statistics.median(run[0]["seconds"]["total"] - run[0]["seconds"]["start_up"] for run in runs),
            "slow": max(of_ranks), "fast": min(of_ranks), "gather": said["ranks"][0]["gather_s"], "file": part["file"],
            "start": part["start_up"], "predicted": "", "predicted_whole": ""}


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value) or "-"


def scale(work, size, counts, options, scratch, rows):
    wrong = 0
    for mode in ("strong", "weak"):
        first = None
        for n in counts:
            total = size if mode == "strong" else size * n
            out = os.path.join(scratch, f"{work.__name__}.{mode}.{n}.h5")
            row = measure(work, mode, n, total, out, options, scratch)
            if first is None:
                first = row
            share = n if mode == "strong" else 1
            row["efficiency"] = first["seconds"] / (share * row["seconds"])
            row["end"] = first["whole"] / (share * row["whole"])
            if work is sweep:
                row["predicted"], row["predicted_whole"] = plan(total, options, scratch).get(n, ("", ""))
            rows.append(row)
            print("  ".join(f"{shown(row[c]):>9}" for c in COLUMNS), flush=True)
            if mode == "strong" and n > 1:
                one = os.path.join(scratch, f"{work.__name__}.strong.{counts[0]}.h5")
                same = subprocess.run([PROGRAM, "verify", one, out, "-q"], stdout=subprocess.DEVNULL).returncode
                print(f"# {work.__name__} on {n} ranks: {'the bits of one' if same == 0 else 'NOT the bits of one'}", flush=True)
                wrong += same != 0
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--trials", type=int, default=20000)
    parser.add_argument("--epochs", type=int, default=51)
    parser.add_argument("--samples", type=int, default=3840000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data")
    parser.add_argument("--machine", help="a file of `libras_mpi calibrate`, for the predictions")
    parser.add_argument("--csv")
    parser.add_argument("--only", choices=("sweep", "infer"))
    options = parser.parse_args()
    most = options.most or gpus() or len(os.sched_getaffinity(0))
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= most]
    rows = []
    print(f"# {options.device}, ranks {', '.join(map(str, counts))}; medians of {options.repeats}")
    print("  ".join(f"{c:>9}" for c in COLUMNS))
    with tempfile.TemporaryDirectory(prefix="libras.scaling.") as scratch:
        wrong = 0
        if options.only != "infer":
            wrong += scale(sweep, options.trials, counts, options, scratch, rows)
        if options.only != "sweep":
            wrong += scale(infer, options.samples, counts, options, scratch, rows)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    return wrong > 0


sys.exit(main())
