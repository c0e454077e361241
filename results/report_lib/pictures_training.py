"""Pictures of the training: learning curves, a parameter against the score, the leaderboard with intervals."""

from __future__ import annotations

from typing import Optional

import numpy as np

from matplotlib.ticker import MaxNLocator

from . import picture as pic
from .picture import Picture
from .reader import Results
from .stats import mean_interval, within
from .trials import LABEL, Parameter, Trials, by_configuration, number_text, parameters

MOST_CURVES = 6
MOST_REPEATS = 400  # curves of one configuration that go into its band
MOST_POINTS = 3000
CROSS = " × : no trial there ended well, or none was made."


def score_column(trials: Trials) -> Optional[str]:
    """validation, where samples were held out; else test, to look at; None where neither is there."""
    for kind in ("validation", "test"):
        if trials.has(kind + "_accuracy") or trials.has(kind + "_loss"):
            return kind
    return None


def ranking(trials: Trials) -> list[int]:
    """Configurations by rising median validation loss (a mean would hang on the one seed that nearly diverged); without
    a hold-out, in the file's order. Those without any last."""
    if not trials.has("validation_loss"):
        return list(range(trials.n_configurations))
    middle = [float(np.median(v)) if len(v) else np.inf for v in by_configuration(trials, "validation_loss")]
    return [int(k) for k in np.argsort(middle, kind="stable")]


# ---- learning curves ----


def _rows(results: Results, rows: np.ndarray) -> np.ndarray:
    """Losses of these trials (rising numbers), read in slabs."""
    parts = []
    for slab in results.slabs(results.n_trials):
        wanted = rows[(rows >= slab.start) & (rows < slab.stop)]
        if len(wanted):
            first = int(wanted[0])
            block = results.read("trials/loss", slice(first, int(wanted[-1]) + 1))
            assert block is not None
            parts.append(block[wanted - first])
    return np.concatenate(parts) if parts else np.empty((0, 0))


