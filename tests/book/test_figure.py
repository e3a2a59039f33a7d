"""The figure that moves, in a browser: its networks, and how it answers a hand."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils import vector_to_parameters

from tests.site_in_browser import IN_BROWSER
from xsquared.studies import rows
from xsquared.studies.curves import curve_data, neurons
from xsquared.units import build, predict

pytestmark = IN_BROWSER


def test_the_figures_forward_pass_is_the_packages(reader: Any) -> None:
    page, x = reader.open("figure.html"), np.linspace(-1, 1, 9)
    call = "([unit, weights, xs]) => xs.map(figure.network(unit, weights).value)"
    for name, curve in curve_data(rows("curves")).items():
        for protocol, unit in product(("best", "adamw"), curve["best"]):
            weights = [float(weight) for weight in curve[protocol][unit][3][2].split()]
            network = build(unit, 1, neurons(unit, 4))
            vector_to_parameters(
                torch.tensor(weights, dtype=torch.float64), network.parameters()
            )
            values = page.evaluate(call, [unit, weights, x.tolist()])
            expected = pytest.approx(predict(network, x), abs=1e-9)
            assert values == expected, (name, protocol, unit)


def test_choice_slider_and_switch_change_what_the_figure_says(
    site: Path, browser: Any
) -> None:
    page, asked = browser.new_page(reduced_motion="reduce"), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "figure.html").as_uri())
    sentences = [page.locator("#said").inner_text()]
    for label, key in (
        ("Curve", "ArrowDown"),
        ("Parameters:", "ArrowLeft"),
        ("by AdamW", " "),
    ):
        page.get_by_label(label).press(key)
        sentences.append(page.locator("#said").inner_text())
    assert len({*sentences}) == 4
    assert all(url.startswith("file:") for url in asked)
    page.close()


@pytest.mark.parametrize("width", [340, 390, 620, 621, 1280])
def test_a_page_shows_the_whole_figure_with_its_note(reader: Any, width: int) -> None:
    page = reader.open("index.html", width)
    frame = page.locator("iframe[src='figure.html']")
    frame.scroll_into_view_if_needed()
    figure = page.frame_locator("iframe[src='figure.html']")
    figure.get_by_text("Best weights: free knots").wait_for()
    note = figure.locator(".note").bounding_box()
    box = frame.bounding_box()
    assert note["y"] + note["height"] <= box["y"] + box["height"]


def test_the_figure_moves_in_two_acts_until_it_is_touched(
    address: str, browser: Any
) -> None:
    page = browser.new_page(reduced_motion="no-preference")
    page.clock.install()
    page.goto(f"{address}/figure.html")
    page.get_by_text("Pause").wait_for()
    acts = [
        (8000, "8 best", "legend"),
        (4000, "8 adamw", "#play"),
    ]  # by itself, then again
    stops = [
        (0, "1 best", "[value=adamw]"),
        (2500, "3 adamw", "#errors"),
        (2500, "3 adamw", ".note"),
    ]
    for milliseconds, expected, touched in acts + stops:
        page.clock.run_for(milliseconds)
        assert (
            page.evaluate("`${size.value} ${document.forms[0].elements.way.value}`")
            == expected
        )
        page.locator(touched).click()


def test_the_neuron_follows_keys_and_is_rewritten_without_a_product(
    reader: Any,
) -> None:
    page = reader.open("neuron.html")
    output = page.locator("output")
    before = output.inner_text()
    for _ in range(40):
        page.get_by_role("slider", name="hinge").press("ArrowRight")
    assert page.get_by_role("slider", name="hinge").get_attribute("aria-valuenow") == (
        "0.80"
    )
    for end in ("left", "right"):  # a flat line at one: the gate itself
        slider = page.get_by_role("slider", name=f"{end} end of the line")
        for _ in range(40):
            slider.press("ArrowUp")
    assert output.inner_text() != before
    assert output.inner_text().startswith("1.00 r + 0.00 r²")
