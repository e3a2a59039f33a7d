"""Small figures that sliders move, in a browser: their numbers beside the package's, by keys."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.site_in_browser import IN_BROWSER, Reader
from xsquared.feature_maps.series import gelu, taylor_gelu
from xsquared.slopes import fit_slope
from xsquared.units import build, predict, set_parameters
from xsquared_book.moving import write_moving
from xsquared_book.project import Project

PAGES = {
    "spline": "chapters/01_function_space.html",
    "series": "chapters/09_gelu_series.html",
    "offset": "chapters/12_order_and_constants.html",
}
LOOKS = [("light", 1280), ("dark", 390)]


def test_a_figure_that_nobody_drew_is_refused() -> None:
    with pytest.raises(ValueError, match=r"figure.*offset.*series.*spline"):
        write_moving(Project(Path()), "surface")


class TestInTheBrowser:
    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("unit", ["mlp", "glu"])
    def test_neurons_add_up_as_a_layers(self, reader: Reader, unit: str) -> None:
        hinges, bends = np.array([-1.0, -0.35, 0.4]), np.array([1.5, -4.0, 3.5])
        curves = np.array([0.5, 0.0, -2.5]) * (unit == "glu")
        network, column = build(unit, 1, 3), np.ones((3, 1))
        factor = {"U": curves[:, None], "u": bends - curves * hinges} if unit == "glu" else {}
        readout = np.ones(3) if unit == "glu" else bends
        set_parameters(network, G=column, g=-hinges, D=readout[None], d=np.zeros(1), **factor)
        x = np.linspace(-1, 1, 41)
        found = reader.open(PAGES["spline"]).evaluate(
            "([all, xs]) => xs.map(x => moving.sum(all, x))",
            [np.stack([hinges, bends, curves], axis=1).tolist(), x.tolist()],
        )
        assert found == pytest.approx(predict(network, x).ravel(), abs=1e-13)

    def test_the_series_leaves_its_function_where_the_packages_does(self, reader: Reader) -> None:
        page = reader.open(PAGES["series"])
        z = np.linspace(-7, 7, 57)
        found = page.evaluate("zs => zs.map(moving.gelu)", z.tolist())
        assert found == pytest.approx(gelu(z), abs=1e-14)
        for terms in (1, 5, 12, 30):
            found = page.evaluate(
                "([zs, n]) => zs.map(z => moving.series(z, n))", [z.tolist(), terms]
            )
            assert found == pytest.approx(taylor_gelu(z, terms), rel=1e-12, abs=1e-5)
            for digits in (1, 4):
                far = page.evaluate("([n, tol]) => moving.reach(n, tol)", [terms, 10.0**-digits])
                left = abs(float(taylor_gelu(far, terms)) - float(gelu(far)))
                assert left == pytest.approx(10.0**-digits, rel=1e-3)

    def test_the_line_through_a_window_is_the_packages(self, reader: Reader) -> None:
        page = reader.open(PAGES["offset"])
        for order, kappa, first, last in ((2, 0.0, 3, 50), (3, 1.7, 1, 21), (4, 4.0, 3, 50)):
            n = np.arange(first, last + 1)
            slope = fit_slope(n, (n + kappa) ** -float(order)).value
            found = page.evaluate("all => moving.line(...all).slope", [order, kappa, first, last])
            assert found == pytest.approx(slope, rel=1e-12)

    @pytest.mark.parametrize(("theme", "width"), LOOKS)
    @pytest.mark.parametrize(
        ("name", "slider", "told"),
        [
            ("spline", "curve", "a GLU"),
            ("series", "terms", "With 6 even terms"),
            ("offset", "to", "n = 3 to 51"),
        ],
    )
    def test_keys_move_it_and_words_say_so(
        self, reader: Reader, name: str, slider: str, told: str, theme: str, width: int
    ) -> None:
        page = reader.open(PAGES[name], width, theme)
        root = page.locator(f"#moving-{name}")
        words, before = root.locator("output"), root.locator("svg svg").inner_html()
        assert told not in words.inner_text()
        assert "NaN" not in root.inner_html()
        root.locator(f"input[name={slider}]").focus()
        page.keyboard.press("ArrowRight")
        assert told in words.inner_text()
        assert root.locator("svg[role=img]").get_attribute("aria-label") == words.inner_text()
        assert root.locator("svg svg").inner_html() != before
        box = root.bounding_box()
        assert box["x"] + box["width"] <= width
        for label in root.locator("label").all():
            assert label.inner_text().strip()
        assert reader.complaints == reader.outside == []

    def test_a_neuron_keeps_what_it_was_given(self, reader: Reader) -> None:
        page = reader.open(PAGES["spline"])
        hinge, neuron = (page.locator(f"#moving-spline [name={n}]") for n in ("hinge", "neuron"))
        hinge.fill("-0.8")
        neuron.fill("3")
        assert hinge.input_value() == "0"
        neuron.fill("1")
        assert hinge.input_value() == "-0.8"

    def test_without_scripts_the_words_around_it_stand_alone(
        self, site: Path, browser: Any
    ) -> None:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto((site / PAGES["spline"]).as_uri())
        assert not page.locator("#moving-spline").is_visible()
        assert page.get_by_text("Build a spline yourself").is_visible()
        context.close()
