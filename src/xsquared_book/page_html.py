"""What Sphinx and the theme write into a page, mended: fewer files, no jumps, words for everyone.

Jupyter Book 1 holds the theme at a version whose pages fetch what they do not use, move while they
load and leave gaps for screen readers; templates in ``book/_templates`` and this module close them.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imagesize
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Live code, cards, tabs, folding and search marks: files and settings of what no page here has.
UNUSED = "thebe|THEBE|sphinx-design|design-tabs|toggle|sphinx_highlight"
#: A formula in a line, and a formula in a box of its own with its number.
INLINE = re.compile(r'([(\[“]*)<span class="(math [^"]*)">(.*?)</span>([.,;:!?)\]’”]*)', re.S)
DISPLAY = re.compile(r'<div class="([^"]*\bmath [^"]*)"((?: id="[^"]*")?)>(.*?)</div>', re.S)
#: A link to a formula, figure or table of the same page.
PREVIEWED = re.compile(r'<a class="reference internal" href="#(equation|fig|tab)-')
#: Rows of a table that fill a screen, from which on it can be sorted.
SCREEN = 15


#: Commands that matplotlib's TeX has by another name or not at all.
_COMMANDS = [
    (r"\\(le|ge|ne)(?![a-zA-Z])", r"\\\1q "),
    (r"\\to(?![a-zA-Z])", r"\\rightarrow "),
    (r"\\dots(?![a-zA-Z])", r"\\ldots "),
    (r"\\R(?![a-zA-Z])", r"\\mathbb{R}"),
    (r"\\tfrac", r"\\frac"),
    (r"\\[bB]igg?[lrm]?(?![a-zA-Z])|\\(left|right)(?=\\[lr]?[vV]ert)", ""),
    (r"\\[lr]?Vert(?![a-zA-Z])", r"\\|"),
    (r"\\[lr]vert(?![a-zA-Z])", "|"),
    (r"(\\frac|\\sqrt|\\mathcal|\\mathbb) ?(\w)(\d?)", r"\1{\2}\3"),
    (r"(\\frac\{\w\})(\d)", r"\1{\2}"),
    (r"\\,", r"\\/"),
]
_LAYOUT, _FONT = MathTextParser("path"), FontProperties(size=100, math_fontfamily="cm")


@cache
def room_of(tex: str) -> tuple[float, float, float]:
    """Width, height in all, and depth below the line of a formula in a line, in ``ex``.

    MathJax sets its fonts, which are TeX's, to the height of the letters around them, so that an
    ``ex`` of the text is 0.442 of its em.
    """
    plain = " ".join(tex.split()).removeprefix(r"\(").removesuffix(r"\)")
    for pattern, known in _COMMANDS:
        plain = re.sub(pattern, known, plain)
    try:
        width, height, depth, *_ = _LAYOUT.parse(f"${plain}$", 72, _FONT)
    except ValueError:  # beyond matplotlib: about half an em for every sign
        width, height, depth = 50 * len(re.sub(r"\\[a-zA-Z]+|[\W_]", "x", plain)), 90, 20
    return width / 44.2, height / 44.2, depth / 44.2


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
        width, height, depth = room_of(html.unescape(tex))
        room = f"--room:{width:.2f}ex;--rise:{height:.2f}ex;--drop:{-depth:.2f}ex"
        made = f'<span class="{kind}" style="{room}">{tex}</span>'
        return f'<span class="unbroken">{before}{made}{after}</span>' if before or after else made

    def display(found: re.Match[str]) -> str:
        kind, target, tex = found.groups()
        return f'<div class="{kind}"{target} style="--room:{height_of(tex):.1f}em">{tex}</div>'

    return DISPLAY.sub(display, INLINE.sub(inline, body))


def size_images(body: str, files: dict[str, Path]) -> str:
    """Say how large each picture is, let all but the first wait until they are near, and have each
    lead to its file, where a phone shows it as large as one likes.

    Args:
        files: pictures by the name that the page has for them.
    """
    seen = 0

    def sized(found: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        width, height = imagesize.get(files[found["name"]])
        waits = ' loading="lazy" decoding="async"' if seen > 1 else ""
        shown = f'<img width="{width:.0f}" height="{height:.0f}"{waits} {found["rest"]}>'
        return f'<a class="xs-enlarge" href="{found["path"]}">{shown}</a>'

    # Sphinx does so where an image has a width.
    body = re.sub(r'<a class="[^"]*\bimage-reference"[^>]*>(<img [^>]*>)\s*</a>', r"\1", body)
    pattern = r'<img (?P<rest>[^>]*src="(?P<path>[^"]*_images/(?P<name>[^"]+))"[^>]*)>'
    return re.sub(pattern, sized, body)


def part_names(body: str) -> str:
    """Let names in code be broken where their parts end, before they are broken anywhere else."""

    def parted(found: re.Match[str]) -> str:
        return re.sub(r"(?<=\w)([._/(=,]+)(?=\w)", r"\1<wbr>", found[0])

    return re.sub(r'(?<=<span class="pre">)[^<&]{12,}(?=</span>)', parted, body)


def mark_long_tables(body: str) -> str:
    """Say of tables that fill a screen that they can be sorted; ``tables.js`` adds the buttons."""

    def marked(found: re.Match[str]) -> str:
        long = found[2].count("<tr") > SCREEN and "<thead" in found[2]
        return f'<table class="{found[1]}{" xs-sortable" if long else ""}"{found[2]}</table>'

    return re.sub(r'<table class="([^"]*)"(.*?)</table>', marked, body, flags=re.S)


def mend_body(body: str, files: dict[str, Path]) -> str:
    """The article, with headers that say what they head, room for what comes late, named links."""
    body = re.sub(r'<th class="(head[^"]*)"', r'<th scope="col" class="\1"', body)
    body = re.sub(r'<th class="([^"]*\bstub\b)', r'<th scope="row" class="\1', body)
    body = body.replace(' aria-label="Toggle hidden content"', "")
    body = body.replace(' role="doc-biblioentry"', ' role="listitem"')
    body = re.sub(r'(<a class="headerlink" [^>]*?)title=', r"\1aria-label=", body)
    body = re.sub(r'<a class="[^"]*\bxs-from\b', r'<a tabindex="-1" class="xs-from', body)
    return part_names(size_images(reserve_room(mark_long_tables(body)), files))


def mend_page(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Mend the body, ask for no file that the page does not use, and wait for no script."""
    body = context.get("body", "")
    if body:
        files = {name: Path(app.srcdir) / path for path, name in app.builder.images.items()}
        body = context["body"] = mend_body(body, files)
    idle = [UNUSED]
    idle += [] if 'class="highlight' in body else ["clipboard", "copybutton"]
    idle += [] if 'class="math' in body or "amsmath math" in body else ["MathJax", "mathjax"]
    idle += [] if "xs-sortable" in body else [r"tables\.js"]
    idle += [] if PREVIEWED.search(body) else [r"previews\.js"]
    unused = re.compile("|".join(idle))

    def used(file: Any) -> bool:
        return not unused.search(f"{file.filename} {file.attributes.get('body', '')}")

    context["css_files"] = list(filter(used, context["css_files"]))
    context["script_files"] = list(filter(used, context["script_files"]))
    for script in context["script_files"]:
        # A script in the page uses what documentation_options.js says.
        if script.filename and "documentation_options" not in str(script.filename):
            script.attributes["defer"] = "defer"
