"""Pages whose fonts come late, each in a tab that has seen nothing: no formula in a sentence fades
out, and only one that scrolls is a tab stop."""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.site_in_browser import IN_BROWSER, Handler, serving

#: How often each page is loaded; loads are at a desk's width and a phone's in turn.
LOADS = int(os.environ.get("LOADS", "1"))
#: Formulas that fade; that are tab stops; that are wider than their places or stops, but not both.
FORMULAS = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await MathJax.startup.promise;
  await frame();
  await document.fonts.ready;
  await frame();
  await frame();
  const all = [...document.querySelectorAll("span.math")];
  const wide = (formula) => formula.scrollWidth > formula.clientWidth + 1;
  return {
    set: all.filter((formula) => formula.querySelector("mjx-container")).length,
    late: [...document.fonts].filter((font) => font.status == "loaded").length,
    faded: all.filter((formula) => formula.matches(".goes-on, :has(.goes-on)")).length,
    stops: all.filter((formula) => formula.tabIndex == 0).length,
    wrong: all.filter((formula) => wide(formula) != (formula.tabIndex == 0)).length,
    within: document.querySelectorAll("span.math [tabindex]").length,
  };
}"""

pytestmark = [*IN_BROWSER, pytest.mark.slow]


class SlowFonts(Handler):
    """Sends each font after up to 0.4 s."""

    def do_GET(self) -> None:
        if self.path.endswith(".woff"):
            time.sleep(random.Random(self.path).uniform(0, 0.4))
        super().do_GET()


def test_no_formula_fades_and_none_is_a_stop_where_fonts_are_slow(browser: Any, site: Path) -> None:
    written = {
        f"{page.relative_to(site)}": count
        for page in site.rglob("*.html")
        if (count := page.read_text().count('<span class="math'))
    }
    widths = (1280, 390)
    loads = [(name, widths[(k + n) % 2]) for k, name in enumerate(written) for n in range(LOADS)]
    assert loads
    amiss = []
    with serving(site, SlowFonts) as address:
        for start in range(0, len(loads), 2):  # as many at a time as a small machine has cores
            tabs = []
            for name, width in loads[start : start + 2]:
                tab = browser.new_page(viewport={"width": width, "height": 844})
                tab.goto(f"{address}/{name}", wait_until="commit")
                tabs.append((name, width, tab))
            for name, width, tab in tabs:
                tab.wait_for_load_state("load", timeout=120_000)
                found = tab.evaluate(FORMULAS)
                tab.close()
                assert found["set"] == written[name]
                assert found["late"] > 0, "fonts that came"
                stops = found["stops"] if width > 390 else found["wrong"]
                if found["faded"] or found["within"] or stops:
                    amiss.append((name, width, found))
    assert amiss == []