def learning_curves(results: Results, trials: Trials) -> Optional[Picture]:
    """None where no loss is stored."""
    shape = results.shape("trials/loss")
    if not shape or len(shape) != 2 or shape[0] != trials.n or not shape[1] or not trials.n:
        return None
    order = ranking(trials)
    picks = sorted(set(np.linspace(0, len(order) - 1, min(MOST_CURVES, len(order))).round().astype(int)))
    ranked = trials.has("validation_loss") and len(order) > 1
    varying = [p for p in parameters(trials)]
    figure = pic.figure()
    axes = figure.subplots()
    graded = len(varying) == 1 and varying[0].value is not None
    value = [trials.column[varying[0].name][trials.first[order[p]]] if graded else 0.0 for p in picks]
    place = np.argsort(np.argsort(value, kind="stable"), kind="stable")
    drawn, lows, tops, bottoms, banded = 0, [], [], [], False
    for k, p in sorted(enumerate(picks), key=lambda item: value[item[0]] if graded else item[0]):
        number = order[p]
        rows = trials.once[trials.configuration[trials.once] == number]
        if len(rows) > MOST_REPEATS:
            rows = rows[np.linspace(0, len(rows) - 1, MOST_REPEATS).astype(int)]
        loss = _rows(results, rows)
        there = np.isfinite(loss).any(axis=0)
        if not there.any():
            continue
        loss = loss[:, : int(np.flatnonzero(there)[-1]) + 1]
        loss = loss[np.isfinite(loss).any(axis=1)]
        epoch = np.arange(1, loss.shape[1] + 1)
        colour = pic.colours_along(len(picks))[place[k]] if graded else pic.COLOURS[k % len(pic.COLOURS)]
        name = trials.configuration_text(number) or "all trials"
        name += " (best)" if ranked and p == 0 else " (worst)" if ranked and p == len(order) - 1 else ""
        low, middle, high = np.nanpercentile(loss, [10, 50, 90], axis=0) if len(loss) > 1 else (loss[0],) * 3
        marker = "o" if loss.shape[1] < 4 else None
        axes.plot(epoch, middle, color=colour, linestyle=pic.DASHES[k % len(pic.DASHES)], label=name, marker=marker)
        if len(loss) > 1:
            axes.fill_between(epoch, low, high, color=colour, alpha=pic.BAND, linewidth=0)
            banded = True
        drawn += 1
        lows.append((name, float(middle[-1])))
        tops.append(float(middle[0]))
        bottoms.append(float(np.nanmin(low)))
    if not drawn:
        return None
    axes.set(xlabel="epoch", ylabel="mean training loss")
    axes.set_yscale("log")
    if min(bottoms) > 0:  # one seed on its way to infinity shall not flatten all others
        axes.set_ylim(0.8 * min(bottoms), min(axes.get_ylim()[1], 3 * max(tops)))
    pic.plain_log(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    if shape[1] == 1:
        axes.set(xticks=[1], xlim=(0.5, 1.5))
    if drawn > 1:  # below, where it hides no line
        longest = max(len(n) for n, _ in lows)
        columns = 2 if longest <= 30 else 1
        small = {"fontsize": max(7.5, 11 * 60 / longest)} if longest > 60 else {}  # as wide as the picture
        axes.legend(
            loc="upper left", bbox_to_anchor=(-0.12, -0.16), borderaxespad=0, ncol=columns, columnspacing=1, **small
        )
        figure.set_size_inches(pic.WIDTH, pic.HEIGHT + 0.26 * -(-drawn // columns))
    others = len(order) - drawn
    caption = "Each line: the loss on the training samples, epoch by epoch; lower is better."
    if banded:
        caption += " A line is the median over seeds, its band holds the middle 80 %."
    elif trials.n_configurations == 1:
        caption += " One seed, so there is no band (`--seed 1:32` would give one)."
    if others > 0:
        caption += (
            f" {others:,} more configurations lie between these{', ranked by validation loss' if ranked else ''}."
        )
    alt = "Learning curves; training loss after the last epoch: " + "; ".join(f"{n} {v:.4g}" for n, v in lows) + "."
    return pic.finish(figure, "learning_curves", alt, caption)


# ---- a parameter against the score ----


def _cells(trials: Trials, column: str, axes: list[Parameter], rows: np.ndarray) -> np.ndarray:
    """Median of a column over these trials for each combination of levels; NaN where there is none."""
    code = np.zeros(len(rows), dtype=np.int64)
    for p in axes:
        code = code * len(p.levels) + p.code[rows]
    size = int(np.prod([len(p.levels) for p in axes]))
    values = trials.column[column][rows]
    good = np.isfinite(values)
    code, values = code[good], values[good]
    order = np.lexsort((values, code))
    code, values = code[order], values[order]
    count = np.bincount(code, minlength=size)
    first = np.cumsum(count) - count
    cells = np.full(size, np.nan)
    there = count > 0
    low, high = first + np.maximum(count - 1, 0) // 2, first + count // 2
    cells[there] = (values[low[there]] + values[high[there]]) / 2
    return cells.reshape([len(p.levels) for p in axes])


def _columns(trials: Trials, kind: str) -> list[tuple[str, str]]:
    return [
        (column, f"{kind} {word}")
        for column, word in ((kind + "_accuracy", "accuracy"), (kind + "_loss", "loss"))
        if trials.has(column)
    ]


def against_score(trials: Trials, kind: str) -> list[Picture]:
    """A picture for each score; which kind depends on how many parameters vary."""
    varying = parameters(trials)
    rows = trials.once[trials.ok[trials.once]]
    if not len(rows):
        return []
    made = []
    for column, label in _columns(trials, kind):
        if not varying:
            picture = _over_seeds(trials, column, label, rows)
        elif len(varying) == 1:
            picture = _line(trials, column, label, varying[0], rows)
        elif len(varying) == 2:
            picture = _heat(trials, column, label, varying, rows, kind == "validation")
        else:
            picture = _slices(trials, column, label, varying, rows)
        if picture:
            made.append(picture)
    return made


def _scale(column: str) -> tuple[float, str]:
    return (100.0, " (%)") if column.endswith("accuracy") else (1.0, "")


def _over_seeds(trials: Trials, column: str, label: str, rows: np.ndarray) -> Optional[Picture]:
    """One configuration, many seeds: how much chance matters."""
    values = trials.column[column][rows]
    values = values[np.isfinite(values)]
    if len(values) < 3:
        return None
    factor, unit = _scale(column)
    mean, low, high = mean_interval(values)
    figure = pic.figure(height=3.2)
    axes = figure.subplots()
    if column.endswith("loss") and values.min() > 0 and values.max() / values.min() > 30:
        bins = np.geomspace(values.min(), values.max(), 40)
        axes.set_xscale("log")
    else:
        bins = min(40, max(5, int(2 * np.sqrt(len(values)))))
    axes.hist(values * factor, bins=bins, color=pic.COLOURS[4], edgecolor="white", linewidth=0.6)
    axes.axvline(mean * factor, color=pic.COLOURS[1], label=f"mean {number_text(mean * factor)}")
    axes.set(xlabel=label + unit, ylabel="seeds")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="best")
    return pic.finish(
        figure,
        f"seeds_{column}",
        f"Histogram of {label} over {len(values)} seeds; mean {mean * factor:.4g}{unit}, "
        f"from {values.min() * factor:.4g} to {values.max() * factor:.4g}.",
        f"One configuration, {len(values):,} seeds: the spread is chance alone.",
    )


def _line(trials: Trials, column: str, label: str, parameter: Parameter, rows: np.ndarray) -> Picture:
    factor, unit = _scale(column)
    values = trials.column[column][rows] * factor
    code = parameter.code[rows]
    named = parameter.value is None
    x = np.arange(len(parameter.levels)) if named else parameter.value
    assert x is not None
    figure = pic.figure()
    axes = figure.subplots()
    shown = np.linspace(0, len(rows) - 1, min(MOST_POINTS, len(rows))).astype(int)
    at = x[code] if named or parameter.binned is False else trials.column[parameter.name][rows]
    axes.plot(
        np.asarray(at)[shown],
        values[shown],
        ".",
        color=pic.COLOURS[4],
        alpha=0.5,
        markersize=4,
        zorder=1,
        label="one seed",
    )
    level = [values[(code == k) & np.isfinite(values)] for k in range(len(x))]
    there = [k for k in range(len(x)) if len(level[k])]
    middle = [float(np.median(level[k])) for k in there]
    axes.plot(x[there], middle, "o-", color=pic.COLOURS[0], markersize=4.5, label="median")
    if any(len(level[k]) > 2 for k in there):
        band = [np.percentile(level[k], [10, 90]) for k in there]
        axes.fill_between(
            x[there],
            [b[0] for b in band],
            [b[1] for b in band],
            color=pic.COLOURS[0],
            alpha=pic.BAND,
            linewidth=0,
            label="middle 80 %",
        )
    if parameter.log:
        axes.set_xscale("log")
        pic.plain_log(axes.xaxis)
    if named:
        pic.few_ticks(axes.xaxis, parameter.levels)
    if column.endswith("loss") and min(middle) > 0 and max(middle) / min(middle) > 5:
        axes.set_yscale("log")
        pic.plain_log(axes.yaxis)
    axes.set(xlabel=parameter.label, ylabel=label + unit)
    axes.legend(loc="best")
    best = there[int(np.argmax(middle) if column.endswith("accuracy") else np.argmin(middle))]
    word = "highest" if column.endswith("accuracy") else "lowest"
    shown_best = max(middle) if word == "highest" else min(middle)
    return pic.finish(
        figure,
        f"parameter_{column}",
        f"{label} against {parameter.label}; the {word} median, "
        f"{shown_best:.4g}{unit}, is at {parameter.levels[best]}.",
        f"{label.capitalize()} at each {parameter.label}; a dot is a trial. The {word} median is at "
        f"{parameter.levels[best]}.",
    )


def _ordered(axes: list[Parameter]) -> tuple[Parameter, Parameter]:
    """The one with more levels along x."""
    a, b = axes
    return (a, b) if len(a.levels) >= len(b.levels) else (b, a)


def _draw_cells(axes: object, cells: np.ndarray, norm: object, column: str, text: bool) -> object:
    """cells: (y, x). Low losses and high accuracies are light."""
    import matplotlib

    name = pic.MAP if column.endswith("accuracy") else pic.MAP + "_r"
    cmap = matplotlib.colormaps[name].copy()
    cmap.set_bad(pic.MISSING)
    drawn = axes.pcolormesh(np.ma.masked_invalid(cells), cmap=cmap, norm=norm, edgecolors="white", linewidth=0.4)  # type: ignore
    axes.grid(False)  # type: ignore[attr-defined]
    for y, x in zip(*np.nonzero(~np.isfinite(cells))):
        axes.text(x + 0.5, y + 0.5, "×", ha="center", va="center", color=pic.INK)  # type: ignore[attr-defined]
    if text:
        for (y, x), value in np.ndenumerate(cells):
            if np.isfinite(value):
                light = sum(drawn.to_rgba(value)[:3]) > 1.5
                axes.text(
                    x + 0.5,
                    y + 0.5,
                    f"{value:.3g}",
                    ha="center",
                    va="center",  # type: ignore[attr-defined]
                    fontsize=10.5,
                    color="black" if light else "white",
                )
    return drawn


def _norm(cells: np.ndarray, column: str) -> object:
    from matplotlib.colors import LogNorm, Normalize

    good = cells[np.isfinite(cells)]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 1.0)
    if column.endswith("loss") and low > 0 and high / low > 8:
        return LogNorm(low, high)
    return Normalize(low, high if high > low else low + 1e-9)


def _heat(trials: Trials, column: str, label: str, varying: list[Parameter], rows: np.ndarray, ring: bool) -> Picture:
    x, y = _ordered(varying)
    factor, unit = _scale(column)
    cells = _cells(trials, column, [y, x], rows) * factor
    figure = pic.figure(height=min(5.6, max(3.6, 1.8 + 0.32 * len(y.levels))))
    axes = figure.subplots()
    drawn = _draw_cells(axes, cells, _norm(cells, column), column, cells.size <= 80 and len(x.levels) <= 10)
    _cell_ticks(axes, x, y)
    _colour_bar(figure, drawn, axes, label + unit)
    caption = f"Median {label} over seeds; light is good."
    alt = f"Heat map of {label} over {x.label} and {y.label}"
    if np.isfinite(cells).any():
        loss = _cells(trials, "validation_loss", [y, x], rows) if ring and trials.has("validation_loss") else cells
        flat = np.nanargmin(loss) if ring or column.endswith("loss") else np.nanargmax(loss)
        by, bx = np.unravel_index(int(flat), cells.shape)
        where = f"{x.label} {x.levels[bx]} and {y.label} {y.levels[by]}"
        if ring:
            _ring(axes, bx, by)
            caption += f" The frame marks the lowest median validation loss: {where}."
        alt += f"; {'lowest loss' if ring else 'best cell'} at {where}, {cells[by, bx]:.4g}{unit}"
    caption += CROSS if (~np.isfinite(cells)).any() else ""
    return pic.finish(figure, f"heat_{column}", alt + ".", caption)


def _ring(axes: object, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    for width, colour in ((4.0, "white"), (2.0, pic.COLOURS[1])):
        axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=colour, linewidth=width, zorder=5))  # type: ignore


