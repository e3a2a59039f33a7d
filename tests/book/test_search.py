"""What the search page gets to look through."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from sphinx import addnodes
from sphinx.errors import ExtensionError

from xsquared_book.search import add_keywords, entries, readable


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\frac{h^2 C_2}{\sqrt{120}}", "h^2 C_2/sqrt(120)"),
        (r"\tfrac12\bigl(f^{(k)}(x)\bigr) \le \sigma", "1/2(f^(k)(x)) ≤ σ"),
        (r"n \approx 10 \quad (k = 2)", "n ≈ 10 (k = 2)"),
    ],
)
def test_formulas_are_read_as_typed(tex: str, plain: str) -> None:
    assert readable(tex) == plain


def test_a_functions_text_is_what_it_does() -> None:
    name = addnodes.desc_signature("", "", addnodes.desc_name("", "tau"), ids=["a.tau"])
    name["fullname"] = "tau"
    content = addnodes.desc_content("", nodes.paragraph("", "The error of a cell."))
    document = publish_doctree("")
    document += addnodes.desc("", name, content)
    (entry,) = entries(document, "api/a")
    assert (entry["title"], entry["text"]) == ("tau", "The error of a cell.")


def test_a_glossarys_words_are_found_by_themselves() -> None:
    item = nodes.definition_list_item("", nodes.term("", "Hinge", ids=["term-Hinge"]))
    item += nodes.definition("", nodes.paragraph("", "Where a neuron opens."))
    document = publish_doctree(
        "Words\n=====\n\nSome.", settings_overrides={"doctitle_xform": False}
    )
    document[0] += addnodes.glossary("", nodes.definition_list("", item))
    page, word = entries(document, "glossary")
    assert page["text"] == "Some."
    assert (word["id"], word["title"], word["text"]) == (
        "term-Hinge", "Hinge", "Hinge Where a neuron opens.",
    )  # fmt: skip


def test_sections_hold_their_own_text_without_code() -> None:
    text = "Page\n====\n\nFirst words.\n\nPart\n----\n\nOf :math:`x^2`::\n\n    code\n\nMore."
    settings = {"doctitle_xform": False}
    document = publish_doctree(text, settings_overrides=settings)
    page, part = entries(document, "chapters/page")
    assert page == {
        "page": "chapters/page", "id": "", "title": "Page", "name": "Page", "text": "First words.",
    }  # fmt: skip
    assert part["id"] == "part"
    assert (part["title"], part["name"]) == ("Part", "Page")
    assert part["text"] == "Of x^2: More."
    assert isinstance(document, nodes.document)


def test_keywords_are_those_of_a_page_or_section_that_is_there() -> None:
    found = [{"page": "errata", "id": ""}, {"page": "errata", "id": "signs"}]
    add_keywords(found, {"errata#signs": "minus"})
    assert [entry["words"] for entry in found] == ["", "minus"]
    with pytest.raises(ExtensionError, match="no section errata#sums"):
        add_keywords(found, {"errata#sums": "plus"})
