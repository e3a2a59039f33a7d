"""The shipped tables: sums, contents, and their rebuilding."""

import gzip
import hashlib
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from benchmarks import rebuild
from xsquared.data import problems
from xsquared.data.problems import FILES, _housing, read_table

FOLDER = Path(problems.__file__).parent
HEADER = (
    "MedInc,HouseAge,AveRooms,AveBedrms,Population,AveOccup,"
    "Latitude,Longitude,MedHouseVal"
)


def text_of(name: str) -> bytes:
    return gzip.decompress((FOLDER / FILES[name]).read_bytes())


@pytest.mark.parametrize(
    ("name", "shape"), [("airfoil", (1503, 6)), ("housing", (20640, 9))]
)
def test_the_tables_are_those_that_data_md_describes(
    name: str, shape: tuple[int, int]
) -> None:
    section = (
        (FOLDER / "DATA.md").read_text(encoding="utf-8").split(f"## {FILES[name]}")[1]
    )
    assert f"`{hashlib.sha256(text_of(name)).hexdigest()}`" in section.split("\n## ")[0]
    assert read_table(name).shape == shape


def test_published_statistics_of_both_tables() -> None:
    *_, income, value = read_table("housing").T
    assert income.mean() == pytest.approx(3.8706710, abs=5e-8)
    assert value.mean() / 1e5 == pytest.approx(2.0685582, abs=5e-8)
    frequency, _, _, velocity, *_ = read_table("airfoil").T
    assert (frequency.min(), frequency.max()) == (200, 20000)
    assert sorted(set(velocity)) == [31.7, 39.6, 55.5, 71.3]


def test_rebuilding_undoes_the_formats_of_the_sources() -> None:
    airfoil = "a,b,c,d,e,f\r\n" + "".join(
        ",".join(repr(float(v)) for v in row) + "\r\n" for row in read_table("airfoil")
    )
    assert rebuild.airfoil_text(airfoil) == text_of("airfoil")
    lines = [HEADER]
    for lon, lat, age, rooms, bedrooms, people, homes, income, value in read_table(
        "housing"
    ).tolist():
        row = [
            income,
            age,
            rooms / homes,
            bedrooms / homes,
            people,
            people / homes,
            lat,
            lon,
        ]
        lines.append(",".join(map(repr, [*row, value / 1e5])))
    assert rebuild.housing_text("\n".join(lines)) == text_of("housing")


@pytest.mark.network
@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_housing_is_what_scikit_learn_fetches(tmp_path: Path) -> None:
    from sklearn.datasets import fetch_california_housing

    try:
        theirs = fetch_california_housing(data_home=tmp_path, n_retries=1)
    except URLError as error:  # a wrong sum is an OSError of another kind, and fails
        pytest.skip(f"scikit-learn's archive cannot be reached: {error}")
    np.testing.assert_array_equal(_housing()[:, :-1], theirs.data)
    np.testing.assert_array_equal(_housing()[:, -1], theirs.target)
