#!/usr/bin/env python3
"""results/report.py on the CSV files of tests/perf: what it says of points and of scaling is what lies in them, by hand; what is
wrong with a file it names. And `plan --format json` and scaling.py, which those files come from."""

import csv
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py", "matplotlib")
import numpy as np  # noqa: E402
from report_page import Page, command, report  # noqa: E402

sys.path.insert(0, str(tap.ROOT / "results"))
from report_lib import pictures_model, pictures_scaling, points  # noqa: E402

scratch = tap.scratch
MODEL = "work,device,where,size,predicted,bound,roofline,measured,lowest,highest,group".split(",")
SCALING = (
    "work,mode,ranks,size,seconds,least,largest,rate,efficiency,whole,end,slow,fast,gather,file,start,predicted,predicted_whole"
).split(",")


def write(name, columns, rows):
    path = scratch / name
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def page_of(what, *files):
    folder = scratch / "page"
    shutil.rmtree(folder, ignore_errors=True)
    ended, said = report(*files, "-o", folder)
    page = Page(folder) if ended == 0 else None
    tap.check(f"{what}: a page of good form", ended == 0 and not said and not page.problem, ended, said, page and page.problem)
    made = sorted(name for name in os.listdir(folder) if name.endswith(".png"))
    return page, made


def point(work, device, where, size, predicted, error, group):
    """A point whose prediction is off by `error`: predicted / measured - 1."""
    measured = predicted / (1 + error)
    return dict(work=work, device=device, where=where, size=size, predicted=predicted, bound=predicted / 2, roofline=predicted / 4,
                measured=measured, lowest=0.9 * measured, highest=1.5 * measured, group=group)


# ---- points: the CPU takes 1 us a sample; the GPU 200 us, cached 400 us, whatever the size
cpu = [point(f"batch of {n}", "cpu:avx2", "one core", n, 1e-6 * n, e, g) for g, (n, e) in enumerate(((10, 0), (100, 0.25), (1000, -0.5)))]
slow = [point(f"batch of {n}", "cpu-ref", "one core", n, 9e-6 * n, e, g) for g, (n, e) in enumerate(((10, 0.05), (100, 0.1), (1000, 0.15)))]
gpu = [point(f"batch of {n}", "gpu:whole+global", "weights in global memory", n, 2e-4, 0.1, g) for g, n in enumerate((10, 100, 1000))]
near = [point(f"batch of {n}", "gpu:fast", "weights in shared memory, sums in registers", n, 4e-4, 0.2, g)
        for g, n in enumerate((10, 100, 1000))]
trained = [point("4x 7e 3532s b1024 64-32-16-15", "cpu:avx2", "one core", 98896, 0.04, 0.25, 3),
           point("4x 7e 3532s b1024 64-32-16-15", "gpu:fast", "weights in registers", 98896, 0.01, 0.1, 3)]
whole = write("points.csv", MODEL, cpu + slow + gpu + near + trained)
page, made = page_of("points", whole)
tap.check("points: all pictures", made == ["model_errors.png", "model_gain_batch.png", "model_gain_training.png",
                                           "model_time_batch.png", "model_time_training.png"], made)
tap.check("points: as many in the page", len(page.pictures) == len(made))
# The CPU's seven errors: 0, 5, 10, 15, 25, 25, 50 %: the fourth, and the seventh. The GPU's: 10 four times, 20 three times.
tap.check("points: the median error", abs(float(page.values["model_median_cpu"]) - 0.15) < 1e-9 and
          abs(float(page.values["model_median_gpu"]) - 0.10) < 1e-9, page.values)
# The gains are 0.05, 0.5 and 5: on logarithmic axes 1 lies at 100 x 10^(log 2) = 200.
tap.check("points: the crossover", abs(float(page.values["crossover_batch"]) - 200) < 1e-6, page.values)
for text in ("predicted crossover at 200 samples", "CPU, 7 points: median 15.0 %", "90th percentile 50.0 %, largest 50.0 %",
             "GPU, 7 points: median 10.0 %, 90th percentile 20.0 %", "the GPU is predicted to be faster at 1 of 1 trainings",
             "14 points of"):
    tap.check(f"points: says '{text}'", text in page.text, page.text[:3000])
