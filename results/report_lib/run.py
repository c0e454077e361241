"""From the command's arguments to the files in the folder."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack

from . import compare, images, measurements, page, points, sections, summary, trials
from .html import esc
from .output import Folder
from .picture import Picture
from .reader import BadInput, Damaged, Results

PAGE = "report.html"


def run(arguments: argparse.Namespace) -> list[str]:
    """Returns what of the files is damaged. Raises BadInput and OSError."""
    with ExitStack() as stack:
        measured = [points.read(path) for path in arguments.files if points.is_csv(path)]
        others = [path for path in arguments.files if not points.is_csv(path)]
        if len(others) > 2:
            raise BadInput(f"of results one file, or two to compare; these are {len(others)}")
        files = [stack.enter_context(Results(path)) for path in others]
        if not files and (arguments.csv or arguments.parquet):
            raise BadInput("--csv and --parquet write the tables of a results file; there is none")
        folder = Folder(arguments.out, arguments.force)
        prefixes = ["a-", "b-"] if len(files) == 2 else [""]
        wanted: dict[str, bytes] = {}
        damaged: list[str] = []
        if not arguments.only_tables:
            html, pictures, damaged = _page(files, measured, folder, arguments.data)
            wanted[PAGE] = html.encode("utf-8", errors="replace")
            wanted.update({name: picture.png for name, picture in pictures.items()})
        if arguments.csv or arguments.parquet:
            from . import tables

            folder.check(
                list(wanted)
                + [n for r, p in zip(files, prefixes) for n in tables.names(r, p, arguments.csv, arguments.parquet)]
            )
            for results, prefix in zip(files, prefixes):
                try:
                    for name, data in tables.write(results, prefix, arguments.csv, arguments.parquet):
                        folder.write(name, data)
                except Damaged as problem:
                    damaged.append(f"{results.path}: {problem}")
        folder.check(list(wanted))
        for name in sorted(wanted, key=lambda name: name == PAGE):  # the page last: where it is, the rest is too
            folder.write(name, wanted[name])
        folder.finish()
        if not arguments.only_tables:
            print(os.path.join(arguments.out, PAGE))
        return damaged


def _context(results: Results, folder: Folder, data: str | None) -> sections.Context:
    try:
        loaded = trials.load(results)
    except Damaged as problem:
        raise BadInput(f"{results.path}: {problem}") from None
    try:
        found, why = images.find(results, data, folder.path) if results.n_scores else (None, "")
    except Damaged as problem:
        found, why = None, str(problem)
    return sections.Context(results, loaded, found, why)


def _page(
    files: list[Results], measured: list[points.Points], folder: Folder, data: str | None
) -> tuple[str, dict[str, Picture], list[str]]:
    more = measurements.sections(measured)
    others = {f"{p.name}.png": p for section in more for p in section.pictures()}
    if not files:
        top = measurements.hero(measured)
        return page.single(measurements.title(measured), measurements.sub(measured), top, more), others, []
    contexts = []
    for results in files:
        try:
            contexts.append(_context(results, folder, data))
        except BadInput as problem:
            if len(files) == 1 or not data or "--data" not in str(problem):
                raise
            contexts.append(_context(results, folder, None))  # --data may be the other file's
            print(f"report.py: {results.path}: {problem}", file=sys.stderr)
    damaged: list[str] = []
    pictures: dict[str, Picture] = others
    made, heroes = [], []
    for context, prefix in zip(contexts, ["a-", "b-"] if len(files) == 2 else [""]):
        hero, wrong = summary.hero(context.results, context.trials)
        heroes.append(hero)
        built = sections.build(context)
        made.append(built)
        wrong += context.trials.lacks + [why for section in built for why in section.damaged]
        damaged += [f"{context.results.path}: {why}" for why in dict.fromkeys(wrong)]
        pictures.update({f"{prefix}{p.name}.png": p for section in built for p in section.pictures()})
    if len(files) == 1:
        return page.single(_title(files[0]), _sub(files[0]), heroes[0], made[0] + more), pictures, damaged
    first, wrong = compare.section(files[0], files[1], contexts[0].trials, contexts[1].trials)
    damaged += wrong
    sub = "<br>".join(
        f'<span class="tag">{tag}</span>{esc(_title(results))} · {_sub(results)}' for tag, results in zip("AB", files)
    )
    title = f"{_title(files[0])} against {_title(files[1])}"
    return page.pair(title, sub, heroes, first, made[0], made[1], more), pictures, damaged


def _title(results: Results) -> str:
    return os.path.basename(results.path)


def _sub(results: Results) -> str:
    try:
        head, notes = results.attributes("/"), results.attributes("/provenance")
    except Damaged:
        return esc(results.path)
    parts = [
        head.get("title", ""),
        "made " + head["created"].replace("T", " ").replace("Z", " UTC") if "created" in head else "",
        f"libras_mpi {notes['version']}" if "version" in notes else "",
    ]
    return " · ".join(esc(p) for p in parts if p)
