"""A sweep as the program summed it up: its leaderboard, its configurations with means over seeds, its rungs.

Here block is part of a configuration, as in the file: elsewhere on the page (trials.py) it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import pictures_sweep, stats
from .html import esc, notice, table
from .picture import Picture, percent
from .reader import Damaged, Results
from .trials import LABEL, Trials

MOST_ROWS = 15
SEARCH = {
    "grid": "Every combination of the values was trained",
    "random": "The settings were drawn at random",
    "latin": "The settings were drawn by Latin hypercube",
    "halving": "Successive halving: the best of each rung went on to the next",
}
STATISTICS = ("mean", "sd", "low", "high")


@dataclass
class Sweep:
    """Columns of /sweep and /configurations; rung of each trial, None where the search has none."""

    search: str
    objective: str  # validation_loss or validation_accuracy
    leader: np.ndarray  # trials, the best first
    first: np.ndarray  # of each configuration: its lowest trial
    count: dict[str, np.ndarray]  # trials, ok, diverged, failed
    score: dict[str, np.ndarray]  # loss_mean, ..., accuracy_high
    top: np.ndarray  # of each configuration: the highest rung
    rung: Optional[np.ndarray]

    @property
    def score_name(self) -> str:
        return "accuracy" if self.objective == "validation_accuracy" else "loss"

    def order(self) -> np.ndarray:
        """Configurations as the program's report ranks them: the higher rung, then the better mean; none ok: last."""
        loss, accuracy = self.score["loss_mean"], self.score["accuracy_mean"]
        number = np.arange(len(self.first))
        keys = [number, loss] + ([-accuracy] if self.score_name == "accuracy" else [])  # NaN sorts last
        return np.lexsort(keys + [-self.top, self.count["ok"] == 0])


def _column(results: Results, name: str, length: Optional[int] = None) -> np.ndarray:
    value = results.column(name, length)
    if value is None or value.ndim != 1:
        raise Damaged(f"{name} is missing")
    return value


def _trials(results: Results, name: str, n: int) -> np.ndarray:
    """A column of numbers of trials."""
    value = _column(results, name).astype(np.int64)
    if value.size and (value.min() < 0 or value.max() >= n):
        raise Damaged(f"{name} names a trial that is not there")
    return value


def load(results: Results, trials: Trials) -> Optional[Sweep]:
    """None where the file is of no sweep."""
    if not results.has("sweep"):
        return None
    first = _trials(results, "configurations/first_trial", trials.n)
    n = len(first)
    counts = ("trials", "ok", "diverged", "failed")
    scores = [f"{score}_{part}" for score in ("loss", "accuracy") for part in STATISTICS]
    rung = results.column("trials/rung", trials.n)
    top = results.column("configurations/rung", n)
    return Sweep(
        results.text("sweep/search") or "?",
        results.text("sweep/objective") or "validation_loss",
        _trials(results, "sweep/trial", trials.n),
        first,
        {name: _column(results, f"configurations/{name}", n).astype(np.int64) for name in counts},
        {name: _column(results, f"configurations/{name}", n).astype(float) for name in scores},
        np.zeros(n, dtype=np.int64) if top is None else top.astype(np.int64),
        None if rung is None else rung.astype(np.int64),
    )


def _names(trials: Trials, seed: bool) -> list[str]:
    """The settings that tell trials, or configurations, apart."""
    more = ["block"] + (["seed"] if seed else [])
    return (trials.varying() + [name for name in more if trials.varies(name)]) or ["learning_rate"]


def pieces(results: Results, trials: Trials, found: Sweep) -> list[str | Picture]:
    """HTML and pictures for the section of the leaderboard."""
    made: list[str | Picture] = [_summary(trials, found), _leaderboard(results, trials, found)]
    if found.rung is not None:
        made.append(_rungs(trials, found, found.rung))
    if (found.count["trials"] > 1).any():
        made.append(_configurations(trials, found))
        picture = pictures_sweep.configurations(trials, found, _names(trials, False))
        made += [picture] if picture else []
    return made


def _summary(trials: Trials, found: Sweep) -> str:
    words = {"validation_loss": "the lowest validation loss", "validation_accuracy": "the highest validation accuracy"}
    how = SEARCH.get(found.search, f"Search: {esc(found.search)}")
    ended = "" if len(found.leader) else " No trial ended well."
    return (
        f"<p>{how}: {trials.n:,} trials in {len(found.first):,} configurations, which differ in more than the seed. "
        f"First is who has {words.get(found.objective, esc(found.objective))}"
        f"{', of those on the highest rung' if found.rung is not None else ''}; the test samples have no say.{ended}</p>"
    )


