"""Writes into one folder, whole files or none, and never over somebody else's.

report-files.json lists what was written with SHA-256; a file that is not on the list, or was changed since, is foreign
and stays unless force is given. Every file is written under another name and renamed, so a link in the folder is
replaced and not followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile

from .reader import BadInput

LIST = "report-files.json"


class Folder:
    """The output folder. Make it, check() all names first, then write()."""

    def __init__(self, path: str, force: bool) -> None:
        self.path = path
        self.force = force
        try:
            os.makedirs(path, exist_ok=True)
        except FileExistsError:
            raise BadInput(f"-o {path}: this is a file, not a folder") from None
        except OSError as problem:
            raise BadInput(f"-o {path}: the folder cannot be made: {problem.strerror}") from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise BadInput(f"-o {path}: no permission to write there")
        self.ours = self._read_list()
        self.written: dict[str, str] = {}

    def _read_list(self) -> dict[str, str]:
        try:
            with open(os.path.join(self.path, LIST), encoding="utf-8") as file:
                read = json.load(file)
            files = read["files"]
            return {str(k): str(v) for k, v in files.items()} if read.get("made_by") == "libras_mpi report.py" else {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def check(self, names: list[str]) -> None:
        """Raises BadInput if one of these stands there and is not ours."""
        foreign = []
        for name in names + [LIST]:
            path = os.path.join(self.path, name)
            if not os.path.lexists(path):
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                raise BadInput(f"{path}: a folder stands where a file is to be written")
            if not self.force and not (name == LIST and self.ours) and self.ours.get(name) != _digest(path):
                foreign.append(name)
        if foreign:
            raise BadInput(
                f"{self.path}: {', '.join(foreign[:5])}{' ...' if len(foreign) > 5 else ''}: not written by an "
                "earlier report, or changed since; --force replaces it"
            )

    def write(self, name: str, data: bytes) -> None:
        """One file, whole. Raises OSError."""
        assert os.path.basename(name) == name and name not in ("", ".", "..")
        handle, part = tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=self.path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(part, 0o666 & ~umask)
            os.replace(part, os.path.join(self.path, name))
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise
        self.written[name] = hashlib.sha256(data).hexdigest()

    def finish(self) -> None:
        """Removes what an earlier report wrote and this one does not, and writes the list."""
        for name, digest in self.ours.items():
            path = os.path.join(self.path, name)
            if (
                name not in self.written
                and os.path.basename(name) == name
                and os.path.isfile(path)
                and _digest(path) == digest
            ):
                os.unlink(path)
        files = dict(sorted(self.written.items()))
        self.write(LIST, (json.dumps({"made_by": "libras_mpi report.py", "files": files}, indent=1) + "\n").encode())


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""
