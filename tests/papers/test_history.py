"""When thresholds and protocols were fixed: the committed table is that of the ledger."""

import subprocess
from pathlib import Path

from xsquared_book.papers.history import Past, pasts, thresholds, trace
from xsquared_book.papers.ledger import ledger


def test_the_table_has_the_thresholds_and_protocols_of_the_ledger() -> None:
    """A change of either is dated: ``python -m xsquared_book.papers.history`` writes it anew."""
    written = {key: (past.thresholds, past.protocol) for key, past in pasts().items()}
    assert written == {
        key: (thresholds(vars(claim)), claim.protocol) for key, claim in ledger().items()
    }


def test_a_change_after_the_number_is_told_from_one_before(tmp_path: Path) -> None:
    ledger_file = tmp_path / "src/xsquared_book/papers/claims.toml"
    chapter = tmp_path / "book/chapters/01_one.ipynb"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)

    def commit(day: int, text: str, outputs: str) -> None:
        for file, content in ((ledger_file, text), (chapter, outputs)):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        subprocess.run([*git, "add", "."], check=True)
        when = {"GIT_COMMITTER_DATE": f"2026-01-0{day}T12:00:00Z", "PATH": "/usr/bin:/bin"}
        subprocess.run([*git, "commit", "-qm", "x"], check=True, env=when)

    rows = '[[claim]]\nid = "a"\nvalue = 2\ntolerance = {}\nprotocol = "p"\n[[claim]]\nid = "b"\n'
    none = '{"cells": [{"outputs": []}]}'
    number = '{"cells": [{"outputs": ["a", "b"]}]}'
    commit(1, rows.format(0.1), none)
    commit(2, rows.format(0.1), number)
    commit(3, rows.format(0.2), number)
    first, second = trace(tmp_path)
    day = "2026-01-0{} 12:00".format
    assert first == Past("a", "value=2 tolerance=0.2", day(3), "p", day(1), day(2))
    assert first.later == ("thresholds",)
    assert "Thresholds came after the first number." in str(first)
    assert second.later == ()
