"""The rendered site in a real browser, each page once: complete with the network off, quick, steady
and open to everyone, in both themes, at a desk and on a phone."""

import functools
import html
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bs4 import BeautifulSoup

from tests.site_in_browser import HERE, IN_BROWSER, PROJECT, Reader
from xsquared_book.api_pages import rooms
from xsquared_book.papers.ledger import protocols

CHAPTERS = [f"chapters/{source.stem}" for source in PROJECT.sources()]
PAGES = [path.stem for path in sorted(PROJECT.book.glob("*.md"))]
REFERENCE = [f"api/{module}" for modules in rooms().values() for module in modules]
MADE = ["genindex", "py-modindex", "search"]
EVERY = [*CHAPTERS, *PAGES, *MADE, *REFERENCE]

#: Chapters with a small figure that sliders move.
MOVING = {"01_function_space", "09_gelu_series", "12_order_and_constants"}

#: What axe-core judges; and of it, what the colours decide, all that a change of theme can change.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]
LOOKS = [("light", 1280, RULES), ("dark", 390, RULES)]
#: What is neither colour nor width is judged by these two; the other two for what only they show.
OTHERS = [("light", 390, COLOURS), ("dark", 1280, COLOURS)]
#: What a page's width decides, in one question.
LAYOUT = (
    "({ clipped: probe.clipped(), orphans: probe.orphans(), cut: probe.cut(), "
    "across: document.documentElement.scrollWidth })"
)
QUERIES = tomllib.loads((HERE / "queries.toml").read_text())
EXCEPTIONS = tomllib.loads((HERE / "axe" / "exceptions.toml").read_text()).get("exception", [])

pytestmark = IN_BROWSER


Visit = Callable[[str], dict[Any, Any]]


@pytest.fixture(scope="session")
def visit(reader: Reader) -> Visit:
    """What is to be known of a page, found out on the first call."""

    @functools.cache
    def visit(name: str) -> dict[Any, Any]:
        found: dict[Any, Any] = {"shift on a phone": 0.0}
        if name in CHAPTERS:  # where formulas are many
            page = reader.open(f"{name}.html", 390)
            found |= {"shift on a phone": page.evaluate("shift"), 390: page.evaluate(LAYOUT)}
        page = reader.open(f"{name}.html")
        found |= {"shift": page.evaluate("shift"), "broken": page.evaluate("probe.pictures()")}
        found["weight"] = page.evaluate("probe.weight()")  # with the pictures that wait to be near
        found |= {"formulas": page.evaluate("probe.formulas()"), 1280: page.evaluate(LAYOUT)}
        if 390 not in found:
            reader.look(390, "light")
            page.evaluate("probe.ready()")
            found[390] = page.evaluate(LAYOUT)
        silent = "[...document.images].filter(i => !i.alt.trim()).map(i => i.src)"
        found["silent"] = page.evaluate(silent)
        if name != "notation":  # MathJax makes all formulas alike: judged on one page
            page.evaluate("probe.all('mjx-container').forEach(f => f.replaceChildren())")
        page.evaluate("probe.thin()")
        found["violations"] = []
        both = name in ("index", "notation", CHAPTERS[0], REFERENCE[0])
        looks = [*LOOKS, *(OTHERS if both else [])]
        if made := name in REFERENCE[1:]:  # articles of one make, in what is the same around each
            looks = [LOOKS[REFERENCE.index(name) % 2]]
        for theme, width, rules in looks:
            reader.look(width, theme)
            judged = reader.judge(rules, "article" if made else "html")
            found["violations"] += [[width, theme, *what] for what in judged]
        return found | {"outside": reader.outside, "complaints": reader.complaints}

    return visit


@pytest.mark.parametrize("name", EVERY)
def test_page_is_complete_without_the_network(visit: Visit, name: str) -> None:
    found = visit(name)
    assert found["outside"] == [], "requests that left the machine"
    assert found["complaints"] == [], "console errors and failed requests"
    assert found["broken"] == [], "pictures that do not show"
    assert found["silent"] == [], "pictures without alt text"
    formulas = found["formulas"]
    assert formulas["failed"] == formulas["flat"] == 0
    assert formulas["set"] >= formulas["written"] >= (5 if name in CHAPTERS else 0)


