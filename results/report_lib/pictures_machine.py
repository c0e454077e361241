"""Pictures of the machine: block size against time, what each rank did, and the model's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import picture as pic
from .picture import Picture
from .reader import Results
from .stats import earlier_trials, phase_seconds, seconds_text
from .trials import Trials

MOST_RANKS = 24


def block_sizes(results: Results, trials: Trials) -> Optional[Picture]:
    """Time of an update by block size. None where there are no times or no blocks."""
    seconds = results.column("execution/trial_seconds", trials.n) if trials.n else None
    if seconds is None or "block" not in trials.column or not trials.n:
        return None
    shape = results.shape("dataset/train_index")
    n_train = shape[0] if shape else 0
    epochs = trials.column.get("epochs_run")
    per_update = bool(n_train) and epochs is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        value = seconds / (epochs * n_train) * 1e6 if per_update else seconds
    good = np.isfinite(value) & (value > 0)
    if not good.any():
        return None
    blocks = np.unique(trials.column["block"])
    groups = [value[good & (trials.column["block"] == b)] for b in blocks]
    unit = "µs" if per_update else "s"
    figure = pic.figure()
    axes = figure.subplots()
    places = np.arange(len(blocks))
    many = max(len(g) for g in groups)
    if many >= 5:
        axes.boxplot(
            groups,
            positions=places,
            widths=0.55,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": pic.COLOURS[4], "alpha": 0.35, "edgecolor": pic.COLOURS[0]},
            medianprops={"color": pic.COLOURS[1], "linewidth": 2},
            whiskerprops={"color": pic.COLOURS[0]},
            capprops={"color": pic.COLOURS[0]},
        )
    spread = np.random.default_rng(1)
    for place, group in zip(places, groups):
        shown = group[np.linspace(0, len(group) - 1, min(150, len(group))).astype(int)] if len(group) else group
        across = spread.uniform(-0.17, 0.17, len(shown)) if len(shown) > 1 else np.zeros(len(shown))
        axes.plot(
            place + across,
            shown,
            "o",
            color=pic.COLOURS[0],
            alpha=0.35 if many > 20 else 0.9,
            markersize=3 if many > 20 else 7,
            markeredgewidth=0,
            zorder=3,
        )
    high = max(float(np.percentile(g, 97)) for g in groups if len(g))
    axes.set_ylim(0, high * 1.15)
    axes.set_xticks(places, [f"{b:.0f}" for b in blocks])
    axes.set_xlim(-0.6, len(blocks) - 0.4)
    axes.set(xlabel="block size (threads)", ylabel=f"time of a sample's update ({unit})" if per_update else "time (s)")
    variants = results.column("execution/trial_variant", trials.n)
    names = sorted({str(v) for v in variants if v}) if variants is not None else []
    cpu = bool(names) and all(v.startswith("cpu") for v in names)
    caption = f"Trained by {', '.join(names)}. " if names else ""
    caption += "A dot is a trial" + (
        "; the box holds the middle half, the line is the median, the whiskers 5 to 95 %." if many >= 5 else "."
    )
    if cpu:
        caption += " A processor has no blocks, so differences here are chance: the block size matters on a GPU alone."
    else:
        caption += " The block size changes a time, never an answer."
    alt = (
        "Time of an update by block size, median: "
        + ", ".join(f"{b:.0f}: {np.median(g):.4g} {unit}" for b, g in zip(blocks, groups) if len(g))
        + "."
    )
    return pic.finish(figure, "block_size", alt, caption)


def rank_timeline(results: Results, trials: Trials) -> Optional[Picture]:
    """A bar a rank, its phases end to end; of many ranks the slowest and some evenly chosen. Its trials stand there only
    where all of them were trained in this time: not with rungs, nor where a sweep was resumed."""
    phases = phase_seconds(results)
    if phases is None:
        return None
    names, seconds = phases
    seconds = np.where(np.isfinite(seconds), seconds, 0)
    total = seconds.sum(axis=1)
    ranks = np.arange(len(seconds))
    if len(ranks) > MOST_RANKS:
        slow = np.argsort(-total, kind="stable")[: MOST_RANKS // 3]
        even = np.linspace(0, len(ranks) - 1, MOST_RANKS - len(slow)).round().astype(int)
        ranks = np.array(sorted(set(slow.tolist()) | set(even.tolist())))
    figure = pic.figure(height=1.9 + 0.36 * len(ranks))
    axes = figure.subplots()
    unit, factor = ("ms", 1e3) if total.max() < 0.5 else ("s", 1.0) if total.max() < 600 else ("min", 1 / 60)
    left = np.zeros(len(ranks))
    hatches = ("", "//", "", "..", "\\\\", "", "xx")
    for k, name in enumerate(names):
        width = seconds[ranks, k] * factor
        axes.barh(
            np.arange(len(ranks)),
            width,
            left=left,
            color=pic.COLOURS[k % len(pic.COLOURS)],
            label=name,
            height=0.68,
            hatch=hatches[k % len(hatches)],
            edgecolor="white",
            linewidth=0.5,
        )
        left += width
    counted = trials.n and not results.has("trials/rung") and not earlier_trials(results, trials)
    owners = results.column("execution/trial_rank", trials.n) if counted else None
    if owners is not None:
        trained = np.bincount(owners[owners >= 0].astype(int), minlength=len(seconds))
        for y, rank in enumerate(ranks):
            n = int(trained[rank]) if rank < len(trained) else 0
            axes.text(left[y], y, f" {n:,} trial{'s' if n != 1 else ''}", va="center", fontsize=11)
        axes.set_xlim(0, float(left.max()) * 1.26 or 1)
    axes.set_yticks(np.arange(len(ranks)), [f"rank {r}" for r in ranks])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"time ({unit}), phase after phase")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncol=5,
        borderaxespad=0.3,
        columnspacing=0.9,
        handlelength=1.1,
        handletextpad=0.4,
    )
    parts = ", ".join(f"{name} {seconds_text(float(seconds[:, k].max()))}" for k, name in enumerate(names))
    return pic.finish(
        figure,
        "rank_timeline",
        f"Seconds of each rank by phase; the slowest rank: {parts}.",
        f"How long each rank took for each phase; the slowest: {parts}."
        + (
            f" {len(ranks)} of {len(seconds):,} ranks are shown, the slowest among them."
            if len(ranks) < len(seconds)
            else ""
        )
        + (" With rungs a trial may have had several ranks, so none is counted here." if results.has("trials/rung") else ""),
    )


# ---- the model ----


@dataclass
class Model:
    """The columns of /model, and its single values (attributes or data sets of one value)."""

    rows: dict[str, np.ndarray]
    single: dict[str, str]


def load_model(results: Results) -> Optional[Model]:
    """None where the file has no /model. results/README.md says which names are read."""
    if not results.has("model"):
        return None
    rows: dict[str, np.ndarray] = {}
    single = {k: v for k, v in results.attributes("model").items() if k not in ("CLASS", "NAME", "long_name")}
    columns = {}
    for name in results.names("model"):
        value = results.column("model/" + name)
        if value is None:
            continue
        if value.size == 1 and value.ndim == 0:
            item = value.reshape(-1)[0]
            single[name] = f"{item:.6g}" if value.dtype.kind == "f" else str(item)
        elif value.ndim == 1:
            columns[name] = value
    n = max((len(v) for k, v in columns.items() if k.startswith(("predicted", "measured"))), default=0)
    rows = {k: v for k, v in columns.items() if len(v) == n}
    return Model(rows, single)


def predicted_measured(model: Model) -> Optional[Picture]:
    """A point a row of /model, both axes logarithmic. None where a column is missing."""
    predicted = next((model.rows[k] for k in ("predicted_seconds", "predicted") if k in model.rows), None)
    measured = next((model.rows[k] for k in ("measured_seconds", "measured") if k in model.rows), None)
    if predicted is None or measured is None or predicted.dtype.kind not in "fiu" or measured.dtype.kind not in "fiu":
        return None
    good = np.isfinite(predicted) & np.isfinite(measured) & (predicted > 0) & (measured > 0)
    if not good.any():
        return None
    figure = pic.figure(height=5.4)
    axes = figure.subplots()
    low = float(min(predicted[good].min(), measured[good].min())) / 2
    high = float(max(predicted[good].max(), measured[good].max())) * 2
    line = np.array([low, high])
    axes.fill_between(line, line / 1.2, line * 1.2, color=pic.MISSING, alpha=0.7, linewidth=0, label="within 20 %")
    axes.plot(line, line, color=pic.FAINT, linewidth=1)
    devices = model.rows.get("device")
    names = sorted({str(d) for d in devices[good]}) if devices is not None else [""]
    for k, name in enumerate(names):
        rows = good if devices is None else good & (devices == name)
        axes.plot(
            predicted[rows],
            measured[rows],
            "os^Dv"[k % 5],
            color=pic.COLOURS[k % len(pic.COLOURS)],
            alpha=0.85,
            label=name or None,
            markersize=6,
        )
    phases = model.rows.get("phase")
    if phases is not None and good.sum() <= 12:
        for k in np.flatnonzero(good):
            axes.annotate(
                str(phases[k]), (predicted[k], measured[k]), xytext=(7, -4), textcoords="offset points", fontsize=9
            )
    axes.set(
        xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel="predicted (s)", ylabel="measured (s)"
    )
    pic.plain_log(axes.xaxis)
    pic.plain_log(axes.yaxis)
    axes.legend(loc="upper left")
    error = np.abs(predicted[good] / measured[good] - 1)
    said = f"median error {100 * np.median(error):.1f} %, worst {100 * error.max():.1f} %, over {int(good.sum())} times"
    return pic.finish(
        figure,
        "model",
        f"Predicted against measured time: {said}.",
        f"On the line the prediction was right; above it the run took longer. {said[0].upper() + said[1:]}.",
    )
