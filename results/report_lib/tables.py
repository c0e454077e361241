"""Tidy tables with pandas: the tables and columns of `libras_mpi export --table`, as data frames.

A number that is not there is missing (an empty field in CSV). Also for notebooks:

    from report_lib import reader, tables
    with reader.Results("r.h5") as results:
        trials = tables.trials(results)
"""

from __future__ import annotations

import io
from typing import Callable, Iterator, Optional

import numpy as np
import pandas as pd

from .reader import BadInput, Damaged, Results
from .stats import phase_seconds, streamed

TRIALS = (
    "learning_rate",
    "decay",
    "initial_range",
    "epochs",
    "seed",
    "block",
    "hidden1",
    "hidden2",
    "status",
    "epochs_run",
    "train_loss",
    "validation_loss",
    "validation_accuracy",
    "test_loss",
    "test_accuracy",
    "digest",
    "reason",
    "rung",
)
CONFIGURATIONS = (
    "learning_rate",
    "decay",
    "initial_range",
    "epochs",
    "block",
    "hidden1",
    "hidden2",
    "first_trial",
    "trials",
    "ok",
    "diverged",
    "failed",
    "loss_mean",
    "loss_sd",
    "loss_low",
    "loss_high",
    "accuracy_mean",
    "accuracy_sd",
    "accuracy_low",
    "accuracy_high",
    "rung",
)
LEADERBOARD = ("trial", "validation_loss", "validation_accuracy", "test_loss", "test_accuracy")


def _frame(results: Results, group: str, names: dict[str, str], n: int, index: str) -> "pd.DataFrame":
    """Columns column -> data set of a group, those that are there, behind a column that counts the rows."""
    columns = {index: np.arange(n)}
    for column, stored in names.items():
        values = results.column(f"{group}/{stored}", n)
        if values is not None and values.ndim == 1:
            columns[column] = values
    return pd.DataFrame(columns)


def trials(results: Results) -> "pd.DataFrame":
    """A row a trial: what was asked for and what came of it."""
    return _frame(results, "trials", {name: name for name in TRIALS}, results.n_trials, "trial")


def loss(results: Results) -> "pd.DataFrame":
    """A row a trial and epoch that was run."""
    n = results.n_trials
    values = results.column("trials/loss", n)
    run = results.column("trials/epochs_run", n)
    if values is None or run is None or values.ndim != 2:
        return pd.DataFrame({"trial": [], "epoch": [], "loss": []})
    there = np.arange(values.shape[1])[None, :] < run[:, None]
    trial, epoch = np.nonzero(there)
    return pd.DataFrame({"trial": trial, "epoch": epoch + 1, "loss": values[there]})


def scores(results: Results) -> "pd.DataFrame":
    """A row a scored sample: its number in the data set, its letters, its scores."""
    n, names = results.n_scores, np.array(results.classes, dtype=object)
    columns: dict[str, object] = {"sample": np.arange(n)}
    if n and not streamed(results):
        index = results.column("dataset/test_index")
        if index is None or len(index) < n:
            raise Damaged("dataset/test_index is missing, or shorter than the scores")
        columns["sample"] = index[:n].astype(np.int64)
    for name in ("expected", "predicted"):
        values = results.column("inference/" + name, n) if n else None
        if values is not None and values.size and int(values.max()) >= len(names):
            raise Damaged(f"inference/{name} names class {int(values.max())} of {len(names)}")
        columns[name] = names[values.astype(int)] if values is not None else np.full(n, None, dtype=object)
    values = results.column("inference/scores", n) if n else np.empty((0, len(names)), dtype=np.float32)
    assert values is not None
    for k, letter in enumerate(names):
        columns[f"score_{letter}"] = values[:, k]
    return pd.DataFrame(columns)


def confusion(results: Results) -> "pd.DataFrame":
    """A row a pair of letters."""
    names = results.classes
    counts = results.column("inference/confusion", len(names))
    known = counts is not None and results.shape("inference/expected") is not None  # else nobody knows: not 0
    return pd.DataFrame(
        {
            "expected": np.repeat(names, len(names)),
            "predicted": np.tile(names, len(names)),
            "count": pd.array(
                counts.reshape(-1).astype(np.int64) if known else [None] * len(names) ** 2, dtype="Int64"
            ),
        }
    )


def validation(results: Results) -> "pd.DataFrame":
    """A row a check."""
    names = ("name", "compared", "mismatches", "max_abs_error", "result")
    shape = results.shape("validation/name")
    return _frame(results, "validation", {n: n for n in names}, shape[0] if shape else 0, "check").drop(columns="check")


