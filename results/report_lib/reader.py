"""Reads a results file with h5py: columns by name, text as str, what is not there as None.

A file that is none of ours is BadInput; a part of it that is there and cannot be read is Damaged, so that the rest can
still be shown. HDF5 follows the references of texts without checking them (src/h5heap.h): one flipped bit makes it crash,
or never come back. So report.py reads in a child with an alarm, and says what became of it.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import Any, Iterator, Optional

import h5py
import numpy as np

FORMAT = "libras-results"
KNOWN_VERSION = 1
patience_s = 0  # for the texts of a column; 0: for ever. report.py, whose process is its own, sets it
SLAB = 1 << 16  # samples or trials at once: there may be more than fit in memory


class BadInput(Exception):
    """The file, or what was given with it, cannot be used; the text is for the user."""


class Damaged(Exception):
    """A part of the file is there but cannot be read, or contradicts the rest."""


def as_text(value: Any) -> str:
    """What h5py gives for a text, in any of its versions, as str."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)


class Results:
    """An open results file. Use it in a with statement."""

    def __init__(self, path: str) -> None:
        self.path = path
        if os.path.isdir(path):
            raise BadInput(f"{path}: this is a folder; a results file (.h5) is expected")
        if os.path.exists(path) and not os.path.isfile(path):
            raise BadInput(f"{path}: this is no plain file")
        if not os.path.exists(path):
            raise BadInput(f"{path}: there is no such file")
        try:
            self.file = h5py.File(path, "r")
        except PermissionError:
            raise BadInput(f"{path}: no permission to read it") from None
        except (OSError, RuntimeError, ValueError) as problem:
            raise BadInput(f"{path}: {_why_not_open(path, str(problem))}") from None
        self._cache: dict[str, Optional[np.ndarray]] = {}
        try:
            self._check_format()
        except BadInput:
            self.file.close()
            raise

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def _check_format(self) -> None:
        try:
            found = self.attributes("/")
        except Damaged as problem:
            raise BadInput(f"{self.path}: {problem}") from None
        if found.get("format") != FORMAT:
            raise BadInput(
                f"{self.path}: an HDF5 file, but no results file of libras_mpi: its attribute 'format' is "
                + (f"'{found['format']}'" if "format" in found else "missing")
            )
        try:
            self.version = int(found.get("format_version", 0))
        except ValueError:
            self.version = 0

    def has(self, name: str) -> bool:
        """Whether the file has a group or a data set of this name."""
        try:
            return name in self.file
        except (OSError, RuntimeError, KeyError, ValueError):
            return False

    def attributes(self, group: str) -> dict[str, str]:
        """All attributes of a group as text; nothing where there is no such group."""
        if not self.has(group):
            return {}
        try:
            with _patience(True):
                return {name: as_text(value) for name, value in self.file[group].attrs.items()}
        except Exception as problem:  # h5py raises nearly everything for a damaged file
            raise Damaged(f"the attributes of {group} cannot be read: {first_line(problem)}") from None

    def names(self, group: str) -> list[str]:
        """What lies in a group, in the file's order; [] where there is no such group."""
        if not self.has(group):
            return []
        try:
            return [str(name) for name in self.file[group]]
        except Exception as problem:
            raise Damaged(f"{group} cannot be read: {first_line(problem)}") from None

    def shape(self, name: str) -> Optional[tuple[int, ...]]:
        """The shape of a data set, None where there is none."""
        if not self.has(name):
            return None
        try:
            item = self.file[name]
            return tuple(item.shape) if isinstance(item, h5py.Dataset) else None
        except Exception as problem:
            raise Damaged(f"{name} cannot be read: {first_line(problem)}") from None

    def read(self, name: str, rows: Any = ()) -> Optional[np.ndarray]:
        """A data set, or the rows of it; text as an array of str; None where there is none."""
        if self.shape(name) is None:
            return None
        try:
            item = self.file[name]
            with _patience(item.dtype.kind == "O"):
                value = np.asarray(item[rows])
            if value.dtype.kind in "OS":
                flat = [as_text(v) for v in value.reshape(-1)]
                value = np.array(flat + [None], dtype=object)[:-1].reshape(value.shape)
        except Exception as problem:
            raise Damaged(f"{name} cannot be read: {first_line(problem)}") from None
        return value

    def column(self, name: str, length: Optional[int] = None) -> Optional[np.ndarray]:
        """A whole data set, read once. Damaged if its first axis is not as long as said."""
        if name not in self._cache:
            self._cache[name] = self.read(name)
        value = self._cache[name]
        if value is not None and length is not None and (value.ndim < 1 or len(value) != length):
            raise Damaged(f"{name} has the shape {value.shape}, where {length} rows are expected")
        return value

    def number(self, name: str) -> Optional[float]:
        """A data set of one number."""
        value = self.column(name)
        if value is None or value.size != 1 or value.dtype.kind not in "iufb":
            return None
        return value.reshape(-1)[0].item()

    def text(self, name: str) -> Optional[str]:
        """A data set of one text."""
        value = self.column(name)
        return None if value is None or value.size != 1 else as_text(value.reshape(-1)[0])

    @property
    def n_trials(self) -> int:
        """Rows of /trials: of its first column that there is."""
        for name in ("trial", "status", "learning_rate", "seed"):
            shape = self.shape("trials/" + name)
            if shape:
                return shape[0]
        return 0

    @property
    def n_scores(self) -> int:
        """Samples that were scored."""
        shape = self.shape("inference/scores")
        return shape[0] if shape else 0

    @property
    def classes(self) -> list[str]:
        """The letters."""
        value = self.column("dataset/classes")
        return list("ABCDEILMNORSUVW") if value is None or value.ndim != 1 else [str(v) for v in value]

    def slabs(self, n: int) -> Iterator[slice]:
        """0 ... n in pieces that fit in memory."""
        for first in range(0, n, SLAB):
            yield slice(first, min(first + SLAB, n))


@contextmanager
def _patience(wanted: bool) -> Iterator[None]:
    """Ends the process by SIGALRM if this takes longer than patience_s."""
    if not wanted or not patience_s or not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(patience_s)
    try:
        yield
    finally:
        signal.alarm(0)


def first_line(problem: BaseException) -> str:
    """The reason in one line, without h5py's addresses and nested lists."""
    text = str(problem).strip().strip("'\"") or type(problem).__name__
    return text.splitlines()[0][:200]


def _why_not_open(path: str, said: str) -> str:
    """A sentence for what HDF5 says of a file that it does not open."""
    size = os.path.getsize(path)
    if size == 0:
        return "the file is empty"
    if "truncated" in said:
        return "the file is cut off: it ends before its data do (was it copied whole?)"
    if "signature" in said:
        return "this is no HDF5 file, nor a CSV file that model_accuracy or scaling.py of tests/perf wrote"
    if "lock" in said:
        return "the file is locked by another program; HDF5_USE_FILE_LOCKING=FALSE opens it all the same"
    return f"HDF5 cannot open it: {said.splitlines()[0][:200]}"
