"""Targets of the Makefile that no other test runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
PRINTING = """for word in "$@"; do case $word in
--print-to-pdf=*) echo pdf > "${word#--print-to-pdf=}";; esac; done"""


@pytest.mark.parametrize(
    ("chromium", "pdfs"),
    [
        (PRINTING, ["paper.pdf", "xsquared.pdf"]),
        ("true", []),  # ends well, and prints nothing: so does the real one
        ("case $@ in *paper.html) ;; *) " + PRINTING + ";; esac", ["xsquared.pdf"]),
    ],
)
def test_make_pdf_prints_both_or_fails(
    chromium: str, pdfs: list[str], tmp_path: Path
) -> None:
    shutil.copy(MAKEFILE, tmp_path)
    built = tmp_path / "_build"
    tools = tmp_path / ".venv" / "bin"
    for folder in (built, tools):
        folder.mkdir(parents=True)
    (built / "paper.pdf").write_text("of an earlier run")
    for path, script in [
        (tools / "jupyter-book", "true"),
        (tools / "chromium", chromium),
    ]:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    for name in ("requirements.lock", "pyproject.toml", ".venv/installed"):
        (tmp_path / name).touch()
    search = f"{tools}:{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "pdf"],
        cwd=tmp_path,
        env=os.environ | {"PATH": search},
        capture_output=True,
    )
    assert (done.returncode == 0) == (len(pdfs) == 2)
    assert sorted(pdf.name for pdf in built.glob("*.pdf")) == pdfs
