"""What a run changed: its parameters, claims, tables, numbers and figures beside those on record.

On record is what a git revision holds in ``book/chapters``. What both hold alike is left out, so
that a run with a chapter's own parameters has nothing to show.
"""

from __future__ import annotations

import html
import platform
import re
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import nbformat
import pandas as pd

from xsquared.checks import quoted
from xsquared_book.papers.claims import WORDS
from xsquared_book.papers.ledger import ledger
from xsquared_book.parameters import assignments, parameter_value
from xsquared_book.pictures import picture_of
from xsquared_book.project import BookError, Project, git, records
from xsquared_book.tables import TABLE_MIME, Table

_VERDICTS = {WORDS[True], WORDS[False]}


@dataclass(frozen=True)
class Comparison:
    """Executed chapters beside those of a revision.

    Attributes:
        baseline: the revision, as given and as a commit.
        parameters, claims: rows of those that changed.
        flipped: claims that held by their own protocol and fail now, or the other way round.
        others: of tables, numbers in the text and figures those that differ, by name, then and now.
        environment: what has another version than on record, then and now.
    """

    baseline: str
    parameters: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    flipped: list[str]
    others: dict[str, dict[str, tuple[Any, Any]]]
    environment: dict[str, tuple[str, str]]

    @property
    def equal(self) -> bool:
        """Whether nothing differs but, perhaps, the environment."""
        return not self.tables() and not any(self.others.values())

    def tables(self) -> list[Table]:
        """Parameters and claims, where any changed."""
        made = []
        for kind in ("parameters", "claims"):
            if rows := getattr(self, kind):
                frame = pd.DataFrame(rows).set_index("chapter")
                caption = f"{kind.capitalize()}: recorded in {self.baseline}, and yours."
                made.append(Table(frame, caption, f"tab-compare-{kind}"))
        return made

    def lines(self) -> list[str]:
        """What stands in no table."""
        said = ["no difference in numbers, tables, figures and verdicts"] if self.equal else []
        if self.flipped:
            said.append(f"verdicts that flipped: {', '.join(self.flipped)}")
        said += [f"{kind} that differ: {', '.join(n)}" for kind, n in self.others.items() if n]
        other = [f"{name} {then}, now {now}" for name, (then, now) in self.environment.items()]
        return said + ([f"another environment: {', '.join(other)}"] if other else [])

    def text(self) -> str:
        """For a terminal."""
        text = "\n\n".join([*map(str, self.tables()), "\n".join(self.lines())])
        # What a terminal would obey, of another revision, is no text.
        return "".join(
            c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
        )

    def page(self) -> str:
        """A page of HTML: what changed, and the figures that did side by side."""
        body = [table.html() for table in self.tables()]
        body += [f"<p>{html.escape(line)}</p>" for line in self.lines()]
        for name, pair in self.others["figures"].items():
            shown = html.escape(name)
            body.append(f"<h2>{shown}, recorded and yours</h2>")
            files = [(kind, b64encode(file).decode()) for kind, file in filter(None, pair)]
            body += [f'<img alt="{shown}" src="data:{kind};base64,{file}">' for kind, file in files]
        title, style = f"Yours beside {html.escape(self.baseline)}", "img { width: 45vw }"
        head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
        return f'<!doctype html><html lang="en">{head}<h1>{title}</h1>{"".join(body)}</html>'


def compare(
    project: Project, only: Sequence[str] = (), revision: str = "HEAD", book: bool = False
) -> Comparison:
    """Compare runs with the chapters of a revision; write :meth:`Comparison.page` beside the runs.

    Args:
        project: the checkout.
        only: names of chapters; all that were run where empty.
        revision: of git, whose chapters are on record.
        book: compare the chapters as they stand in ``book/chapters``, not the runs.
    """
    folder = project.chapters if book else project.runs
    there = sorted(path.stem for path in folder.glob("*.ipynb"))
    if not there or not {*only} <= {*there}:
        raise BookError(
            f"expected chapters of {folder}, which has {', '.join(there) or 'none'}, got "
            f"{quoted(list(only))}; `xsquared book -p NAME VALUE` runs those with the parameter"
        )
    commit = git(project.root, "rev-parse", "--verify", "--short", f"{revision}^{{commit}}")
    if commit.startswith("^"):  # of git's, all but a commit and those before it
        raise BookError(f"expected a revision that is one commit, got {quoted(revision)}")
    made = Comparison(f"{revision} ({commit})", [], [], [], {}, _environment(project, commit))
    for name in only or there:
        place = f"./{Project.chapters.as_posix()}/{name}.ipynb"
        try:
            then = _contents(git(project.root, "show", f"{commit}:{place}"), name)
            _add(made, name, then, _contents((folder / f"{name}.ipynb").read_text("utf-8"), name))
        except BookError:
            raise
        except Exception as error:  # of nbformat, and of what is no chapter
            said = quoted(" ".join(str(error).split()))
            raise BookError(f"{name}: expected an executed chapter: {said}") from error
    project.runs.mkdir(parents=True, exist_ok=True)
    (project.runs / "compare.html").write_text(made.page(), encoding="utf-8")
    return made


