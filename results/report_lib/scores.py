"""What /inference says: how many are right, and which samples the network is most wrong or least sure about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np

from .reader import Damaged, Results
from .stats import streamed


@dataclass
class Scored:
    """The scored samples in numbers. Without labels right and confusion are None."""

    n: int
    trial: int
    right: Optional[int]
    confusion: Optional[np.ndarray]  # (expected, predicted)
    read_as: np.ndarray  # how often each class was predicted
    streamed: bool


@dataclass
class Worst:
    """Samples in order of rising margin: score of the right letter minus the best other one (without labels: the best
    minus the second best)."""

    sample: np.ndarray  # number in the data set
    expected: np.ndarray  # -1: not known
    predicted: np.ndarray
    margin: np.ndarray
    scores: np.ndarray


def load(results: Results) -> Optional[Scored]:
    """None where nothing was scored."""
    n = results.n_scores
    if not n:
        return None
    classes = len(results.classes)
    predicted = results.column("inference/predicted", n)
    if predicted is None:
        raise Damaged("inference/predicted is missing, although there are scores")
    if predicted.size and int(predicted.max()) >= classes:
        raise Damaged(f"inference/predicted names class {int(predicted.max())} of {classes}")
    read_as = np.bincount(predicted.astype(np.int64), minlength=classes)
    trial = results.number("inference/trial")
    expected = results.column("inference/expected", n)
    confusion = results.column("inference/confusion")
    right = None
    if expected is not None:
        right = int((expected == predicted).sum())
        if confusion is not None and confusion.shape != (classes, classes):
            raise Damaged(f"inference/confusion has the shape {confusion.shape}")
        if confusion is not None and (int(confusion.sum()) != n or int(np.trace(confusion)) != right):
            raise Damaged("inference/confusion and inference/predicted contradict each other")
    else:
        confusion = None
    return Scored(n, -1 if trial is None else int(trial), right, confusion, read_as, streamed(results))


def worst(results: Results, scored: Scored, most: int) -> Worst:
    """The `most` samples of the smallest margin, in one pass over the scores."""
    expected_all = results.column("inference/expected", scored.n) if scored.right is not None else None
    predicted_all = results.column("inference/predicted", scored.n)
    assert predicted_all is not None
    margins = np.empty(0)
    places = np.empty(0, dtype=np.int64)
    kept = np.empty((0, len(results.classes)), dtype=np.float32)
    for rows in results.slabs(scored.n):
        scores = results.read("inference/scores", rows)
        assert scores is not None
        if scores.ndim != 2 or scores.shape[1] != len(results.classes):
            raise Damaged(f"inference/scores has the shape {results.shape('inference/scores')}")
        at = np.arange(len(scores))
        own = (predicted_all if expected_all is None else expected_all)[rows].astype(np.int64)
        others = scores.astype(np.float64)
        mine = others[at, own]
        others[at, own] = -np.inf
        margin = mine - others.max(axis=1)
        margin = np.where(np.isfinite(margin), margin, np.inf)
        margins, places = np.concatenate([margins, margin]), np.concatenate([places, at + rows.start])
        kept = np.concatenate([kept, scores])
        order = np.argsort(margins, kind="stable")[:most]
        margins, places, kept = margins[order], places[order], kept[order]
    sample = places
    if not scored.streamed:
        index = results.column("dataset/test_index")
        if index is None or len(index) < scored.n:
            raise Damaged("dataset/test_index is missing, or shorter than the scores")
        sample = index[places].astype(np.int64)
    expected = np.full(len(places), -1) if expected_all is None else expected_all[places].astype(np.int64)
    return Worst(sample, expected, predicted_all[places].astype(np.int64), margins, kept)


def paired(a: Results, b: Results) -> Optional[dict[str, int]]:
    """Over the same samples: how often both, only a, only b, none is right. None if they are not the same samples."""
    columns = []
    for results in (a, b):
        columns.append(
            [results.column(name) for name in ("dataset/test_index", "inference/expected", "inference/predicted")]
        )
    (index_a, expected_a, said_a), (index_b, expected_b, said_b) = columns
    if expected_a is None or expected_b is None or said_a is None or said_b is None or not len(expected_a):
        return None
    if a.text("dataset/digest") != b.text("dataset/digest") or not np.array_equal(expected_a, expected_b):
        return None
    if (index_a is None) != (index_b is None) or (index_a is not None and not np.array_equal(index_a, index_b)):
        return None
    right_a, right_b = said_a == expected_a, said_b == expected_b
    return {
        "both": int((right_a & right_b).sum()),
        "only A": int((right_a & ~right_b).sum()),
        "only B": int((~right_a & right_b).sum()),
        "neither": int((~right_a & ~right_b).sum()),
    }
