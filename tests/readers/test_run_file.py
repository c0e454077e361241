#!/usr/bin/env python3
"""The file of a real run has the groups, names, shapes and types of the format, and opens everywhere without a warning."""
import os
import re
import shutil
import subprocess
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

tap.need("h5py")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

LETTERS = "ABCDEILMNORSUVW"
data, path = str(tap.scratch / "data"), str(tap.scratch / "run.h5")
tap.program("synth", data, "-n", 20)
made = tap.ranks(3, "--data", data, "--epochs", "2,3", "--hidden", "32x16,8x4", "--learning-rate", "0.02,1e30",
                 "--holdout", 0.25, "--block", 32, "-o", path)
tap.check("a run makes a file", made.returncode == 0, made.stderr)
T, E, N, K, R = 8, 3, 60, 4, 3  # trials, epochs, test samples, kept weights of a shape, ranks
V, TRAIN = 60, 180

TEXT = "text"
COLUMNS = {  # of /trials
    "learning_rate": "f4", "decay": "f4", "initial_range": "f4", "epochs": "u4", "seed": "u4", "block": "u4",
    "hidden1": "u4", "hidden2": "u4", "status": TEXT, "reason": TEXT, "epochs_run": "u4", "train_loss": "f8",
    "validation_loss": "f8", "validation_accuracy": "f8", "test_loss": "f8", "test_accuracy": "f8", "digest": TEXT,
    "trial": "i8"}
EXPECTED = {f"trials/{name}": ((T,), kind) for name, kind in COLUMNS.items()}
EXPECTED.update({
    "dataset/classes": ((15,), TEXT), "dataset/mean": ((64,), "f8"), "dataset/scale": ((64,), "f8"),
    "dataset/counts": ((15,), "u8"), "dataset/digest": ((), TEXT), "dataset/path": ((), TEXT),
    "dataset/split": ((), TEXT), "dataset/split_seed": ((), "u4"), "dataset/holdout": ((), "f8"), "dataset/train_index": ((TRAIN,), "u4"),
    "dataset/validation_index": ((V,), "u4"), "dataset/test_index": ((N,), "u4"),
    "trials/loss": ((T, E), "f8"), "trials/epoch": ((E,), "i8"),
    "inference/scores": ((N, 15), "f4"), "inference/expected": ((N,), "u1"), "inference/predicted": ((N,), "u1"),
    "inference/confusion": ((15, 15), "u8"), "inference/trial": ((), "i8"),
    "execution/trial_seconds": ((T,), "f8"), "execution/trial_rank": ((T,), "i4"), "execution/trial_device": ((T,), TEXT),
    "execution/trial_variant": ((T,), TEXT), "execution/sample_rank": ((N,), "i4"), "execution/rank_host": ((R,), TEXT),
    "execution/rank_device": ((R,), TEXT), "execution/rank_uuid": ((R,), TEXT), "execution/rank_pci": ((R,), TEXT),
    "execution/rank_seconds": ((R, 5), "f8"),
})
for name, kind in (("name", TEXT), ("compared", "u8"), ("mismatches", "u8"), ("max_abs_error", "f8"), ("result", TEXT)):
    EXPECTED[f"validation/{name}"] = ((5,), kind)
with h5py.File(path) as made_file:  # as many as there are CPUs' ways, if this machine is calibrated; else a row a phase
    C = len(made_file["model/candidate"])
tap.check("h5py: candidates of two phases", C >= 2, C)
for name, kind in (("phase", TEXT), ("device", TEXT), ("where", TEXT), ("predicted", "f8"), ("bound", "f8"),
                   ("measured", "f8"), ("chosen", "u1"), ("regret", "f8"), ("size", "f8"), ("factor", "f8"),
                   ("candidate", "i8")):
    EXPECTED[f"model/{name}"] = ((C,), kind)
for h1, h2 in ((32, 16), (8, 4)):
    group = f"weights/64-{h1}-{h2}-15"
    EXPECTED[f"{group}/trial"] = ((K,), "i8")
    for k, (rows, columns) in enumerate(((h1, 64), (h2, h1), (15, h2)), 1):
        EXPECTED[f"{group}/w{k}"] = ((K, rows, columns), "f4")
        EXPECTED[f"{group}/b{k}"] = ((K, rows), "f4")
GROUPS = sorted({os.path.dirname(name) for name in EXPECTED} - {"weights"})


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


