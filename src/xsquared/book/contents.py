"""The book's contents: its pages in order, chapters by number, appendices by letter."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any

import yaml

from xsquared.book.project import Project

#: The part whose pages have letters.
LETTERED = "Appendices"


def contents(project: Project) -> dict[str, str]:
    """Read ``_toc.yml``.

    Returns:
        By each page's path without suffix, in reading order: a chapter's number, an
        appendix's letter, or nothing. A page below another one has its number.
    """
    text = (project.root / "_toc.yml").read_text(encoding="utf-8")
    toc = yaml.safe_load(text)
    found = {toc["root"]: ""}
    chapters = 0
    letters = iter(ascii_uppercase)
    for part in toc.get("parts", [toc]):
        for page in part["chapters"]:
            number = ""
            if part.get("caption") == LETTERED:
                number = next(letters)
            elif "numbered" in part:
                chapters += 1
                number = str(chapters)
            found |= dict.fromkeys(_files(page), number)
    return found


def _files(page: dict[str, Any]) -> Iterator[str]:
    """List a page and those below it."""
    yield page["file"]
    for below in page.get("sections", []):
        yield from _files(below)
