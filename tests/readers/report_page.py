"""report_page.py: what the tests of results/report.py share: running it, and reading the page that it made."""

import base64
import html.parser
import io
import os
import re
import runpy
import struct
import subprocess
import sys
import zlib

import tap

REPORT = str(tap.ROOT / "results" / "report.py")
VOID = {"meta", "img", "br"}


def command(*arguments, **environment):
    """The command itself, as a user starts it."""
    return subprocess.run(
        [sys.executable, REPORT, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=tap.SECONDS,
        env={**os.environ, **environment},
    )


_module = None


def report(*arguments):
    """The same in this process, which saves the imports: (exit code, stderr)."""
    global _module
    if _module is None:
        _module = runpy.run_path(REPORT)
    old, sys.argv = (sys.argv, sys.stdout, sys.stderr), ["report.py", *map(str, arguments)]
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        code = _module["_work"](_module["_arguments"]())
    except SystemExit as end:
        code = end.code
    finally:
        said = sys.stderr.getvalue()
        sys.argv, sys.stdout, sys.stderr = old
    return code, said


class Page(html.parser.HTMLParser):
    """The page's text, pictures (alt, PNG), marked values and links; problem: what is wrong with its form."""

    def __init__(self, folder):
        super().__init__()
        with open(os.path.join(str(folder), "report.html"), encoding="utf-8") as file:
            self.source = file.read()
        self.pictures, self.values, self.links, self.ids, self.words, self.open, self.problem = (
            [],
            {},
            [],
            set(),
            [],
            [],
            "",
        )
        self.feed(self.source)
        self.text = re.sub(r"\s+", " ", "".join(self.words))
        if self.open:
            self.problem = f"not closed: {self.open}"
        missing = [link for link in self.links if link[1:] not in self.ids]
        if missing:
            self.problem = f"links to nothing: {missing}"

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in found:
            if found["id"] in self.ids:
                self.problem = f"the id {found['id']} twice"
            self.ids.add(found["id"])
        if "data-key" in found:
            self.values.setdefault(found["data-key"], found["data-value"])
        if tag == "a":
            self.links.append(found["href"])
        if tag == "img":
            head = "data:image/png;base64,"
            if not found.get("alt") or not found["src"].startswith(head):
                self.problem = "a picture without alt, or not in the page"
            else:
                self.pictures.append((found["alt"], base64.b64decode(found["src"][len(head) :])))
        if tag in ("script", "link", "iframe", "object", "base"):
            self.problem = f"there is a <{tag}>"

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problem = self.problem or f"</{tag}> closes nothing"

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def grey_pixels(png):
    """The pixels of a small grey PNG with unfiltered lines."""
    at, packed, size = 8, b"", None
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if zlib.crc32(name + body) != struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0]:
            raise ValueError("a wrong check sum")
        size = struct.unpack(">II", body[:8]) if name == b"IHDR" else size
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    width, height = size
    lines = zlib.decompress(packed)
    return [list(lines[y * (width + 1) + 1 : (y + 1) * (width + 1)]) for y in range(height)]
