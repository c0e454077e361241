"""tap.py: lib.sh for tests written in Python. Import it before h5py and the like:

    sys.path.insert(0, ...tests); import tap
    tap.need("h5py")            starts again under $PYTHON where this python lacks a module; skips the file where none has it
    tap.check(NAME, CONDITION)  ok if true; further arguments are shown after a failure
    tap.program(ARGUMENTS...)   runs the program without mpirun; returns its CompletedProcess (text)
    tap.ranks(N, ARGUMENTS...)  runs it on N ranks
    tap.scratch                 an empty folder that is removed at the end
    tap.skip(NAME, REASON), tap.skip_all(REASON), tap.finish()
"""
import atexit
import importlib.util
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("LIBRAS_PROGRAM", str(ROOT / "libras_mpi"))
MPIRUN = os.environ.get("MPIRUN", "mpirun --oversubscribe").split()
SECONDS = 240  # no call of the program may take longer: more is a hang, though others use the machine, too

scratch = None
_results = _failures = 0
_calls = itertools.count()


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def need(*modules):
    global scratch
    if not all(map(importlib.util.find_spec, modules)):
        other = os.environ.get("PYTHON")
        if not other or os.environ.get("LIBRAS_TAP_AGAIN"):
            skip_all(f"no python3 with {', '.join(modules)}")
        os.environ["LIBRAS_TAP_AGAIN"] = "1"
        os.execv(other, [other] + sys.argv)
    if not os.access(PROGRAM, os.X_OK):
        skip_all("the program is not built")
    if not shutil.which(MPIRUN[0]):
        skip_all(f"no {MPIRUN[0]}: apt-get install openmpi-bin")
    for name in list(os.environ):
        if name == "LIBRAS_DATA" or name.startswith("SLURM_"):
            del os.environ[name]
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    os.chdir(ROOT)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="libras."))
    # As in lib.sh: a folder of this test's, never empty, for Open MPI's own files.
    mpi = scratch / "mpi"
    (mpi / f"ompi.{os.uname().nodename.split('.')[0]}.{os.getuid()}" / "keep").mkdir(parents=True)
    mpi.chmod(0o1777)
    os.environ["OMPI_MCA_orte_tmpdir_base"] = str(mpi)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def check(name, condition, *details):
    global _results, _failures
    _results += 1
    print(f"{'ok' if condition else 'not ok'} {_results} - {name}", flush=True)
    if not condition:
        _failures += 1
        for detail in details:
            for line in str(detail).splitlines()[-10:]:
                print(f"#   {line}")
    return condition


def skip(name, reason):
    global _results
    _results += 1
    print(f"ok {_results} - {name} # SKIP {reason}", flush=True)


def finish():
    print(f"1..{_results}")
    sys.exit(_failures > 0)


def _run(command, **environment):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=SECONDS, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"it hung: ended after {SECONDS} s")


def program(*arguments):
    # One rank needs no network and no daemon beside it, and both take a while. Without a daemon all are job 0: those that
    # run at once must not share a folder of Open MPI's.
    return _run([PROGRAM, *map(str, arguments)], OMPI_MCA_pml="ob1", OMPI_MCA_btl="self", OMPI_MCA_ess_singleton_isolated="1",
                OMPI_MCA_orte_tmpdir_base=str(scratch / "mpi" / str(next(_calls))))


def ranks(n, *arguments):
    return _run([*MPIRUN, "-np", str(n), PROGRAM, *map(str, arguments)])
