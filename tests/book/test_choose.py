"""Where a reader chooses a target and sees every unit's errors: its data, and its table."""

import numpy as np
import pytest

from tests.site_in_browser import IN_BROWSER, Reader
from xsquared_book.choose import errors
from xsquared_studies import rows
from xsquared_studies.which_unit import COMPARED, SEEDS, SIZES, TITLES, told

pytestmark = IN_BROWSER
PAGE = "chapters/13_which_unit.html"


def test_every_error_of_the_bounded_protocol_is_there() -> None:
    found = errors()
    assert len(found) == sum(5 * len(sizes) + (d > 1) * len(sizes) for d, sizes in SIZES.items())
    for by_unit in found.values():
        assert set(by_unit) == set(COMPARED)
        assert {len(values) for values in by_unit.values()} == {SEEDS}
    made = told(rows("which_unit"))
    one = made[(made["kind"] == "kinked") & (made["inputs"] == 5) & (made["size"] == 172)]
    one = one[(one["name"] == "mlp:gelu") & (one["protocol"] == "bounded")].sort_values("seed")
    given = found["kinked/5/172"]["mlp:gelu"]
    np.testing.assert_allclose(given, one["test_rmse"], rtol=5e-3)


def shown(reader: Reader) -> dict[str, list[str]]:
    lines = reader.page.locator("#choose tbody tr").all_inner_texts()
    return {unit: numbers for unit, *numbers in (line.split("\t") for line in lines)}


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("", "smooth/1/211"),
        ("?target=jump&inputs=5&size=132", "jump/5/132"),
        ("?target=smooth%2C+radial&inputs=1&size=92", "smooth, radial/2/92"),
        ("?target=nobodys&inputs=9&size=0", "smooth/1/211"),
    ],
)
def test_an_address_chooses(reader: Reader, query: str, key: str) -> None:
    reader.open(PAGE + query)
    means = {unit: np.exp(np.log(values).mean()) for unit, values in errors()[key].items()}
    table = shown(reader)
    assert list(table) == [TITLES[unit] for unit in sorted(means, key=means.__getitem__)]
    for unit, mean in means.items():
        error, least, largest, over = map(float, table[TITLES[unit]])
        assert error == pytest.approx(mean, rel=0.06)
        assert least <= 1.001 * error <= 1.002 * largest
        assert over == pytest.approx(mean / means["mlp"], rel=0.06)
    assert reader.complaints == reader.outside == []


def test_a_choice_changes_table_and_address(reader: Reader) -> None:
    page = reader.open(PAGE)
    before = shown(reader)
    page.locator("select[name=target]").select_option("kinked")
    page.locator("select[name=inputs]").select_option("2")
    assert page.locator("select[name=size]").input_value() == str(SIZES[2][-1])
    assert shown(reader) != before
    assert f"{SEEDS} seeds" in page.locator("#choose caption").inner_text()
    reader.open(PAGE + "?" + page.url.partition("?")[2])
    assert reader.page.locator("select[name=target]").input_value() == "kinked"
