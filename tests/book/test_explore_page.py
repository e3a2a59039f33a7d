"""The page on which knots move, in a browser: beside the package, by pointer and by keys."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.site_in_browser import IN_BROWSER
from xsquared.functions import target
from xsquared.splines.constants import least_squares_spline_rmse
from xsquared.splines.free_knots import fit_free_knots
from xsquared.training.newton import mean_square
from xsquared.units import PAPER_UNITS, as_points, build, find_unit, set_parameters, space
from xsquared_book.explore import UNITS, law, page_data, read_optima
from xsquared_studies.optimal_knots import STEP, TARGETS

pytestmark = IN_BROWSER
LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]


def cases() -> Iterator[tuple[str, str, list[float], float]]:
    """Target, unit, knots, least RMSE: of the optima by the package, of equal cells by scipy."""
    optima = page_data()["optima"]
    for name, made in TARGETS.items():
        a, b = made.domain[0]
        for unit in UNITS:
            record = find_unit(unit)
            for _, places in optima[name].get(unit, []):
                inner = a + (b - a) * STEP * np.array(places)
                knots = np.array([a, *inner.tolist(), b])
                rmse = fit_free_knots(made, space(unit), knots, max_iterations=0).rmse
                yield name, unit, knots.tolist(), rmse
            for cells in (2, 5, 11):
                rmse = least_squares_spline_rmse(made, record.order, cells, record.continuity)
                yield name, unit, np.linspace(a, b, cells + 1).tolist(), rmse


def test_the_pages_solver_agrees_with_the_package(reader: Any) -> None:
    page = reader.open("explore.html")
    found = page.evaluate(
        "cases => cases.map(([name, unit, knots]) => "
        "explore.fit(explore.targets[name].value, explore.data.units[unit], knots).rmse)",
        [case[:3] for case in cases()],
    )
    compared = 0
    for (name, unit, knots, rmse), mine in zip(cases(), found, strict=True):
        a, b = TARGETS[name].domain[0]
        # What rounding the target's values leaves of an error so small is not compared so closely.
        fine = rmse > 1e-7 * np.abs(TARGETS[name](np.linspace(a, b, 100))).max()
        compared += bool(fine)
        assert mine == pytest.approx(rmse, rel=1e-10 if fine else 1e-8), (name, unit, len(knots))
    assert compared >= 400


def test_the_pages_search_and_constant_are_those_of_the_package(reader: Any) -> None:
    page = reader.open("explore.html")
    optima = read_optima()
    for name in TARGETS:
        for unit in PAPER_UNITS:
            constant, errors = page.evaluate(
                "([name, unit]) => { const [made, space] = [explore.targets[name], "
                "explore.data.units[unit]]; const law = explore.spread(made, space); let before; "
                "return [law.constant, [...Array(12)].map((_, i) => { const found = "
                "explore.search(made, space, law, i + 1, before); before = found.t; "
                "return found.rmse; })]; }",
                [name, unit],
            )
            assert constant == pytest.approx(law(name, unit)[1], rel=0.01)
            stored = optima.loc[name, unit]["rmse"][:12]
            assert (np.array(errors) <= 1.01 * stored).all(), (name, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_adam_on_the_page_is_torchs(reader: Any, unit: str) -> None:
    page = reader.open("explore.html")
    x = np.linspace(-0.98, 0.97, 60)
    y = np.sin(3 * x)
    start, end = page.evaluate(
        "([unit, xs, ys]) => { const net = explore.network(explore.data.units[unit], 5); "
        "const read = () => Object.fromEntries(Object.entries(net).filter(([, all]) => "
        "all instanceof Float64Array).map(([letter, all]) => [letter, [...all]])); "
        "const start = read(); for (let i = 0; i < 40; i++) explore.adam(net, xs, ys); "
        "return [start, read()]; }",
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
    page = reader.open("explore.html")
    at = 0.7
    for text in ("-x**2 + 2**-x", "1/(1 + 9*x**2)", "exp(-x)*sin(pi*x)/2", "abs(x - e)", "2**3**x"):
        value = page.evaluate("([text, x]) => explore.parse(text)(x)", [text, at])
        assert value == pytest.approx(float(target(text, (0.5, 1.0))(np.array([at]))[0]), rel=1e-13)
    refused = {
        "2x": "one of + - * / ^", "sin x": "( after sin", "(x": "an operator or )",
        "x +": "a number, x", "constructor": "a number, x", "1e999": "finite", "x" * 201: "200",
    }  # fmt: skip
    for text, told in refused.items():
        said = page.evaluate(
            "text => { try { explore.parse(text) } catch (e) { return e.message } }", text
        )
        assert told in said
        assert "\n" not in said


def test_a_target_of_ones_own_is_fitted_refused_and_kept_in_the_address(reader: Any) -> None:
    page = reader.open("explore.html")
    page.locator("#explore-target").select_option("your own")
    page.locator("#explore-f").fill("abs(x - 0.25)")
    page.locator("#explore-unit").select_option("relu2_mlp")
    page.locator("#explore-n").fill("4")
    page.locator("#explore-optimum").click()
    assert min(abs(np.array(knots_of(page)) - 0.25)) < 0.1, "a knot goes to the kink"
    assert shown(page, "over") == 1.0
    page.wait_for_function("location.search.includes('knots=')")
    error, asked = shown(page, "here"), page.evaluate("location.search")
    page = reader.open(f"explore.html{asked}")
    assert shown(page, "here") == error
    assert page.locator("#explore-f").input_value() == "abs(x - 0.25)"
    for text, told in (
        ("1/x", "finite number at x = 0"), ("alert(1)", "expected"), ("0*x", "1e-60"),
        ("1e200*x^4", "1e60"),
    ):  # fmt: skip
        page.locator("#explore-f").fill(text)
        assert told in page.locator("#explore-refused").inner_text()
        assert "NaN" not in page.locator("#explore").inner_text()
    assert reader.complaints == []


def test_training_moves_hinges_pauses_steps_and_resets(reader: Any) -> None:
    page = reader.open("explore.html")
    start, even = shown(page, "here"), knots_of(page)
    page.locator("#explore-step").click()
    assert shown(page, "here") < start
    assert knots_of(page) != even
    page.locator("#explore-train").click()  # for who wants no motion: all steps at once
    page.wait_for_function("document.getElementById('explore-train').textContent === 'Train'")
    page.wait_for_function("document.getElementById('explore-live').textContent.includes('gains')")
    assert shown(page, "here") < start
    page.locator("#explore-reset").click()
    assert (shown(page, "here"), knots_of(page)) == (start, even)
    page.locator("#explore-by").select_option("adam")
    page.emulate_media(reduced_motion="no-preference")
    hinges = "document.querySelector('.explore-hinges').getAttribute('d')"
    page.locator("#explore-train").click()
    page.wait_for_function(f"window.first ||= {hinges}")
    page.wait_for_function(f"window.first !== {hinges}")
    page.locator("#explore-train").click()
    held = page.evaluate(hinges)
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.evaluate(hinges) == held, "paused"
    assert page.locator(".explore-trail").count() == 1
    page.emulate_media(reduced_motion="reduce")
    page.locator("#explore-train").click()
    told = "document.getElementById('explore-live').textContent.includes('after 2000 steps')"
    page.wait_for_function(told)
    assert shown(page, "over") > 1.5, "Adam has not reached the best knots"
    assert reader.complaints == []


def test_networks_of_many_widths_make_the_slope_of_the_law(reader: Any) -> None:
    page = reader.open("explore.html")
    page.locator("#explore-target").select_option("exp(2x)")
    assert page.locator("#explore-trained").inner_text() == "\N{EN DASH}"
    page.locator("#explore-sweep").click()
    page.wait_for_function("document.querySelectorAll('.explore-trail').length === 9")
    assert page.locator("#explore-n").input_value() == "50"
    widths = [3, 5, 8, 12, 20, 32, 50]
    best = read_optima().loc["exp(2x)", "glu"]["rmse"][widths]
    slope = np.polyfit(np.log(widths), np.log(best), 1)[0]
    assert shown(page, "trained") == pytest.approx(slope, abs=2e-3), "no other minima here"
    page.locator("#explore-target").select_option("1/(1+9x²)")
    page.locator("#explore-sweep").click()
    page.wait_for_function("document.querySelectorAll('.explore-trail').length === 9")
    assert -2.95 < shown(page, "trained") < -2.2, "flatter by the offset"
    page.locator("#explore-sweep").click()
    page.locator("#explore-n").fill("7")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.locator("#explore-count").inner_text() == "7", "a reader's choice ends the sweep"
    assert reader.complaints == []


def knots_of(page: Any) -> list[float]:
    values = "all => all.map(thumb => Number(thumb.getAttribute('aria-valuenow')))"
    return page.locator("#explore-fit [role=slider]").evaluate_all(values)


def number(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


def shown(page: Any, which: str) -> float:
    return number(page.locator(f"#explore-{which}").inner_text())


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_a_knot_is_dragged_and_everything_follows(reader: Any, theme: str, width: int) -> None:
    page = reader.open("explore.html", width, theme)
    before, error = knots_of(page), shown(page, "here")
    assert np.allclose(before, np.linspace(-1, 1, 7)[1:-1], atol=1e-3)
    thumb = page.locator("#explore-fit [role=slider]").nth(1)
    thumb.scroll_into_view_if_needed()
    box = thumb.locator(".explore-thumb").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    at = page.locator("#explore-fit").bounding_box()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + at["width"] / 20, y, steps=3)
    page.mouse.up()
    after = knots_of(page)
    assert [i for i in range(5) if before[i] != after[i]] == [1]
    assert after[1] > before[1] + 0.05
    assert shown(page, "here") != error
    box = page.locator(".explore-here").bounding_box()
    law = page.locator("#explore-law").bounding_box()
    assert law["x"] < box["x"] < law["x"] + law["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.mouse.move(x + at["width"] / 20, y)
    page.mouse.down()
    page.mouse.move(x + at["width"], y, steps=3)
    page.mouse.up()
    assert knots_of(page)[1] == pytest.approx(before[2] - 0.002, abs=1e-3), "knots never cross"
    assert reader.complaints == reader.outside == []


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_a_knot_is_moved_by_keys(reader: Any, theme: str, width: int) -> None:
    page = reader.open("explore.html", width, theme)
    start = knots_of(page)
    page.locator("#explore-sweep").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    thumb = page.locator("#explore-fit [role=slider]").nth(2)
    assert thumb.evaluate("t => t === document.activeElement && t.matches(':focus-visible')")
    assert thumb.evaluate("t => getComputedStyle(t).outlineStyle") == "solid"
    assert thumb.get_attribute("aria-label") == "Knot 3 of 5"
    steps = {"ArrowRight": 0.01, "ArrowUp": 0.02, "ArrowLeft": 0.01, "ArrowDown": 0.0}
    steps |= {"PageUp": 0.1, "PageDown": 0.0}
    for key, moved in steps.items():
        page.keyboard.press(key)
        assert knots_of(page)[2] == pytest.approx(start[2] + moved, abs=1e-4), key
    for key, limit in (("Home", start[1] + 0.002), ("End", start[3] - 0.002)):
        page.keyboard.press(key)
        assert knots_of(page)[2] == pytest.approx(limit, abs=2e-4)
    bounds = [float(thumb.get_attribute(f"aria-value{end}")) for end in ("min", "max")]
    assert bounds == pytest.approx([start[1] + 0.002, start[3] - 0.002], abs=2e-4)
    place, error = thumb.get_attribute("aria-valuetext").split(", error ")
    assert number(place) == pytest.approx(knots_of(page)[2], abs=1e-3)
    assert number(error) == shown(page, "here")
    told = page.locator("#explore-live")
    assert told.get_attribute("aria-live") == "polite"
    page.wait_for_function(
        "error => document.getElementById('explore-live').textContent.includes(error)", arg=error
    )
    assert "6 neurons" in told.inner_text()
    assert thumb.evaluate("t => t === document.activeElement"), "the focus stays"


def test_every_choice_shows_its_optimum_from_a_disk(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else 0)
    page.goto((site / "explore.html").as_uri())
    optima = read_optima()
    for name in TARGETS:
        for unit, n in (("mlp", 50), ("glu", 1), ("gqu", 12)):
            page.locator("#explore-target").select_option(name)
            page.locator("#explore-unit").select_option(unit)
            page.locator("#explore-n").fill(str(n))
            assert len(knots_of(page)) == n - 1
            equal = shown(page, "here")
            page.locator("#explore-optimum").click()
            best = optima.loc[name, unit, n]["rmse"]
            assert shown(page, "best") == shown(page, "here") == pytest.approx(best, rel=6e-3)
            assert shown(page, "over") == 1.0
            assert shown(page, "far") == 0.0
            assert equal >= shown(page, "here")
            assert page.locator("#explore-knots tr").count() == n
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()


def test_the_still_figure_stands_in_without_scripts_and_on_paper(site: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "explore.html").as_uri())
    assert page.locator(".explore-still").is_visible()
    assert not page.locator("#explore").is_visible()
    context.close()
    page = browser.new_page()
    page.goto((site / "explore.html").as_uri())
    assert not page.locator(".explore-still").is_visible()
    assert page.locator("#explore").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".explore-still").is_visible()
    assert not page.locator("#explore").is_visible()
    page.close()
