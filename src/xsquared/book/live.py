"""A button on pages of derivations: their cells run in the reader's browser.

Pages whose cells import sympy, :mod:`xsquared.book.formulas` and the standard library
alone get it. Python for browsers, sympy and mpmath become files of the site, which a
page asks for on the first click. Where they are not to be had, pages have no button.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from shutil import copytree, which
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import nbformat

from xsquared.book.project import code_cells, shows_outputs

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PYODIDE = "pyodide-314.0.7.tgz"
#: Of npm's tarball, by sha256.
_PYODIDE_DIGEST = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
#: What a page needs of it.
_PYODIDE_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
#: Packages that run there, in the lock's versions.
_WHEELS = ("sympy", "mpmath")
#: Modules of this package that run there.
_MODULES = ("formulas.py", "session.py")
#: All that formulas take from IPython.
_DISPLAY = r"""class Math:
    def __init__(self, data):
        self.data = data
    def _repr_latex_(self):
        return rf"$\displaystyle {self.data}$"
"""
#: For a registry to answer, in seconds.
_PATIENCE = 120


def offer_run(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], _doctree: Any
) -> None:
    """Give a page of derivations its script, and the outputs to compare with."""
    path = Path(app.srcdir, f"{page}.ipynb")
    if app.builder.name != "html" or not path.is_file():
        return
    cells = page_cells(path)
    if runs_in_browser(cells) and install(Path(app.srcdir), Path(app.outdir)):
        outputs = json.dumps([committed_output(cell) for cell in cells])
        safe = outputs.replace("<", r"\u003c")  # ends no script
        app.add_js_file(None, body=safe, type="application/json", id="live-outputs")
        app.add_js_file("../live/live.js", loading_method="defer")


def page_cells(path: Path) -> list[nbformat.NotebookNode]:
    """Read the code cells that a page shows, but those that settle claims."""
    cells = code_cells(nbformat.read(path, as_version=4))
    return [cell for cell in cells if shows_outputs(cell)]


def runs_in_browser(cells: list[nbformat.NotebookNode]) -> bool:
    """Say whether cells use sympy, and nothing that is not sent with it."""
    text = "\n".join(cell.source for cell in cells)
    modules = {*re.findall(r"^ *(?:from|import) +([\w.]+)", text, re.MULTILINE)}
    tops = {name.partition(".")[0] for name in modules - {"xsquared.book.formulas"}}
    return "sympy" in tops and tops <= {"sympy", *sys.stdlib_module_names}


def committed_output(cell: nbformat.NotebookNode) -> dict[str, str]:
    """Collect a cell's output by kind, as :class:`~xsquared.book.session.Session`."""
    output: dict[str, str] = {}
    for shown in cell.outputs:
        data = shown.get("data", {})
        if "text/latex" in data:
            output["tex"] = data["text/latex"]
        else:
            text = shown.get("text", data.get("text/plain", ""))
            output["text"] = output.get("text", "") + text
    return output


@cache
def install(root: Path, site: Path) -> bool:
    """Put all that the button needs into a site; say so in a line where it cannot be.

    Args:
        root: the checkout.
        site: the folder of its pages.

    Returns:
        Whether it is there.
    """
    try:
        tarball, *wheels = fetch(root)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"Derivations have no Run button: {error}\n")
        return False
    target = site / "live"
    copytree(root / "book" / "_live", target, dirs_exist_ok=True)
    with tarfile.open(tarball) as archive:
        for name in _PYODIDE_FILES:
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            (target / name).write_bytes(member.read())
    _pack(target / "packages.zip", wheels)
    for name, wheel in zip(_WHEELS, wheels, strict=True):
        with ZipFile(wheel) as files:
            (licence,) = (n for n in files.namelist() if n.endswith("/LICENSE"))
            (target / f"LICENSE-{name}.txt").write_bytes(files.read(licence))
    return True


def _pack(archive: Path, wheels: list[Path]) -> None:
    """Write what Python in a browser imports: wheels without their tests, modules."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packages:
        for wheel in wheels:
            with ZipFile(wheel) as files:
                for name in files.namelist():
                    if "/tests/" not in name and "/benchmarks/" not in name:
                        packages.writestr(name, files.read(name))
        for name in _MODULES:
            path = Path(__file__).with_name(name)
            packages.write(path, f"xsquared/book/{name}")
        packages.writestr("IPython/display.py", _DISPLAY)


def fetch(root: Path) -> list[Path]:
    """Download what ``_build/live`` does not have yet.

    Args:
        root: the checkout, with its lock.

    Returns:
        The tarball of Pyodide, and the wheels.

    Raises:
        OSError: npm is not there.
        subprocess.SubprocessError: npm or pip failed.
        ValueError: the tarball is another one.
    """
    folder = root / "_build" / "live"
    folder.mkdir(parents=True, exist_ok=True)
    tarball = folder / PYODIDE
    if not tarball.is_file():
        npm = which("npm")
        if npm is None:
            raise FileNotFoundError("npm is not there")
        package = "@".join(PYODIDE.removesuffix(".tgz").rsplit("-", 1))
        _run(folder, npm, "pack", package, "--silent", "--fetch-retries=0")
    if hashlib.sha256(tarball.read_bytes()).hexdigest() != _PYODIDE_DIGEST:
        tarball.unlink()
        raise ValueError(f"{PYODIDE} from npm is not the one that was tried")
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(rf"^(?:{'|'.join(_WHEELS)})==\S+", lock, re.MULTILINE)
    wheels = [tarball]
    for name in _WHEELS:
        (pin,) = (pin for pin in pins if pin.startswith(f"{name}=="))
        pattern = f"{pin.replace('==', '-')}-*.whl"
        if not [*folder.glob(pattern)]:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--retries=0"]
            _run(folder, *pip, "--no-deps", "--only-binary=:all:", pin)
        wheels.extend(folder.glob(pattern))
    return wheels


def _run(folder: Path, *command: str) -> None:
    subprocess.run(
        command, cwd=folder, capture_output=True, check=True, timeout=_PATIENCE
    )
