"""What the front page takes from chapters, ledger and rows.

Pictures, a square a claim, and the data of the figure that moves, which
``book/_extra/figure.js`` draws.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from xsquared.book.papers.ledger import PAPERS, VERDICTS, Claim, ledger
from xsquared.book.pictures import SVG
from xsquared.book.project import BookError, Project
from xsquared.studies import rows
from xsquared.studies.curves import curve_data


def picture(project: Project, name: str, caption: str) -> str:
    """Write a figure of a chapter in Markdown, with a caption of its own.

    Raises:
        BookError: no executed chapter has a figure of this name.
    """
    cell = _figure_cell(project, name)
    (drawing,) = (
        output.data[SVG] for output in cell.outputs if SVG in output.get("data", {})
    )
    path = project.root / "_build" / "pictures" / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != drawing:
        path.write_text(drawing, encoding="utf-8")
    alt = " ".join(cell.metadata.mystnb.image.alt.split())
    lines = (  # no figure, which would take a number of the chapters' own
        "::::{container} xs-picture",
        f":::{{image}} /_build/pictures/{path.name}",
        f":alt: {alt}",
        ":::",
        "",
        caption,
        "::::",
    )
    return "\n".join(lines)


def _figure_cell(project: Project, name: str) -> NotebookNode:
    for path in sorted(project.chapters.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            if figure.get("name") == name:
                return cell
    raise BookError(f"no chapter has a figure {name}")


def _square(claim: Claim) -> str:
    words = escape(f"{claim.verdict}: {claim.statement}")
    return (
        f'<a class="xs-{claim.verdict.replace(" ", "-")}" title="{words}"'
        f' aria-label="{words}" href="book/ledger.html#claim-{claim.id}"></a>'
    )


def claim_squares(_project: Project) -> str:
    """Write a coloured square for each claim, linked to its verdict, paper by paper."""
    lines = []
    for paper, title in PAPERS.items():
        squares = "".join(
            _square(claim)
            for verdict in VERDICTS
            for claim in ledger().values()
            if (claim.paper, claim.verdict) == (paper, verdict)
        )
        lines.append(f"<p>{title}</p><div>{squares}</div>")
    names = " ".join(
        f'<span><a class="xs-{verdict.replace(" ", "-")}" aria-hidden="true"></a>'
        f"{verdict}</span>"
        for verdict in VERDICTS
    )
    html = f'<div class="xs-squares">{"".join(lines)}<p>{names}</p></div>'
    return f"```{{raw}} html\n{html}\n```"


def write_curves(site: Path) -> None:
    """Write the data of the study ``curves`` as a script below a site's root.

    A page opened from a disk may not fetch.
    """
    data = curve_data(rows("curves"))
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    (site / "curves.js").write_text(f"const CURVES = {text};\n", encoding="utf-8")
