"""The reference has a page for each module, and indices that lead to all of them."""

from typing import Any, cast

import pytest
from docutils import nodes
from sphinx import addnodes
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

from xsquared_book.api_pages import hide_long_values, keep_whole, rooms, write_pages, write_rooms
from xsquared_book.project import Project

MODULES = [module for modules in rooms().values() for module in modules]


def test_each_module_has_a_page_and_those_gone_have_none(small_project: Project) -> None:
    write_pages(small_project)
    pages = {path.stem: path for path in small_project.api.iterdir()}
    assert sorted(pages) == sorted(MODULES)
    assert ".. automodule:: xsquared.slopes\n" in pages["xsquared.slopes"].read_text()
    before = pages["xsquared.slopes"].stat().st_mtime_ns
    gone = small_project.api / "xsquared.gone.md"
    gone.write_text("# Gone")
    pages["xsquared.units"].write_text("changed")
    write_pages(small_project)
    assert not gone.exists()
    assert "automodule" in pages["xsquared.units"].read_text()
    assert pages["xsquared.slopes"].stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("package", "one"), [("xsquared", "training.fit"), ("xsquared_book", "tables")]
)
def test_an_index_says_what_each_module_is(small_project: Project, package: str, one: str) -> None:
    lines = write_rooms(small_project, package).splitlines()
    assert len(lines) == sum(module.startswith(f"{package}.") for module in MODULES)
    assert all(line.partition("`: ")[2].strip() for line in lines)
    assert any(f"{{doc}}`{package}.{one} </api/{package}.{one}>`" in line for line in lines)


@pytest.mark.parametrize("what", ["data", "attribute", "property"])
def test_a_constants_text_with_a_colon_is_no_type(what: str) -> None:
    lines = ["Widths: 1 to 50, as the paper has them."]
    keep_whole(None, what, "name", None, None, lines)
    told = GoogleDocstring(lines, cast(Any, Config()), what=what, name="name").lines()
    assert [line for line in told if line] == ["Widths: 1 to 50, as the paper has them."]
    keep_whole(None, "function", "name", None, None, lines := ["Fit: as said."])
    assert lines == ["Fit: as said."]


def test_long_values_are_hidden_and_short_ones_and_types_are_not() -> None:
    shown = [" = 64", ": dict[str, " + 60 * "a" + "]", " = {" + 60 * "1" + "}"]
    line = addnodes.desc_signature("", "", *(addnodes.desc_annotation(t, t) for t in shown))
    document = nodes.section("", line)
    hide_long_values(None, document)
    assert [part.astext() for part in line] == shown[:2]