tap.check("points: no word of missing rows", "There are no" not in page.text)
alts = " ".join(alt for alt, _ in page.pictures)
# Measured: the CPU's 1e-5, 8e-5 and 2e-3 s; 200 us of the GPU are 2e-4 / 1.1.
tap.check("points: the pictures say what they show", "CPU: 3 sizes, 10 to 1,000, in 1e-05 to 0.002 s" in alts and
          "GPU: 3 sizes, 10 to 1,000, in 0.000182 to 0.000182 s" in alts and
          "GPU, cached: 3 sizes, 10 to 1,000, in 0.000333 to 0.000333 s" in alts, alts)

twenty = np.arange(20) / 100  # model_accuracy.c: error[n / 2], error[n * 9 / 10]
tap.check("the percentiles are model_accuracy's", pictures_model.median(twenty) == 0.1 and pictures_model.ninetieth(twenty) == 0.18)
read = points.read(str(whole))
gain = pictures_model.gain_of(read, "batch")
tap.check("points: gains, of the fastest as predicted", np.allclose(gain.predicted, [0.05, 0.5, 5]) and
          np.allclose(gain.measured, [1e-5 * 5500, 8e-5 * 5500, 2e-3 * 5500]), gain)
for values, should in (((0.1, 0.5), (None, False)), ((2, 3), (1, True)), ((2, 0.5, 2), None), ((0.5, 1), (None, False))):
    found = pictures_model._crossover(np.array([1.0, 10.0, 100.0][: len(values)]), np.array(values, dtype=float))
    if should is None:  # it goes below once more: from the last time on, halfway between 10 and 100
        tap.check("crossover: the last one counts", abs(found[0] - 10**1.5) < 1e-9 and not found[1], found)
    else:
        tap.check(f"crossover of {values}: {should}", found == should, found)

page, made = page_of("no GPU", write("cpu.csv", MODEL, cpu))
tap.check("no GPU: it says so", "There are no GPU rows" in page.text and "There are no rows of training" in page.text)
tap.check("no GPU: neither gain nor crossover", made == ["model_errors.png", "model_time_batch.png"] and
          "crossover_batch" not in page.values, made)
page, made = page_of("one point", write("one.csv", MODEL, gpu[:1]))
tap.check("one point: no speed-up", "has both a CPU's and a GPU's point" in page.text and len(made) == 2, made)

# ---- scaling: 8 s of work on one rank, the whole 10; on two 4 and 6; on four 2.5 and 4
def row(work, mode, ranks, seconds, efficiency, whole_s, end, predicted=("", "")):
    return dict(work=work, mode=mode, ranks=ranks, size=1000, seconds=seconds, least=0.9 * seconds, largest=1.2 * seconds, rate=1,
                efficiency=efficiency, whole=whole_s, end=end, slow=seconds, fast=seconds, gather=0.5, file=0.25, start=1,
                predicted=predicted[0], predicted_whole=predicted[1])


strong = [row("sweep", "strong", 1, 8, 1, 10, 1, (7, 9)), row("sweep", "strong", 4, 2.5, 0.8, 4, 0.625, (1.75, 3)),
          row("sweep", "strong", 2, 4, 1, 6, 10 / 12, (3.5, 5))]  # in any order
weak = [row("sweep", "weak", 1, 8, 1, 10, 1), row("sweep", "weak", 2, 8.2, 8 / 8.2, 10.5, 10 / 10.5)]
scaled = write("scaling.csv", SCALING, strong + weak + [row("infer", "strong", 1, 1, 1, 2, 1)])
page, made = page_of("scaling", scaled)
tap.check("scaling: three pictures a work", made == [f"scaling_{what}_{k}.png" for what in ("efficiency", "shares", "time")
                                                     for k in (1, 2)], made)
tap.check("scaling: the efficiency on most ranks", page.values["strong_efficiency"] == "0.8" and
          abs(float(page.values["weak_efficiency"]) - 8 / 8.2) < 1e-12, page.values)
for text in ("strong efficiency on 4 ranks", "end to end 0.625", "The goals are 0.97 and 0.90", "strong, the work: 0.800 on 4 ranks",
             "weak, the whole, end to end: 0.952 on 2 ranks", "There are no rows of weak scaling", "A sweep",
             "Inference of a packed file"):
    tap.check(f"scaling: says '{text}'", text in page.text, page.text[:3000])
