"""The figures that move, in a browser: beside the package, by pointer and by keys."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils import vector_to_parameters

from tests.site_in_browser import IN_BROWSER
from xsquared.book.explore import UNITS, curve_data, page_data, read_optima
from xsquared.functions import target
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.free_knots import fit_free_knots
from xsquared.studies.optimal_knots import STEP, TARGETS
from xsquared.training.newton import mean_square
from xsquared.units import (
    PAPER_UNITS,
    as_points,
    build,
    find_unit,
    predict,
    set_parameters,
    space,
)

pytestmark = IN_BROWSER
PAGE = "book/explore.html?unit=glu"  # with a choice the knobs are open


def cases() -> Iterator[tuple[str, str, list[float], float]]:
    """Target, unit, knots, least RMSE: of some optima by the package, of equal cells by
    scipy.
    """
    targets = page_data()["targets"]
    for name, made in TARGETS.items():
        a, b = made.domain[0]
        for unit in UNITS:
            record = find_unit(unit)
            for _, places in targets[name]["optima"].get(unit, [])[::5]:
                inner = a + (b - a) * STEP * np.array(places)
                knots = np.array([a, *inner.tolist(), b])
                rmse = fit_free_knots(made, space(unit), knots, max_iterations=0).rmse
                yield name, unit, knots.tolist(), rmse
            for cells in (2, 11):
                rmse = least_squares_spline_rmse(
                    made, record.order, cells, record.continuity
                )
                yield name, unit, np.linspace(a, b, cells + 1).tolist(), rmse


def test_the_pages_solver_agrees_with_the_package(reader: Any) -> None:
    page = reader.open(PAGE)
    found = page.evaluate(
        "cases => cases.map(([name, unit, knots]) => "
        "explore.fit(explore.targets[name].value, explore.data.units[unit], knots).rmse)",
        [case[:3] for case in cases()],
    )
    for (name, unit, knots, rmse), mine in zip(cases(), found, strict=True):
        assert mine == pytest.approx(rmse, rel=1e-8), (name, unit, len(knots))


def test_the_pages_search_finds_the_stored_optima(reader: Any) -> None:
    page = reader.open(PAGE)
    optima = read_optima()
    for name in TARGETS:
        for unit in PAPER_UNITS:
            errors = page.evaluate(
                "([name, unit]) => { const made = explore.targets[name], space = "
                "explore.data.units[unit], law = explore.spread(made, space); let before; return "
                "[...Array(12)].map((_, i) => { const found = explore.search(made, space, law, "
                "i + 1, before); before = found.t; return found.rmse; }); }",
                [name, unit],
            )
            stored = optima.loc[name, unit]["rmse"][:12]
            assert (np.array(errors) <= 1.01 * stored).all(), (name, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_adam_on_the_page_is_torchs(reader: Any, unit: str) -> None:
    page = reader.open(PAGE)
    x = np.linspace(-0.98, 0.97, 60)
    y = np.sin(3 * x)
    start, end = page.evaluate(
        "([unit, xs, ys]) => { const net = explore.network(explore.data.units[unit], 5), read = () "
        "=> Object.fromEntries(Object.entries(net).filter(([, all]) => all instanceof Float64Array)"
        ".map(([letter, all]) => [letter, [...all]])), start = read(); "
        "for (let i = 0; i < 40; i++) explore.adam(net, xs, ys); return [start, read()]; }",
        [unit, x.tolist(), y.tolist()],
    )
    network = build(unit, 1, 5)
    shapes = {letter: tuple(network.get_parameter(letter).shape) for letter in start}
    set_parameters(network, **{k: np.reshape(v, shapes[k]) for k, v in start.items()})
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.02, weight_decay=0.0)
    for _ in range(40):
        optimizer.zero_grad()
        mean_square(network, as_points(x), torch.tensor(y)).backward()
        optimizer.step()
    for letter, values in end.items():
        expected = network.get_parameter(letter).detach().numpy().ravel()
        assert values == pytest.approx(expected, rel=1e-8, abs=1e-10), letter


def test_formulas_are_read_as_the_package_reads_them(reader: Any) -> None:
    page, at = reader.open(PAGE), 0.7
    for text in (
        "-x**2 + 2**-x",
        "1/(1 + 9*x**2)",
        "exp(-x)*sin(pi*x)/2",
        "abs(x - e)",
        "2**3**x",
    ):
        value = page.evaluate("([text, x]) => explore.parse(text)(x)", [text, at])
        assert value == pytest.approx(
            float(target(text, (0.5, 1.0))(np.array([at]))[0]), rel=1e-13
        )


def knots_of(page: Any) -> list[float]:
    values = "all => all.map(thumb => Number(thumb.getAttribute('aria-valuenow')))"
    return page.locator("#explore-fit [role=slider]").evaluate_all(values)


def shown(page: Any, which: str) -> float:
    return float(
        page.locator(f"#explore-{which}").inner_text().replace("\N{MINUS SIGN}", "-")
    )


def test_a_target_of_ones_own_is_fitted_and_kept_in_the_address(reader: Any) -> None:
    page = reader.open(PAGE)
    page.locator("#explore-target").select_option("your own")
    page.locator("#explore-f").fill("abs(x - 0.25)")
    page.locator("#explore-unit").select_option("relu2_mlp")
    page.locator("#explore-n").fill("4")
    page.locator("#explore-optimum").click()
    assert min(abs(np.array(knots_of(page)) - 0.25)) < 0.1, "a knot goes to the kink"
    page.wait_for_function("location.search.includes('knots=')")
    error, asked = shown(page, "here"), page.evaluate("location.search")
    page = reader.open(f"book/explore.html{asked}")
    assert shown(page, "here") == error
    page.locator("#explore-f").fill("alert(1)")
    assert "expected" in page.locator("#explore-refused").inner_text()
    page.locator("#explore-equal").click()
    start = shown(page, "here")
    page.locator("#explore-train").click()  # for who wants no motion: all steps at once
    page.wait_for_function(
        "document.getElementById('explore-train').textContent === 'Train'"
    )
    assert shown(page, "here") < start
    assert reader.outside == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_knot_moves_by_pointer_and_by_keys(
    reader: Any, theme: str, width: int
) -> None:
    page = reader.open(PAGE, width, theme)
    before, error = knots_of(page), shown(page, "here")
    thumb, picture = (
        page.locator("#explore-fit [role=slider]").nth(1),
        page.locator("#explore-fit"),
    )
    goal = {"x": 0.42 * picture.bounding_box()["width"], "y": 225}
    thumb.locator(".explore-thumb").drag_to(picture, target_position=goal, force=True)
    after = knots_of(page)
    assert [i for i in range(5) if before[i] != after[i]] == [1]
    assert shown(page, "here") != error
    thumb.focus()
    page.keyboard.press("ArrowRight")
    assert knots_of(page)[1] == pytest.approx(after[1] + 0.01, abs=1e-4)
    page.keyboard.press("End")
    assert knots_of(page)[1] == pytest.approx(before[2] - 0.002, abs=1e-3), (
        "knots never cross"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert reader.outside == []


def test_the_figures_forward_pass_is_the_packages(reader: Any) -> None:
    page, x = reader.open("figure.html"), np.linspace(-1, 1, 9)
    call = "([unit, weights, xs]) => xs.map(figure.network(unit, weights).value)"
    for name, curve in curve_data().items():
        for unit, way in product(("mlp", "glu", "swiglu"), ("best", "adamw")):
            weights = [float(weight) for weight in curve[way][unit][3][1].split()]
            network = build(unit, 1, 20 if unit == "mlp" else 12)
            vector_to_parameters(
                torch.tensor(weights, dtype=torch.float64), network.parameters()
            )
            found = page.evaluate(call, [unit, weights, x.tolist()])
            assert found == pytest.approx(predict(network, x), abs=1e-9), (
                name,
                way,
                unit,
            )


def test_choice_slider_and_switch_change_what_the_figure_says(
    site: Path, browser: Any
) -> None:
    page, asked = browser.new_page(reduced_motion="reduce"), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "figure.html").as_uri())
    said = [page.locator("#said").inner_text()]
    for label, key in (
        ("Curve", "ArrowDown"),
        ("Parameters:", "ArrowLeft"),
        ("by AdamW", " "),
    ):
        page.get_by_label(label).press(key)
        said.append(page.locator("#said").inner_text())
    assert len({*said}) == 4
    assert all(url.startswith("file:") for url in asked)
    page.close()


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
        (2500, "3 adamw", "h1"),
    ]
    for milliseconds, expected, touched in acts + stops:
        page.clock.run_for(milliseconds)
        assert (
            page.evaluate("`${size.value} ${document.forms[0].elements.way.value}`")
            == expected
        )
        page.locator(touched).click()
