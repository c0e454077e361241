"""Small pieces of HTML. Whatever comes from a file goes through esc()."""

from __future__ import annotations

import base64
import html as _html
import re
from typing import Optional, Sequence

from .picture import Picture


def esc(text: object) -> str:
    """Text as HTML shows it; control characters, which HTML forbids, as boxes."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\u25a1" for c in str(text))
    return _html.escape(shown, quote=True)


def data_uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def figure(picture: Picture) -> str:
    caption = re.sub("`([^`]*)`", r"<code>\1</code>", esc(picture.caption))  # text with file's words in it, no markup
    caption = f"<figcaption>{caption}</figcaption>" if caption else ""
    return (
        f'<figure class="{"wide" if picture.wide else "plain"}"><img src="{data_uri(picture.png)}" '
        f'alt="{esc(picture.alt)}">{caption}</figure>'
    )


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", numeric: Sequence[int] = (), kind: str = ""
) -> str:
    """Cells are HTML already. numeric: columns to be set right."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{' class=n' if k in numeric else ''}>{cell}</{tag}>" for k, cell in enumerate(row))

    said = f"<caption>{caption}</caption>" if caption else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table{f" class={kind}" if kind else ""}>{said}<thead><tr>{cells(head, "th")}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def card(label: str, value: str, note: str = "", key: Optional[str] = None, stored: object = "") -> str:
    """One number on top of the page. key and stored are for scripts that read the page."""
    mark = f' data-key="{esc(key)}" data-value="{esc(stored)}"' if key else ""
    return (
        f'<div class="card"{mark}><div class="label">{label}</div><div class="value">{value}</div>'
        f'<div class="note">{note}</div></div>'
    )


def notice(text: str) -> str:
    return f'<p class="notice">{text}</p>'


def folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>{body}</details>"
