"""Pictures of a sweep's configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

from . import picture as pic
from .picture import Picture
from .stats import within
from .trials import LABEL, SHORT, Trials

if TYPE_CHECKING:
    from .sweep import Sweep

MOST = 12
MOST_TICKS = 200


def _members(trials: Trials, found: "Sweep", number: int, column: str) -> np.ndarray:
    """The scores of a configuration's trials that are ok: same settings, same block, any seed."""
    first = found.first[number]
    same = (trials.configuration == trials.configuration[first]) & trials.ok
    if "block" in trials.column:
        same &= trials.column["block"] == trials.column["block"][first]
    values = trials.column[column][same]
    return values[np.isfinite(values)]


def configurations(trials: Trials, found: "Sweep", names: list[str]) -> Optional[Picture]:
    """The best configurations with mean, interval and seeds. None where there is nothing to compare, or no score."""
    score, column = found.score_name, found.objective
    mean, low, high = (found.score[f"{score}_{part}"] for part in ("mean", "low", "high"))
    order = [int(k) for k in found.order() if np.isfinite(mean[k])][:MOST]
    if len(order) < 2 or column not in trials.column:
        return None
    factor, unit = (100.0, " (%)") if score == "accuracy" else (1.0, "")
    figure = pic.figure(height=1.3 + 0.36 * len(order))
    axes = figure.subplots()
    for y, k in enumerate(order):
        seeds = factor * _members(trials, found, k, column)[:MOST_TICKS]
        axes.plot(seeds, np.full(len(seeds), y), "|", color=pic.COLOURS[4], markersize=13)
        if np.isfinite(low[k]):
            inside = [factor * end for end in within(score, low[k], high[k])]
            axes.plot(inside, [y, y], color=pic.COLOURS[0], linewidth=4, solid_capstyle="butt")
        axes.plot(factor * mean[k], y, "o", color=pic.COLOURS[0], markeredgecolor="white", markersize=8)
    alone = len(names) == 1
    said = [
        ", ".join(
            trials.value_text(n, found.first[k]) if alone else f"{SHORT.get(n, n)} {trials.value_text(n, found.first[k])}"
            for n in names
        )
        for k in order
    ]
    axes.set_yticks(range(len(order)), said)
    if alone:
        axes.set_ylabel(LABEL[names[0]])
    else:
        axes.tick_params(axis="y", labelsize=10)
    axes.invert_yaxis()
    label = column.replace("_", " ")
    axes.set_xlabel(label + unit)
    best = f"{factor * mean[order[0]]:.4g}{unit}"
    return pic.finish(
        figure,
        "configurations",
        f"Configurations by mean {label}; the best, {said[0]}, has {best}; "
        + "; ".join(f"{name} {factor * mean[k]:.4g}" for name, k in zip(said[1:], order[1:]))
        + ".",
        f"A row a configuration, the best mean {label} first. Dot: mean over seeds; bar: its 95 % interval, cut at "
        f"{'0 and 100 %' if score == 'accuracy' else '0'}; ticks: the seeds.",
    )
