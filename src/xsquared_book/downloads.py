"""The notebooks that a page offers for download: they say how to install, and what roles stand for.

A chapter's text has numbers, references and marks as roles, which only the book resolves. In what
is downloaded they are words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from myst_nb.core.variables import format_plain_text
from nbformat.v4 import new_code_cell
from pybtex.database import parse_file

from xsquared_book.page_tables import table_cell
from xsquared_book.project import Project
from xsquared_book.proofs import read_proofs

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_GLUED = "application/papermill.record/text/plain"
_ROLE = re.compile(r"\{([a-z:]+)\}`([^`]*)`")
#: What only the book's pages can show.
_MOVES = re.compile(r"^```\{(?:moving|unit-chooser)\}.*\n```\n?", re.M)
#: The label of a displayed formula, behind it.
_LABEL = re.compile(r"^\$\$ \((eq-[\w-]+)\)$", re.M)


#: torch's build for CPUs is smaller by gigabytes than the one that PyPI serves on Linux.
_CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"


def install_line(repository: str) -> str:
    """What a notebook's first cell says; comments where no address is known to install from."""
    if repository:
        return f'%pip install --quiet "xsquared @ git+{repository}" {_CPU}'
    return (
        "# Needs the package. In Colab, or on any notebook server, upload the book's checkout as\n"
        "# xsquared.zip, take the signs # off the next two lines and run them.\n"
        f"# !unzip -q xsquared.zip\n# %pip install --quiet ./xsquared {_CPU}"
    )


def glued(cells: Iterable[nbformat.NotebookNode]) -> dict[str, str]:
    """The numbers and texts that cells of a notebook glued, by name, as they were printed."""
    return {
        output.metadata["scrapbook"]["name"]: output.data[_GLUED]
        for cell in cells
        for output in cell.get("outputs", [])
        if "scrapbook" in output.get("metadata", {})
    }


def in_words(
    text: str, numbers: Mapping[str, str], roles: Mapping[str, Callable[[str], str]]
) -> str:
    """A chapter's Markdown with its roles resolved.

    Args:
        text: with roles such as ``{glue:text}`slope:.2f```.
        numbers: what the chapter glued.
        roles: what the other roles make of their content; those not named keep it alone.
    """

    def word(found: re.Match[str]) -> str:
        role, content = found.groups()
        if role == "glue:text":
            name, _, form = content.partition(":")
            return str(format_plain_text(numbers[name], form or "s"))
        shown = content.partition("<")[0].strip() or content
        return roles[role](content) if role in roles else shown

    return _LABEL.sub("$$", _ROLE.sub(word, _MOVES.sub("", text)))


def write_downloads(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the notebooks that Jupyter Book copied beside the pages."""
    folder = Path(app.outdir) / "_sources" / "chapters"
    if error or not folder.is_dir():
        return
    project = Project(Path(app.srcdir).parent)
    proofs = read_proofs(project.proofs)
    sources = parse_file(str(project.book / "references.bib")).entries
    counted = {
        place: ".".join(map(str, number))
        for kinds in app.env.toc_fignumbers.values()
        for places in kinds.values()
        for place, number in places.items()
    }

    def cited(keys: str) -> str:
        entries = (sources[key.strip()] for key in keys.split(","))
        return "; ".join(
            f"{' '.join(e.persons['author'][0].last_names)} ({e.fields['year']})" for e in entries
        )

    roles: dict[str, Callable[[str], str]] = {
        "cell": partial(table_cell, project),
        "cite": cited,
        "proof": lambda key: f"(proved in {proofs[key].test_name})",
        "eq": lambda label: f"({counted[f'equation-{label}']})",
        "numref": lambda name: f"{'Fig.' if name[:3] == 'fig' else 'Table'} {counted[name]}",
    }
    for path in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        numbers = glued(notebook.cells)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = in_words(cell.source, numbers, roles)
        first = new_code_cell(install_line(app.config.html_context["repository"]), id="install")
        notebook.cells.insert(0, first)
        nbformat.write(notebook, path)
