"""The pictures behind the scores: 8 x 8 images from a data folder, a packed file, or drawn again by the program.

Data are used only if they are the file's own: the SHA-256 that the program stored is computed again; where the file has
none, the counts of its letters must agree. What cannot be had is a sentence that says why.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import Callable, Optional

import numpy as np

from .reader import BadInput, Results

PIXELS = 64
ROOT = Path(__file__).resolve().parents[2]


class Images:
    """Images by their number in the data set: take(numbers) is (n, 8, 8)."""

    def __init__(self, where: str, n: int, take: Callable[[np.ndarray], np.ndarray]) -> None:
        self.where = where
        self.n = n
        self._take = take

    def take(self, numbers: np.ndarray) -> np.ndarray:
        return self._take(np.asarray(numbers, dtype=np.int64)).reshape(-1, 8, 8)


def find(results: Results, given: Optional[str], scratch: str) -> tuple[Optional[Images], str]:
    """The file's images and "", or None and why not. What the user gave must fit, or it is BadInput.

    scratch: a folder in which a drawn data set may stand for a moment.
    """
    stored = results.text("dataset/path") or ""
    if given:
        problem = None
        if not os.path.exists(given):
            problem = "there is no such file or folder"
        else:
            try:
                return _load(results, given), ""
            except (_Other, OSError, ValueError) as reason:
                problem = str(reason)
        raise BadInput(f"--data {given}: {problem}")
    synthetic = re.fullmatch(r"synthetic:seed=(\d{1,10})", stored)
    try:
        if synthetic:
            return _drawn(results, synthetic.group(1), scratch), ""
        if not stored:
            return None, "the file does not say where its data were read"
        for place in (stored, os.path.join(os.path.dirname(os.path.abspath(results.path)), stored)):
            if os.path.exists(place):
                return _load(results, place), ""
        return None, f"the file names '{stored}', which is not on this machine; --data DIR says where it is now"
    except (_Other, OSError, ValueError) as reason:
        return None, f"{stored}: {reason}"


class _Other(Exception):
    """These are not the file's data, or no data."""


def _load(results: Results, place: str) -> Images:
    return _folder(results, place) if os.path.isdir(place) else _packed(results, place)


# ---- a folder of CSV files ----


def _folder(results: Results, folder: str) -> Images:
    parts = []
    for letter in results.classes:
        found = [
            os.path.join(folder, name)
            for name in (f"{letter}.csv", f"{letter.lower()}.csv")
            if os.path.isfile(os.path.join(folder, name))
        ]
        if not found:
            raise _Other(f"the folder has no {letter}.csv")
        rows = np.loadtxt(found[0], delimiter=",", ndmin=2, encoding="utf-8-sig")
        if rows.shape[1:] != (PIXELS,):
            raise _Other(f"{os.path.basename(found[0])} has {rows.shape[1]} numbers a line, not {PIXELS}")
        parts.append(rows)
    _same(results, _folder_digest(results.classes, parts), [len(rows) for rows in parts])
    pixels = np.concatenate(parts)
    return Images(folder, len(pixels), lambda numbers: pixels[numbers])


def _folder_digest(letters: list[str], parts: list[np.ndarray]) -> str:
    """As src/dataset.c has it: a line with letters and counts, then 'b' and 64 bytes a sample, 'd' and doubles if not grey."""
    head = f"libras dataset 1 {''.join(letters)}" + "".join(f" {len(rows)}" for rows in parts) + "\n"
    digest = hashlib.sha256(head.encode())
    for rows in parts:
        grey = ((rows >= 0) & (rows <= 255) & (rows == np.floor(rows)) & ~np.signbit(rows)).all(axis=1)
        if grey.all():
            records = np.empty((len(rows), 1 + PIXELS), dtype=np.uint8)
            records[:, 0] = ord("b")
            records[:, 1:] = rows
            digest.update(records.tobytes())
            continue
        for row, whole in zip(rows, grey):
            digest.update(b"b" + row.astype(np.uint8).tobytes() if whole else b"d" + row.astype("<f8").tobytes())
    return digest.hexdigest()


