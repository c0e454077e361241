"""The sections of the page. Each says what it shows, or what the file lacks."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass, field
from typing import Callable, Optional, Union

import numpy as np

from . import images as image_data
from . import pictures_machine, pictures_scores, pictures_training, scores, stats, summary, sweep
from .html import card, data_uri, esc, figure, folded, notice, table
from .picture import Picture, percent
from .reader import Damaged, Results, first_line
from .trials import LABEL, Trials, by_configuration, number_text

WORST = 24
MOST_ROWS = 15


@dataclass
class Section:
    """Pieces of HTML and pictures, in order. damaged: parts of the file that are there and cannot be read."""

    id: str
    title: str
    pieces: list[Union[str, Picture]] = field(default_factory=list)
    extra: list[Picture] = field(default_factory=list)  # PNG files that the page shows in another way
    damaged: list[str] = field(default_factory=list)

    def html(self) -> str:
        """Neighbouring pictures stand beside one another where there is room."""
        out, run = [], []
        for piece in [*self.pieces, ""]:
            if isinstance(piece, Picture):
                run.append(figure(piece))
                continue
            if run:
                out.append(f'<div class="figures">{"".join(run)}</div>')
                run = []
            out.append(piece)
        return "".join(out)

    def pictures(self) -> list[Picture]:
        return [p for p in self.pieces if isinstance(p, Picture)] + self.extra


@dataclass
class Context:
    """What the sections share: read once."""

    results: Results
    trials: Trials
    images: Optional[image_data.Images]
    no_images: str

    def kind(self) -> Optional[str]:
        return pictures_training.score_column(self.trials)


def build(context: Context) -> list[Section]:
    """All sections, in the page's order."""
    makers: list[tuple[str, str, Callable[[Context, Section], None]]] = [
        ("learning", "How it learned", _learning),
        ("parameters", "Which settings are good", _parameters),
        ("leaderboard", "Leaderboard", _leaderboard),
        ("confusion", "What it reads as what", _confusion),
        ("worst", "The images it reads worst", _worst),
        ("weights", "What the first layer looks for", _weights),
        ("machine", "Where the time went", _machine),
        ("model", "Predicted and measured", _model),
        ("checks", "Checks", _checks),
        ("provenance", "Where this comes from", _provenance),
    ]
    made = []
    for name, title, maker in makers:
        section = Section(name, title)
        try:
            maker(context, section)
        except Damaged as problem:
            _say_damaged(section, str(problem))
        except Exception as problem:  # a file may be damaged in ways that nobody thought of: the other sections go on
            if os.environ.get("LIBRAS_REPORT_DEBUG"):
                traceback.print_exc()
            _say_damaged(section, f"{type(problem).__name__}: {first_line(problem)}")
        made.append(section)
    return made


def _say_damaged(section: Section, why: str) -> None:
    section.damaged.append(why)
    section.pieces.append(notice(f"This part could not be made: {esc(why)}."))


# ---- training ----


def _learning(context: Context, section: Section) -> None:
    picture = pictures_training.learning_curves(context.results, context.trials)
    if picture:
        section.pieces.append(picture)
    elif not context.results.has("trials/loss"):
        section.pieces.append(notice("The file has no losses, so there are no learning curves."))
    else:
        section.pieces.append(notice("No trial has a finite loss, so there is no learning curve."))
    trials = context.trials
    for status in sorted(set(trials.status) - {"ok", ""}):
        reasons, counts = np.unique(trials.reason[trials.status == status].astype(str), return_counts=True)
        rows = [[esc(r or "no reason stored"), f"{n:,}"] for n, r in sorted(zip(counts, reasons), reverse=True)[:8]]
        section.pieces.append(table(["reason", "trials"], rows, f"{trials.count(status):,} trials {esc(status)}", (1,)))


NO_HOLDOUT = (
    "No samples were held out for validation (<code>--holdout 0.1</code>), so nothing here may be used to choose "
    "between settings: a setting chosen by its test score looks better than it is. "
)


