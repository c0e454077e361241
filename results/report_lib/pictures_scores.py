"""Pictures of the answers: confusion matrix, letters, the worst images, and the first layer's weights."""

from __future__ import annotations

from typing import Optional

import numpy as np
from matplotlib.colors import PowerNorm

from . import picture as pic
from .picture import Picture
from .reader import Results
from .scores import Scored, Worst
from .stats import wilson


def confusion(results: Results, scored: Scored) -> Optional[Picture]:
    """None without labels."""
    if scored.confusion is None:
        return None
    counts = scored.confusion.astype(np.int64)
    letters = results.classes
    total = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(total, 1)
    figure = pic.figure(height=6.0)
    axes = figure.subplots()
    diagonal = np.eye(len(counts), dtype=bool)
    norm = PowerNorm(0.45, 0, 1)
    for colours, mask in (("Blues", diagonal), ("Oranges", ~diagonal)):
        axes.imshow(np.ma.masked_where(~mask | (counts == 0), 0.15 + 0.6 * norm(share)), cmap=colours, vmin=0, vmax=1)
    axes.set_xticks(np.arange(-0.5, len(counts)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(counts)), minor=True)
    axes.grid(False)
    axes.grid(which="minor", color="#e9ecef", linewidth=0.8)
    axes.tick_params(which="both", length=0)
    size = 11 if counts.max() < 1000 else 8.5 if counts.max() < 10000 else 6
    for i, j in zip(*np.nonzero(counts)):
        axes.text(
            j,
            i,
            f"{counts[i, j]}",
            ha="center",
            va="center",
            fontsize=size,
            color="white" if share[i, j] > 0.62 else "black",
            fontweight="normal" if i == j else "bold",
        )
    axes.set_xticks(range(len(letters)), letters)
    axes.set_yticks(range(len(letters)), letters)
    axes.set(xlabel="letter read", ylabel="letter shown")
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    pairs = [(int(wrong[i, j]), letters[i], letters[j]) for i, j in zip(*np.nonzero(wrong))]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    said = ", ".join(f"{a} read as {b} ({n:,})" for n, a, b in pairs[:3])
    right = int(np.trace(counts))
    return pic.finish(
        figure,
        "confusion",
        f"Confusion matrix: {right:,} of {int(counts.sum()):,} samples right on the diagonal. "
        + (f"Most frequent errors: {said}." if pairs else "No errors."),
        "A row a letter shown, a column a letter read. Blue: right; orange, off the diagonal: wrong; the darker, the larger "
        "the share of the letter shown. " + (f"Most often: {said}." if pairs else "Nothing does."),
    )


