"""What the search page looks through: every section's text as a reader sees it, in one script.

Sphinx's own index knows which words a page holds, not how often, and shows formulas and code as
they are written; so it ranks a module that mentions a word with the chapter about it.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_NAMES = ("le", "ge", "approx", "to", "infty", "cdot", "times", "otimes", "sum", "int", "prod")
_SIGNS = dict(zip(_NAMES, "≤≥≈→∞·×⊗∑∫∏", strict=True))
_SIGNS |= {name: name for name in ("sqrt", "log", "exp", "min", "max")}
_UNREAD = (
    *(nodes.literal_block, nodes.comment, nodes.raw, nodes.title, nodes.section),
    *(addnodes.desc, addnodes.desc_signature, addnodes.glossary),
)


def readable(tex: str) -> str:
    """A formula in plain signs, as typed: ``\\frac{h}{\\sqrt{120}}`` is ``h/sqrt(120)``."""

    def sign(found: re.Match[str]) -> str:
        try:
            return _SIGNS.get(found[1]) or unicodedata.lookup(f"GREEK SMALL LETTER {found[1]}")
        except KeyError:
            return ""

    tex = re.sub(r"sqrt\s*\{([^{}]*)\}", r"sqrt(\1)", tex)
    tex = re.sub(r"([_^])\{([^{}]*)\}", r"\1\2", tex)
    tex = re.sub(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\w))\s*(?:\{([^{}]*)\}|(\w))", r"\1\2/\3\4", tex)
    tex = re.sub(r"\\([a-zA-Z]+)", sign, tex)
    return " ".join(re.sub(r"\\.|[{}&$]|\^\s", "", tex).split())


def plain(node: nodes.Node) -> str:
    """What a node says, without its code, its heading and the sections below it."""
    if isinstance(node, nodes.math | nodes.math_block):
        return readable(node.astext())
    if isinstance(node, nodes.Text):
        return str(node)
    joint = "" if isinstance(node, nodes.TextElement) else " "
    return joint.join(plain(child) for child in node.children if not isinstance(child, _UNREAD))


def entries(document: nodes.document, page: str) -> Iterator[dict[str, str]]:
    """The page's sections, what its modules define and its words: place, title and text of each."""
    name = ""
    kinds = nodes.section | addnodes.desc | nodes.definition_list_item
    for node in document.findall(lambda n: isinstance(n, kinds)):
        if isinstance(node, nodes.section):
            title = plain(node[0]) if isinstance(node[0], nodes.title) else ""
            title, ids = title or node[0].astext(), node["ids"]
        elif isinstance(node, nodes.definition_list_item):
            title, ids = node[0].astext(), node[0]["ids"]
        else:
            title, ids = node[0].get("fullname", ""), node[0]["ids"]
        if ids:
            yield {
                "page": page,
                "id": ids[0] if name else "",
                "title": title,
                "name": name or title,
                "text": " ".join(plain(node).split()),
            }
        name = name or title


def collect(app: Sphinx, document: nodes.document, page: str) -> None:
    """Keep a page's entries until all pages are read."""
    found: dict[str, Any] = app.__dict__.setdefault("xsquared_entries", {})
    found[page] = list(entries(document, page))


def add_keywords(found: list[dict[str, str]], keywords: dict[str, str]) -> None:
    """Give each entry what else it is looked for by.

    Args:
        keywords: by page, ``"errata"``, or section, ``"errata#gated-units"``.
    """
    left = dict(keywords)
    for entry in found:
        place = "#".join(filter(None, (entry["page"], entry["id"])))
        entry["words"] = left.pop(place, "")
    if left:
        raise ExtensionError(f"keywords.toml: no section {', '.join(left)}")


def write_index(app: Sphinx, failure: Exception | None) -> None:
    """Write what was collected, as a script: a page opened from a disk may not fetch."""
    if failure is None:
        pages = app.__dict__.get("xsquared_entries", {}).values()
        found = [entry for page in pages for entry in page]
        keywords = Path(app.srcdir, "keywords.toml")
        if keywords.is_file():
            add_keywords(found, tomllib.loads(keywords.read_text(encoding="utf-8")))
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, "searchentries.js").write_text(
            f"window.entries={text};\n", encoding="utf-8"
        )
