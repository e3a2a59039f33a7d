"""What a run changed is found, and said in the terminal and as a page."""

import platform
import re
import shutil
from base64 import b64encode
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.small_project import commit, git
from xsquared_book.cli import main
from xsquared_book.compare import compare
from xsquared_book.execute import execute
from xsquared_book.papers import VERDICT_MIME
from xsquared_book.papers.claims import judge
from xsquared_book.papers.ledger import ledger
from xsquared_book.project import BookError, Project, find_project
from xsquared_book.tables import TABLE_MIME

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
NAME, SAME = "03_constructions", "no difference in numbers, tables, figures and verdicts"
RATE, TREND = ledger()["gu-eq9-rate"], ledger()["gu-lowest-error"]


def write(
    folder: Path,
    injected: str = "",
    own: str = "n = 2\npair = (1.0, 2.0)",
    rate: float = -2.0,
    trend: dict[str, float] | None = None,
    shown: str = "a",
) -> None:
    """An executed chapter with two parameters, up to two claims, a table, a number, a figure."""

    def cell(source: str, *data: dict[str, Any], **metadata: Any) -> nbformat.NotebookNode:
        named = {"scrapbook": {"name": "one"}} if "text/plain" in data[0] else {}
        outputs = [new_output("display_data", data=one, metadata=named) for one in data if one]
        return new_code_cell(source, outputs=outputs, metadata=metadata)

    verdicts = [judge(RATE, rate), judge(TREND, trend) if trend else None]
    settled = {VERDICT_MIME: [verdict.as_record() for verdict in verdicts if verdict]}
    cells = [
        cell(own, {}, tags=["parameters"]),
        cell(injected, {}, tags=["injected-parameters"]),
        cell("…", settled, {TABLE_MIME: {"name": "tab-one", "rows": [[shown]]}}),
        cell("…", {"image/svg+xml": f"<svg {shown}>"}, mystnb={"figure": {"name": "fig-one"}}),
        cell("…", {"text/plain": repr(shown)}),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells), folder / f"{NAME}.ipynb")


@pytest.fixture
def recorded(small_project: Project, monkeypatch: Patch) -> Project:
    """A checkout of git with one executed chapter, in which the tests work."""
    python = ".".join(platform.python_version_tuple()[:2])
    packages = [f"{name}=={version(name)}" for name in ("torch", "numpy", "scipy", "sympy")]
    lock = "\n".join(packages).replace("+cpu", "")
    (small_project.root / "requirements.lock").write_text(lock)
    (small_project.root / "environment.yml").write_text(f"dependencies:\n  - python={python}\n")
    (small_project.root / ".gitignore").write_text("_build\n")
    write(small_project.chapters, trend={TREND.protocol: 1.2, TREND.alternatives[0]: 1.0})
    git(small_project, "init")
    commit(small_project)
    monkeypatch.chdir(small_project.root)
    return small_project


def test_the_chapters_own_values_make_no_difference(recorded: Project, capsys: Said) -> None:
    own = {TREND.protocol: 1.2, TREND.alternatives[0]: 1.0}
    write(recorded.runs, "n = 2\npair = [1, 2]", trend=own)
    assert main(["compare"]) == 0
    assert capsys.readouterr().out.strip() == SAME
    assert SAME in (recorded.runs / "compare.html").read_text()


def test_a_flipped_verdict_is_said_and_is_the_exit_status(recorded: Project, capsys: Said) -> None:
    write(recorded.runs, "n = 3", rate=-3.0, shown="b")
    assert main(["compare", NAME]) == 3
    said = capsys.readouterr().out
    (row,) = (line.split() for line in said.splitlines() if f" {RATE.id} " in line)
    assert row[:5] == [NAME, RATE.id, "-2.000", "-3.000", "-1"]
    assert " ".join(row[5:]) == f"{RATE.required} ✔ holds ✘ fails –"
    assert f"verdicts that flipped: {RATE.id}" in said
    assert "○ open" in said, "a claim that the run leaves out"
    assert "pair" not in said, "a parameter that did not change"
    for kind, name in (("tables", "tab-one"), ("numbers", "one"), ("figures", "fig-one")):
        assert f"{kind} that differ: {name}" in said
    page = (recorded.runs / "compare.html").read_text()
    pictures = [b64encode(f"<svg {shown}>".encode()).decode() for shown in "ab"]
    assert re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page) == pictures
    assert RATE.id in page


def test_what_moves_by_another_protocol_only_is_a_change_but_no_flip(recorded: Project) -> None:
    write(recorded.runs, trend={TREND.protocol: 1.2, TREND.alternatives[0]: 9.0})
    found = compare(recorded)
    (row,) = found.claims
    assert (row["claim"], row["change"], row["otherwise"]) == (TREND.id, "+0", "1 of 1 moved")
    assert not found.equal
    assert found.flipped == []


def test_nothing_that_a_revision_holds_is_executed(recorded: Project) -> None:
    """Neither is a range of it made that no memory holds."""
    attack = (
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
        ".__init__.__globals__['system']('touch executed')"
    )
    write(recorded.chapters, own=f"n = {attack}\npair = list(range(10**15))")
    commit(recorded)
    write(recorded.runs)
    assert len(compare(recorded).parameters) == 2
    assert not (recorded.root / "executed").exists()


