"""Intervals, and the figure of merit as the program defines it (README.md), from what the file stores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np

from .reader import Results
from .trials import Trials

# Student's t, two-sided 95 %, for 1 ... 30 degrees of freedom.
_T = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)
Z = 1.959964
TRAINING = ("train_seconds", "trainings", "updates")  # notes of /provenance


def wilson(right: float, n: float) -> tuple[float, float]:
    """95 % interval of a share of n independent samples (Wilson's score interval)."""
    if n <= 0:
        return math.nan, math.nan
    share = right / n
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def within(score: str, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that a score can have: an accuracy lies in 0 to 1, a loss is not below 0. NaN stays NaN."""
    top = 1.0 if "accuracy" in score else math.inf
    return float(np.clip(low, 0.0, top)), float(np.clip(high, 0.0, top))


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean and its 95 % interval by Student's t; the interval is NaN for fewer than two values."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan, math.nan
    mean = float(np.mean(values))
    if n == 1:
        return mean, math.nan, math.nan
    t = _T[n - 2] if n - 1 <= len(_T) else Z + 2.4 / (n - 1)  # within 0.001 of t from 31 on
    half = t * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


@dataclass
class Verdict:
    """What /validation says, in the program's words, and how many checks stand behind it."""

    word: str  # VALID, INVALID, NOT_VALIDATED, FAILED
    passed: int
    failed: int
    not_run: int


def verdict(results: Results, trials: Trials) -> Verdict:
    found = results.column("validation/result")
    names = list(found) if found is not None and found.ndim == 1 else []
    passed, failed = names.count("passed"), names.count("failed")
    word = "INVALID" if failed else "VALID" if passed else "NOT_VALIDATED"
    trained = results.attributes("/provenance").get("option_command", "run") != "infer"
    if trials.n and trained and not trials.ok.any() and not failed:
        word = "FAILED"
    return Verdict(word, passed, failed, len(names) - passed - failed)


@dataclass
class Merit:
    """Rates from stored times; None where the file has no time for it."""

    updates_per_s: Optional[float]
    trainings_per_s: Optional[float]
    samples_per_s: Optional[float]
    ranks: int
    gpus: int


def phase_seconds(results: Results) -> Optional[tuple[list[str], np.ndarray]]:
    """Names of the phases, and seconds (rank, phase)."""
    seconds = results.column("execution/rank_seconds")
    names = results.column("execution/phase")
    if seconds is None or seconds.ndim != 2 or seconds.size == 0:
        return None
    if names is None or names.shape != (seconds.shape[1],):
        names = np.array([f"phase {k}" for k in range(seconds.shape[1])], dtype=object)
    return [str(name) for name in names], np.asarray(seconds, dtype=float)


def streamed(results: Results) -> bool:
    """Whether `infer` streamed a packed file: its scores are in the file's order, and no sample is listed."""
    shape = results.shape("dataset/test_index")
    return results.n_scores > 0 and shape is not None and shape[0] == 0


@dataclass
class Training:
    """What the program timed between the two barriers of the training: of a resumed sweep, the last start alone."""

    seconds: float
    trainings: int
    updates: float


def training(results: Results) -> Optional[Training]:
    """From the notes of /provenance; None where the file has none of them (older ones), or they cannot be."""
    notes = results.attributes("/provenance")
    try:
        found = Training(*(kind(notes[name]) for kind, name in zip((float, int, float), TRAINING)))
    except (KeyError, ValueError):
        return None
    good = all(math.isfinite(v) and v >= 0 for v in (found.seconds, found.trainings, found.updates))
    return found if good else None


def earlier_trials(results: Results, trials: Trials) -> int:
    """Trials that surely ended in an earlier start of a resumed sweep: the times of the ranks are without them. There may
    be more, since leaders can be trained twice. With rungs all trials are, so what the notes count does not tell."""
    found = training(results)
    if found is None or not results.has("sweep") or results.has("trials/rung"):
        return 0
    return max(0, int((trials.status != "failed").sum()) - found.trainings)  # trials that failed are no trainings


def merit(results: Results, trials: Trials) -> Merit:
    """The program's figures of merit, over the time between two barriers. Older files do not have it: there it is the
    slowest rank's."""
    phases = phase_seconds(results)
    uuids = results.column("execution/rank_uuid")
    gpus = len({u for u in uuids if u}) if uuids is not None else 0
    if phases is None:
        return Merit(None, None, None, 0, gpus)
    names, seconds = phases
    slowest = {name: float(seconds[:, k].max()) for k, name in enumerate(names)}
    train = slowest.get("train", 0.0)
    infer = slowest.get("infer", 0.0)
    if streamed(results):
        parts = [k for k, name in enumerate(names) if name in ("data", "infer", "gather")]
        infer = float(seconds[:, parts].sum(axis=1).max())
    shape = results.shape("dataset/train_index")
    n_train = shape[0] if shape else 0
    done = trials.column.get("epochs_run")
    updates = float(done.sum()) * n_train if done is not None else 0.0
    trainings = trials.n
    found = training(results)
    if found is not None:
        train, trainings, updates = found.seconds, found.trainings, found.updates
    trains = results.attributes("/provenance").get("option_command", "run") != "infer" and train > 0
    return Merit(
        updates / train if trains and updates else None,
        trainings / train if trains and trainings else None,
        results.n_scores / infer if infer > 0 and results.n_scores else None,
        len(seconds),
        gpus,
    )


def rate_text(value: Optional[float]) -> str:
    """17.5 million, 9,288, 95.2."""
    if value is None or not math.isfinite(value):
        return "n/a"
    for limit, divisor, word in ((1e9, 1e9, " billion"), (1e6, 1e6, " million")):
        if value >= limit:
            return f"{value / divisor:.3g}{word}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def seconds_text(value: float) -> str:
    """0.41 s, 3.2 ms, 14 µs, 2 min 5 s."""
    if not math.isfinite(value):
        return "n/a"
    if value >= 3600:
        return f"{int(value // 3600)} h {int(value % 3600 // 60)} min"
    if value >= 120:
        return f"{int(value // 60)} min {value % 60:.0f} s"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs" if value > 0 else "0 s"
