"""The sections of the page that CSV files make, and what stands on top of a page of nothing else."""

from __future__ import annotations

import os
from typing import Sequence

import numpy as np

from . import pictures_model, pictures_scaling
from .html import card, esc, folded, notice, table
from .pictures_model import FAMILIES, KINDS
from .points import FROM, Points
from .sections import Section

WORKS = {"sweep": "a sweep", "infer": "inference of a packed file"}


def sections(files: Sequence[Points]) -> list[Section]:
    """In the order of the files; their ids and pictures are numbered where there are several of a kind."""
    made: list[Section] = []
    for kind in ("model", "scaling"):
        ours = [points for points in files if points.kind == kind]
        for number, points in enumerate(ours, 1):
            mark = f"_{number}" if len(ours) > 1 else ""
            made.append((_model if kind == "model" else _scaling)(points, mark))
    return made


def _name(points: Points) -> str:
    return os.path.basename(points.path)


# ---- the model ----


def _model(points: Points, mark: str) -> Section:
    section = Section(f"model_points{mark}", f"The model, point by point{': ' + _name(points) if mark else ''}")
    family, kinds = pictures_model.family_of(points), pictures_model.kind_of(points.column["work"])
    section.pieces.append(
        f"<p>{points.n:,} points of <code>{esc(_name(points))}</code>: what the performance model predicted from the "
        "machine's numbers alone, and what was then measured. Error: predicted over measured, minus 1, without its sign.</p>"
    )
    gpu = bool((family != "CPU").any())
    if not gpu:
        section.pieces.append(notice("There are no GPU rows: so no speed-up and no crossover."))
    for kind in KINDS:
        picture = pictures_model.time_picture(points, kind, f"model_time_{kind}{mark}")
        if picture:
            section.pieces.append(picture)
        else:
            section.pieces.append(notice(f"There are no rows of {KINDS[kind]}."))
    for kind in KINDS:
        gain = pictures_model.gain_of(points, kind)
        if gain:
            section.pieces.append(pictures_model.gain_picture(gain, kind, f"model_gain_{kind}{mark}"))
        elif gpu and (kinds == kind).any():
            section.pieces.append(notice(f"No size of {KINDS[kind]} has both a CPU's and a GPU's point: no speed-up."))
    section.pieces.append(pictures_model.error_picture(points, f"model_errors{mark}"))
    section.pieces.append(_error_table(points))
    return section


def _error_table(points: Points) -> str:
    family, kinds = pictures_model.family_of(points), pictures_model.kind_of(points.column["work"])
    rows = []
    for label in FAMILIES:
        for kind in KINDS:
            chosen = (family == label) & (kinds == kind)
            if not chosen.any():
                continue
            found = pictures_model.errors(points, chosen)
            ratio = np.median(points.column["predicted"][chosen] / points.column["measured"][chosen])
            shown = [pictures_model.median(found), pictures_model.ninetieth(found), found[-1]]
            rows.append([label, KINDS[kind], f"{len(found)}", *(f"{100 * v:.1f} %" for v in shown), f"{ratio:.2f}"])
    head = ["", "work", "points", "median error", "90th percentile", "largest", "predicted / measured, median"]
    return table(head, rows, "All variants, whether or not a picture shows them.", (2, 3, 4, 5, 6))


# ---- scaling ----


def _scaling(points: Points, mark: str) -> Section:
    section = Section(f"scaling{mark}", f"Scaling{': ' + _name(points) if mark else ''}")
    predicted = np.isfinite(points.column["predicted"]).any()
    section.pieces.append(
        f"<p><code>{esc(_name(points))}</code>: the same work on more ranks (strong), and as much work a rank on more ranks "
        "(weak)."
        + ("" if predicted else " Nothing was predicted: the machine had not been calibrated.")
        + "</p>"
    )
    works = list(dict.fromkeys(str(w) for w in points.column["work"]))
    for number, work in enumerate(works, 1):
        ours = points.rows(points.column["work"] == work)
        said, tag = WORKS.get(work, work), f"{number}{mark}"
        section.pieces.append(f"<h3>{esc(said[0].upper() + said[1:])}</h3>")
        for mode in pictures_scaling.MODES:
            if mode not in pictures_scaling.modes_of(ours):
                section.pieces.append(notice(f"There are no rows of {mode} scaling."))
        section.pieces.append(pictures_scaling.time_picture(ours, said, f"scaling_time_{tag}"))
        section.pieces.append(pictures_scaling.efficiency_picture(ours, said, f"scaling_efficiency_{tag}"))
        section.pieces.append(pictures_scaling.share_picture(ours, said, f"scaling_shares_{tag}"))
    section.pieces.append(folded("The numbers", _scaling_table(points)))
    return section


def _scaling_table(points: Points) -> str:
    names = [name for name in points.column if name not in ("work", "mode")]
    rows = [
        [esc(points.column["work"][k]), esc(points.column["mode"][k])]
        + [f"{points.column[name][k]:.4g}" if np.isfinite(points.column[name][k]) else "n/a" for name in names]
        for k in range(points.n)
    ]
    return table(["work", "mode", *names], rows, "Seconds, but for ranks, size, efficiency and end.", range(2, 2 + len(names)))


# ---- the top of a page without a results file ----


def hero(files: Sequence[Points]) -> str:
    cards = []
    for points in files:
        cards += _model_cards(points) if points.kind == "model" else _scaling_cards(points)
    return f'<div class="cards">{"".join(cards)}</div>'


def _model_cards(points: Points) -> list[str]:
    family = pictures_model.family_of(points)
    made = []
    for label, chosen in (("CPU", family == "CPU"), ("GPU", family != "CPU")):
        if not chosen.any():
            continue
        found = pictures_model.errors(points, chosen)
        middle, high = pictures_model.median(found), pictures_model.ninetieth(found)
        note = f"90th percentile {100 * high:.1f} %, {len(found)} points of {esc(_name(points))}"
        key = f"model_median_{label.lower()}"
        made.append(card(f"median error of the model, {label}", f"{100 * middle:.1f} %", note, key, repr(middle)))
    gain = pictures_model.gain_of(points, "batch")
    if gain:
        value = f"{gain.crossover:,.0f}" if gain.crossover is not None else "none"
        note = f"samples; {esc(pictures_model.crossover_text(gain, 'batch'))}"
        made.append(card("crossover of a batch, predicted", value, note, "crossover_batch", repr(gain.crossover)))
    return made


def _scaling_cards(points: Points) -> list[str]:
    made = []
    for work in dict.fromkeys(str(w) for w in points.column["work"]):
        for mode in pictures_scaling.MODES:
            chosen = (points.column["work"] == work) & (points.column["mode"] == mode)
            if not chosen.any():
                continue
            rows = np.flatnonzero(chosen)
            last = rows[np.argmax(points.column["ranks"][rows])]
            note = f"end to end {points.column['end'][last]:.3f}; {esc(WORKS.get(work, work))}, {esc(_name(points))}"
            label = f"{mode} efficiency on {points.column['ranks'][last]:.0f} ranks"
            value = points.column["efficiency"][last]
            made.append(card(label, f"{value:.3f}", note, f"{mode}_efficiency", repr(float(value))))
    return made


def title(files: Sequence[Points]) -> str:
    return " and ".join(_name(points) for points in files)


def sub(files: Sequence[Points]) -> str:
    return "measurements by " + " and ".join(f"<code>{FROM[kind]}</code>" for kind in dict.fromkeys(p.kind for p in files))
