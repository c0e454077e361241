"""The trials of a file, grouped: a configuration is everything but seed and block; its trials are repeats of it.

The block size never changes an answer, so trials that differ in it alone count once wherever answers are compared:
otherwise intervals would look narrower than they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from .reader import Damaged, Results

NUMBERS = (
    "learning_rate",
    "decay",
    "initial_range",
    "epochs",
    "seed",
    "block",
    "hidden1",
    "hidden2",
    "epochs_run",
    "train_loss",
    "validation_loss",
    "validation_accuracy",
    "test_loss",
    "test_accuracy",
)
SHORT = {"learning_rate": "rate", "decay": "decay", "initial_range": "range", "epochs": "epochs", "network": "hidden"}
LABEL = {
    "learning_rate": "learning rate",
    "decay": "decay",
    "initial_range": "initial range",
    "epochs": "epochs",
    "network": "hidden layers",
    "seed": "seed",
    "block": "block size",
}
CONFIGURATION = ("learning_rate", "decay", "initial_range", "epochs", "network")
MOST_LEVELS = 24  # more distinct values are put into bins: a random search has as many as trials
BINS = 16


@dataclass
class Parameter:
    """A hyperparameter that varies: code[trial] is the number of its level, -1: none."""

    name: str
    levels: list[str]
    value: Optional[np.ndarray]  # of each level; None: they are names, not numbers
    code: np.ndarray
    log: bool = False
    binned: bool = False

    @property
    def label(self) -> str:
        return LABEL[self.name]

    @property
    def ticks(self) -> list[str]:
        """The levels with as few digits as tell them apart: room along an axis is scarce."""
        if self.value is None:
            return self.levels
        for digits in (2, 3, 4):
            short = [f"{v:.{digits}g}" if abs(v) < 1e4 else number_text(v) for v in self.value]
            if len(set(short)) == len(short) and all(
                abs(float(s) - v) <= 0.015 * abs(v) for s, v in zip(short, self.value)
            ):
                return short
        return self.levels


@dataclass
class Trials:
    """Columns of /trials, and which trials belong together."""

    n: int
    column: dict[str, np.ndarray]
    status: np.ndarray
    reason: np.ndarray
    configuration: np.ndarray  # number of each trial's configuration, in order of first appearance
    n_configurations: int
    first: np.ndarray  # a trial of each configuration
    once: np.ndarray  # trials without repeats that differ in block alone
    lacks: list[str] = field(default_factory=list)
    leader: Optional[int] = None  # of a sweep: the first of its leaderboard

    @property
    def ok(self) -> np.ndarray:
        return self.status == "ok"

    def has(self, name: str) -> bool:
        """Whether any trial has this number."""
        return name in self.column and bool(np.isfinite(self.column[name]).any())

    def count(self, status: str) -> int:
        return int((self.status == status).sum())

    def varies(self, name: str) -> bool:
        return name in self.column and self.n > 0 and bool((self.column[name] != self.column[name][0]).any())

    def configuration_text(self, number: int) -> str:
        """'learning rate 0.02', or shorter 'rate 0.02, epochs 51': the parameters that vary."""
        names = self.varying()
        label = LABEL if len(names) == 1 else SHORT
        return ", ".join(f"{label[n]} {self.value_text(n, self.first[number])}" for n in names)

    def value_text(self, name: str, trial: int) -> str:
        if name == "network":
            if "hidden1" not in self.column or "hidden2" not in self.column:
                return "?"
            return f"{self.column['hidden1'][trial]:.0f}x{self.column['hidden2'][trial]:.0f}"
        return number_text(self.column[name][trial]) if name in self.column else "?"

    def varying(self) -> list[str]:
        """Names of the parameters of a configuration that differ between trials."""
        found = [name for name in CONFIGURATION if name != "network" and self.varies(name)]
        return found + (["network"] if self.varies("hidden1") or self.varies("hidden2") else [])

    def best(self) -> Optional[int]:
        """The trial of the lowest validation loss, ties to the lower number, as the program chooses; None: no hold-out.
        Of a sweep, the first of its leaderboard: it may have rungs, or another objective."""
        if self.leader is not None:
            return self.leader
        if not self.has("validation_loss"):
            return None
        return (
            int(np.nanargmin(np.where(self.ok, self.column["validation_loss"], np.nan)))
            if (np.isfinite(self.column["validation_loss"][self.ok]).any())
            else None
        )


def number_text(value: float) -> str:
    """A parameter's value: 0.02, not 0.0199999996 (they are stored as float32)."""
    return f"{value:.0f}" if abs(value) < 1e10 and value == int(value) else f"{value:.4g}"