def _same(results: Results, digest: str, counts: Optional[list[int]]) -> None:
    """Raises _Other unless these are the file's data."""
    stored = results.text("dataset/digest")
    if stored:
        if stored != digest:
            raise _Other(
                f"these are other data than the file's: their SHA-256 is {digest[:12]}..., the file's {stored[:12]}..."
            )
        return
    kept = results.column("dataset/counts")
    if kept is None or counts is None or list(kept) != counts:
        raise _Other("the file has no digest of its data, and the counts of its letters do not agree")


# ---- the built-in set: the program draws it again ----


def _drawn(results: Results, seed: str, scratch: str) -> Images:
    program = os.environ.get("LIBRAS_PROGRAM") or str(ROOT / "libras_mpi")
    if not os.access(program, os.X_OK):
        program = shutil.which("libras_mpi") or ""
    if not program:
        raise _Other("the built-in set is drawn by ./libras_mpi, which is not built here")
    with tempfile.TemporaryDirectory(prefix=".drawn.", dir=scratch) as folder:
        place = os.path.join(folder, "data")
        try:
            done = subprocess.run(
                [program, "synth", place, "--seed", seed],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=60,
                env={**os.environ, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self"},
            )
        except subprocess.TimeoutExpired:
            raise _Other("libras_mpi synth took more than 60 s") from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise _Other("libras_mpi synth failed" + (f": {said[-1]}" if said else ""))
        images = _folder(results, place)
    images.where = f"the built-in synthetic set, seed {seed}"
    return images


# ---- a packed file (src/packed.h) ----

HEADER, TRAILER = 64, 8


def _packed(results: Results, path: str) -> Images:
    """Reads the images asked for alone: the file may be larger than memory."""
    with open(path, "rb") as file:
        header = file.read(HEADER)
        if len(header) < HEADER or header[:8] != b"LIBRASPK":
            raise _Other("this is neither a folder nor a packed file")
        version, kind, samples, block, flags = struct.unpack_from("<IIQII", header, 8)
        if version != 1 or kind not in (1, 2) or not 1 <= samples <= 1 << 40 or not 1 <= block <= 65536:
            raise _Other("its header is damaged, or of a later version")
        width = 1 if kind == 1 else 4

        def size(n: int) -> int:
            return n * PIXELS * width + ((n + 7) // 8 * 8 if flags & 1 else 0) + TRAILER

        blocks = (samples - 1) // block + 1
        last = samples - (blocks - 1) * block
        if os.fstat(file.fileno()).st_size < HEADER + (blocks - 1) * size(block) + size(last):
            raise _Other("the packed file is cut off")
        digest = hashlib.sha256(header)
        for k in range(blocks):
            end = HEADER + k * size(block) + size(block if k < blocks - 1 else last)
            file.seek(end - TRAILER)
            digest.update(file.read(4))
    _same(results, digest.hexdigest(), None)

    def take(numbers: np.ndarray) -> np.ndarray:
        out = np.empty((len(numbers), PIXELS))
        with open(path, "rb") as file:
            for k, number in enumerate(numbers):
                file.seek(HEADER + int(number) // block * size(block) + int(number) % block * PIXELS * width)
                out[k] = np.frombuffer(file.read(PIXELS * width), dtype="<u1" if kind == 1 else "<f4")
        return out

    return Images(path, samples, take)


# ---- an image as PNG ----


def png(image: np.ndarray) -> bytes:
    """An 8-bit grey PNG of an (rows, columns) array, 0 black and 255 white."""
    grey = np.clip(np.nan_to_num(image), 0, 255).round().astype(np.uint8)
    rows, columns = grey.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines, 9))
        + chunk(b"IEND", b"")
    )