def _add(made: Comparison, name: str, then: dict[str, Any], now: dict[str, Any]) -> None:
    """To a comparison, what a chapter held then and holds now."""
    for key, old, new in _pairs(then["parameters"], now["parameters"]):
        row = {"chapter": name, "parameter": key, "recorded": old, "yours": new}
        made.parameters.extend([] if _same(old, new) else [row])
    for key, old, new in _pairs(then["claims"], now["claims"]):
        if row := _claim(key, old or {}, new or {}):
            made.claims.append({"chapter": name} | row)
            made.flipped.extend([key] if {row["then"], row["now"]} == _VERDICTS else [])
    for kind in ("tables", "numbers", "figures"):
        pairs = {key: (old, new) for key, old, new in _pairs(then[kind], now[kind]) if old != new}
        made.others.setdefault(kind, {}).update(pairs)


def _pairs(then: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(key, then.get(key), now.get(key)) for key in dict.fromkeys([*then, *now])]


def _same(old: str | None, new: str | None) -> bool:
    """Whether two parameters have one value; what is no literal is compared as text."""
    with suppress(BookError):
        return old == new or bool(old and new and parameter_value(old) == parameter_value(new))
    return False


def _contents(text: str, name: str) -> dict[str, dict[str, Any]]:
    """By kind and name, what an executed chapter holds."""
    notebook = nbformat.reads(text, as_version=4)
    tags = ("parameters", "injected-parameters")
    own, other = (assignments(notebook, tag, name) for tag in tags)
    rows = records(notebook)
    if not all(isinstance(row, dict) for row in rows):
        raise BookError(f"{name}: expected verdicts as recorded now, got an older revision's")
    claims = {row["claim"]: row for row in rows}
    found: dict[str, dict[str, Any]] = {"parameters": own | other, "claims": claims}
    found |= {"tables": {}, "numbers": {}, "figures": {}}
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if TABLE_MIME in data:
                found["tables"][data[TABLE_MIME]["name"]] = data[TABLE_MIME]
            if glued := output.get("metadata", {}).get("scrapbook"):
                found["numbers"][glued["name"]] = data
            if figure and (picture := picture_of(output)):
                found["figures"][figure["name"]] = picture
    return found


def _claim(name: str, then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """A claim's row: by its own protocol, and which others moved; empty where nothing did."""
    claim = ledger().get(name)
    words = [WORDS[row["holds"]] if row else "○ open" for row in (then, now)]
    told: list[Any] = [then.get("measured"), now.get("measured")]
    change = None
    with suppress(TypeError, ValueError):
        change = f"{float(told[1]) - float(told[0]):+.2g}"
    found = _pairs(then.get("found", {}), now.get("found", {}))
    moved = [key for key, old, new in found if old != new and key != getattr(claim, "protocol", "")]
    row = {"claim": name, "recorded": told[0], "yours": told[1], "change": change}
    row |= {"tolerance": claim.required if claim else None, "then": words[0], "now": words[1]}
    row |= {"otherwise": f"{len(moved)} of {len(found) - 1} moved" if moved else None}
    return row if moved or told[0] != told[1] or words[0] != words[1] else {}


def _environment(project: Project, commit: str) -> dict[str, tuple[str, str]]:
    """What has another version here than the revision's files name."""
    pinned: dict[str, str] = {}
    with suppress(BookError):
        for file in ("requirements.lock", "environment.yml"):
            text = git(project.root, "show", f"{commit}:./{file}")
            pinned |= re.findall(r"^(?:  - )?(\w+)==?([\w.]+)", text, re.MULTILINE)
    here = {name: version(name) for name in ("torch", "numpy", "scipy", "sympy")}
    here["python"] = platform.python_version()
    return {
        name: (pinned[name], now)
        for name, now in here.items()
        if name in pinned and not re.match(rf"{re.escape(pinned[name])}(\W|$)", now)
    }