def load(results: Results) -> Trials:
    """Reads /trials, but for its losses."""
    n = results.n_trials
    column, lacks = {}, []
    for name in NUMBERS:
        try:
            values = results.column("trials/" + name, n)
        except Damaged as problem:
            values = None
            lacks.append(str(problem))
        if values is not None and values.ndim == 1 and values.dtype.kind in "iuf":
            column[name] = values.astype(np.float64)
    text = {}
    for name in ("status", "reason"):
        values = results.column("trials/" + name, n)
        text[name] = values if values is not None else np.array([""] * n, dtype=object)
    code = np.zeros(n, dtype=np.int64)
    for name in ("learning_rate", "decay", "initial_range", "epochs", "hidden1", "hidden2"):
        if name in column:
            code = _combine(code, column[name])
    _, first, configuration = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    configuration = place[configuration.reshape(-1)]
    answer = _combine(configuration, column["seed"]) if "seed" in column else configuration
    _, once = np.unique(answer, return_index=True)
    return Trials(
        n,
        column,
        text["status"],
        text["reason"],
        configuration,
        len(first),
        first[order],
        np.sort(once),
        lacks,
        _leader(results, n),
    )


def _leader(results: Results, n: int) -> Optional[int]:
    """What is wrong with a leaderboard its own section says (sweep.py)."""
    try:
        places = results.column("sweep/trial")
    except Damaged:
        return None
    if places is None or places.ndim != 1 or not len(places) or not 0 <= int(places[0]) < n:
        return None
    return int(places[0])


def _combine(code: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A number for each pair that occurs."""
    levels, inverse = np.unique(values, return_inverse=True)
    code = code * max(len(levels), 1) + inverse.reshape(-1)
    return np.unique(code, return_inverse=True)[1].reshape(-1)


def parameters(trials: Trials) -> list[Parameter]:
    """What varies, but for seed and block, each with its levels in rising order."""
    found = []
    for name in trials.varying():
        if name == "network":
            pairs = trials.column["hidden1"] * 1000 + trials.column["hidden2"]
            levels, code = np.unique(pairs, return_inverse=True)
            found.append(Parameter(name, [f"{int(v) // 1000}x{int(v) % 1000}" for v in levels], None, code.reshape(-1)))
            continue
        values = trials.column[name]
        levels, code = np.unique(values, return_inverse=True)
        log = bool(levels[0] > 0 and levels[-1] / levels[0] > 9)
        if len(levels) <= MOST_LEVELS:
            found.append(Parameter(name, [number_text(v) for v in levels], levels, code.reshape(-1), log))
            continue
        scaled = np.log(values) if log else values
        edges = np.linspace(scaled.min(), scaled.max(), BINS + 1)
        code = np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, BINS - 1)
        centre = (edges[:-1] + edges[1:]) / 2
        centre = np.exp(centre) if log else centre
        found.append(Parameter(name, [f"{v:.2g}" for v in centre], centre, code, log, True))
    return found


def by_configuration(trials: Trials, name: str) -> list[np.ndarray]:
    """The finite values of a column over the repeats of each configuration, each answer once."""
    rows = trials.once[trials.ok[trials.once] & np.isfinite(trials.column[name][trials.once])]
    order = rows[np.argsort(trials.configuration[rows], kind="stable")]
    cuts = np.searchsorted(trials.configuration[order], np.arange(1, trials.n_configurations))
    return np.split(trials.column[name][order], cuts)
