"""How the pictures look: colours that colour-blind readers tell apart, sizes that stay legible on a phone, and PNG."""

from __future__ import annotations

import io
import logging
import warnings
from dataclasses import dataclass
from typing import Sequence

import matplotlib
import numpy as np
from PIL import Image  # which matplotlib needs, too
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's palette, without its yellow, which is too light for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MAP = "cividis"
BAND = 0.18  # opacity
INK, FAINT, MISSING = "#1b1f24", "#6a7480", "#d9dde2"
WIDTH, HEIGHT, DPI = 6.4, 4.3, 130

matplotlib.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "font.size": 12.5,
        "axes.labelsize": 12.5,
        "axes.titlesize": 12.5,
        "legend.fontsize": 11,
        "xtick.labelsize": 11.5,
        "ytick.labelsize": 11.5,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.edgecolor": "#8a939c",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e3e6ea",
        "grid.linewidth": 0.8,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 2,
        "figure.facecolor": "white",
        "text.parse_math": False,
    }
)
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


@dataclass
class Picture:
    """A PNG, with what it is called, says to those who cannot see it, and means."""

    name: str
    png: bytes
    alt: str
    caption: str
    wide: bool = False


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    made = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(made)
    return made


def finish(made: Figure, name: str, alt: str, caption: str, wide: bool = False) -> Picture:
    """The figure as PNG. The same figure gives the same bytes: there is no date in it."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks, an axis too small for a layout: cosmetic
        made.savefig(out, format="rgba", dpi=DPI)
    size = made.canvas.get_width_height()
    image = Image.frombuffer("RGBA", size, out.getbuffer(), "raw", "RGBA", 0, 1).convert("RGB")
    small = io.BytesIO()
    image.quantize(256, dither=0).save(small, format="png", optimize=True)  # a third of the bytes
    return Picture(name, small.getvalue(), alt, caption, wide)


def few_ticks(axis: object, labels: Sequence[str], most: int = 10) -> None:
    """At most so many ticks along an axis of named places 0, 1, 2 ..."""
    step = max(1, -(-len(labels) // most))
    places = np.arange(0, len(labels), step)
    axis.set_ticks(places)  # type: ignore[attr-defined]
    axis.set_ticklabels([labels[k] for k in places])  # type: ignore[attr-defined]


def plain_log(axis: object) -> None:
    """A logarithmic axis with plain numbers, also between the powers of ten where it spans few."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = sorted(axis.get_view_interval())  # type: ignore[attr-defined]
    span = np.log10(high / low) if low > 0 else 9
    subs = (1, 2, 5) if span < 2.6 else (1, 3) if span < 4 else (1,)
    if span < 0.7:
        subs = (1, 1.5, 2, 3, 4, 5, 6, 8)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))  # type: ignore[attr-defined]
    axis.set_minor_locator(LogLocator(base=10, subs=range(2, 10), numticks=50))  # type: ignore[attr-defined]
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.6g}" if 1e-5 < abs(v) < 1e6 else f"{v:.0e}"))  # type: ignore
    axis.set_minor_formatter(FuncFormatter(lambda v, _: ""))  # type: ignore[attr-defined]


def colours_along(n: int) -> list:
    """n colours of the map from dark to light, leaving out the lightest."""
    return [matplotlib.colormaps["viridis"](0.9 * k / max(1, n - 1)) for k in range(n)]


def percent(value: float, digits: int = 2) -> str:
    return "n/a" if not np.isfinite(value) else f"{100 * value:.{digits}f} %"