def letters(results: Results, scored: Scored) -> Picture:
    """Share of each letter that is right, with its interval; without labels how often each was read."""
    names = results.classes
    figure = pic.figure(height=6.0 if scored.confusion is not None else 5.0)
    axes = figure.subplots()
    y = np.arange(len(names))
    axes.set_yticks(y, names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    if scored.confusion is None:
        axes.barh(y, scored.read_as, color=pic.COLOURS[4])
        for k, n in enumerate(scored.read_as):
            axes.text(n, k, f" {n:,}", va="center", fontsize=10.5)
        axes.margins(x=0.15)
        axes.set(xlabel="samples read as this letter", ylabel="letter")
        return pic.finish(
            figure,
            "letters",
            "How often each letter was read: " + ", ".join(f"{a} {n}" for a, n in zip(names, scored.read_as)) + ".",
            "How often each letter was read. The data have no labels, so nothing says what is right.",
        )
    right = np.diag(scored.confusion)
    total = scored.confusion.sum(axis=1)
    low_most = 1.0
    for k in range(len(names)):
        if not total[k]:
            axes.text(
                0.99,
                k,
                "no samples",
                va="center",
                ha="right",
                fontsize=10.5,
                color=pic.FAINT,
                transform=axes.get_yaxis_transform(),
            )
            continue
        low, high = wilson(int(right[k]), int(total[k]))
        low_most = min(low_most, low)
        axes.plot([100 * low, 100 * high], [k, k], color=pic.COLOURS[0], linewidth=4, alpha=0.45, solid_capstyle="butt")
        axes.plot(100 * right[k] / total[k], k, "o", color=pic.COLOURS[0], markersize=7, markeredgecolor="white")
        axes.text(
            1.01, k, f"{right[k]:,}/{total[k]:,}", va="center", fontsize=10.5, transform=axes.get_yaxis_transform()
        )
    axes.set_xlim(max(0, 100 * low_most - 3), 101)
    axes.set(xlabel="right (%)", ylabel="letter shown")
    return pic.finish(
        figure,
        "letters",
        "Share of each letter that is right: "
        + ", ".join(f"{a} {r} of {n}" for a, r, n in zip(names, right, total))
        + ".",
        "Dot: share of the letter's samples that were read right; bar: its 95 % interval (Wilson), wide where there are few.",
    )


# ---- the worst images ----


def said_of(worst: Worst, k: int, names: list[str]) -> tuple[str, str]:
    """What a picture's caption says: 'M, read as N', and the two scores that decided."""
    read, shown = names[worst.predicted[k]], worst.expected[k]
    scores = worst.scores[k]
    if shown < 0:
        second = int(np.argsort(-scores, kind="stable")[1])
        return f"read as {read}", f"{read} {scores[worst.predicted[k]]:.2f}, {names[second]} {scores[second]:.2f}"
    if shown == worst.predicted[k]:
        second = int(np.argsort(-scores, kind="stable")[1])
        return f"{names[shown]}, right", f"{names[shown]} {scores[shown]:.2f}, {names[second]} {scores[second]:.2f}"
    return (
        f"{names[shown]}, read as {read}",
        f"{read} {scores[worst.predicted[k]]:.2f}, {names[shown]} {scores[shown]:.2f}",
    )


def worst_sheet(results: Results, worst: Worst, images: np.ndarray) -> Picture:
    """All of them on one sheet, for slides; the page shows them one by one."""
    names = results.classes
    columns, wide, high = 6, 1.25, 1.55  # of a cell, in sides of an image
    lines = max(1, -(-len(images) // columns))
    figure = pic.figure(pic.WIDTH * 1.3, pic.WIDTH * 1.3 / columns / wide * high * lines)
    axes = figure.subplots()  # one for all: 24 of them would take longer than the rest of the page
    axes.set_axis_off()
    for k, image in enumerate(images):
        left, top = k % columns * wide, k // columns * high
        axes.imshow(image, cmap="gray", vmin=0, vmax=255, extent=(left, left + 1, top + 1, top))
        head, scores = said_of(worst, k, names)
        axes.text(left, top - 0.04, f"{head}\n{scores}", fontsize=10, va="bottom")
    axes.set(xlim=(0, columns * wide - 0.2), ylim=(lines * high - 0.5, -0.45))
    return pic.finish(figure, "worst_images", "The worst-read images with their scores.", "", True)


# ---- weights ----


def choose_weights(results: Results, trial: int, best: Optional[int]) -> Optional[tuple[np.ndarray, int, str]]:
    """First-layer weights (neurons, 64), whose they are, and the shape's name: of the best trial, else of the one that
    scored the samples, else of the first that has some. None where none is kept."""
    groups = []
    for name in results.names("weights"):
        owners = results.column(f"weights/{name}/trial")
        shape = results.shape(f"weights/{name}/w1")
        if owners is not None and shape and len(shape) == 3 and shape[0] == len(owners) and shape[2] == 64:
            groups.append((name, owners))
    for wanted in [t for t in (best, trial) if t is not None and t >= 0] + [None]:
        for name, owners in groups:
            places = np.arange(len(owners)) if wanted is None else np.flatnonzero(owners == wanted)
            for place in places[:50]:
                weights = results.read(f"weights/{name}/w1", int(place))
                if weights is not None and np.isfinite(weights).all():
                    return np.asarray(weights, dtype=float), int(owners[place]), name
    return None


def first_layer(chosen: tuple[np.ndarray, int, str]) -> Picture:
    weights, trial, shape = chosen
    n = len(weights)
    columns = 8 if n <= 40 else 12 if n <= 72 else 16
    lines = -(-n // columns)
    limit = float(np.percentile(np.abs(weights), 99.5)) or 1.0
    gap = 1
    sheet = np.full((lines * (8 + gap) - gap, columns * (8 + gap) - gap), np.nan)
    for k in range(n):
        top, left = k // columns * (8 + gap), k % columns * (8 + gap)
        sheet[top : top + 8, left : left + 8] = weights[k].reshape(8, 8)
    figure = pic.figure(height=pic.WIDTH * 0.86 * lines / columns + 0.4)
    axes = figure.subplots()
    axes.set_axis_off()
    drawn = axes.imshow(np.ma.masked_invalid(sheet), cmap="PuOr", vmin=-limit, vmax=limit, interpolation="nearest")
    figure.colorbar(drawn, ax=axes, label="weight of a pixel", pad=0.02, shrink=0.8)
    return pic.finish(
        figure,
        "first_layer",
        f"First-layer weights of trial {trial}: {n} neurons as 8 by 8 pictures.",
        f"Trial {trial} (network {shape}): a square a neuron of the first hidden layer, a cell the weight of "
        "that pixel. Violet: bright there excites it; orange: it holds it back; white: it does not matter.",
    )