def execution(results: Results) -> "pd.DataFrame":
    """A row a trial: who trained it, and how long."""
    return _frame(
        results,
        "execution",
        {n: "trial_" + n for n in ("seconds", "rank", "device", "variant")},
        results.n_trials,
        "trial",
    )


def ranks(results: Results) -> "pd.DataFrame":
    """A row a rank, a column of seconds a phase."""
    shape = results.shape("execution/rank_host")
    n = shape[0] if shape else 0
    frame = _frame(
        results, "execution", {m: "rank_" + m for m in ("host", "device", "uuid", "pci", "shared")}, n, "rank"
    )
    phases = phase_seconds(results)
    if phases is not None and len(phases[1]) == n:
        for k, name in enumerate(phases[0]):
            frame[f"{name}_s"] = phases[1][:, k]
    return frame


def model(results: Results) -> "pd.DataFrame":
    """A row a candidate of a phase: predicted, measured, chosen."""
    shape = results.shape("model/candidate")
    names = {"phase": "phase", "device": "device", "where": "where"}
    names.update({f"{n}_s": n for n in ("predicted", "bound", "measured")})
    names.update({n: n for n in ("chosen", "regret", "size", "factor")})
    return _frame(results, "model", names, shape[0] if shape else 0, "candidate").drop(columns="candidate")


def _present(results: Results, group: str, names: tuple[str, ...]) -> dict[str, str]:
    return {name: name for name in names if results.has(f"{group}/{name}")}


def configurations(results: Results) -> "pd.DataFrame":
    """A row a configuration of a sweep: its settings, and its means over seeds."""
    shape = results.shape("configurations/configuration")
    return _frame(
        results, "configurations", _present(results, "configurations", CONFIGURATIONS), shape[0] if shape else 0, "configuration"
    )


def leaderboard(results: Results) -> "pd.DataFrame":
    """A row a place."""
    shape = results.shape("sweep/place")
    frame = _frame(results, "sweep", {name: name for name in LEADERBOARD}, shape[0] if shape else 0, "place")
    frame["place"] += 1
    return frame


TABLES: dict[str, Callable[[Results], "pd.DataFrame"]] = {
    "trials": trials,
    "loss": loss,
    "scores": scores,
    "confusion": confusion,
    "validation": validation,
    "execution": execution,
    "ranks": ranks,
    "model": model,
    "configurations": configurations,
    "leaderboard": leaderboard,
}
# The group of a table that a file may lack: the table is then not written.
OPTIONAL = {"model": "model/candidate", "configurations": "configurations", "leaderboard": "sweep"}


def parquet_engine() -> Optional[str]:
    """The engine pandas would write Parquet with; None where there is none."""
    for name in ("pyarrow", "fastparquet"):
        try:
            __import__(name)
        except ImportError:
            continue
        return name
    return None


def write(results: Results, prefix: str, csv: bool, parquet: bool) -> Iterator[tuple[str, bytes]]:
    """Name and content of each table's files. BadInput if Parquet is wanted and cannot be had."""
    engine = parquet_engine() if parquet else None
    if parquet and engine is None:
        raise BadInput(
            "--parquet: pandas needs pyarrow (or fastparquet) for it: pip install pyarrow; --csv needs nothing more"
        )
    for name in _present_tables(results):
        frame = TABLES[name](results)
        if csv:
            yield (
                f"{prefix}{name}.csv",
                frame.to_csv(index=False, lineterminator="\n").encode()
                if _new_pandas()
                else (frame.to_csv(index=False, line_terminator="\n").encode()),
            )
        if parquet:
            out = io.BytesIO()
            frame.to_parquet(out, index=False, engine=engine)
            yield f"{prefix}{name}.parquet", out.getvalue()


def names(results: Results, prefix: str, csv: bool, parquet: bool) -> list[str]:
    """The files that write() makes."""
    kinds = [kind for kind, wanted in (("csv", csv), ("parquet", parquet)) if wanted]
    return [f"{prefix}{name}.{kind}" for name in _present_tables(results) for kind in kinds]


def _present_tables(results: Results) -> list[str]:
    return [name for name in TABLES if name not in OPTIONAL or results.has(OPTIONAL[name])]


def _new_pandas() -> bool:
    """pandas 1.5 renamed line_terminator."""
    return tuple(int(p) for p in pd.__version__.split(".")[:2]) >= (1, 5)