def _parameters(context: Context, section: Section) -> None:
    trials, kind = context.trials, context.kind()
    if kind is None:
        section.pieces.append(notice("No trial has a validation or a test score, so there is nothing to compare."))
        return
    varying = trials.varying()
    if not varying:
        seeds = len(np.unique(trials.column["seed"])) if "seed" in trials.column else 1
        same = "All trials have the same settings" if trials.n > 1 else "There is one trial"
        how = (
            "a parameter several values in the sweep file: "
            "<code>learning_rate: {from: 0.001, to: 0.1, scale: log, count: 16}</code>"
            if context.results.has("sweep")
            else "an option several values: <code>--learning-rate 0.001:0.1:log16 --holdout 0.1</code>"
        )
        section.pieces.append(
            f"<p>{same}{f', with {seeds:,} seeds' if seeds > 1 else ''}. To compare settings, give {how}.</p>"
        )
    pictures = pictures_training.against_score(trials, kind)
    if pictures and kind == "test":
        section.pieces.append(notice(NO_HOLDOUT + "The pictures show the test score."))
    section.pieces += pictures
    if len(varying) > 2:
        rows = []
        for name in varying:
            rows.append(_marginal(trials, name, kind))
        section.pieces.append(
            table(
                ["setting", "from", "to", "best value", f"median {kind} loss there"],
                rows,
                "Each setting alone, over all values of the others",
                (4,),
            )
        )


def _marginal(trials: Trials, name: str, kind: str) -> list[str]:
    parameter = next(p for p in pictures_training.parameters(trials) if p.name == name)
    rows = trials.once[trials.ok[trials.once]]
    column = kind + "_loss" if trials.has(kind + "_loss") else kind + "_accuracy"
    mean = pictures_training._cells(trials, column, [parameter], rows)
    least, largest = parameter.levels[0], parameter.levels[-1]
    if parameter.binned:
        values = trials.column[name]
        least, largest = number_text(values.min()), number_text(values.max())
    if not np.isfinite(mean).any():
        return [esc(LABEL[name]), least, largest, "n/a", "n/a"]
    best = int(np.nanargmin(mean) if column.endswith("loss") else np.nanargmax(mean))
    value = ("about " if parameter.binned else "") + parameter.levels[best]
    return [esc(LABEL[name]), least, largest, value, f"{mean[best]:.4g}"]


def _interval(values: np.ndarray, samples: int) -> str:
    """Mean and 95 % interval of accuracies: over seeds, or of the share itself where there is one."""
    mean, low, high = stats.mean_interval(values)
    if not np.isfinite(mean):
        return "n/a"
    if not np.isfinite(low) and samples:
        low, high = stats.wilson(round(mean * samples), samples)
    low, high = stats.within("accuracy", low, high)
    inside = f" [{100 * low:.2f}, {100 * high:.2f}]" if np.isfinite(low) else ""
    return f"{100 * mean:.2f} %{inside}"