def test_any_revision_is_a_baseline_and_the_book_itself_can_be_compared(recorded: Project) -> None:
    write(recorded.chapters, rate=-3.0)
    commit(recorded)
    assert compare(recorded, book=True).equal
    assert compare(recorded, [NAME], "HEAD~1", book=True).flipped == [RATE.id]
    write(recorded.runs, rate=-3.0)
    assert compare(recorded).equal
    assert compare(recorded, revision="HEAD~1").flipped == [RATE.id]


def test_another_environment_is_said(recorded: Project) -> None:
    write(recorded.runs)
    assert compare(recorded).environment == {}
    lock = recorded.root / "requirements.lock"
    lock.write_text(lock.read_text().replace("numpy==", "numpy==1"))
    (recorded.root / "environment.yml").write_text("dependencies:\n  - python=3.1\n")
    commit(recorded)
    now = version("numpy"), platform.python_version()
    said = f"another environment: numpy 1{now[0]}, now {now[0]}, python 3.1, now {now[1]}"
    assert said in compare(recorded).text()
    git(recorded, "rm", "-q", "requirements.lock")
    commit(recorded)
    assert compare(recorded).environment == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--baseline none", "expected an answer of git in "),
        ("--baseline=--all", "answer of git in"),
        ("--baseline ^HEAD", "expected a revision that is one commit, got '^HEAD'"),
        ("05_none", "expected chapters of"),
        ("--book 05_none", f"which has {NAME}, got ['05_none']"),
    ],
)
def test_misuse_exits_2(arguments: str, expected: str, recorded: Project, capsys: Said) -> None:
    write(recorded.runs)
    assert main(["compare", *arguments.split()]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


def test_nothing_to_compare_is_an_error(recorded: Project) -> None:
    with pytest.raises(BookError, match="which has none, got"):
        compare(recorded)
    nbformat.write(new_notebook(), recorded.chapters / "09_new.ipynb")
    with pytest.raises(BookError, match=r"answer of git in.*09_new"):
        compare(recorded, ["09_new"], book=True)
    old = new_output("display_data", data={VERDICT_MIME: {"claim": RATE.id}})
    cells = [new_code_cell("1", outputs=[old])]
    nbformat.write(new_notebook(cells=cells), recorded.chapters / f"{NAME}.ipynb")
    with pytest.raises(BookError, match="got an older revision's"):
        compare(recorded, [NAME], book=True)


@pytest.mark.slow
def test_a_run_with_parameters_ends_with_what_it_changed(recorded: Project, capsys: Said) -> None:
    said = ("7", "not compared: expected"), ("7", SAME), ("8", "01_good  n          7         8")
    for n, words in said:
        assert main(["book", "--jobs", "1", "-p", "n", n]) == 0
        assert words in capsys.readouterr().out
        if words != SAME and n == "7":
            (recorded.runs / "01_good.ipynb").rename(recorded.chapters / "01_good.ipynb")
            commit(recorded)


def test_names_of_a_run_are_text_on_the_page(recorded: Project) -> None:
    write(recorded.runs, shown="b")
    run = recorded.runs / f"{NAME}.ipynb"
    run.write_text(run.read_text().replace("fig-one", "<script>alert(1)</script>"))
    assert "<script" not in compare(recorded).page()
    run.write_text(run.read_text().replace("<script>", "\\u001b[2J"))
    assert "�[2Jalert" in compare(recorded).text()


@pytest.mark.parametrize(
    ("found", "put"),
    [
        ('"name": "fig-one"', '"other": 1'),
        ('"name": "tab-one"', '"other": 1'),
        ('"metadata": {', '"metadata": "none", "more": {'),
        ("{", "["),
        ("{", ""),
    ],
)
def test_a_damaged_run_is_named(found: str, put: str, recorded: Project) -> None:
    write(recorded.runs)
    run = recorded.runs / f"{NAME}.ipynb"
    run.write_text(run.read_text().replace(found, put, 1) if put else "null")
    with pytest.raises(BookError, match=f"^{NAME}: expected an executed chapter"):
        compare(recorded)


@pytest.mark.slow
def test_an_exercise_of_09_flips_the_verdicts_that_it_names(tmp_path: Path) -> None:
    name, here = "09_gelu_series", find_project(Path(__file__))
    project = Project(tmp_path)
    for path in (
        here.notebooks / f"{name}.md",
        here.chapters / f"{name}.ipynb",
        here.root / "_toc.yml",
    ):
        copy = tmp_path / path.relative_to(here.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    git(project, "init")
    commit(project)
    execute(project, [name], {"n_terms": 13}, jobs=1)
    found = compare(project, [name])
    assert found.flipped == [
        *(f"gl-table1-{radius}" for radius in (1, 3, 7)),
        "gl-acceptable-on-3",
        "gl-only-around-zero",
    ]
    (series,) = (pair for key, pair in found.others["tables"].items() if key == "tab-series")
    then, now = ([float(row[1]) for row in table["rows"]] for table in series)
    assert [new < old for old, new in zip(then, now, strict=True)] == [True, True, False, False]
