"""What Sphinx and the theme write into a page, mended: fewer files, no jumps, words for everyone.

Jupyter Book 1 holds the theme at a version whose pages fetch what they do not use, move while they
load and leave gaps for screen readers; templates in ``book/_templates`` and this module close them.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imagesize

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Live code, cards, tabs, folding and search marks: files and settings of what no page here has.
UNUSED = "thebe|THEBE|sphinx-design|design-tabs|toggle|sphinx_highlight"
#: A formula in a line, and a formula in a box of its own with its number.
INLINE = re.compile(r'([(\[“]*)<span class="(math [^"]*)">(.*?)</span>([.,;:!?)\]’”]*)', re.S)
DISPLAY = re.compile(r'<div class="([^"]*\bmath [^"]*)"((?: id="[^"]*")?)>(.*?)</div>', re.S)


#: Commands that draw nothing themselves, those that are wide, and signs by their width in em.
_SILENT = re.compile(
    r"\\(left|right|[bB]igg?[lrm]?|text|math\w+|operatorname|[dt]?frac|sqrt|bar|hat)(?![a-zA-Z])"
    r"|\\[^a-zA-Z]"
)
_WIDE = "le ge approx to mapsto otimes times propto sum prod int ne neq sim dots cdots cdot in"
_RAISED = re.compile(r"[_^](\{[^{}]*\}|\S)")
_WIDTHS = {r"[()\[\]|,.!;:/]": 0.4, "[A-Z]": 0.9, r"[=<>+\-]": 1.25, "[a-z0-9]": 0.7}


def width_of(tex: str) -> float:
    """About how wide a formula will be, in em: its signs, less for those raised or lowered."""

    def sign(found: re.Match[str]) -> str:
        return "=" if found[1] in _WIDE.split() else "A" if found[1][0].isupper() else "x"

    tex = re.sub(r"\\([a-zA-Z]+)", sign, _SILENT.sub("", tex))
    raised = sum(len(re.findall(r"\w", script)) for script in _RAISED.findall(tex))
    line = _RAISED.sub("", tex)
    return 0.45 * raised + sum(em * len(re.findall(kind, line)) for kind, em in _WIDTHS.items())


def height_of(tex: str) -> float:
    """About how high a displayed formula will be, in em: its rows, more for fractions and sums."""
    rows = re.split(r"\\\\", tex)
    return 2.4 + sum(3.4 if re.search(r"frac|sum|int|prod|under", row) else 1.7 for row in rows)


def reserve_room(body: str) -> str:
    """Give formulas the room that they will take when set, and keep punctuation beside them.

    A formula in a line is a box to the browser, which may break the line before the comma after it.
    """

    def inline(found: re.Match[str]) -> str:
        before, kind, tex, after = found.groups()
        room = f"--room:{width_of(html.unescape(tex)):.1f}em"
        made = f'<span class="{kind}" style="{room}">{tex}</span>'
        return f'<span class="unbroken">{before}{made}{after}</span>' if before or after else made

    def display(found: re.Match[str]) -> str:
        kind, target, tex = found.groups()
        return f'<div class="{kind}"{target} style="--room:{height_of(tex):.1f}em">{tex}</div>'

    return DISPLAY.sub(display, INLINE.sub(inline, body))


def size_images(body: str, files: dict[str, Path]) -> str:
    """Say how large each picture is, and let all but the first wait until they are near.

    Args:
        files: pictures by the name that the page has for them.
    """
    seen = 0

    def sized(found: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        width, height = imagesize.get(files[found["name"]])
        waits = ' loading="lazy" decoding="async"' if seen > 1 else ""
        return f'<img width="{width}" height="{height}"{waits} {found["rest"]}'

    return re.sub(r'<img (?P<rest>[^>]*src="[^"]*_images/(?P<name>[^"]+)")', sized, body)


def mend_body(body: str, files: dict[str, Path]) -> str:
    """The article, with headers that say what they head, room for what comes late, named links."""
    body = re.sub(r'<th class="(head[^"]*)"', r'<th scope="col" class="\1"', body)
    body = re.sub(r'<th class="([^"]*\bstub\b)', r'<th scope="row" class="\1', body)
    body = body.replace(' aria-label="Toggle hidden content"', "")
    body = body.replace(' role="doc-biblioentry"', ' role="listitem"')
    body = re.sub(r'(<a class="headerlink" [^>]*?)title=', r"\1aria-label=", body)
    return size_images(reserve_room(body), files)


def mend_page(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Mend the body, ask for no file that the page does not use, and wait for no script."""
    body = context.get("body", "")
    idle = [UNUSED]
    idle += [] if 'class="highlight' in body else ["clipboard", "copybutton"]
    idle += [] if 'class="math' in body or "amsmath math" in body else ["MathJax", "mathjax"]
    unused = re.compile("|".join(idle))

    def used(file: Any) -> bool:
        return not unused.search(f"{file.filename} {file.attributes.get('body', '')}")

    context["css_files"] = list(filter(used, context["css_files"]))
    context["script_files"] = list(filter(used, context["script_files"]))
    for script in context["script_files"]:
        # A script in the page uses what documentation_options.js says.
        if script.filename and "documentation_options" not in str(script.filename):
            script.attributes["defer"] = "defer"
    if body:
        files = {name: Path(app.srcdir) / path for path, name in app.builder.images.items()}
        context["body"] = mend_body(body, files)