def _leaderboard(context: Context, section: Section) -> None:
    trials, results, kind = context.trials, context.results, context.kind()
    found = sweep.load(results, trials)
    if found is not None:  # the program has ranked them itself
        section.pieces += sweep.pieces(results, trials, found)
        return
    if kind is None or not trials.n:
        section.pieces.append(notice("There is no score to rank by."))
        return
    names = trials.varying() or (["learning_rate", "epochs", "network"] if trials.n else [])
    names = [n for n in names if n == "network" or n in trials.column]
    sizes = {part: (results.shape(f"dataset/{part}_index") or (0,))[0] for part in ("validation", "test")}
    wanted = (
        ("validation_loss", "validation_accuracy", "test_accuracy")
        if kind == "validation"
        else ("test_loss", "test_accuracy")
    )
    columns = [name for name in wanted if trials.has(name)]
    repeats = {column: by_configuration(trials, column) for column in columns}
    best = trials.best()
    order = pictures_training.ranking(trials)
    ended = np.bincount(trials.configuration[trials.once[~trials.ok[trials.once]]], minlength=trials.n_configurations)
    rows = []
    for place, number in enumerate(order[:MOST_ROWS], 1):
        n = max(len(repeats[column][number]) for column in columns)
        row = [str(place)] if kind == "validation" else []
        row += [esc(trials.value_text(name, trials.first[number])) for name in names]
        for column in columns:
            values = repeats[column][number]
            part = column.split("_")[0]
            text = (
                _interval(values, sizes[part])
                if column.endswith("accuracy")
                else (f"{np.median(values):.4g}" if len(values) else "n/a")
            )
            row.append(text + (f" ({len(values):,} of {n:,})" if 0 < len(values) < n else ""))
        rows.append(row + [f"{n:,}"] + ([f"{ended[number]:,}"] if ended.any() else []))
    head = (["place"] if kind == "validation" else []) + [esc(LABEL[n]) for n in names]
    head += [column.replace("_", " ") + (", mean" if column.endswith("accuracy") else ", median") for column in columns]
    head += ["seeds"] + (["diverged or failed"] if ended.any() else [])
    if trials.n_configurations == 1:
        section.pieces.append("<p>One setting, so there is nothing to rank.</p>")
    elif kind == "test":
        section.pieces.append(notice(NO_HOLDOUT + "The table is in the file's order."))
    elif best is not None:
        section.pieces.append(
            f"<p>Settings in order of their median validation loss over seeds. The single best trial is "
            f"<b>trial {best}</b> ({esc(_trial_text(trials, best))}): validation loss "
            f"{trials.column['validation_loss'][best]:.4g}{_test_of(trials, best, sizes['test'])}.</p>"
        )
    section.pieces.append(
        "<p>In brackets: the 95 % interval of the mean over seeds, cut at 0 and 100 %; for one seed, of the share of "
        "samples.</p>"
    )
    section.pieces.append(table(head, rows, "", range(len(head)), "board"))
    if len(order) > len(rows):
        section.pieces.append(
            f"<p>{len(order) - len(rows):,} more settings are in <code>trials.csv</code> "
            "(<code>report.py FILE -o DIR --csv</code>).</p>"
        )
    picture = pictures_training.leaderboard(trials, kind)
    if picture:
        section.pieces.append(picture)


def _trial_text(trials: Trials, trial: int) -> str:
    names = trials.varying() or ["learning_rate"]
    if "seed" in trials.column:
        names = names + ["seed"]
    return ", ".join(f"{LABEL[n]} {trials.value_text(n, trial)}" for n in names)


def _test_of(trials: Trials, trial: int, n_test: int) -> str:
    if "test_accuracy" not in trials.column or not np.isfinite(trials.column["test_accuracy"][trial]):
        return ""
    share = float(trials.column["test_accuracy"][trial])
    low, high = stats.wilson(round(share * n_test), n_test)
    return f"; test accuracy {percent(share)} [{100 * low:.2f}, {100 * high:.2f}]"


# ---- answers ----


def _confusion(context: Context, section: Section) -> None:
    scored = scores.load(context.results)
    if scored is None:
        section.pieces.append(notice("The file has no scores: no trial had weights to score the test samples with."))
        return
    if scored.trial >= 0:
        note = f"The {scored.n:,} samples were scored under the weights of trial {scored.trial}"
        best = context.trials.best()
        if best is not None and best != scored.trial and not scored.streamed:
            note += (
                f", the file's first, <b>not of the best trial, {best}</b>. <code>libras_mpi infer FILE --trial {best}"
                "</code> makes a file of that one's scores"
            )
        section.pieces.append(f"<p>{note}.</p>")
    picture = pictures_scores.confusion(context.results, scored)
    if picture:
        section.pieces.append(picture)
    else:
        section.pieces.append(notice("The samples have no labels, so there is no confusion matrix."))
    section.pieces.append(pictures_scores.letters(context.results, scored))


