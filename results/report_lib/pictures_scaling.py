"""Pictures of scaling: time, efficiency and shares of the whole over the number of ranks, strong and weak side by side."""

from __future__ import annotations

import numpy as np

from . import picture as pic
from .picture import Picture
from .points import Points

GOALS = (0.97, 0.90)
MODES = ("strong", "weak")
SHARES = ("work", "gather", "file", "start-up", "other")
HATCHES = ("", "//", "..", "\\\\", "xx")


def modes_of(points: Points) -> list[str]:
    return [mode for mode in MODES if (points.column["mode"] == mode).any()]


def _of(points: Points, mode: str) -> dict[str, np.ndarray]:
    """The columns of a mode, in order of ranks."""
    rows = np.flatnonzero(points.column["mode"] == mode)
    rows = rows[np.argsort(points.column["ranks"][rows], kind="stable")]
    return {name: values[rows] for name, values in points.column.items()}


def _panels(points: Points, height: float = 4.6) -> tuple[object, list]:
    modes = modes_of(points)
    figure = pic.figure(width=5.4 * len(modes), height=height)
    axes = figure.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for panel, mode in zip(axes, modes):
        panel.set_title("strong: the same work" if mode == "strong" else "weak: as much work a rank", loc="left")
    return figure, list(zip(axes, modes))


def _ranks_axis(panel: object, ranks: np.ndarray) -> None:
    panel.set_xscale("log", base=2)  # type: ignore[attr-defined]
    panel.set_xticks(ranks, [f"{r:.0f}" for r in ranks])  # type: ignore[attr-defined]
    panel.set_xticks([], minor=True)  # type: ignore[attr-defined]
    panel.set_xlabel("ranks")  # type: ignore[attr-defined]


def time_picture(points: Points, work: str, name: str) -> Picture:
    """Seconds of the work and of the whole, with what was predicted."""
    figure, panels = _panels(points)
    said = []
    for panel, mode in panels:
        rows = _of(points, mode)
        ranks, seconds = rows["ranks"], rows["seconds"]
        spread = [seconds - np.minimum(rows["least"], seconds), np.maximum(rows["largest"], seconds) - seconds]
        ideal = seconds[0] * ranks[0] / ranks if mode == "strong" else np.full(len(ranks), seconds[0])
        panel.plot(ranks, ideal, color=pic.FAINT, linewidth=1, linestyle=":", label="ideal, from the first")
        panel.errorbar(ranks, seconds, yerr=spread, color=pic.COLOURS[0], marker="o", elinewidth=1, label="the work")
        panel.plot(ranks, rows["whole"], color=pic.COLOURS[1], marker="s", label="the whole, without start-up")
        for column, colour, label in (("predicted", 0, "the work"), ("predicted_whole", 1, "the whole")):
            there = np.isfinite(rows[column])
            if there.any():
                panel.plot(ranks[there], rows[column][there], color=pic.COLOURS[colour], linestyle="--", linewidth=1.6,
                           marker="x", label=f"{label}, predicted")
        panel.set_yscale("log")
        pic.plain_log(panel.yaxis)
        _ranks_axis(panel, ranks)
        said.append(f"{mode}: work {seconds[0]:.3g} s on {ranks[0]:.0f}, {seconds[-1]:.3g} s on {ranks[-1]:.0f}; whole "
                    f"{rows['whole'][0]:.3g} and {rows['whole'][-1]:.3g} s")
    panels[0][0].set_ylabel("time (s)")
    panels[0][0].legend(loc="best", fontsize=9.5)
    return pic.finish(
        figure,
        name,
        f"Time of {work} over the number of ranks. " + "; ".join(said) + ".",
        f"Time of {work} over the number of ranks: medians; the bar from the least to the largest. The work is the training "
        "between two barriers, or the inference of the slowest rank; the whole is rank 0's time but for its start-up: with "
        "reading, gathering, scoring, checking and writing.",
        wide=True,
    )


def efficiency_picture(points: Points, work: str, name: str) -> Picture:
    """Of the work and of the whole, with the goals."""
    figure, panels = _panels(points)
    said = []
    high = 1.05
    for panel, mode in panels:
        rows = _of(points, mode)
        for column, colour, marker, label in (("efficiency", 0, "o", "the work"), ("end", 1, "s", "the whole, end to end")):
            panel.plot(rows["ranks"], rows[column], color=pic.COLOURS[colour], marker=marker,
                       linestyle="-" if column == "efficiency" else "--", label=label)
            high = max(high, float(rows[column].max()) * 1.05)
            said.append(f"{mode}, {label}: {rows[column][-1]:.3f} on {rows['ranks'][-1]:.0f} ranks")
        for goal, dash in zip(GOALS, (":", "-.")):
            panel.axhline(goal, color=pic.INK, linewidth=1.2, linestyle=dash, label=f"goal {goal:.2f}")
        _ranks_axis(panel, rows["ranks"])
    panels[0][0].set_ylim(0, high)
    panels[0][0].set_ylabel("efficiency (1 = ideal)")
    panels[0][0].legend(loc="lower left")
    return pic.finish(
        figure,
        name,
        f"Efficiency of {work} over the number of ranks. " + "; ".join(said) + ".",
        "Strong: time of one rank over n times that of n; weak, with n times the work: time of one over time of n. "
        + "; ".join(said)
        + f". The goals are {GOALS[0]:.2f} and {GOALS[1]:.2f}.",
        wide=True,
    )


def shares_of(rows: dict[str, np.ndarray]) -> np.ndarray:
    """(rows, SHARES): parts of the whole with its start-up; what none of them is stands as other."""
    total = rows["whole"] + rows["start"]
    parts = np.column_stack([rows["seconds"], rows["gather"], rows["file"], rows["start"]])
    parts = np.column_stack([parts, np.maximum(0, total - parts.sum(axis=1))])
    return parts / parts.sum(axis=1, keepdims=True)


def share_picture(points: Points, work: str, name: str) -> Picture:
    """Stacked: what the time of a run is made of."""
    figure, panels = _panels(points)
    said = []
    for panel, mode in panels:
        rows = _of(points, mode)
        shares = 100 * shares_of(rows)
        places, bottom = np.arange(len(shares)), np.zeros(len(shares))
        for k, label in enumerate(SHARES):
            panel.bar(places, shares[:, k], bottom=bottom, color=pic.COLOURS[k], hatch=HATCHES[k], edgecolor="white",
                      linewidth=0.5, width=0.7, label=label)
            bottom += shares[:, k]
        panel.set_xticks(places, [f"{r:.0f}" for r in rows["ranks"]])
        panel.set_xlabel("ranks")
        panel.grid(axis="x", visible=False)
        panel.set_ylim(0, 100)
        last = ", ".join(f"{label} {share:.0f} %" for label, share in zip(SHARES, shares[-1]))
        said.append(f"{mode}, {rows['ranks'][-1]:.0f} ranks: {last}")
    panels[0][0].set_ylabel("share of the run's time (%)")
    panels[-1][0].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return pic.finish(
        figure,
        name,
        f"What the time of {work} is made of. " + "; ".join(said) + ".",
        "Shares of a run's time, start-up and all, on rank 0; other is what is none of these: reading the data, checking the "
        "answers, waiting. " + "; ".join(said) + ".",
        wide=True,
    )
