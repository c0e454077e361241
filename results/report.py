#!/usr/bin/env python3
"""Makes a page of pictures from a results file: DIR/report.html, which needs nothing else, and its pictures as PNG.

usage: report.py FILE... -o DIR [--data DATA] [--csv] [--parquet] [--force]

Needs Python 3.9, h5py, numpy and matplotlib; --csv and --parquet also pandas. Two results files are compared side by side.
CSV files of tests/perf (model_accuracy --csv, scaling.py --csv), beside them or alone, become pictures of the model and of
scaling; a file's content says what it is.
Exit codes: 0 done; 1 done, but a part of a file is damaged (the page says which), or the page could not be written;
2 bad usage or bad input.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import signal
import subprocess
import sys
import traceback

MISSING = "report.py: needs {0}, which this python3 ({1}) lacks: apt-get install python3-{0}, or pip install {0}"

SYSTEM = "/usr/bin/python3"  # has what apt-get installed, which a python of conda or of a venv does not see

PATIENCE_S = 20  # for the texts of one column: 100,000 take less than one


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="report.py",
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="results file; two: they are compared; and CSV files of tests/perf, any number"
    )
    parser.add_argument(
        "-o", "--out", metavar="DIR", required=True, help="folder for the page and its pictures; made if missing"
    )
    parser.add_argument(
        "-d",
        "--data",
        metavar="DATA",
        help="the data folder or packed file, for the pictures of samples (default: what the file names)",
    )
    parser.add_argument("--csv", action="store_true", help="also write the tables of `libras_mpi export` as CSV")
    parser.add_argument("--parquet", action="store_true", help="also write them as Parquet (needs pandas and pyarrow)")
    parser.add_argument("--only-tables", action="store_true", help="no page and no pictures")
    parser.add_argument(
        "-f", "--force", action="store_true", help="replace files in DIR that an earlier report did not write"
    )
    arguments = parser.parse_args()
    if arguments.only_tables and not (arguments.csv or arguments.parquet):
        parser.error("--only-tables: say --csv, --parquet or both")
    return arguments


def _or_system(arguments: argparse.Namespace) -> str:
    """The same command under the system's python, where that one has what is needed."""
    if not os.access(SYSTEM, os.X_OK) or os.path.realpath(SYSTEM) == os.path.realpath(sys.executable):
        return ""
    needs = "import h5py, matplotlib" + (", pandas" if arguments.csv or arguments.parquet else "")
    try:
        found = subprocess.run(
            [SYSTEM, "-c", needs],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"; or: {SYSTEM} {shlex.join(sys.argv)}" if found.returncode == 0 else ""


def _work(arguments: argparse.Namespace) -> int:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        from report_lib import reader
        from report_lib.run import run

        if arguments.csv or arguments.parquet:
            importlib.import_module("pandas")
    except ImportError as problem:
        if not problem.name or problem.name.startswith("report_lib"):
            raise
        print(MISSING.format(problem.name, sys.executable) + _or_system(arguments), file=sys.stderr)
        return 2
    reader.patience_s = PATIENCE_S
    try:
        damaged = run(arguments)
    except reader.BadInput as problem:
        print(f"report.py: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"report.py: {problem.filename or arguments.out}: {problem.strerror or problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("report.py: stopped", file=sys.stderr)
        return 1
    for why in damaged:
        print(f"report.py: {why}", file=sys.stderr)
    return 1 if damaged else 0


def main() -> int:
    """The work is done by a child: a damaged text makes HDF5 crash, or never come back (report_lib/reader.py)."""
    arguments = _arguments()
    if not hasattr(os, "fork"):
        return _work(arguments)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = _work(arguments)
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def pass_on(number: int, _: object) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child gets it, too
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    if os.WTERMSIG(status) in (signal.SIGTERM, signal.SIGKILL):
        print("report.py: stopped", file=sys.stderr)
        return 1
    what = "never came back from reading" if os.WTERMSIG(status) == signal.SIGALRM else "crashed while reading"
    print(
        f"report.py: {' or '.join(arguments.files)} is damaged: HDF5 {what} a text in it; "
        "`libras_mpi verify FILE` says where",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
