#!/usr/bin/env python3
"""The results file in the hands of those who will read it: h5py, h5dump, netCDF4, and xarray with both its engines.

A file with known contents comes from BUILD/tests/make_results. Python's modules are looked for in this interpreter, and
failing that in the system's; what nobody has is a skipped line, not a failure.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("LIBRAS_BUILD", "build"))
MAKE = os.path.join(BUILD, "tests", "make_results")
LETTERS = "ABCDEILMNORSUVW"
SYSTEM_PYTHON = "/usr/bin/python3"
WANTED = ("h5py", "xarray", "netCDF4", "h5netcdf")

results = []


def result(name, ok, why=""):
    results.append(bool(ok))
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    if why and not ok:
        print("# " + why.replace("\n", "\n# "))


def skip(name, why):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {why}")


def check(name, function, *arguments, **options):
    """ok if function returns; what it raises, a warning included, is the reason of the failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            function(*arguments, **options)
        except Exception as reason:  # whatever a reader's library raises
            result(name, False, f"{type(reason).__name__}: {reason}")
        else:
            result(name, True)


def find_modules():
    """The modules that can be imported, name -> module. Importing may warn: that is not the file's fault."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in WANTED:
            try:
                found[name] = __import__(name)
            except ImportError:
                pass
    return found


def try_another_python():
    """The python3 found first may be one without modules, where Debian's has them."""
    if "LIBRAS_TEST_PYTHON" in os.environ or not os.access(SYSTEM_PYTHON, os.X_OK):
        return
    probe = "import importlib.util as u; print(sum(u.find_spec(m) is not None for m in %r))" % (WANTED,)
    counts = []
    for python in (sys.executable, SYSTEM_PYTHON):
        done = subprocess.run([python, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        counts.append(int(done.stdout.strip() or 0))
    if counts[1] > counts[0]:
        os.environ["LIBRAS_TEST_PYTHON"] = SYSTEM_PYTHON
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)


def make(path, *arguments):
    subprocess.run([MAKE, path] + [str(a) for a in arguments], check=True, stdout=subprocess.DEVNULL)
    return path


def must(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, wanted, what):
    must(found == wanted, f"{what}: {found!r}, not {wanted!r}")


# ---- the values, as make_results.c makes them ----


def learning_rate(np, trial):
    return np.float32(0.01) * np.float32(trial % 7 + 1)


def check_model(np, data):
    nan = float("nan")
    equal(list(data("model", "phase")), ["train", "train", "infer", "infer"], "phase")
    equal(list(data("model", "device")), ["cpu:avx2", "gpu:fast"] * 2, "device")
    equal(list(data("model", "where")), ["um núcleo", ""] * 2, "where")
    equal(list(data("model", "chosen")), [1, 0, 1, 0], "chosen")
    equal(list(data("model", "size")), [1000, 1001, 1002, 1003], "size")
    for name, values in (("predicted", [0.25, 0.5, 0.75, nan]), ("bound", [2, 3, 4, 5]), ("measured", [0.5, nan, 2.5, nan]),
                         ("regret", [0, nan, 0.25, nan]), ("factor", [1, 2, 3, 4])):
        must(np.array_equal(data("model", name), values, equal_nan=True), name)


def check_values(np, data, trials, epochs, samples):
    """data(group, name) is the array of a data set, text as str."""
    failed = np.arange(trials) % 5 == 4
    equal(list(data("trials", "trial")), list(range(trials)), "trial")
    equal(list(data("trials", "epoch")), list(range(1, epochs + 1)), "epoch")
    equal(list(data("trials", "learning_rate")), [learning_rate(np, t) for t in range(trials)], "learning_rate")
    must(data("trials", "learning_rate").dtype == np.float32, "learning_rate is float32")
    equal(list(data("trials", "status")), ["diverged" if f else "ok" for f in failed], "status")
    reasons = [f"época {t % 3}: perda não finita" if failed[t] else "" for t in range(trials)]
    equal(list(data("trials", "reason")), reasons, "reason")
    equal(list(data("trials", "hidden1")), [16 if t % 2 else 32 for t in range(trials)], "hidden1")
    loss = np.arange(trials)[:, None] + 1 / np.arange(1, epochs + 1)[None, :]
    loss[failed] = np.nan
    must(np.array_equal(data("trials", "loss"), loss, equal_nan=True), "loss")
    must(np.isnan(data("trials", "validation_loss")).all(), "validation_loss")
    equal(list(data("dataset", "classes")), list(LETTERS), "classes")
    equal(list(data("dataset", "mean")), list(range(64)), "mean")
    equal(list(data("dataset", "test_index")), list(range(2 * samples, 3 * samples)), "test_index")
    equal(len(data("dataset", "validation_index")), 0, "validation_index")
    equal(str(data("dataset", "path")), "/dados/São João/mãos", "path")
    scores = (np.arange(samples)[:, None] + np.arange(15)[None, :] / 16).astype(np.float32)
    must(np.array_equal(data("inference", "scores"), scores), "scores")
    must(data("inference", "scores").dtype == np.float32, "scores are float32")
    equal(int(data("inference", "confusion").sum()), samples, "confusion")
    equal(list(data("validation", "result")), ["passed", "not run"], "result")
    equal(list(data("execution", "trial_seconds")), [0.25 * (t + 1) for t in range(trials)], "trial_seconds")
    equal(list(data("execution", "rank_host")), ["nó0", "nó1"], "rank_host")
    equal(list(data("execution", "phase")), ["data", "train", "infer", "gather", "validate"], "phase")
    check_model(np, data)
    for offset, shape, hidden1 in ((0, "64-32-16-15", 32), (1, "64-16-16-15", 16)):
        group = "weights/" + shape
        kept = data(group, "trial")
        equal(list(kept), [2 * i + offset for i in range(len(kept))], group)
        w1 = (kept[:, None, None] % 1000).astype(np.float32) + (
            np.arange(hidden1 * 64).reshape(1, hidden1, 64).astype(np.float32) / 65536)
        w1[kept % 5 == 4] = np.nan
        must(np.array_equal(data(group, "w1"), w1, equal_nan=True), group + "/w1")
        bits = data(group, "w1")[kept % 5 == 4].view(np.uint32)
        must((bits == 0x7FC00000).all(), "the fill of weights that there are not")


T975 = {2: 12.706204736174705, 3: 4.3026527297494639, 4: 3.1824463052837096}  # Student's t of so many values


def check_sweep(np, data, trials, epochs, halving):
    """What make_results.c adds for a sweep; the means by numpy."""
    t = np.arange(trials)
    ok = t % 5 != 4
    loss = np.where(ok, (t * 7 % 16 + 1) / 16, np.nan)
    accuracy = np.where(ok, (t * 5 % 8) / 8, np.nan)
    rung = (t % 3 == 2) & (epochs > 2) if halving else np.zeros(trials, bool)
    equal(str(data("sweep", "search")), "halving" if halving else "grid", "search")
    equal(str(data("sweep", "objective")), "validation_accuracy" if halving else "validation_loss", "objective")
    must(str(data("sweep", "specification")).endswith("# é assim\n"), "specification")
    order = sorted(t[ok], key=lambda k: (-int(rung[k]), -accuracy[k], loss[k], k) if halving else (loss[k], k))[:7]
    equal(list(data("sweep", "trial")), order, "the leaderboard")
    equal(list(data("sweep", "place")), list(range(1, len(order) + 1)), "place")
    for name, values in (("validation_loss", loss), ("validation_accuracy", accuracy)):
        equal(list(data("sweep", name)), list(values[order]), name + " of the leaderboard")
    equal(list(data("sweep", "test_loss")), [0.5 / (k + 1) for k in order], "test_loss of the leaderboard")
    if halving:
        equal(list(data("trials", "rung")), list(rung), "rung")
    groups = {}
    for k in range(trials):
        groups.setdefault((k // 8, k % 2), []).append(k)
    members = sorted(groups.values())
    n = len(members)
    equal(list(data("configurations", "configuration")), list(range(n)), "configuration")
    equal(list(data("configurations", "first_trial")), [m[0] for m in members], "first_trial")
    equal(list(data("configurations", "trials")), [len(m) for m in members], "trials")
    equal(list(data("configurations", "ok")), [int(ok[m].sum()) for m in members], "ok")
    equal(list(data("configurations", "diverged")), [int((~ok)[m].sum()) for m in members], "diverged")
    equal(list(data("configurations", "hidden1")), [16 if m[0] % 2 else 32 for m in members], "hidden1")
    equal(list(data("configurations", "learning_rate")), [np.float32(0.01) * np.float32(m[0] // 8 + 1) for m in members],
          "learning_rate")
    if halving:
        equal(list(data("configurations", "rung")), [int(rung[m].max()) for m in members], "rung")
    for name, values in (("loss", loss), ("accuracy", accuracy)):
        mean = np.array([values[m][ok[m]].mean() for m in members])
        sd = np.array([values[m][ok[m]].std(ddof=1) if ok[m].sum() > 1 else np.nan for m in members])
        half = np.array([T975.get(int(ok[m].sum()), np.nan) / np.sqrt(ok[m].sum()) for m in members]) * sd
        for part, wanted in (("mean", mean), ("sd", sd), ("low", mean - half), ("high", mean + half)):
            must(np.allclose(data("configurations", f"{name}_{part}"), wanted, rtol=1e-12, atol=0, equal_nan=True),
                 f"{name}_{part}")


# ---- readers ----


def with_h5py(h5py, path, *shape, sweep=""):
    import numpy as np

    with h5py.File(path, "r") as file:

        def data(group, name):
            dataset = file[group][name]
            return dataset.asstr()[()] if h5py.check_string_dtype(dataset.dtype) else dataset[()]

        if sweep:
            check_sweep(np, data, shape[0], shape[1], sweep == "halving")
            return
        check_values(np, data, *shape)
        must(not {"sweep", "configurations"} & set(file) and "rung" not in file["trials"], "a run is no sweep")
        equal(file.attrs["format"], "libras-results", "format")
        equal(int(file.attrs["format_version"]), 1, "format_version")
        equal(file.attrs["title"], "varredura número 1", "title")
        must(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", file.attrs["created"]), "created")
        equal(file["provenance"].attrs["empty"], "", "an empty note")


def layout_with_h5py(h5py, path):
    """Every axis has a scale in its own group; text is of variable length; every unit is one that xarray keeps."""
    with h5py.File(path, "r") as file:

        def visit(name, item):
            for key, value in item.attrs.items():
                if key not in ("CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST"):
                    must(isinstance(value, str), f"{name}: attribute {key} is {type(value)}")
            if not isinstance(item, h5py.Dataset):
                return
            must("long_name" in item.attrs, name + " has no long_name")
            must(item.attrs.get("units", "s") == "s", name + " has a unit other than s")
            text = h5py.check_string_dtype(item.dtype)
            must(text is None or (text.length is None and text.encoding == "utf-8"), name + " is text of another kind")
            must(item.dtype.kind in "fiuO", f"{name} is of type {item.dtype}")
            if item.chunks:
                must(min(item.chunks) > 0, name + " has an empty chunk")
            for axis in item.dims if "CLASS" not in item.attrs else []:
                equal(len(axis), 1, name + ": scales of an axis")
                equal(axis[0].parent, item.parent, name + ": the scale's group")

        file.visititems(visit)


def groups(h5py, path):
    found = ["/"]
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Group) else None)
    return found


def with_xarray(xarray, path, group, engine):
    with xarray.open_dataset(path, group=group, engine=engine) as data:
        data.load()
        for name, variable in data.variables.items():
            must(variable.dtype.kind != "m", f"{name} was made a time difference")
            must(all(isinstance(a, str) for k, a in variable.attrs.items() if k != "_FillValue"), f"attributes of {name}")


def values_with_xarray(xarray, path, engine, *shape, sweep=""):
    import numpy as np

    opened = {}

    def data(group, name):
        if group not in opened:
            with xarray.open_dataset(path, group=group, engine=engine) as dataset:
                opened[group] = dataset.load()
        return opened[group][name].values

    if sweep:
        check_sweep(np, data, shape[0], shape[1], sweep == "halving")
        equal(opened["sweep"]["trial"].dims, ("place",), "dimensions of the leaderboard")
        equal(opened["configurations"]["loss_mean"].dims, ("configuration",), "dimensions of loss_mean")
        return
    check_values(np, data, *shape)
    equal(opened["trials"]["loss"].dims, ("trial", "epoch"), "dimensions of loss")
    equal(opened["weights/64-16-16-15"]["w2"].dims, ("trial", "hidden2", "hidden1"), "dimensions of w2")
    equal(opened["inference"]["confusion"].dims, ("expected_class", "predicted_class"), "dimensions of confusion")
    with xarray.open_dataset(path, engine=engine) as root:
        equal(root.attrs["title"], "varredura número 1", "title")


def main():
    try_another_python()
    if not os.access(MAKE, os.X_OK):
        print(f"1..0 # SKIP {MAKE} is not built: make tests")
        return 0
    modules = find_modules()
    folder = tempfile.mkdtemp(prefix="libras.")
    try:
        run(modules, folder)
    finally:
        shutil.rmtree(folder)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


def run(modules, folder):
    # trials, epochs, samples, kept; then the shape that check_values is told
    full = make(os.path.join(folder, "São João 1.h5"), 23, 7, 40, 13)
    files = {"many trials": full,
             "one trial": make(os.path.join(folder, "one.h5"), 1, 1, 1, 1),
             "no trial": make(os.path.join(folder, "none.h5"), 0, 0, 0, 0)}
    sweeps = {kind: make(os.path.join(folder, kind + ".h5"), 23, 7, 40, 13, kind) for kind in ("sweep", "halving")}
    files.update({f"a file of a {kind}": path for kind, path in sweeps.items()})
    files["a sweep of no trial"] = make(os.path.join(folder, "nosweep.h5"), 0, 0, 0, 0, "halving")
    shuffled = make(os.path.join(folder, "shuffled.h5"), 23, 7, 40, 13, "shuffled")

    with open(full, "rb") as a, open(shuffled, "rb") as b:
        begin = a.read()
        result("the order of writing leaves no trace", begin == b.read())
    result("the superblock is one that HDF5 1.8 reads", begin[8] in (0, 2))

    for name, path in files.items():
        if shutil.which("h5dump"):
            done = subprocess.run(["h5dump", "-H", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            result(f"h5dump -H of {name}", done.returncode == 0 and not done.stderr, done.stderr)
        else:
            skip(f"h5dump -H of {name}", "no h5dump (hdf5-tools)")

    h5py, xarray = modules.get("h5py"), modules.get("xarray")
    if not h5py:
        skip("h5py", "no h5py")
        return
    check("values with h5py", with_h5py, h5py, full, 23, 7, 40)
    for kind, path in sweeps.items():
        check(f"values of a {kind} with h5py", with_h5py, h5py, path, 23, 7, 40, sweep=kind)
    for name, path in files.items():
        check(f"layout of {name}", layout_with_h5py, h5py, path)
    for engine, module in (("netcdf4", "netCDF4"), ("h5netcdf", "h5netcdf")):
        if not xarray or module not in modules:
            skip(f"xarray, {engine}", "no " + ("xarray" if not xarray else module))
            continue
        check(f"values with xarray, {engine}", values_with_xarray, xarray, full, engine, 23, 7, 40)
        for kind, path in sweeps.items():
            check(f"values of a {kind} with xarray, {engine}", values_with_xarray, xarray, path, engine, 23, 7, 40,
                  sweep=kind)
        for name, path in files.items():
            for group in groups(h5py, path):
                check(f"xarray, {engine}: {group} of {name}", with_xarray, xarray, path, group, engine)


if __name__ == "__main__":
    sys.exit(main())
