"""Reads the CSV files of tests/perf: model_accuracy.c's points of the performance model, and scaling.py's rows.

Which of the two a file is, its header line says. Everything is looked at before anything is drawn: what is wrong is a
BadInput that names the file, the line and the column.
"""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass
from typing import Optional

import numpy as np

from .reader import BadInput

TEXT, POSITIVE, NOT_NEGATIVE, WHOLE, PERHAPS = "a text", "a number above 0", "0 or a number above it", "a whole number", ""

MODEL = {
    "work": TEXT,
    "device": TEXT,
    "where": TEXT,
    "size": POSITIVE,
    "predicted": POSITIVE,
    "bound": NOT_NEGATIVE,
    "roofline": NOT_NEGATIVE,
    "measured": POSITIVE,
    "lowest": POSITIVE,
    "highest": POSITIVE,
    "group": WHOLE,
}
SCALING = {
    "work": TEXT,
    "mode": TEXT,
    "ranks": POSITIVE,
    "size": POSITIVE,
    "seconds": POSITIVE,
    "least": POSITIVE,
    "largest": POSITIVE,
    "efficiency": POSITIVE,
    "whole": POSITIVE,
    "end": POSITIVE,
    "gather": NOT_NEGATIVE,
    "file": NOT_NEGATIVE,
    "start": NOT_NEGATIVE,
    "predicted": PERHAPS,  # older files lack it; empty where the machine was not calibrated
    "predicted_whole": PERHAPS,
}
KINDS = {"model": MODEL, "scaling": SCALING}
FROM = {"model": "tests/perf/model_accuracy", "scaling": "tests/perf/scaling.py"}
MOST_BYTES = 1 << 26


@dataclass
class Points:
    """A file: its columns, texts and doubles (NaN: empty), all of n rows."""

    path: str
    kind: str  # "model" or "scaling"
    column: dict[str, np.ndarray]
    n: int

    def rows(self, chosen: np.ndarray) -> "Points":
        return Points(self.path, self.kind, {k: v[chosen] for k, v in self.column.items()}, int(chosen.sum()))


def _kind_of(names: list[str]) -> Optional[str]:
    """Half of a kind's columns make it that kind: one that lacks some is still told what it lacks."""
    shares = {kind: len(set(names) & set(columns)) / len(columns) for kind, columns in KINDS.items()}
    best = max(shares, key=lambda kind: shares[kind])
    return best if shares[best] >= 0.5 else None


def is_csv(path: str) -> bool:
    """Whether the first line of a plain file is the header of one of ours. Everything else is the other reader's."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            first = file.read(4096).split(b"\n")[0].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return _kind_of([name.strip().strip('"') for name in first.split(",")]) is not None


def _value(text: str, rule: str) -> Optional[float]:
    """The number; None if it is none that the rule allows."""
    if rule == PERHAPS and not text.strip():
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    least = value > 0 if rule in (POSITIVE, PERHAPS) else value >= 0
    return value if math.isfinite(value) and least and (rule != WHOLE or value == int(value)) else None


def _lines(path: str) -> list[list[str]]:
    if os.path.getsize(path) > MOST_BYTES:
        raise BadInput(f"{path}: too large for a file of measurements")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as problem:
        raise BadInput(f"{path}: this is no CSV file: {problem}") from None
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}") from None


def read(path: str) -> Points:
    """A file of which is_csv said that it is one. Raises BadInput."""
    lines = _lines(path)
    names = [name.strip() for name in lines[0]] if lines else []
    kind = _kind_of(names)
    if kind is None:
        raise BadInput(f"{path}: the first line is no header that {' or '.join(FROM.values())} writes")
    rules = KINDS[kind]
    missing = [name for name, rule in rules.items() if rule != PERHAPS and name not in names]
    if missing:
        raise BadInput(f"{path}: a CSV file of {FROM[kind]}, but it lacks the column {', '.join(missing)}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"{path}: the column {', '.join(twice)} is there twice")
    found: dict[str, list] = {name: [] for name in rules}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        if len(line) != len(names):
            raise BadInput(f"{path}: row {number} has {len(line)} fields, the header {len(names)}")
        fields = dict(zip(names, line))
        for name, rule in rules.items():
            text = fields.get(name, "")
            value = text if rule == TEXT else _value(text, rule)
            if value is None:
                raise BadInput(f"{path}: row {number}, {name}: '{text[:40]}' is not {rule or POSITIVE}")
            found[name].append(value)
    n = len(found["work"])
    if n == 0:
        raise BadInput(f"{path}: a header and no rows: nothing was measured")
    column = {
        name: np.array(values, dtype=object if rules[name] == TEXT else np.float64) for name, values in found.items()
    }
    if kind == "scaling" and not set(column["mode"]) <= {"strong", "weak"}:
        other = next(mode for mode in column["mode"] if mode not in ("strong", "weak"))
        raise BadInput(f"{path}: mode: '{other[:40]}' is neither strong nor weak")
    return Points(path, kind, column, n)
