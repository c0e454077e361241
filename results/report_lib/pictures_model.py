"""Pictures of the performance model's points: time over size, the GPU's gain and crossover, and the errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import picture as pic
from .picture import Picture
from .points import Points

CACHED = ("shared memory", "registers", "L1")  # words of `where`: the weights lie near the arithmetic
FAMILIES = ("CPU", "GPU", "GPU, cached")
STYLE = {
    "CPU": (pic.COLOURS[0], "o", "-"),
    "GPU": (pic.COLOURS[1], "s", (0, (8, 2))),
    "GPU, cached": (pic.COLOURS[2], "^", (0, (5, 1, 1, 1))),
}
KINDS = {"batch": "scoring a batch", "training": "training"}
UNIT = {"batch": "samples of the batch", "training": "training steps, all together"}


def kind_of(work: np.ndarray) -> np.ndarray:
    """'batch' or 'training' of each row: a batch is called "batch of N"."""
    return np.array(["batch" if str(w).startswith("batch") else "training" for w in work], dtype=object)


def family_of(points: Points) -> np.ndarray:
    """One of FAMILIES, of each row."""

    def one(device: str, where: str) -> str:
        if not device.startswith("gpu"):
            return "CPU"
        return "GPU, cached" if any(word in where for word in CACHED) else "GPU"

    return np.array([one(str(d), str(w)) for d, w in zip(points.column["device"], points.column["where"])], dtype=object)


def fastest(points: Points, chosen: np.ndarray) -> np.ndarray:
    """Of the chosen rows the one of each group that is predicted to be the fastest, in order of size."""
    rows = np.flatnonzero(chosen)
    best: dict[float, int] = {}
    for row in rows:
        group = points.column["group"][row]
        if group not in best or points.column["predicted"][row] < points.column["predicted"][best[group]]:
            best[group] = int(row)
    return np.array(sorted(best.values(), key=lambda row: points.column["size"][row]), dtype=int)


# ---- errors ----


def errors(points: Points, chosen: np.ndarray) -> np.ndarray:
    """|predicted / measured - 1|, ascending."""
    return np.sort(np.abs(points.column["predicted"][chosen] / points.column["measured"][chosen] - 1))


def median(sorted_errors: np.ndarray) -> float:
    """As model_accuracy.c prints it: of an even number the upper of the middle two."""
    return float(sorted_errors[len(sorted_errors) // 2])


def ninetieth(sorted_errors: np.ndarray) -> float:
    return float(sorted_errors[len(sorted_errors) * 9 // 10])


def error_picture(points: Points, name: str) -> Picture:
    """Sorted errors of CPU and GPU, with median and 90th percentile."""
    figure = pic.figure()
    axes = figure.subplots()
    family = family_of(points)
    said = []
    for label, chosen in (("CPU", family == "CPU"), ("GPU", family != "CPU")):
        if not chosen.any():
            continue
        sorted_errors = errors(points, chosen)
        middle, high = median(sorted_errors), ninetieth(sorted_errors)
        colour, marker, dash = STYLE[label]
        share = 100 * (np.arange(len(sorted_errors)) + 0.5) / len(sorted_errors)
        axes.plot(share, 100 * sorted_errors, color=colour, marker=marker, markersize=4, linestyle="-", linewidth=1)
        axes.axhline(100 * middle, color=colour, linestyle="--", linewidth=1.4, label=f"{label}: median {100 * middle:.1f} %")
        axes.axhline(100 * high, color=colour, linestyle=":", linewidth=1.8, label=f"{label}: 90th percentile {100 * high:.1f} %")
        said.append(
            f"{label}, {len(sorted_errors)} points: median {100 * middle:.1f} %, 90th percentile {100 * high:.1f} %, "
            f"largest {100 * sorted_errors[-1]:.1f} %"
        )
    axes.set(xlabel="share of the points (%)", ylabel="error of the prediction (%)", xlim=(0, 100))
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left")
    return pic.finish(
        figure,
        name,
        "Errors of the predictions, sorted. " + "; ".join(said) + ".",
        "Each point's error, the smallest first: predicted over measured, minus 1, without its sign. " + "; ".join(said) + ".",
    )


# ---- time over size ----


def _log(axes: object, xlabel: str, ylabel: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)  # type: ignore[attr-defined]
    pic.plain_log(axes.xaxis)  # type: ignore[attr-defined]
    pic.plain_log(axes.yaxis)  # type: ignore[attr-defined]


def time_picture(points: Points, kind: str, name: str) -> Optional[Picture]:
    """Measured points, predicted lines and dotted bounds over size. None where there are no points of the kind."""
    family, ours = family_of(points), kind_of(points.column["work"]) == kind
    if not ours.any():
        return None
    figure = pic.figure(height=5.6)
    axes = figure.subplots()
    said = []
    for label in FAMILIES:
        rows = fastest(points, ours & (family == label))
        if not len(rows):
            continue
        colour, marker, dash = STYLE[label]
        size, measured = points.column["size"][rows], points.column["measured"][rows]
        spread = [measured - np.minimum(points.column["lowest"][rows], measured),
                  np.maximum(points.column["highest"][rows], measured) - measured]
        axes.errorbar(size, measured, yerr=spread, color=colour, fmt=marker, markersize=6, elinewidth=1,
                      label=f"{label}, measured")
        bound = points.column["bound"][rows]
        lines = {"linestyle": "-"}, {"linestyle": "--"}
        if kind == "training":  # they differ in more than their size: no line leads from one to the next
            lines = {"linestyle": "none", "marker": marker, "mfc": "none", "ms": 10}, {"linestyle": "none", "marker": "_", "ms": 12}
        axes.plot(size, points.column["predicted"][rows], color=colour, linewidth=1.6, label=f"{label}, predicted", **lines[0])
        axes.plot(size[bound > 0], bound[bound > 0], color=colour, linewidth=1, label=f"{label}, bound", **lines[1])
        said.append(f"{label}: {len(rows)} sizes, {size[0]:,.0f} to {size[-1]:,.0f}, in {measured.min():.3g} to "
                    f"{measured.max():.3g} s")
    _log(axes, UNIT[kind], "time (s)")
    axes.legend(loc="upper left", fontsize=9.5)
    drawn = "solid lines predicted, dashed lines the bound"
    if kind == "training":
        drawn = "hollow ones predicted, dashes the bound"
    caption = (
        f"Time of {KINDS[kind]} over its size: filled points are measured (median; the bar from the lowest to the highest), "
        f"{drawn}, in which nothing overlaps and copies and launches have no fixed cost. Of each family the variant that the model expects to be the fastest at that size; cached: the weights in shared memory, "
        "registers or the L1 cache."
    )
    if kind == "training":
        caption += " Trainings differ in epochs, number, shape and block, too."
    return pic.finish(figure, name, f"Time of {KINDS[kind]} over its size. " + "; ".join(said) + ".", caption)


# ---- gain ----


@dataclass
class Gain:
    """Times of the CPU over those of the GPU, size by size, and where the prediction passes 1."""

    size: np.ndarray
    predicted: np.ndarray
    measured: np.ndarray
    crossover: Optional[float]  # the first size from which on the GPU is predicted to be the faster one; None: at none
    from_first: bool  # it is at the smallest size already


def gain_of(points: Points, kind: str) -> Optional[Gain]:
    """None where no size has both a CPU's and a GPU's point."""
    family, ours = family_of(points), kind_of(points.column["work"]) == kind
    column = points.column
    sides = []
    for chosen in (ours & (family == "CPU"), ours & (family != "CPU")):
        sides.append({column["group"][row]: row for row in fastest(points, chosen)})
    groups = sorted(set(sides[0]) & set(sides[1]), key=lambda g: column["size"][sides[0][g]])
    if not groups:
        return None
    cpu, gpu = (np.array([side[g] for g in groups]) for side in sides)
    size = column["size"][cpu]
    predicted = column["predicted"][cpu] / column["predicted"][gpu]
    measured = column["measured"][cpu] / column["measured"][gpu]
    return Gain(size, predicted, measured, *_crossover(size, predicted))


def _crossover(size: np.ndarray, gain: np.ndarray) -> tuple[Optional[float], bool]:
    """Between two sizes a straight line on logarithmic axes."""
    if gain[-1] <= 1:
        return None, False
    k = len(gain) - 1
    while k > 0 and gain[k - 1] > 1:
        k -= 1
    if k == 0:
        return float(size[0]), True
    below, above = np.log(gain[k - 1]), np.log(gain[k])
    part = -below / (above - below)
    return float(np.exp(np.log(size[k - 1]) + part * (np.log(size[k]) - np.log(size[k - 1])))), False


def crossover_text(gain: Gain, kind: str) -> str:
    if kind == "training":  # of many sizes that are none of one another: there is no such point
        return f"the GPU is predicted to be faster at {int((gain.predicted > 1).sum())} of {len(gain.size)} trainings"
    if gain.crossover is None:
        return f"at the largest measured size, {gain.size[-1]:,.0f} samples, the GPU is predicted to be no faster"
    if gain.from_first:
        return f"at every measured size, from {gain.size[0]:,.0f} samples on, the GPU is predicted to be faster"
    return f"predicted crossover at {gain.crossover:,.0f} samples"


def gain_picture(gain: Gain, kind: str, name: str) -> Picture:
    """How many times as fast the GPU is."""
    figure = pic.figure()
    axes = figure.subplots()
    axes.axhline(1, color=pic.INK, linewidth=1)
    line = {"linestyle": "-"} if kind == "batch" else {"linestyle": "none", "marker": "o", "mfc": "none", "ms": 10}
    axes.plot(gain.size, gain.predicted, color=pic.COLOURS[0], label="predicted", **line)
    axes.plot(gain.size, gain.measured, color=pic.COLOURS[1], marker="o", linestyle="none", label="measured")
    if kind == "batch" and gain.crossover is not None and not gain.from_first:
        axes.axvline(gain.crossover, color=pic.FAINT, linestyle="--", linewidth=1.4, label="predicted crossover")
    _log(axes, UNIT[kind], "speed-up of the GPU over the CPU")
    axes.legend(loc="upper left")
    said = crossover_text(gain, kind)
    return pic.finish(
        figure,
        name,
        f"Speed-up of the GPU over the CPU, {KINDS[kind]}: measured {gain.measured.min():.3g} to {gain.measured.max():.3g}; {said}.",
        f"Time of the CPU over time of the GPU, {KINDS[kind]}, each by the variant that the model expects to be its fastest. "
        f"Above 1 the GPU is faster; {said}.",
    )
