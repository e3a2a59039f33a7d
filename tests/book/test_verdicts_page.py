"""The page of verdicts in a browser: claims chosen by paper, outcome and chapter."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from tests.site_in_browser import IN_BROWSER, PROJECT, Reader
from xsquared_book.verdicts import GROUPS, Entry, collect

pytestmark = IN_BROWSER
CLAIMS = "details.xs-verdict"


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return collect(PROJECT.chapters)


def shown(page: Any) -> list[str]:
    ids = "all => all.filter(d => d.checkVisibility()).map(d => d.querySelector('[id^=claim-]').id)"
    return [name.removeprefix("claim-") for name in page.locator(CLAIMS).evaluate_all(ids)]


@pytest.mark.parametrize(
    ("query", "paper", "groups", "chapter"),
    [
        ("", "", tuple(GROUPS), ""),
        ("?paper=gated-units&outcome=failed", "gated-units", ("failed",), ""),
        ("?outcome=split", "", ("split",), ""),
        ("?outcome=held&chapter=chapter-09", "", ("held",), "09"),
        ("?paper=gelu-linearization&chapter=chapter-03", "gelu-linearization", GROUPS, "03"),
        ("?paper=nobodys&foo=1", "", tuple(GROUPS), ""),
    ],
)
def test_an_address_asks_for_claims(
    reader: Reader,
    entries: list[Entry],
    query: str,
    paper: str,
    groups: Collection[str],
    chapter: str,
) -> None:
    page = reader.open(f"verdicts.html{query}")
    left = [
        entry.claim.id
        for entry in entries
        if entry.claim.paper.startswith(paper)
        and entry.group in groups
        and entry.claim.chapter.startswith(chapter)
    ]
    assert sorted(shown(page)) == sorted(left)
    every = paper == chapter == "" and len(groups) == len(GROUPS)
    count = f"{len(left)}{'' if every else f' of {len(entries)}'} claims"
    assert page.locator("#filter output").inner_text() == count
    empty = "all => all.filter(s => s.checkVisibility() && !s.querySelector('details')).length"
    assert page.locator("section[id^=chapter-]").evaluate_all(empty) == 0
    assert page.evaluate("shift") < 0.1
    assert reader.complaints == reader.outside == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_claims_chosen_by_keys(
    reader: Reader, entries: list[Entry], theme: str, width: int
) -> None:
    page = reader.open("verdicts.html", width, theme)
    page.get_by_label("Paper").focus()
    page.keyboard.press("ArrowDown")
    assert len(shown(page)) == sum(e.claim.paper == "gated-units" for e in entries)
    page.keyboard.press("Tab")
    page.keyboard.type("failed")
    failed = [e for e in entries if e.claim.paper == "gated-units" and e.group == "failed"]
    assert len(shown(page)) == len(failed) > 5
    assert page.url.endswith("verdicts.html?paper=gated-units&outcome=failed")
    assert page.locator("#filter output").evaluate("o => o.role || o.tagName") == "OUTPUT"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.reload()
    assert len(shown(page)) == len(failed)
    page.get_by_role("button", name="Show all").press("Enter")
    page.wait_for_function("!location.search")
    assert len(shown(page)) == len(entries)


def test_a_link_to_a_claim_shows_it_whatever_is_asked(reader: Reader, entries: list[Entry]) -> None:
    fails = next(e.claim.id for e in entries if e.mark == "✘")
    page = reader.open(f"verdicts.html?outcome=held#claim-{fails}")
    assert len(shown(page)) == len(entries)
    assert page.locator(f"#claim-{fails}").is_visible()
    page.get_by_label("Outcome").select_option("held")
    page.evaluate("location.hash = 'x'")
    page.evaluate(f"location.hash = 'claim-{fails}'")
    page.wait_for_function("!location.search")
    assert page.locator(f"#claim-{fails}").is_visible()


def test_the_front_page_leads_to_every_claim(reader: Reader, entries: list[Entry]) -> None:
    page = reader.open("index.html")
    links = page.locator(".xs-legend a")
    said = links.evaluate_all("all => all.map(a => [a.getAttribute('href'), a.innerText])")
    assert [text.partition(" ")[2] for _, text in said] == list(GROUPS)
    named = page.locator("a[href*='#claim-']").evaluate_all("all => all.map(a => a.hash)")
    assert sorted(named) == sorted(f"#claim-{e.claim.id}" for e in entries if e.group == "failed")
    for href, text in said:
        count, _, group = text.partition(" ")
        asked = shown(reader.open(href))
        assert sorted(asked) == sorted(e.claim.id for e in entries if e.group == group)
        assert len(asked) == int(count)


def test_the_filter_works_from_a_disk_and_is_not_missed_without_scripts(
    site: Path, browser: Any, entries: list[Entry]
) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{(site / 'verdicts.html').as_uri()}?chapter=chapter-05")
    page.get_by_label("Outcome").select_option("xs-fails")
    left = [e for e in entries if e.claim.chapter.startswith("05") and e.mark == "✘"]
    assert len(shown(page)) == len(left)
    assert page.url.endswith("?outcome=xs-fails&chapter=chapter-05")
    assert said == []
    page.close()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{(site / 'verdicts.html').as_uri()}?outcome=failed")
    assert not page.locator("#filter form").is_visible()
    assert page.locator(f"{CLAIMS}:visible").count() == len(entries)
    context.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 1280)])
def test_nodes_of_a_graph_are_reached_by_keys(reader: Reader, theme: str, width: int) -> None:
    page = reader.open("verdicts.html", width, theme)
    graph = page.locator("details:has(.xs-graph)", has_text="claims of chapter 03 rest on").first
    graph.locator("summary").press("Enter")
    nodes = graph.locator(".xs-graph a")
    assert nodes.count() > 10
    ring = """node => {
        const style = getComputedStyle(node), box = node.closest(".xs-graph-box");
        const [room, own] = [box, node].map(e => e.getBoundingClientRect());
        const wide = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
        return { drawn: style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 2,
                 thick: getComputedStyle(node.querySelector("path")).strokeWidth,
                 seen: own.left - wide >= room.left && own.top - wide >= room.top
                       && own.right + wide <= room.right && own.bottom + wide <= room.bottom
                       && own.top >= 0 && own.bottom <= innerHeight };
    }"""
    for place in range(nodes.count()):
        page.keyboard.press("Tab")
        node = nodes.nth(place)
        assert node.evaluate("node => node === document.activeElement"), place
        expected = {"drawn": True, "thick": "3px", "seen": True}
        assert node.evaluate(ring) == expected, node.get_attribute("aria-label")
    page.keyboard.press("Tab")
    assert graph.locator("table button").first.evaluate("b => b === document.activeElement")
    nodes.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("errata.html#erratum-|chapters/"))