@pytest.mark.parametrize("name", EVERY)
def test_page_is_light_and_steady_and_shows_all_on_both_widths(visit: Visit, name: str) -> None:
    found = visit(name)
    weight = found["weight"]
    sets = any("tex-chtml.js" in path for path in weight["requests"])
    assert sets == bool(found["formulas"]["written"]), "MathJax where formulas are, only there"
    assert not any(re.search(r"fontawesome|/fa-", path) for path in weight["requests"])
    assert len(weight["requests"]) <= (40 if sets else 25)
    # The page of the search loads the text of all others.
    assert weight["bytes"] < (550_000 if sets else 400_000 if name == "search" else 250_000)
    assert weight["blocking"] < 200_000, "a second at 1.6 Mbit/s"
    assert max(found["shift"], found["shift on a phone"]) < 0.1
    assert found[1280]["cut"] == [], "tables and code that go on to the right on a desk"
    for width in (1280, 390):
        assert found[width]["across"] <= width
        assert found[width]["clipped"] == []
        assert found[width]["orphans"] == [], "lines that begin with punctuation"


def unexcused(violations: list[list[Any]]) -> list[list[Any]]:
    """The violations that no exception names."""
    excused = {(one["rule"], one["selector"]) for one in EXCEPTIONS}
    return [what for what in violations if (what[2], what[3]) not in excused]


@pytest.mark.parametrize("name", EVERY)
def test_page_is_open_to_everyone(visit: Visit, name: str) -> None:
    found = visit(name)
    assert unexcused(found["violations"]) == []
    assert found["formulas"]["stops"] == 0, "formulas that are tab stops"


def test_every_exception_has_a_reason_and_is_needed(visit: Visit) -> None:
    seen = {(what[2], what[3]) for name in EVERY for what in visit(name)["violations"]}
    for one in EXCEPTIONS:
        assert one.keys() == {"rule", "selector", "reason"}
        assert len(one["reason"]) > 20
        assert (one["rule"], one["selector"]) in seen, "an exception that nothing needs"


def test_planted_violations_are_found(reader: Reader) -> None:
    page = reader.open("notation.html")
    assert reader.judge(RULES) == []
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML('beforeend', "
        '\'<p style="color:#aaa;background:#fff">Pale.</p><button style="padding:2rem"></button>\')'
    )
    assert {what[0] for what in reader.judge(RULES)} == {"color-contrast", "button-name"}
    assert {what[0] for what in reader.judge(COLOURS)} == {"color-contrast"}


def test_a_pale_kind_of_word_is_found_though_most_words_are_left_out(reader: Reader) -> None:
    page = reader.open("architecture.html")
    page.add_style_tag(content="pre span.kn { color: #ccc !important }")
    assert page.locator("pre span.kn").count() > 1
    page.evaluate("probe.thin()")
    assert page.locator("pre span.kn").count() == 1
    assert {what[0] for what in reader.judge(COLOURS)} == {"color-contrast"}


@pytest.mark.parametrize(
    "name", ["index", CHAPTERS[1], CHAPTERS[7], "verdicts", "search", "explore", REFERENCE[0]]
)
def test_focus_is_seen_on_every_control(reader: Reader, name: str) -> None:
    page = reader.open(f"{name}.html")
    for theme in ("light", "dark"):
        reader.look(1280, theme)
        page.evaluate("probe.ready()")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate("probe.unfocused()") == []


def test_theme_button_changes_the_theme_and_keeps_the_focus(reader: Reader) -> None:
    page = reader.open("index.html")
    theme = "document.documentElement.dataset.theme"
    seen = [page.evaluate(theme)]
    button = page.locator("button.theme-switch-button").first
    button.focus()
    for _ in range(3):  # automatic, light and dark, in the theme's own order
        page.keyboard.press("Enter")
        seen.append(page.evaluate(theme))
        assert button.evaluate("b => b === document.activeElement")
    assert set(seen) == {"light", "dark"}
    assert reader.complaints == []
    page.evaluate("localStorage.clear()")


