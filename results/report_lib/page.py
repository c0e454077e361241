"""The page: one file, no script, nothing from the network (and a policy that says so to the browser)."""

from __future__ import annotations

from typing import Sequence

from .html import esc
from .sections import Section

CSS = """
:root{--ink:#1b1f24;--soft:#57606a;--line:#d8dde3;--blue:#0b5cad;--paper:#fff;--wash:#f5f7f9}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--wash);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,header.top,footer{max-width:1160px;margin:0 auto;padding:0 20px}
header.top{padding-top:26px}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 2px;overflow-wrap:anywhere}
h2{font-size:1.22rem;margin:0 0 6px}
h3{font-size:1rem;margin:0 0 4px}
p{margin:6px 0;max-width:75ch}
.sub{color:var(--soft);margin:0 0 14px;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;padding:10px 0 2px;font-size:.92rem}
a{color:var(--blue)}
section,.hero{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:18px 20px;margin:14px 0}
.badge{display:inline-block;padding:3px 12px;border-radius:6px;font-weight:700;letter-spacing:.02em;border:2px solid;vertical-align:middle}
.badge.good{color:#00513a;background:#e3f4ee;border-color:#009e73}
.badge.bad{color:#7a2f00;background:#fdeade;border-color:#d55e00}
.badge.none{color:#4a4f55;background:#eef0f2;border-color:#8a939c}
.why{margin-left:8px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(290px,1fr));gap:10px;margin-top:14px}
.card{border:1px solid var(--line);border-radius:8px;padding:10px 12px;background:var(--wash)}
.card .label{color:var(--soft);font-size:.85rem}
.card .value{font-size:1.4rem;font-weight:650;line-height:1.25;overflow-wrap:anywhere}
.card .note{font-size:.84rem;color:var(--soft);overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr));gap:16px;align-items:start}
figure{margin:8px 0 0;min-width:0}
figure.wide{grid-column:1/-1}
figure img{width:100%;height:auto;display:block;max-width:860px}
figure.wide img{max-width:1080px}
.figures figure.plain:only-child{display:grid;grid-template-columns:minmax(0,700px) minmax(200px,1fr);gap:18px;align-items:center}
figcaption{color:var(--soft);font-size:.9rem;margin-top:4px}
.scroll{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:2px 0 6px}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;white-space:nowrap}
th.n,td.n{text-align:right}
table.names td:last-child{overflow-wrap:anywhere;word-break:break-word}
table.names td:first-child{white-space:nowrap;color:var(--soft)}
td{white-space:nowrap}
table.names td{white-space:normal}
.notice{background:#f1f3f5;border-left:4px solid #8a939c;padding:7px 12px;border-radius:0 6px 6px 0;max-width:none;overflow-wrap:anywhere}
.hands{display:grid;grid-template-columns:repeat(auto-fill,minmax(112px,1fr));gap:14px 12px;margin:12px 0 0;padding:0;list-style:none}
.hands img{width:100%;image-rendering:crisp-edges;image-rendering:pixelated;border:3px solid transparent;display:block}
.hands .wrong img{border-color:#d55e00}
.hands .none{aspect-ratio:1;border:1px dashed #8a939c;display:flex;align-items:center;justify-content:center;color:var(--soft);font-size:.8rem}
.hands b{display:block;font-size:.92rem;margin-top:3px}
.hands span{display:block;font-size:.82rem;color:var(--soft);line-height:1.35}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:22px}
.pair>div{min-width:0}
.pair .figures{grid-template-columns:1fr}
.pair .figures figure.plain:only-child{display:block}
.pair .cards{grid-template-columns:repeat(auto-fit,minmax(150px,1fr))}
.pair .hands{grid-template-columns:repeat(auto-fill,minmax(84px,1fr))}
.tag{display:inline-block;min-width:1.6em;text-align:center;border-radius:5px;background:var(--ink);color:#fff;font-weight:700;margin-right:7px;font-size:.9em}
details{margin:8px 0}
summary{cursor:pointer;font-weight:600}
code{font:.88em ui-monospace,"DejaVu Sans Mono",Menlo,monospace;background:#eef1f4;padding:1px 4px;border-radius:4px;overflow-wrap:anywhere}
footer{color:var(--soft);font-size:.85rem;padding-bottom:26px}
@media(max-width:760px){
 main,header.top,footer{padding-left:10px;padding-right:10px}
 section,.hero{padding:14px 12px}
 .cards{grid-template-columns:repeat(auto-fit,minmax(140px,1fr))}
 .card .value{font-size:1.15rem}
 .pair{grid-template-columns:1fr}
 .figures figure.plain:only-child{display:block}
 .hands{grid-template-columns:repeat(auto-fill,minmax(86px,1fr))}
 .hands b{font-size:.8rem}
 .why{display:block;margin:6px 0 0}
}
@media print{
 @page{margin:14mm}
 body{background:#fff;font-size:10.5pt}
 nav{display:none}
 main,header.top,footer{max-width:none;padding:0}
 section,.hero{border:0;border-top:1px solid #999;border-radius:0;padding:8px 0;margin:6px 0}
 figure,.card,.hands li,tr{break-inside:avoid}
 h2{break-after:avoid}
 .figures{grid-template-columns:1fr 1fr}
 .figures figure.plain:only-child{display:block;grid-column:1/-1;max-width:66%}
 .cards{grid-template-columns:repeat(3,1fr)}
 .scroll{overflow:visible}
 .badge,.card,.tag{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def _links(sections: Sequence[Section]) -> str:
    return "<nav>" + "".join(f'<a href="#{s.id}">{esc(s.title)}</a>' for s in sections) + "</nav>"


def _whole(title: str, sub: str, body: str, nav: str, footer: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="generator" content="libras_mpi report.py">\n<title>{esc(title)}</title>\n'
        f"<style>{CSS}</style>\n</head>\n<body>\n"
        f'<header class="top"><h1>{esc(title)}</h1><p class="sub">{sub}</p>{nav}</header>\n'
        f"<main>\n{body}\n</main>\n<footer>{footer}</footer>\n</body>\n</html>\n"
    )


FOOTER = (
    "Made by <code>results/report.py</code> of libras_mpi. The pictures are also beside this page as PNG files; "
    "the numbers are in the results file, which results/README.md describes."
)


def _alone(sections: Sequence[Section]) -> str:
    return "\n".join(f'<section id="{s.id}"><h2>{esc(s.title)}</h2>{s.html()}</section>' for s in sections)


def single(title: str, sub: str, hero: str, sections: Sequence[Section]) -> str:
    """The page of one file."""
    body = f'<div class="hero">{hero}</div>\n' + _alone(sections)
    return _whole(title, sub, body, _links(sections), FOOTER)


def pair(
    title: str,
    sub: str,
    heroes: Sequence[str],
    first: str,
    a: Sequence[Section],
    b: Sequence[Section],
    more: Sequence[Section] = (),
) -> str:
    """The page of two files: their sections side by side; then those of neither."""

    def halves(left: str, right: str) -> str:
        return (
            f'<div class="pair"><div><h3><span class="tag">A</span></h3>{left}</div>'
            f'<div><h3><span class="tag">B</span></h3>{right}</div></div>'
        )

    other = {s.id: s for s in b}
    body = f'<div class="hero">{halves(heroes[0], heroes[1])}</div>\n{first}\n' + "\n".join(
        f'<section id="{s.id}"><h2>{esc(s.title)}</h2>{halves(s.html(), other[s.id].html())}</section>' for s in a
    )
    body += "\n" + _alone(more)
    nav = '<nav><a href="#difference">A against B</a>' + _links([*a, *more])[5:]
    return _whole(title, sub, body, nav, FOOTER)