# ---- h5py
with warnings.catch_warnings():
    warnings.simplefilter("error")
    file = h5py.File(path, "r")
    tap.check("h5py: the groups", sorted(file) == sorted(
        ["provenance", "dataset", "trials", "weights", "inference", "validation", "execution", "model"]), list(file))
    for name, (shape, kind) in EXPECTED.items():
        there = name in file and file[name]
        right = there and there.shape == shape
        if right and kind == TEXT:
            info = h5py.check_string_dtype(there.dtype)
            right = info is not None and info.encoding == "utf-8" and info.length is None
        elif right:
            right = there.dtype == np.dtype("<" + kind)
        tap.check(f"h5py: {name} {shape} {kind}", right, there)
    attributes = {name: file.attrs[name] for name in file.attrs}
    tap.check("h5py: the head", text(attributes["format"]) == "libras-results" and attributes["format_version"] == 1 and
              attributes["arithmetic_version"] >= 1 and attributes["title"] and
              re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text(attributes["created"])), attributes)
    provenance = {name: text(value) for name, value in file["provenance"].attrs.items()}
    tap.check("h5py: provenance", {"command_line", "version", "commit", "compiler", "mpi", "hdf5", "cuda", "hosts"} <=
              set(provenance) and "0.02,1e30" in provenance["command_line"], provenance)
    allowed = re.compile(r"env_(libras_|slurm_|cuda_visible|omp_num|hdf5_use|lang$|lc_all$)")
    tap.check("h5py: no other part of the environment", all(map(allowed.match, filter(
        lambda name: name.startswith("env_"), provenance))), provenance)
    tap.check("h5py: the letters", "".join(map(text, file["dataset/classes"])) == LETTERS)
    status = [text(s) for s in file["trials/status"]]
    tap.check("h5py: half of the trials diverged", status == ["ok"] * 4 + ["diverged"] * 4, status)
    loss = file["trials/loss"][()]
    tap.check("h5py: losses are there up to epochs_run, else NaN", all(
        np.isfinite(row[:n]).all() and np.isnan(row[n:]).all() for row, n in zip(loss, file["trials/epochs_run"])))
    for group in ("weights/64-32-16-15", "weights/64-8-4-15"):
        bad = [k for k, t in enumerate(file[group + "/trial"]) if status[t] != "ok"]
        parts = [file[f"{group}/{part}"] for part in ("w1", "b1", "w2", "b2", "w3", "b3")]
        tap.check(f"h5py: {group}: 0x7FC00000 where a trial diverged, finite elsewhere", len(bad) == 2 and all(
            (part[()].view(np.uint32)[bad] == 0x7FC00000).all() and
            np.isfinite(np.delete(part[()], bad, axis=0)).all() for part in parts))
    unscaled = [name for name in EXPECTED if file[name].shape and not h5py.h5ds.is_scale(file[name].id) and
                not all(len(dimension) == 1 and dimension[0].parent == file[name].parent
                        for dimension in file[name].dims)]
    tap.check("h5py: every axis has a scale in its own group", not unscaled, unscaled)
    units = [text(file[name].attrs["units"]) for name in ("execution/trial_seconds", "execution/rank_seconds")]
    tap.check("h5py: seconds are s", units == ["s", "s"], units)
    file.close()
with open(path, "rb") as raw:
    tap.check("superblock 0 or 2, which HDF5 1.8 reads", raw.read(9)[8] in (0, 2))

# ---- h5dump
if shutil.which("h5dump"):
    for group in ["/"] + sorted({"/" + name.split("/")[0] for name in EXPECTED} | {"/provenance"}):
        dump = subprocess.run(["h5dump", "-g", group, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        tap.check(f"h5dump {group}", dump.returncode == 0 and not dump.stderr and len(dump.stdout) > 200, dump.stderr)
else:
    tap.skip("h5dump", "it is not installed: apt-get install hdf5-tools")

# ---- xarray
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import xarray
except ImportError:
    xarray = None
for engine in ("netcdf4", "h5netcdf"):
    module = {"netcdf4": "netCDF4", "h5netcdf": "h5netcdf"}[engine]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(module)
    except ImportError:
        module = None
    if not xarray or not module:
        tap.skip(f"xarray, {engine}", "it is not installed")
        continue
    for group in GROUPS + ["provenance"]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                with xarray.open_dataset(path, group=group, engine=engine) as opened:
                    opened.load()
                    shapes = {name: opened[name].shape for name in opened.variables}
                    kinds = {name: opened[name].dtype.kind for name in opened.variables}
                reason = ""
            except Exception as failure:  # whatever the library raises
                shapes, kinds, reason = {}, {}, f"{type(failure).__name__}: {failure}"
        wanted = {os.path.basename(name): shape for name, (shape, _) in EXPECTED.items() if os.path.dirname(name) == group}
        tap.check(f"xarray, {engine}: {group}", not reason and all(shapes.get(k) == v for k, v in wanted.items()) and
                  "m" not in kinds.values(), reason, {k: shapes.get(k) for k, v in wanted.items() if shapes.get(k) != v})

tap.finish()