tap.check("scaling: something was predicted", "Nothing was predicted" not in page.text)
alts = " ".join(alt for alt, _ in page.pictures)
# Of 4 + 1 s on four ranks 2.5 are work, 0.5 gather, 0.25 the file, 1 start-up, and 0.75 something else.
tap.check("scaling: shares", "strong, 4 ranks: work 50 %, gather 10 %, file 5 %, start-up 20 %, other 15 %" in alts, alts)
shares = pictures_scaling.shares_of({k: np.array([v], dtype=float) for k, v in
                                     dict(whole=1, start=1, seconds=3, gather=0.5, file=0.25, start_up=1).items()})
tap.check("scaling: parts that are more than the whole stay shares", np.allclose(shares, [[3 / 4.75, 0.5 / 4.75, 0.25 / 4.75,
                                                                                           1 / 4.75, 0]]), shares)
old = [{k: v for k, v in r.items() if not k.startswith("predicted")} for r in strong]
page, made = page_of("scaling without predictions", write("old.csv", SCALING[:-2], old))
tap.check("scaling without predictions: it says so", "Nothing was predicted" in page.text and len(made) == 3)

# ---- beside one another and beside results files
results = [scratch / name for name in ("a.h5", "b.h5", "c.h5")]
data = scratch / "data"
tap.program("synth", data, "-n", 20)
tap.program("--data", data, "--epochs", 2, "-o", results[0], "-q", "--device", "cpu")
for other in results[1:]:
    shutil.copy(results[0], other)
page, made = page_of("all at once", scaled, results[0], whole)
tap.check("all at once: every section", {"learning", "model_points", "scaling"} <= page.ids and
          {"model_errors.png", "scaling_time_1.png", "learning_curves.png"} <= set(made), page.ids, made)
page, made = page_of("two results files and points", results[0], results[1], whole)
tap.check("two results files and points: every section", {"difference", "model_points"} <= page.ids and
          {"a-learning_curves.png", "b-learning_curves.png", "model_errors.png"} <= set(made), made)
page, made = page_of("two files of points", whole, write("cpu.csv", MODEL, cpu))
tap.check("two files of points: apart", {"model_points_1", "model_points_2"} <= page.ids and "model_errors_2.png" in made and
          "The model, point by point: cpu.csv" in page.text, page.ids, made)
folder = scratch / "again"
first = command(whole, "-o", folder)
before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
second = command(whole, "-o", folder)
tap.check("the command: ends 0 and names the page", first.returncode == 0 and first.stdout == f"{folder}/report.html\n", first.stderr)
tap.check("the same file gives the same bytes", second.returncode == 0 and
          before == {name: (folder / name).read_bytes() for name in os.listdir(folder)}, second.stderr)

# ---- forms of the same file
text = whole.read_text()
for what, form in (("CRLF", text.replace("\n", "\r\n")), ("a byte order mark", "\ufeff" + text), ("an empty line", text + "\n"),
                   ("a column more", "\n".join(f"{line},7" if k else f"{line},more" for k, line in enumerate(text.splitlines())))):
    path = scratch / "form.csv"
    path.write_bytes(form.encode())
    tap.check(f"{what} makes no difference", points.is_csv(str(path)) and points.read(str(path)).n == read.n)
evil = [dict(r, work="<script>alert(1)</script>") for r in strong]
page, _ = page_of("a work that is HTML", write("evil.csv", SCALING, evil))
tap.check("a work that is HTML stays text", "<script" not in page.source and "alert(1)" in page.text)

# ---- what is wrong
head, line = ",".join(MODEL), "batch of 1,cpu-ref,one core,1,2,1,1,2,2,2,0"


def refused(what, content, *texts):
    path = scratch / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    folder = scratch / "bad page"
    ended, said = report(path, "-o", folder)
    tap.check(f"refused, {what}: {texts[0]}", ended == 2 and all(t in said for t in texts) and "bad.csv" in said, ended, said)
    tap.check(f"refused, {what}: nothing is written", not folder.exists())


refused("empty", "", "the file is empty")
refused("a header alone", head + "\n", "a header and no rows")
refused("another CSV", "a,b,c\n1,2,3\n", "this is no HDF5 file, nor a CSV file that model_accuracy or scaling.py")
refused("a column less", head.replace("bound,", "") + "\n" + line, "lacks the column bound", "model_accuracy")
refused("columns less", "work,mode,ranks,size,seconds,efficiency,whole,end\n", "lacks the column least, largest, gather, file, start")
refused("a column twice", head + ",size\n" + line + ",1", "the column size is there twice")
refused("a field less", f"{head}\n{line}\nbatch of 1,cpu-ref", "row 3 has 2 fields, the header 11")
refused("no number", f"{head}\n{line.replace(',1,2,1,', ',1,two,1,')}", "row 2, predicted: 'two' is not a number above 0")
refused("an empty field", f"{head}\n{line.replace(',1,2,1,', ',1,,1,')}", "row 2, predicted: '' is not")
for value in ("nan", "inf", "-1", "0"):
    refused(f"measured {value}", f"{head}\n{line[:-7]}{value},2,2,0", f"row 2, measured: '{value}' is not a number above 0")
