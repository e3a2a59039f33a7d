"""Downloaded notebooks run elsewhere and read without the book."""

import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from xsquared_book.downloads import in_words, install_line, write_downloads
from xsquared_book.project import Project

PROJECT = Project(Path(__file__).parents[2])


def test_roles_become_words() -> None:
    roles = {"cite": lambda key: f"({key})"}
    text = "{glue:text}`n` of {glue:text}`s:.2f`, {cite}`a`, {ref}`that <tab-a>`, {doc}`02_b`."
    numbers = {"n": "'four'", "s": "-1.774"}
    assert in_words(text, numbers, roles) == "four of -1.77, (a), that, 02_b."
    assert in_words("$$\nx\n$$ (eq-x)\n", {}, {}) == "$$\nx\n$$\n"
    assert in_words("a\n```{moving} spline\n```\nb", {}, {}) == "a\nb"
    with pytest.raises(KeyError):
        in_words("{glue:text}`unknown`", {}, {})


def test_a_notebook_says_how_to_install_the_small_build_of_torch() -> None:
    cpu = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert (
        install_line("https://a.b/c")
        == f'%pip install --quiet "xsquared @ git+https://a.b/c" {cpu}'
    )
    told = install_line("").splitlines()
    assert all(line.startswith("# ") for line in told), "runs where the package is there already"
    assert told[-2:] == ["# !unzip -q xsquared.zip", f"# %pip install --quiet ./xsquared {cpu}"]


def test_no_command_takes_the_checkout_for_a_package_of_an_index() -> None:
    pages = [*PROJECT.book.glob("*.md"), PROJECT.root / "README.md"]
    told = re.findall(r"pip install ([^\n`]*)", "\n".join(page.read_text() for page in pages))
    words = {word.strip("'") for line in told for word in line.split() if word[0] not in "-\\"}
    assert len(words) > 3
    assert {word for word in words if word[0] != "."} == {"notebook", "requirements.lock"}


def test_every_role_of_every_chapter_has_words(tmp_path: Path) -> None:
    folder = tmp_path / "_sources" / "chapters"
    folder.mkdir(parents=True)
    marks = set()
    for path in sorted(PROJECT.chapters.glob("*.ipynb")):
        (folder / path.name).write_bytes(path.read_bytes())
        marks |= set(re.findall(r"(\w[\w-]*)`", path.read_text()))
    numbers = {name: (1, 2) for mark in marks for name in (mark, f"equation-{mark}")}
    app = SimpleNamespace(
        outdir=tmp_path,
        srcdir=PROJECT.book,
        config=SimpleNamespace(html_context={"repository": ""}),
        env=SimpleNamespace(toc_fignumbers={"page": {"figure": numbers}}),
    )
    if not PROJECT.proofs.is_file():
        pytest.skip("no proofs on this machine yet: the tests of the site make them")
    write_downloads(app, None)  # type: ignore[arg-type]
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        assert notebook.cells[0].source == install_line("")
        told = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        assert re.findall(r"\{[a-z:]+\}`", told) == []
        nbformat.validate(notebook)
    assert "Queiruga (2026)" in (folder / "03_constructions.ipynb").read_text()
