"""The top of the page: verdict, figure of merit, and the few numbers that people look for first."""

from __future__ import annotations

import os

import numpy as np

from . import scores, stats
from .html import card, esc, notice
from .picture import percent
from .reader import KNOWN_VERSION, Damaged, Results
from .trials import Trials

WORDS = {
    "VALID": ("good", "✓ VALID"),
    "INVALID": ("bad", "✗ INVALID"),
    "FAILED": ("bad", "✗ FAILED"),
    "NOT_VALIDATED": ("none", "? NOT VALIDATED"),
}


def mark(result: str) -> str:
    """A check's result with a sign, so that it does not hang on a colour."""
    return {"passed": "✓ passed", "failed": "✗ <b>failed</b>"}.get(result, "? " + esc(result))


def _why(verdict: stats.Verdict) -> str:
    if verdict.word == "FAILED":
        return "every trial diverged or failed: there is no trained network"
    if verdict.word == "NOT_VALIDATED":
        return "no check was run"
    if verdict.word == "INVALID":
        return f"{verdict.failed} of {verdict.failed + verdict.passed + verdict.not_run} checks found other values than the reference's"
    rest = f", {verdict.not_run} not run" if verdict.not_run else ""
    return f"{verdict.passed} checks passed{rest}: the answers are the reference's"


def hero(results: Results, trials: Trials) -> tuple[str, list[str]]:
    """HTML, and what of it is damaged."""
    damaged: list[str] = []
    pieces = []
    valid = False
    try:
        verdict = stats.verdict(results, trials)
        kind, word = WORDS[verdict.word]
        valid = verdict.word == "VALID"
        pieces.append(
            f'<p style="max-width:none"><span class="badge {kind}" data-key="verdict" data-value="{verdict.word}">{word}</span>'
            f'<span class="why">{_why(verdict)}</span></p>'
        )
    except Damaged as problem:
        damaged.append(str(problem))
        pieces.append(notice(f"No verdict: {esc(problem)}."))
    cards = []
    for maker in (_chosen, _accuracy, _trials, _training, _inference, _data):
        try:
            cards += maker(results, trials, valid)
        except Damaged as problem:
            damaged.append(str(problem))
    if results.version > KNOWN_VERSION:
        pieces.append(
            notice(
                f"The file is of format version {results.version}; this page knows version {KNOWN_VERSION} "
                "and may miss what is new."
            )
        )
    return "".join(pieces) + f'<div class="cards">{"".join(cards)}</div>', damaged


def _accuracy(results: Results, trials: Trials, valid: bool) -> list[str]:
    scored = scores.load(results)
    if scored is None:
        return [card("Scored samples", "none", "no trial has weights that scored any")]
    whose = f"weights of trial {scored.trial}" if scored.trial >= 0 else "no weights"
    if scored.right is None:
        return [card("Scored samples", f"{scored.n:,}", f"without labels; {whose}", "scored", scored.n)]
    low, high = stats.wilson(scored.right, scored.n)
    name = "Right"
    if _is_test(results):
        chosen = trials.best()
        name = (
            "Right on the test samples"
            if chosen is None or chosen == scored.trial
            else f"Trial {scored.trial}, the first, on the same"
        )
    return [
        card(
            name,
            percent(scored.right / scored.n),
            f"{scored.right:,} of {scored.n:,}; 95 % interval {100 * low:.2f} to {100 * high:.2f} %; {whose}",
            "right",
            scored.right,
        )
    ]


def _is_test(results: Results) -> bool:
    return results.attributes("/provenance").get("option_command", "run") != "infer"


def _chosen(results: Results, trials: Trials, valid: bool) -> list[str]:
    best = trials.best()
    if best is None or not _is_test(results):
        return []
    loss = trials.column.get("validation_loss", np.full(trials.n, np.nan))[best]
    test = trials.column.get("test_accuracy")
    shown = percent(float(test[best])) if test is not None and np.isfinite(test[best]) else "n/a"
    rate = f", learning rate {trials.value_text('learning_rate', best)}" if trials.varies("learning_rate") else ""
    why = "the lowest validation loss" if trials.leader is None else "the sweep's first place; validation loss"
    return [
        card(
            "Best trial, right on the test samples",
            shown,
            f"trial {best}{rate}: {why}, {loss:.4g}",
            "best_trial",
            best,
        )
    ]


def _trials(results: Results, trials: Trials, valid: bool) -> list[str]:
    if not trials.n:
        return [card("Trials", "0")]
    bad = [f"{trials.count(s):,} {s}" for s in ("diverged", "failed", "not run") if trials.count(s)]
    note = f"{trials.count('ok'):,} ok" + (", " + ", ".join(bad) if bad else "")
    if trials.n > 1:
        n = trials.n_configurations
        seeds = len(np.unique(trials.column["seed"])) if "seed" in trials.column else 1
        blocks = len(np.unique(trials.column["block"])) if "block" in trials.column else 1
        parts = [
            f"{n:,} setting{'s' if n != 1 else ''}",
            f"{seeds:,} seed{'s' if seeds != 1 else ''}",
            f"{blocks} block size{'s' if blocks != 1 else ''}",
        ]
        note += " (" + ", ".join(parts) + ")"
    return [card("Trials", f"{trials.n:,}", note, "trials", trials.n)]


def _training(results: Results, trials: Trials, valid: bool) -> list[str]:
    merit = stats.merit(results, trials)
    where = f"{merit.ranks:,} rank{'s' if merit.ranks != 1 else ''}, {merit.gpus} GPU{'s' if merit.gpus != 1 else ''}"
    if merit.updates_per_s is None:
        return []
    if not valid:
        return [card("Training speed", "n/a", f"not stated, because the run is not valid; {where}")]
    return [
        card(
            "Training speed",
            f"{stats.rate_text(merit.updates_per_s)}",
            f"sample updates a second ({stats.rate_text(merit.trainings_per_s)} trainings a second), {where}",
            "updates_per_s",
            merit.updates_per_s,
        )
    ]


def _inference(results: Results, trials: Trials, valid: bool) -> list[str]:
    merit = stats.merit(results, trials)
    if merit.samples_per_s is None:
        return []
    value = stats.rate_text(merit.samples_per_s) if valid else "n/a"
    return [card("Reading speed", value, "samples a second, by the slowest rank", "samples_per_s", merit.samples_per_s)]


def _data(results: Results, trials: Trials, valid: bool) -> list[str]:
    sizes = {part: (results.shape(f"dataset/{part}_index") or (0,))[0] for part in ("train", "validation", "test")}
    path = results.text("dataset/path") or "path not stored"
    path = (
        "drawn hands, the built-in set"
        if path.startswith("synthetic:")
        else f"from {os.path.basename(path.rstrip('/')) or path}"
    )
    counts = results.column("dataset/counts")
    total = int(counts.sum()) if counts is not None else 0
    if not total:
        total = results.n_scores
    parts = ", ".join(
        f"{n:,} {name}" for name, n in zip(("for training", "held out", "for the test"), sizes.values()) if n
    )
    return [card("Data", f"{total:,} samples", f"{parts}{'; ' if parts else ''}{esc(path)}", "samples", total)]
