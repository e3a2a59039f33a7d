"""Room for what comes late: formulas are set and pictures loaded without anything moving."""

from pathlib import Path

import pytest
from PIL import Image

from xsquared_book import page_html as html

X = '<span class="math notranslate nohighlight">\\(x\\)</span>'


def test_punctuation_stays_with_its_formula() -> None:
    assert html.reserve_room(f"at {X}, and ({X})").count('<span class="unbroken">') == 2
    made = html.reserve_room(f"({X}).")
    assert made.startswith('<span class="unbroken">(<span class="math')
    assert made.endswith("</span>).</span>")
    assert "unbroken" not in html.reserve_room(f"at {X} and")
    assert html.reserve_room("f(x), <span>no formula</span>.") == "f(x), <span>no formula</span>."


def test_a_displayed_formula_keeps_its_place_and_number() -> None:
    box = '<div class="amsmath math notranslate" id="equation-a">\n<span>(1)</span>\\[x\\]</div>'
    assert html.reserve_room(box) == box.replace('-a"', '-a" style="--room:4.1em"')


@pytest.mark.parametrize(
    ("tex", "width"),  # as MathJax sets them, in em of its fonts
    [
        (r"\(\mathrm{GELU}(z)\)", 4.09),
        (r"\(0 \le x \le 1\)", 4.24),
        ("\\(W \\mapsto\nW\\otimes W\\)", 5.92),
        (r"\(\bigl(g(x)\bigr)\)", 2.85),
        (r"\(e^{-4x^2}\)", 2.16),
    ],
)
def test_width_is_that_of_the_set_formula(tex: str, width: float) -> None:
    assert html.room_of(tex)[0] * 0.442 == pytest.approx(width, abs=0.1 + 0.1 * width)


def test_every_formula_has_room_and_its_height_grows_with_rows_and_fractions() -> None:
    for tex in (r"\frac12", r"\sqrt 6", r"\mathcal O(\sqrt m)", r"\lVert x\rVert", r"\mathbb R"):
        width, height, depth = html.room_of(tex)
        assert 1 < width < 20
        assert 0 <= depth < height < 6
    assert html.room_of(r"\undefined{abc}")[0] > 0, "an estimate where the layout fails"
    assert html.height_of("x") < html.height_of(r"\frac12") < html.height_of(r"\frac12 \\ \frac13")


def test_pictures_have_their_size_and_later_ones_wait(tmp_path: Path) -> None:
    Image.new("RGB", (30, 20)).save(tmp_path / "a.png")
    body = '<img alt="One." src="../_images/a.png" />' * 2
    made = html.size_images(body, {"a.png": tmp_path / "a.png"})
    first, second = made.split("</a>")[:2]
    assert first.startswith('<a class="xs-enlarge" href="../_images/a.png"><img ')
    assert 'width="30" height="20"' in first
    assert "lazy" not in first
    assert 'width="30" height="20" loading="lazy"' in second
    linked = f'<a class="image-reference" href="../_images/a.png">{body[:41]}\n</a>'
    assert html.size_images(linked, {"a.png": tmp_path / "a.png"}).count("<a ") == 1
    with pytest.raises(KeyError):
        html.size_images(body, {})


def test_links_are_named_lists_are_lists_and_only_headers_of_tables_are_touched() -> None:
    link = '<a class="headerlink" href="#a" title="Link to this heading">#</a>'
    made = html.mend_body(f'{link}<div class="citation" role="doc-biblioentry">', {})
    assert 'aria-label="Link to this heading">#' in made
    assert 'role="listitem"' in made
    assert html.mend_body(
        '<th class="head stub"><th class="stub number"><td class="stub">', {}
    ) == ('<th scope="col" class="head stub"><th scope="row" class="stub number"><td class="stub">')


def test_tables_that_fill_a_screen_are_marked() -> None:
    def table(rows: int, head: str = "<thead><tr></tr></thead>") -> str:
        return f'<table class="a">{head}{"<tr></tr>" * rows}</table>'

    assert html.mark_long_tables(table(html.SCREEN)).startswith('<table class="a xs-sortable">')
    assert (
        html.mark_long_tables(table(html.SCREEN - 1) + table(html.SCREEN)).count("xs-sortable") == 1
    )
    assert "xs-sortable" not in html.mark_long_tables(table(html.SCREEN - 1) + table(99, ""))