def test_nothing_moves_for_who_wants_no_motion(reader: Reader) -> None:
    page = reader.open("architecture.html", 390)
    # The theme would slide its sidebar in, and the text beside it would change its width with it.
    page.set_viewport_size({"width": 1280, "height": 844})
    moving = (
        "() => new Promise(done => requestAnimationFrame(() => "
        "requestAnimationFrame(() => done(document.getAnimations().length))))"
    )
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    page.set_viewport_size({"width": 390, "height": 844})
    page.set_viewport_size({"width": 1280, "height": 844})
    assert page.evaluate(moving) > 0, "the theme no longer moves: the rule can go"


def test_links_to_a_place_are_reached_by_keyboard(reader: Reader) -> None:
    page = reader.open(f"{CHAPTERS[1]}.html")
    link = page.locator("h2 a.headerlink").first
    link.focus()
    assert link.evaluate("a => a === document.activeElement && getComputedStyle(a).opacity") == "1"
    assert link.get_attribute("aria-label")


def test_what_goes_on_to_the_right_fades_until_its_end(reader: Reader) -> None:
    page = reader.open(f"{CHAPTERS[4]}.html", 390)
    box = page.locator(".pst-scrollable-table-container.goes-on").first
    look = "box => getComputedStyle(box).maskImage"
    assert "gradient" in box.evaluate(look)
    handle = box.element_handle()
    box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    page.wait_for_function("box => !box.classList.contains('goes-on')", arg=handle)
    assert handle.evaluate(look) == "none"


@pytest.mark.parametrize("name", [CHAPTERS[0], CHAPTERS[4]], ids=["pixels", "lines"])
def test_a_figure_leads_to_its_file(reader: Reader, site: Path, name: str) -> None:
    figures = reader.open(f"{name}.html", 390).locator("article figure:not(.xs-moving figure)")
    files = figures.locator("a.xs-enlarge > img").evaluate_all(
        "all => all.map(image => [image.parentElement.pathname, new URL(image.src).pathname])"
    )
    assert len(files) == figures.count() > 0
    assert all(link == shown and (site / link.lstrip("/")).is_file() for link, shown in files)


def test_icons_are_drawn_without_the_themes_font(reader: Reader) -> None:
    page = reader.open(f"{CHAPTERS[0]}.html")
    classes = page.locator("[class*=' fa-']").evaluate_all("all => all.map(i => i.className)")
    used = set(re.findall(r"fa-(?!solid|lg)[\w-]+", " ".join(classes)))
    assert len(used) >= 8
    drawn = "i => getComputedStyle(i, '::before').maskImage"
    for name in used:
        assert "svg" in page.locator(f".{name}").first.evaluate(drawn), name


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("Newton", "chapters/04_training"),
        ("sqrt(120)", "chapters/02_truncation_errors"),
        ("GQU slope", "chapters/06_gated_quadratic_unit"),
        ("Friedman", "chapters/08_real_data"),
        ("Kronecker", "chapters/10_gelu_features"),
        ("tolerance", "verdicts"),
        ("how to run", "reproduce"),
        ("gelu", "chapters/09_gelu_series"),
    ],
)
def test_search_leads_to_the_right_page(reader: Reader, query: str, page: str) -> None:
    reader.open(f"search.html?q={quote(query)}")
    results = reader.page.locator("#search-results li")
    first = results.locator("a:first-child").evaluate_all("all => all.map(a => a.pathname)")
    assert f"/{page}.html" in first[:2]
    before = first[: first.index(f"/{page}.html")]
    assert not any(path.startswith("/api") for path in before)
    told = results.first.locator("p").inner_text()
    assert 60 < len(told) < 300
    assert not re.search(r"[\\\\{}]|import |def ", told), "code or TeX"
    assert reader.complaints == []