def _worst(context: Context, section: Section) -> None:
    scored = scores.load(context.results)
    if scored is None:
        section.pieces.append(notice("The file has no scores."))
        return
    worst = scores.worst(context.results, scored, WORST)
    shown = None
    if context.images is None:
        section.pieces.append(
            notice(f"The pictures cannot be shown: {esc(context.no_images)}. The scores are in the file.")
        )
    elif len(worst.sample) and int(worst.sample.max()) >= context.images.n:
        section.damaged.append("a sample's number is beyond the data")
        section.pieces.append(notice("The pictures cannot be shown: a sample's number is beyond the data."))
    else:
        shown = context.images.take(worst.sample)
    if scored.right is None:
        text = "Without labels nobody knows which are wrong: these are the ones whose two best letters have the closest scores."
    else:
        wrong = scored.n - scored.right
        text = f"{wrong:,} of {scored.n:,} are wrong. " if wrong else f"All {scored.n:,} are right. "
        text += (
            "These are the worst of them, the most wrong first"
            if wrong >= len(worst.sample)
            else "They come first, then those that were only just right"
            if wrong
            else "These were only just right"
        )
        text += "; below each, its highest scores (a letter that fits perfectly has 1, one that does not has 0)."
    section.pieces.append(f"<p>{text}</p>")
    names = context.results.classes
    items = []
    for k in range(len(worst.sample)):
        head, said = pictures_scores.said_of(worst, k, names)
        picture = '<div class="none">not at hand</div>'
        if shown is not None:
            picture = f'<img src="{data_uri(image_data.png(shown[k]))}" alt="{esc(f"8 by 8 image of sample {worst.sample[k]}: {head}")}">'
        wrong = worst.expected[k] >= 0 and worst.expected[k] != worst.predicted[k]
        items.append(
            f"<li{' class=wrong' if wrong else ''}>{picture}<b>{'✗ ' if wrong else ''}{esc(head)}</b><span>{esc(said)}</span><span>sample {worst.sample[k]}</span></li>"
        )
    section.pieces.append(f'<ul class="hands">{"".join(items)}</ul>')
    if shown is not None and len(shown):
        section.extra.append(pictures_scores.worst_sheet(context.results, worst, shown))
        section.pieces.append(
            f"<p>Images from {esc(context.images.where if context.images else '')}, whose SHA-256 is the file's.</p>"
        )


def _weights(context: Context, section: Section) -> None:
    scored_trial = context.results.number("inference/trial")
    chosen = pictures_scores.choose_weights(
        context.results, -1 if scored_trial is None else int(scored_trial), context.trials.best()
    )
    if chosen:
        section.pieces.append(pictures_scores.first_layer(chosen))
    else:
        section.pieces.append(
            notice("The file keeps no weights (<code>--keep-weights none</code>, or no trial ended well).")
        )


# ---- machine ----


def _machine(context: Context, section: Section) -> None:
    timeline = pictures_machine.rank_timeline(context.results, context.trials)
    earlier = stats.earlier_trials(context.results, context.trials)
    if earlier:
        section.pieces.append(
            f"<p>The sweep was resumed: at least {earlier:,} of its {context.trials.n:,} trials ended in earlier starts. "
            "The times of the ranks, and the speed on top, are of the last start alone.</p>"
        )
    section.pieces.append(timeline if timeline else notice("The file has no times of its ranks."))
    if not context.trials.n or context.trials.varies("block"):
        blocks = pictures_machine.block_sizes(context.results, context.trials)
        section.pieces.append(
            blocks if blocks else notice("The file has no times of its trials, so block sizes cannot be compared.")
        )
    hosts, devices = (context.results.column(f"execution/rank_{name}") for name in ("host", "device"))
    if hosts is not None and devices is not None and len(hosts) == len(devices):
        pairs = [f"{h}\0{d}" for h, d in zip(hosts, devices)]
        found, counts = np.unique(np.array(pairs, dtype=object).astype(str), return_counts=True)
        rows = [[esc(p.split("\0")[0]), esc(p.split("\0")[1]), f"{n:,}"] for p, n in zip(found, counts)][:32]
        section.pieces.append(table(["host", "device", "ranks"], rows, "", (2,)))


# Columns of /model as its writer names them, and what stands above them.
MODEL_COLUMNS = {
    "phase": "phase",
    "device": "device",
    "where": "where",
    "predicted": "predicted (s)",
    "bound": "bound (s)",
    "measured": "measured (s)",
    "regret": "regret",
}


def _model_cell(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}" if np.isfinite(value) else "&ndash;"
    return esc(value)


def _model_table(model: pictures_machine.Model) -> str:
    """The candidates of each phase, the one that ran in bold; of a file with other columns all of them, folded."""
    rows = model.rows
    names = [name for name in MODEL_COLUMNS if name in rows]
    n = len(next(iter(rows.values())))
    most = 40
    if "chosen" not in rows or len(names) < len(MODEL_COLUMNS):
        head = list(rows)
        cells = [[_model_cell(rows[h][k]) for h in head] for k in range(min(n, most))]
        title = f"The {n:,} rows" if n <= most else f"The first {most} of {n:,} rows"
        return folded(title, table([esc(h) for h in head], cells))
    cells = [[_model_cell(rows[h][k]) for h in names] for k in range(min(n, most))]
    for k, row in enumerate(cells):
        if rows["chosen"][k]:
            cells[k] = [f"<b>{cell}</b>" for cell in row]
    caption = "In bold what ran. The bound lets nothing overlap; the regret is what a better choice would have saved."
    return table([MODEL_COLUMNS[name] for name in names], cells, caption, (3, 4, 5, 6))