def _shown(trials: Trials, name: str, trial: int) -> str:
    value = trials.column.get(name)
    if value is None or not np.isfinite(value[trial]):
        return "n/a"
    return percent(float(value[trial])) if name.endswith("accuracy") else f"{value[trial]:.4g}"


def _leaderboard(results: Results, trials: Trials, found: Sweep) -> str:
    names = _names(trials, True)
    scores = ("validation_loss", "validation_accuracy", "test_accuracy")
    n_test = (results.shape("dataset/test_index") or (0,))[0]
    rows = []
    for place, trial in enumerate(found.leader[:MOST_ROWS], 1):
        row = [str(place), str(trial)] + [esc(trials.value_text(name, trial)) for name in names]
        row += [str(found.rung[trial])] if found.rung is not None else []
        row += [_shown(trials, name, trial) for name in scores]
        if row[-1] != "n/a" and n_test:
            low, high = stats.wilson(round(float(trials.column["test_accuracy"][trial]) * n_test), n_test)
            row[-1] += f" [{100 * low:.2f}, {100 * high:.2f}]"
        rows.append(row)
    if not rows:
        return notice("The leaderboard is empty.")
    head = ["place", "trial"] + [esc(LABEL[n]) for n in names] + (["rung"] if found.rung is not None else [])
    head += [name.replace("_", " ") for name in scores]
    more = len(found.leader) - len(rows)
    said = f"; {more:,} more places are in <code>/sweep</code>" if more else ""
    return table(head, rows, f"The best trials. In brackets: 95 % interval of the share{said}", range(len(head)), "board")


def _rungs(trials: Trials, found: Sweep, rung: np.ndarray) -> str:
    rows = []
    epochs = trials.column.get("epochs_run")
    for r in range(int(rung.max()) + 1 if len(rung) else 0):
        here = rung == r
        run = epochs[here & trials.ok] if epochs is not None else np.empty(0)
        span = "n/a" if not len(run) else f"{run.min():.0f}" + (f" to {run.max():.0f}" if run.max() > run.min() else "")
        loss = trials.column["validation_loss"][here & trials.ok] if trials.has("validation_loss") else np.empty(0)
        loss = loss[np.isfinite(loss)]
        ended = int((here & ~trials.ok).sum())
        rows.append(
            [str(r), f"{int((rung >= r).sum()):,}", f"{int((rung > r).sum()):,}", span, f"{ended:,}"]
            + [f"{loss.min():.4g}" if len(loss) else "n/a"]
        )
    head = ["rung", "trials that reached it", "went on", "epochs of those that stayed", "diverged or failed there"]
    return table(head + ["their best validation loss"], rows, "Rungs of the search", range(6))


def _interval(found: Sweep, score: str, k: int) -> str:
    mean, low, high = (found.score[f"{score}_{part}"][k] for part in ("mean", "low", "high"))
    if not np.isfinite(mean):
        return "n/a"
    low, high = stats.within(score, low, high)
    factor, digits, unit = (100, ".2f", " %") if score == "accuracy" else (1, ".4g", "")
    inside = f" [{factor * low:{digits}}, {factor * high:{digits}}]" if np.isfinite(low) else ""
    return f"{factor * mean:{digits}}{unit}{inside}"


def _configurations(trials: Trials, found: Sweep) -> str:
    names = _names(trials, False)
    order = found.order()[:MOST_ROWS]
    rows = []
    for place, k in enumerate(order, 1):
        row = [str(place)] + [esc(trials.value_text(name, found.first[k])) for name in names]
        row += [str(found.top[k])] if found.rung is not None else []
        sd = found.score[f"{found.score_name}_sd"][k] * (100 if found.score_name == "accuracy" else 1)
        row += [f"{found.count['ok'][k]:,}", _interval(found, "loss", k), _interval(found, "accuracy", k)]
        row += [f"{sd:.3g}" if np.isfinite(sd) else "n/a", f"{found.count['diverged'][k]:,}", f"{found.count['failed'][k]:,}"]
        rows.append(row)
    head = ["place"] + [esc(LABEL[n]) for n in names] + (["rung"] if found.rung is not None else [])
    head += ["seeds that ended well", "validation loss, mean", "validation accuracy, mean"]
    head += [f"standard deviation of the {found.score_name}", "diverged", "failed"]
    more = len(found.first) - len(rows)
    said = f"; {more:,} more are in <code>/configurations</code>" if more else ""
    return table(
        head,
        rows,
        f"The best configurations by mean {found.objective.replace('_', ' ')}. In brackets: 95 % interval of the "
        f"mean, accuracies cut at 0 and 100 %, losses at 0{said}",
        range(len(head)),
    )