def test_nine_in_ten_queries_of_readers_have_the_right_section_first(reader: Reader) -> None:
    page = reader.open("search.html?q=x")
    first = page.evaluate(
        "queries => queries.map(query => find(query, entries)[0]?.[0]).map(found => found "
        "? `${found.page}#${found.id}` : '')",
        queries := [query for asked in QUERIES.values() for query in asked],
    )
    places = [place.split("|") for place, asked in QUERIES.items() for _ in asked]
    found = zip(queries, places, first, strict=True)
    missed = {q: one for q, good, one in found if not one.startswith(tuple(good))}
    assert len(missed) <= len(queries) / 10, missed


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_search_results_are_open_to_everyone(reader: Reader, theme: str) -> None:
    reader.open("search.html?q=tolerance", theme=theme)
    assert reader.page.locator("#search-results strong").count()
    assert unexcused([[1280, theme, *what] for what in reader.judge(RULES)]) == []


def test_search_works_from_a_disk(reader: Reader, site: Path) -> None:
    reader.page.goto(f"{(site / 'search.html').as_uri()}?q=truncation")
    links = reader.page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    assert any("02_truncation_errors" in link for link in links)


@pytest.mark.parametrize(
    ("script", "limit", "where", "pages"),
    [
        ("explore.js", 40_000, "**/*.html", {"explore"}),
        ("draw.js", 5000, "**/*.html", {"explore", *MOVING}),
        ("moving.js", 5000, "**/*.html", MOVING),
        ("choose.js", 3000, "**/*.html", {"13_which_unit"}),
        ("verdicts.js", 3000, "**/*.html", {"verdicts"}),
        ("_static/tables.js", 3000, "*.html", {"coverage", "notation", "verdicts"}),
        ("_static/previews.js", 5000, "*.html", set()),
    ],
)
def test_a_script_is_small_and_asked_for_where_it_is_needed(
    site: Path, script: str, limit: int, where: str, pages: set[str]
) -> None:
    assert (site / script).stat().st_size < limit
    asks = re.compile(rf"<script[^>]*{re.escape(script)}")
    assert {p.stem for p in site.glob(where) if asks.search(p.read_text())} == pages


def test_all_scripts_of_the_book_together_are_small() -> None:
    scripts = [p for room in ("_extra", "_static") for p in (PROJECT.book / room).glob("*.js")]
    assert len(scripts) > 7
    assert sum(script.stat().st_size for script in scripts) < 60_000


def test_a_missing_page_is_told_and_leads_back(site: Path) -> None:
    text = (site / "404.html").read_text()
    assert "No such page" in text
    assert all((site / link).is_file() for link in re.findall(r'<a href="([^"]+)"', text))
    assert "<link" not in text
    assert "src=" not in text


@pytest.mark.parametrize("name", [*CHAPTERS, *PAGES])
def test_page_says_what_it_is_to_machines(site: Path, name: str) -> None:
    text = (site / f"{name}.html").read_text()
    tags = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', text))
    assert 20 < len(tags["description"]) <= 202
    assert tags["og:description"] == tags["description"]
    assert tags["og:title"] == tags["citation_title"]
    assert "<" not in html.unescape(tags["og:title"])
    assert tags["citation_author"]
    assert '<link rel="icon"' in text
    assert ('rel="canonical"' in text) == ("og:url" in tags)


@pytest.mark.parametrize("name", ["verdicts", *CHAPTERS])
def test_no_reader_meets_a_protocols_key(site: Path, name: str) -> None:
    text = (site / f"{name}.html").read_text()
    told = " ".join(re.findall(r'<table[^>]* id="tab-claims.*?</table>', text, re.S))
    told = BeautifulSoup(told if name in CHAPTERS else text, "html.parser").get_text()
    words = set(re.findall(r"[\w-]+", told))
    assert words
    assert not words & {key for key in protocols() if re.search(r"-.*-|\d", key)}


def test_marks_stand_beside_the_equations(site: Path) -> None:
    text = (site / "chapters" / "02_truncation_errors.html").read_text()
    assert text.count('class="proof proof-') >= 10
    opened = re.findall(r'popovertarget="([^"]+)"', text)
    shown = re.findall(r'<span popover class="xs-shown" id="([^"]+)"', text)
    assert len(set(opened)) == len(opened) >= 10
    assert opened == shown
    assert "residual 0" in text
    assert ".venv/bin/pytest tests/papers/test_proofs.py -k gu-eq9" in text
    assert "holds as printed" in text
    assert "not as printed" in text