def _model(context: Context, section: Section) -> None:
    model = pictures_machine.load_model(context.results)
    if model is None:
        section.pieces.append(notice("The file has no <code>/model</code>: this run made no prediction of its times."))
        return
    lacks = [name for name in MODEL_COLUMNS if name not in model.rows]
    if lacks and (context.results.has("model/candidate") or not model.rows):  # a column of our own, or nothing at all
        _say_damaged(section, f"/model: no whole column {', '.join(lacks)}")
    picture = pictures_machine.predicted_measured(model)
    section.pieces.append(
        picture
        if picture
        else notice("Nothing was both predicted and measured: <code>libras_mpi calibrate</code> makes predictions possible.")
    )
    if model.single:
        section.pieces.append(
            table(["what", "value"], [[esc(k), esc(v)] for k, v in model.single.items()], kind="names")
        )
    if model.rows:
        section.pieces.append(_model_table(model))


def _checks(context: Context, section: Section) -> None:
    columns = [
        context.results.column("validation/" + n) for n in ("name", "compared", "mismatches", "max_abs_error", "result")
    ]
    name, compared, mismatches, error, result = columns
    if name is None or result is None or not len(name):
        section.pieces.append(notice("The file has no checks: nothing in it was compared with the reference."))
        return
    rows = []
    for k in range(len(name)):
        largest = error[k] if error is not None and np.isfinite(error[k]) else None
        rows.append(
            [
                esc(name[k]),
                summary.mark(str(result[k])),
                f"{compared[k]:,}" if compared is not None else "",
                f"{mismatches[k]:,}" if mismatches is not None else "",
                "n/a" if largest is None else f"{largest:.3g}",
            ]
        )
    section.pieces.append(
        "<p>Computed a second time by the plain reference before the run ended; all but <code>float64</code> "
        "are compared bit for bit. <code>libras_mpi verify FILE</code> does all of it again.</p>"
    )
    section.pieces.append(
        table(["check", "result", "values compared", "that differ", "largest error"], rows, "", (2, 3, 4))
    )


def _provenance(context: Context, section: Section) -> None:
    results = context.results
    notes = results.attributes("/provenance")
    if not notes:
        section.pieces.append(notice("The file has no <code>/provenance</code>."))
    else:
        section.pieces.append(f"<p><code>{esc(notes.get('command_line', 'command line not stored'))}</code></p>")
        section.pieces.append(
            folded(
                f"Versions, options, environment ({len(notes)} notes)",
                table(["note", "value"], [[esc(k), esc(v)] for k, v in sorted(notes.items())], kind="names"),
            )
        )
    rows = [
        ["path", esc(results.text("dataset/path") or "n/a")],
        ["SHA-256", esc(results.text("dataset/digest") or "n/a")],
    ]
    counts = results.column("dataset/counts")
    if counts is not None and len(counts) == len(results.classes):
        rows.append(["samples", esc(", ".join(f"{a} {n}" for a, n in zip(results.classes, counts)))])
    split = results.text("dataset/split")
    if split:
        meaning = {"random": "each letter's samples were shuffled", "tail": "the last ones of each letter are the test"}
        rows.append(["split", esc(f"{split}: {meaning.get(split, '')}".rstrip(": "))])
    for part in ("train", "validation", "test"):
        shape = results.shape(f"dataset/{part}_index")
        rows.append([part, f"{shape[0]:,} samples" if shape else "n/a"])
    section.pieces.append(folded("Data set", table(["what", "value"], rows, kind="names")))
    section.pieces.append(
        folded(
            "The file",
            table(
                ["what", "value"],
                [["path", esc(results.path)]] + [[esc(k), esc(v)] for k, v in results.attributes("/").items()],
                kind="names",
            ),
        )
    )


__all__ = ["Context", "Section", "build", "card"]