def _cell_ticks(axes: object, x: Parameter, y: Parameter, labels: bool = True) -> None:
    for axis, parameter, most in ((axes.xaxis, x, 8), (axes.yaxis, y, 12)):  # type: ignore[attr-defined]
        step = max(1, -(-len(parameter.levels) // most))
        axis.set_ticks(np.arange(0, len(parameter.levels), step) + 0.5)
        axis.set_ticklabels(parameter.ticks[::step])
    if sum(map(len, x.ticks[:: max(1, -(-len(x.levels) // 8))])) > (30 if labels else 16):
        axes.tick_params(axis="x", labelrotation=45)  # type: ignore[attr-defined]
    if labels:
        axes.set(xlabel=x.label, ylabel=y.label)  # type: ignore[attr-defined]


def _colour_bar(figure: object, drawn: object, axes: object, label: str) -> None:
    from matplotlib.colors import LogNorm

    bar = figure.colorbar(drawn, ax=axes, label=label, pad=0.02)  # type: ignore[attr-defined]
    if isinstance(drawn.norm, LogNorm):  # type: ignore[attr-defined]
        pic.plain_log(bar.ax.yaxis)


def _effect(trials: Trials, column: str, parameter: Parameter, rows: np.ndarray) -> float:
    """How far the median score moves along a parameter, over all values of the others."""
    cells = _cells(trials, column, [parameter], rows)
    return float(np.nanmax(cells) - np.nanmin(cells)) if np.isfinite(cells).any() else 0.0


def _maps(z: Parameter, shown: int) -> str:
    """What each map of the slices stands for."""
    of = f"{shown} of the {len(z.levels)} " if shown < len(z.levels) else "each of its "
    if z.binned:
        return f"A map for {of}bins of {z.label}, whose values were drawn: above it the middle of the bin."
    return f"A map for {of}values of {z.label}." if shown < len(z.levels) else f"A map for each value of {z.label}."


def _slices(trials: Trials, column: str, label: str, varying: list[Parameter], rows: np.ndarray) -> Optional[Picture]:
    """Heat maps over the two parameters that matter most, one for each value of the third."""
    by = column.replace("accuracy", "loss")  # the same order for both scores
    by = by if trials.has(by) else column
    varying = sorted(varying, key=lambda p: -_effect(trials, by, p, rows))
    x, y = _ordered(varying[:2])
    z = varying[2]
    factor, unit = _scale(column)
    cells = _cells(trials, column, [z, y, x], rows) * factor
    levels = sorted(set(np.linspace(0, len(z.levels) - 1, min(6, len(z.levels))).round().astype(int)))
    columns = min(3, len(levels))
    lines = -(-len(levels) // columns)
    figure = pic.figure(pic.WIDTH * 1.5, 1.2 + 2.7 * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    norm = _norm(cells[levels], column)
    drawn = None
    for k, axes in enumerate(grid.flat):
        if k >= len(levels):
            axes.set_visible(False)
            continue
        drawn = _draw_cells(axes, cells[levels[k]], norm, column, columns * len(x.levels) <= 12)
        axes.set_title(f"{z.label} {z.levels[levels[k]]}")
        _cell_ticks(axes, x, y, False)
    for axes in grid[-1]:
        axes.set_xlabel(x.label)
    for axes in grid[:, 0]:
        axes.set_ylabel(y.label)
    _colour_bar(figure, drawn, list(grid.flat), label + unit)
    over = ["seeds"] * trials.varies("seed") + [p.label for p in varying[3:]]
    whole = " over " + " and ".join(filter(None, [", ".join(over[:-1]), over[-1]])) if over else ""
    binned = [p.label for p in (x, y) if p.binned]
    along = f" Along {' and '.join(binned)}, too, values are in bins." if binned and z.binned else ""
    along = f" Along {' and '.join(binned)} values are in bins." if binned and not z.binned else along
    return pic.finish(
        figure,
        f"slices_{column}",
        f"{label} over {x.label} and {y.label} in {len(levels)} slices along {z.label}.",
        f"Median {label}{whole}; light is good. "
        + _maps(z, len(levels))
        + along
        + (CROSS if (~np.isfinite(cells[levels])).any() else ""),
        True,
    )


# ---- leaderboard ----


def leaderboard(trials: Trials, kind: str, most: int = 12) -> Optional[Picture]:
    """Configurations with the mean accuracy and its interval. None for fewer than two, or without seeds to compare."""
    column = kind + "_accuracy"
    if trials.n_configurations < 2 or not trials.has(column):
        return None
    repeats = by_configuration(trials, column)
    order = [k for k in ranking(trials) if len(repeats[k])][:most]
    figure = pic.figure(height=1.3 + 0.36 * len(order))
    axes = figure.subplots()
    rows = [(mean, *within(column, low, high)) for mean, low, high in (mean_interval(repeats[k]) for k in order)]
    for y, (number, (mean, low, high)) in enumerate(zip(order, rows)):
        axes.plot(
            100 * repeats[number][:200],
            np.full(min(200, len(repeats[number])), y),
            "|",
            color=pic.COLOURS[4],
            alpha=0.6,
        )
        if np.isfinite(low):
            axes.plot([100 * low, 100 * high], [y, y], color=pic.COLOURS[0], linewidth=4, solid_capstyle="butt")
        axes.plot(100 * mean, y, "o", color=pic.COLOURS[0], markeredgecolor="white", markersize=8)
    alone = trials.varying()[0] if len(trials.varying()) == 1 else None
    axes.set_yticks(
        range(len(order)),
        [trials.value_text(alone, trials.first[k]) if alone else trials.configuration_text(k) for k in order],
    )
    if alone:
        axes.set_ylabel(LABEL[alone])
    else:
        axes.tick_params(axis="y", labelsize=10)
    axes.invert_yaxis()
    axes.set_xlabel(f"{kind} accuracy (%)")
    ranked = "best validation loss first" if kind == "validation" else "in the file's order: no ranking"
    return pic.finish(
        figure,
        "leaderboard",
        "Leaderboard: "
        + "; ".join(f"{trials.configuration_text(k)} {pic.percent(m)}" for k, (m, _, _) in zip(order, rows))
        + ".",
        f"A row a configuration, {ranked}. Dot: mean over seeds; bar: its 95 % interval, cut at 0 and 100 %; ticks: the seeds.",
    )
