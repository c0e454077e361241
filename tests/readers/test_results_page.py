#!/usr/bin/env python3
"""What results/README.md promises: its snippets run as they stand, the notebook runs, and the report's tables are export's."""

import csv
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py", "matplotlib", "pandas")
from report_page import command, report  # noqa: E402

os.environ["MPLBACKEND"] = "Agg"
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # it would warn of frozen modules
here = tap.scratch / "here"  # looks like the repository's root to a snippet
here.mkdir()
for name in ("results", "libras_mpi"):
    (here / name).symlink_to(tap.ROOT / name if name == "results" else tap.PROGRAM)
path = here / "r.h5"
data = tap.scratch / "data"
tap.program("synth", data, "-n", 30)
made = tap.program(
    "--data",
    data,
    "--epochs",
    "3,6",
    "--learning-rate",
    "0.02,0.05",
    "--seed",
    "1:3",
    "--block",
    "32,64",
    "--holdout",
    0.2,
    "-q",
    "-o",
    path,
)
tap.check("a file is made", made.returncode == 0, made.stderr)


def run(*words, **options):
    return subprocess.run(
        list(map(str, words)),
        cwd=here,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=tap.SECONDS,
        **options,
    )


# ---- the snippets
text = (tap.ROOT / "results" / "README.md").read_text(encoding="utf-8")
snippets = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
kinds = [kind for kind, _ in snippets]
tap.check(
    "the page has snippets of every kind",
    {"python", "sh", "r", "matlab"} == set(kinds) and kinds.count("python") >= 4,
    kinds,
)
tools = {
    "sh": ("bash", "-e"),
    "r": ("Rscript",),
    "python": (sys.executable, "-W", "error::DeprecationWarning:__main__"),
}
for number, (kind, code) in enumerate(snippets, 1):
    name = f"snippet {number}, {kind}: {code.splitlines()[0][:50].strip()}"
    lacks = [
        m
        for m in re.findall(r"^import (\w+)", code, re.MULTILINE)
        if kind == "python" and not importlib.util.find_spec(m)
    ]
    if "xarray" in code and not (importlib.util.find_spec("netCDF4") or importlib.util.find_spec("h5netcdf")):
        lacks.append("netCDF4 or h5netcdf")
    wanted = {"sh": "h5dump", "r": "Rscript"}.get(kind)
    if kind == "matlab":
        tap.skip(name, "MATLAB is not free, and Octave has no h5read")
    elif lacks:
        tap.skip(name, f"no {', '.join(lacks)}")
    elif wanted and not shutil.which(wanted):
        tap.skip(name, f"no {wanted}")
    elif kind == "r" and run("Rscript", "-e", 'quit(status = !requireNamespace("hdf5r", quietly = TRUE))').returncode:
        tap.skip(name, "no hdf5r: apt-get install r-cran-hdf5r")
    else:
        file = here / f"snippet.{kind}"
        file.write_text(code, encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "self",
        }
        if kind == "sh" and "results/report.py" in code:
            code = code.replace(
                "results/report.py", f"'{sys.executable}' results/report.py"
            )  # as if it were the first in PATH
            file.write_text(code, encoding="utf-8")
        done = run(*tools[kind], file, env=environment)
        tap.check(name, done.returncode == 0 and (done.stdout or "plot" in code), done.stdout)
        if kind == "r":
            confusion = list(csv.DictReader(io.StringIO(tap.program("export", path, "--table", "confusion").stdout)))
            right = sum(int(row["count"]) for row in confusion if row["expected"] == row["predicted"])
            tap.check(
                "R counts the same right answers",
                f"right: {right} of {sum(int(r['count']) for r in confusion)}" in done.stdout,
                done.stdout,
            )

# ---- on the file of a sweep, where trials are kept by choice, every snippet in Python runs as well
spec = here / "spec.yaml"
spec.write_text(
    "parameters:\n  learning_rate: [0.0001, 0.05]\n  epochs: [2, 4]\n  seed: [1, 2, 3]\nholdout: 0.2\nkeep_weights: {top: 2}\n",
    encoding="utf-8",
)
shutil.move(path, here / "run.h5")
made = tap.program("sweep", spec, "--data", data, "-q", "-o", path)
if made.returncode and "libyaml" in made.stderr:
    tap.skip("snippets on a sweep's file", "built without libyaml")
else:
    tap.check("the file of a sweep is made", made.returncode == 0 and path.exists(), made.stderr)
for number, (kind, code) in enumerate(snippets if path.exists() else [], 1):
    needs = re.findall(r"^import (\w+)", code, re.MULTILINE)
    if kind != "python" or not all(importlib.util.find_spec(m) for m in needs):
        continue
    if "xarray" in code and not (importlib.util.find_spec("netCDF4") or importlib.util.find_spec("h5netcdf")):
        continue
    (here / "snippet.python").write_text(code, encoding="utf-8")
    done = run(sys.executable, here / "snippet.python")
    tap.check(f"snippet {number} on a sweep's file", done.returncode == 0, done.stdout)
    if 'f["sweep"]' in code or 'f["configurations"]' in code:
        table = "leaderboard" if 'f["sweep"]' in code else "configurations"
        rows = list(csv.DictReader(io.StringIO(tap.program("export", path, "--table", table).stdout)))
        score = "validation_accuracy" if table == "leaderboard" else "accuracy_mean"
        best = rows[0] if table == "leaderboard" else min(rows, key=lambda row: float(row["loss_mean"]))
        lines = done.stdout.splitlines()
        tap.check(
            f"snippet {number}: the best row is export's",
            len(lines) == 1 + len(rows) and score in lines[0] and any(
                abs(float(word) - float(best[score])) < 1e-5 for word in lines[1].split()
            ),
            done.stdout,
            best,
        )
