"""What differs between two files: data, answers, speed, and where they come from."""

from __future__ import annotations

from typing import Callable, Optional

import numpy as np

from . import scores, stats
from .html import esc, folded, notice, table
from .picture import percent
from .reader import Damaged, Results, first_line
from .trials import Trials


def section(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> tuple[str, list[str]]:
    """HTML of 'A against B', and what of it is damaged."""
    pieces, damaged = [], []
    for part in (_sameness, _numbers, _pairs, _origins):
        try:
            pieces.append(part(a, b, trials_a, trials_b))
        except Damaged as problem:
            damaged.append(str(problem))
        except Exception as problem:  # as in sections.build
            damaged.append(f"{type(problem).__name__}: {first_line(problem)}")
    pieces += [notice(f"This part could not be made: {esc(why)}.") for why in damaged]
    return f'<section id="difference"><h2>A against B</h2>{"".join(pieces)}</section>', damaged


def _key(trials: Trials) -> Optional[list[tuple]]:
    """What makes a trial the same in two files: everything but the block size."""
    names = ("learning_rate", "decay", "initial_range", "epochs", "hidden1", "hidden2", "seed")
    if any(name not in trials.column for name in names):
        return None
    columns = [trials.column[name][trials.once].tolist() for name in names]
    return list(zip(*columns))


def common(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> Optional[tuple[int, int, int]]:
    """Trials of equal hyperparameters: how many, of how many weights are stored as digests in both, how many are equal."""
    keys_a, keys_b = _key(trials_a), _key(trials_b)
    digest_a = a.column("trials/digest", trials_a.n)
    digest_b = b.column("trials/digest", trials_b.n)
    if keys_a is None or keys_b is None or digest_a is None or digest_b is None:
        return None
    place = dict(zip(keys_b, trials_b.once.tolist()))
    pairs = [(t, place[k]) for k, t in zip(keys_a, trials_a.once.tolist()) if k in place]
    known = [(s, t) for s, t in pairs if digest_a[s] and digest_b[t]]
    return len(pairs), len(known), sum(digest_a[s] == digest_b[t] for s, t in known)


def _yes(same: bool, what: str, other: str) -> str:
    return f"<li>{'=' if same else '≠'} {what if same else other}</li>"


def _sameness(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> str:
    items = []
    data_a, data_b = a.text("dataset/digest"), b.text("dataset/digest")
    if data_a and data_b:
        items.append(
            _yes(data_a == data_b, "The same data (equal SHA-256).", "<b>Other data</b>: their SHA-256 differ.")
        )
    rules = [r.attributes("/").get("arithmetic_version") for r in (a, b)]
    items.append(
        _yes(
            rules[0] == rules[1],
            f"The same arithmetic (version {esc(rules[0])}).",
            f"<b>Other arithmetic</b>: version {esc(rules[0])} and {esc(rules[1])}: bits may differ.",
        )
    )
    found = common(a, b, trials_a, trials_b)
    if found and found[0]:
        n, known, equal = found
        items.append(
            _yes(
                known == equal and known > 0,
                f"{n:,} trials with equal settings and seed are in both; {equal:,} of {known:,} "
                "trained networks are equal, bit for bit.",
                f"{n:,} trials with equal settings and seed are in both; of {known:,} trained networks {equal:,} are equal, "
                f"<b>{known - equal:,} differ</b>.",
            )
        )
    elif found:
        items.append("<li>≠ No trial of A has the settings and seed of one of B.</li>")
    return f"<ul>{''.join(items)}</ul><p><code>libras_mpi verify A.h5 B.h5</code> compares every number.</p>"


def _numbers(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> str:
    rows = []

    def row(
        label: str, left: Optional[float], right: Optional[float], text: Callable[[float], str], change: str
    ) -> None:
        if left is None and right is None:
            return
        shown = [text(v) if v is not None and np.isfinite(v) else "n/a" for v in (left, right)]
        moved = ""
        if left is not None and right is not None and np.isfinite(left) and np.isfinite(right):
            if change == "points":
                moved = f"{100 * (right - left):+.2f} points".replace("-", "−")
            elif right == left:
                moved = "the same"
            elif change == "ratio" and left > 0:
                moved = f"× {right / left:.3g}"
            else:
                moved = f"{right - left:+,.4g}".replace("-", "−") if right != left else "the same"
        rows.append([label, *shown, moved])

    done = [scores.load(r) for r in (a, b)]
    share = [s.right / s.n if s and s.right is not None else None for s in done]
    row("right, of the scored samples", share[0], share[1], percent, "points")
    best = [t.best() for t in (trials_a, trials_b)]
    for name, label, text, change in (
        ("validation_loss", "validation loss of the best trial", lambda v: f"{v:.4g}", "ratio"),
        ("test_accuracy", "test accuracy of the best trial", percent, "points"),
    ):
        values = [
            float(t.column[name][k]) if k is not None and name in t.column else None
            for t, k in zip((trials_a, trials_b), best)
        ]
        row(label, values[0], values[1], text, change)
    row("trials", trials_a.n, trials_b.n, lambda v: f"{v:,.0f}", "difference")
    row(
        "trials that did not end well",
        int((~trials_a.ok).sum()),
        int((~trials_b.ok).sum()),
        lambda v: f"{v:,.0f}",
        "difference",
    )
    merits = [stats.merit(a, trials_a), stats.merit(b, trials_b)]
    row("ranks", merits[0].ranks, merits[1].ranks, lambda v: f"{v:,.0f}", "difference")
    row("sample updates a second", merits[0].updates_per_s, merits[1].updates_per_s, stats.rate_text, "ratio")
    row("trainings a second", merits[0].trainings_per_s, merits[1].trainings_per_s, stats.rate_text, "ratio")
    row("samples read a second", merits[0].samples_per_s, merits[1].samples_per_s, stats.rate_text, "ratio")
    return table(["", "A", "B", "from A to B"], rows, "", (1, 2, 3))


def _pairs(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> str:
    found = scores.paired(a, b)
    if found is None:
        return notice("The files did not score the same samples, so their answers cannot be compared one by one.")
    n = sum(found.values())
    return (
        f"<p>Of the same {n:,} samples: both right {found['both']:,}, <b>only A right {found['only A']:,}</b>, "
        f"<b>only B right {found['only B']:,}</b>, both wrong {found['neither']:,}.</p>"
    )


def _origins(a: Results, b: Results, trials_a: Trials, trials_b: Trials) -> str:
    left, right = a.attributes("/provenance"), b.attributes("/provenance")
    rows = [
        [esc(k), esc(left.get(k, "")), esc(right.get(k, ""))]
        for k in sorted(set(left) | set(right))
        if left.get(k) != right.get(k)
    ]
    return folded(f"Where they come from: {len(rows)} notes differ", table(["note", "A", "B"], rows))