refused("half a group", f"{head}\n{line[:-1]}0.5", "row 2, group: '0.5' is not a whole number")
refused("a quote that stays open", f'{head}\n"batch', "this is no CSV file")
refused("other bytes", head.encode() + b"\n\xff\xfe\x00\n", "this is no CSV file")
base = scaled.read_text().splitlines()
refused("another mode", "\n".join([base[0], base[1].replace("strong", "brisk")]), "'brisk' is neither strong nor weak")
refused("a prediction that is none", "\n".join([base[0], base[1][: base[1].rindex(",")] + ",soon"]), "predicted_whole: 'soon' is not")
ended, said = report(whole, "-o", scratch / "none", "--csv", "--only-tables")
tap.check("tables of no results file", ended == 2 and "tables of a results file" in said, ended, said)
ended, said = report(*results, whole, "-o", scratch / "none")
tap.check("three results files", ended == 2 and "two to compare; these are 3" in said, ended, said)

# ---- who writes them
source = (tap.ROOT / "tests/perf/model_accuracy.c").read_text()
tap.check("model_accuracy writes these columns", f'"{head}\\n"' in source and list(points.MODEL) == MODEL)
machine = scratch / "machine.txt"
tap.program("calibrate", "--device", "cpu", "-o", machine, "-q")
spec = scratch / "s.yaml"
spec.write_text("parameters:\n  seed: {from: 1, to: 200}\n  epochs: 2\nkeep_weights: {top: 10}\n")
planned = tap.program("plan", spec, "--machine", machine, "--format", "json", "--data", data)
if "libyaml" in planned.stderr:
    tap.skip("plan and scaling.py", "no libyaml")
    tap.finish()
said = json.loads(planned.stdout or "{}")
tap.check("plan --format json is JSON, with the work", said.get("work", {}).get("trials") == 200 and said["work"]["epochs"] == 400,
          planned.stdout[:500], planned.stderr)
best = min((c for c in said["candidates"] if c["where"] == "one core"), key=lambda c: c["train_s"])
table = next(t for t in said["scaling"] if t["device"] == best["device"])
tap.check("plan: one rank's part is the candidate's", table["counts"][0]["ranks"] == 1 and
          table["counts"][0]["train_s"] == best["train_s"] and table["counts"][0]["score_s"] == best["score_s"], table["counts"][0])
refusal = tap.program("plan", "--machine", machine, "--format", "lab")
tap.check("plan --format lab is refused", refusal.returncode == 2 and "--format" in refusal.stderr, refusal.stderr)

out = scratch / "measured.csv"
done = subprocess.run([sys.executable, "tests/perf/scaling.py", "--device", "cpu", "--most", "1", "--trials", "200", "--epochs", "2",
                       "--repeats", "1", "--only", "sweep", "--data", str(data), "--machine", str(machine), "--csv", str(out)],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * tap.SECONDS)
rows = list(csv.DictReader(open(out, newline=""))) if out.exists() else []
tap.check("scaling.py ends 0 and writes its columns", done.returncode == 0 and len(rows) == 2 and list(rows[0]) == SCALING, done.stderr)
if rows:
    work_s = table["counts"][0]["train_s"] + table["counts"][0]["score_s"]
    tap.check("scaling.py: predicted is plan's", all(abs(float(r["predicted"]) / work_s - 1) < 1e-9 for r in rows), rows, work_s)
    read_s = said["work"]["read_s"]  # another one each time, and the rest is the same
    rest = table["counts"][0]["whole_s"] - said["machine"]["start_s"] - read_s
    tap.check("scaling.py: the whole is plan's, without start-up", all(0 < float(r["predicted_whole"]) - rest < 2 for r in rows), rows)
    page, made = page_of("what scaling.py wrote", out)
    tap.check("what scaling.py wrote: its pictures", len(made) == 3, made)

tap.finish()