shutil.move(here / "run.h5", path)
tap.check("report.py made the page of the snippet", (here / "page" / "report.html").exists())

# ---- the notebook: as committed without outputs, and run
notebook = tap.ROOT / "results" / "analysis.ipynb"
cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
code = [cell for cell in cells if cell["cell_type"] == "code"]
tap.check(
    "the notebook is committed without outputs", code and not any(c["outputs"] or c["execution_count"] for c in code)
)
os.environ["LIBRAS_RESULTS"] = str(path)
if importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"):
    import nbclient
    import nbformat

    book = nbformat.read(str(notebook), 4)
    os.environ.pop("MPLBACKEND")
    # A kernel of this python: the one that is registered may be another's.
    kernels = tap.scratch / "jupyter" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    (kernels / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "test",
                "language": "python",
            }
        )
    )
    os.environ["JUPYTER_PATH"] = str(tap.scratch / "jupyter")
    try:
        nbclient.NotebookClient(
            book, kernel_name="python3", timeout=tap.SECONDS, resources={"metadata": {"path": str(here)}}
        ).execute()
        problem = ""
    except Exception as reason:  # a cell's own, or the kernel's
        problem = str(reason)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "\n".join(o.get("text", "") for o in outputs)
    pictures = sum("image/png" in o.get("data", {}) for o in outputs)
    stderr = [o.text for o in outputs if o.get("name") == "stderr"]
    tap.check("the notebook runs, and warns of nothing", not problem and not stderr, problem, *stderr)
    tap.check(
        "the notebook draws two pictures and counts the trials",
        pictures == 2 and "24 trials, 12 different answers" in said,
        said,
    )
else:
    names = {}
    try:
        for cell in code:
            exec("".join(cell["source"]), names)
        problem = ""
    except Exception as reason:
        problem = f"{type(reason).__name__}: {reason}"
    tap.check("the notebook's cells run (no nbclient)", not problem, problem)

# ---- tidy tables: those of export
TABLES = ("trials", "loss", "scores", "confusion", "validation", "execution", "ranks", "model")
pack, streamed = tap.scratch / "unlabelled.pack", tap.scratch / "unlabelled.h5"
tap.program("synth", pack, "--packed", "u8", "-n", 10, "--no-labels")
tap.program("infer", path, "--data", pack, "-q", "-o", streamed)


def same(a, b):
    return a == b or (a != "" and b != "" and abs(float(a) - float(b)) <= 1e-6 * abs(float(b)))


for what, file in (("a sweep", path), ("unlabelled", streamed)):
    out = tap.scratch / "tables"
    ended, said = report(file, "-o", out, "--csv", "--only-tables", "--force")
    tap.check(
        f"{what}: tables alone",
        ended == 0
        and not said
        and sorted(p.name for p in out.iterdir()) == sorted([f"{t}.csv" for t in TABLES] + ["report-files.json"]),
        ended,
        said,
    )
    for table in TABLES:
        theirs = list(csv.reader(io.StringIO(tap.program("export", file, "--table", table).stdout)))
        ours = list(csv.reader(open(out / f"{table}.csv", newline="")))
        wrong = []
        if len(ours) == len(theirs) and ours[0] == theirs[0]:
            for x, y in zip(ours[1:], theirs[1:]):
                for name, a, b in zip(ours[0], x, y):
                    try:
                        equal = same(a, b)
                    except ValueError:
                        equal = False
                    if not equal:
                        wrong.append((name, a, b))
        tap.check(
            f"{what}: {table}.csv is export's table",
            len(ours) > 1 and len(ours) == len(theirs) and ours[0] == theirs[0] and not wrong,
            len(ours),
            len(theirs),
            ours[0],
            theirs[0],
            wrong[:3],
        )
if importlib.util.find_spec("pyarrow") or importlib.util.find_spec("fastparquet"):
    import pandas

    ended, said = report(path, "-o", tap.scratch / "parquet", "--parquet", "--only-tables")
    frame = pandas.read_parquet(tap.scratch / "parquet" / "trials.parquet") if ended == 0 else None
    tap.check("Parquet: the trials", ended == 0 and len(frame) == 24 and set(frame.status) == {"ok"}, ended, said)
else:
    ended, said = report(path, "-o", tap.scratch / "parquet", "--parquet", "--only-tables")
    tap.check(
        "Parquet without pyarrow: a clear message",
        ended == 2 and "pip install pyarrow" in said and said.count("\n") == 1,
        ended,
        said,
    )
done = command(path, path, "-o", tap.scratch / "both", "--csv", "--only-tables")
tap.check(
    "two files: tables of both",
    done.returncode == 0
    and (tap.scratch / "both" / "a-trials.csv").read_bytes() == (tap.scratch / "both" / "b-trials.csv").read_bytes(),
    done.stderr,
)
done = subprocess.run(
    [sys.executable, "-S", "-I", str(tap.ROOT / "results" / "report.py"), str(path), "-o", str(tap.scratch / "no")],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
)
tap.check(
    "without h5py or numpy: says what to install",
    done.returncode == 2 and "apt-get install python3-" in done.stderr and done.stderr.count("\n") == 1,
    done.returncode,
    done.stderr,
)
system = "/usr/bin/python3"
needs = [system, "-c", "import h5py, matplotlib"]
able = os.access(system, os.X_OK) and subprocess.run(needs, stderr=subprocess.DEVNULL).returncode == 0
same_python = os.path.realpath(system) == os.path.realpath(sys.executable)
tap.check(
    "without h5py: the system's python is named where it has it, and is another",
    (f"; or: {system} " in done.stderr) == (able and not same_python),
    done.stderr,
)

tap.finish()
