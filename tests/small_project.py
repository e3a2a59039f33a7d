"""A small project of its own for the tests of the book's machinery."""

from pathlib import Path

import pytest

from xsquared.book.project import Project

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst, format_version: 0.13}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

"""

CONFIG = """title: small
only_build_toc_files: true
execute: {execute_notebooks: "off"}
sphinx: {extra_extensions: [xsquared.book.sphinx_ext]}
"""


def notebook_text(*cells: str, parameters: str = "n = 2") -> str:
    """A MyST notebook: a title, a parameters cell, then one code cell per string."""
    parts = [
        HEADER,
        "# A chapter\n",
        f"```{{code-cell}} ipython3\n:tags: [parameters]\n\n{parameters}\n```\n",
    ]
    parts += [f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells]
    return "\n".join(parts)


def add_chapter(project: Project, name: str, text: str) -> None:
    """Write a chapter's notebook, and list it last."""
    (project.notebooks / f"{name}.md").write_text(text)
    toc = project.root / "_toc.yml"
    toc.write_text(toc.read_text().replace("]", f", file: book/chapters/{name}]"))


@pytest.fixture
def small_project(tmp_path: Path) -> Project:
    """A checkout with one good chapter, of which Jupyter Book makes a site."""
    (tmp_path / "_config.yml").write_text(CONFIG)
    toc = "format: jb-book\nroot: index\nchapters: [file: book/chapters/01_good]\n"
    (tmp_path / "_toc.yml").write_text(toc)
    (tmp_path / "index.md").write_text("# A book\n")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book" / "chapters").mkdir(parents=True)
    (tmp_path / "notebooks" / "01_good.md").write_text(
        notebook_text("print('n is', n)\nprint('squared', n**2)", "n + 1")
    )
    return Project(tmp_path)
