"""The graph of claims: foundations to the left, nothing joined through a box, every node a link."""

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from xsquared_book.claim_graph import SHAPES, Node, as_table, columns, draw

RESTS = {"b": ("a",), "c": ("b",), "d": ("a", "c"), "e": ("a", "elsewhere")}
KINDS = dict(zip("abcde", SHAPES, strict=True))
NODES = {key: Node(key, kind, f'says "{key}"', f"#{key}") for key, kind in KINDS.items()}


def test_a_node_stands_right_of_all_that_it_rests_on() -> None:
    made, joined = columns(NODES, RESTS)
    assert [{*column} for column in made] == [{"a"}, {"b", "e", "a>1"}, {"c", "a>2"}, {"d"}]
    level = {key: place for place, column in enumerate(made) for key in column}
    assert all(level[key] == level[below] + 1 for below, key in joined)
    assert {("a>2", "d"), ("c", "d"), ("a", "e")} <= set(joined)


def test_every_node_is_a_link_with_its_own_shape_and_words() -> None:
    soup = BeautifulSoup(draw(NODES, RESTS, "a <title>"), "html.parser")
    links = soup.find_all("a")
    assert [link["href"] for link in links] == ["#a", "#b", "#e", "#c", "#d"]
    assert links[0]["aria-label"] == 'a, equation: says "a"'
    for link in links:
        kind = KINDS[str(link["href"])[1:]]
        assert [text.get_text() for text in link.find_all("text")][-1] == kind
    shapes = {re.sub(r"\d", "", str(link.path["d"])) for link in links if link.path}
    assert len(shapes) == len(SHAPES)
    assert all(shape.endswith("Z") for shape in shapes)


@pytest.mark.parametrize("key", ["gu-fig3-glu-slope-p", "plain", "a-b"])
def test_a_key_takes_two_even_lines_and_stays_whole(key: str) -> None:
    first, second, _ = Node(key, "holds", "", "").lines
    assert first + second == key
    assert second == "" or abs(len(first) - len(second)) < 4


def test_boxes_do_not_overlap() -> None:
    places = re.findall(r"translate\((\d+) (\d+)\)", draw(NODES, RESTS, "t"))
    spots = sorted((int(x), int(y)) for x, y in places)
    assert all(b[0] > a[0] or b[1] >= a[1] + 56 for a, b in pairwise(spots))


def test_the_table_says_the_same() -> None:
    rows = as_table(NODES, RESTS).splitlines()[2:]
    assert "| `d` | fails | `a`, `c` |" in rows or "| `d` | fails | `c`, `a` |" in rows
    assert "| `a` | equation | – |" in rows
    assert len(rows) == len(NODES)
