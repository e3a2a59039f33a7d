"""The form of a numbered equation."""

import pytest
import sympy as sp

from xsquared_book.papers.equations import Equation, Links, Paper, Step

a, b = sp.symbols("a b", real=True)
TRUE = Step("square", "the binomial formula", (a + b) ** 2, a**2 + 2 * a * b + b**2)
FALSE = Step("wrong", "not an identity", (a + b) ** 2, a**2 + b**2)


def test_residual_is_zero_exactly_for_an_identity() -> None:
    assert TRUE.residual() == 0
    assert TRUE.holds()
    assert FALSE.residual() == 2 * a * b
    assert not FALSE.holds()
    # What needs more than expansion.
    assert Step("trig", "", sp.sin(a) ** 2 + sp.cos(a) ** 2, sp.Integer(1)).holds()


def test_printed_form_decides_what_holds_as_printed() -> None:
    assert Equation("k", "1", "t", (TRUE,), (Step("p", "", a, a),)).holds_as_printed()
    assert not Equation("k", "1", "t", (TRUE,), (FALSE,)).holds_as_printed()
    assert not Equation("k", "1", "t", (TRUE,), (Step("p", "", a, a), FALSE)).holds_as_printed()


def test_no_steps_and_repeated_names_are_refused() -> None:
    with pytest.raises(ValueError, match="k needs at least one step"):
        Equation("k", "1", "t", (), (TRUE,))
    with pytest.raises(ValueError, match="repeats step names: square"):
        Equation("k", "1", "t", (TRUE,), (TRUE,))


def test_a_paper_keeps_its_equations_in_order_and_their_printed_links_apart() -> None:
    paper = Paper()

    def links() -> Links:
        yield "one", "", a, a
        yield "printed", "", a, b

    assert paper.equation("k", "1", "t")(links) is links
    paper.equation("j", "2", "u")(links)
    assert paper.numbers == {"k": "1", "j": "2"}
    first, second = paper.equations()
    assert (first.key, first.number, first.title, second.key) == ("k", "1", "t", "j")
    assert (first.steps, first.printed) == ((Step("one", "", a, a),), (Step("printed", "", a, b),))


def test_only_what_is_asked_for_is_derived_and_that_once() -> None:
    paper, asked = Paper(), list[str]()
    for key in "jk":

        def links(key: str = key) -> Links:
            asked.append(key)
            yield "one", "", a, a

        paper.equation(key, "1", "t")(links)
    assert paper.derive("k") is paper.derive("k")
    assert asked == ["k"]
    with pytest.raises(ValueError, match="unknown equation 'i'; known are j, k"):
        paper.derive("i")
