"""Formulas as derivations end: checked by sympy, set on lines that a phone shows."""

import re

import sympy as sp
from IPython.display import Math
from sympy.printing.latex import LatexPrinter

#: Letters of a name and of a line behind it: a phone shows about so many.
_LETTERS = 34


class _Printer(LatexPrinter):  # type: ignore[misc]
    """Writes x - h for what sympy writes -h + x."""

    def _print_Add(self, expr: sp.Add, order: str | None = None) -> str:
        text = super()._print_Add(expr, order)
        return super()._print_Add(expr, "rev-lex") if text.startswith("-") else text


def vanish(*residuals: object) -> None:
    """Check that sympy reduces all of these, numbers and lists of them, to zero.

    Raises:
        ValueError: with what is left.
    """
    reduced = [sp.simplify(sp.expand(residual)) for residual in sp.flatten(residuals)]
    if any(rest != 0 for rest in reduced):
        raise ValueError(f"expected zeros, got {reduced}")


def derived(name: str, result: sp.Expr, stated: sp.Expr) -> Math:
    """Set the equation of a name (in TeX) and what is stated, if it is the result.

    Raises:
        ValueError: with what is left of the difference.
    """
    vanish(result - stated)
    return formula(name, stated)


def formula(name: str, *terms: sp.Expr) -> Math:
    """Set the equation of a name (in TeX) and a sum, on as many lines as it takes.

    A line ends where a phone's does. Symbols f0, f1, f2 are derivatives of a target,
    and get primes.

    Args:
        name: the left-hand side.
        terms: of the sum, in this order; one term is split into its own, the first of
            which shall have no minus.
    """
    primes = {
        symbol: "f_0" + "'" * int(symbol.name[1])
        for symbol in _derivatives(sp.Tuple(*terms))
    }
    printer = _Printer({"symbol_names": primes})
    summands = list(terms)
    if len(terms) == 1:
        summands = terms[0].as_ordered_terms()
        if printer.doprint(summands[0]).startswith("-"):
            summands = summands[::-1]
    lines = [""]
    for k, summand in enumerate(summands):
        text = printer.doprint(summand)
        if k > 0 and not text.startswith("-"):
            text = f"+ {text}"
        if lines[-1] and _letters(name + lines[-1] + text) > _LETTERS:
            lines.append("")
        lines[-1] += f" {text}"
    right = r" \\ & ".join(lines)
    return Math(rf"\begin{{aligned}} {name} = {{}}& {right} \end{{aligned}}")


def truncation_error(name: str, error: sp.Expr, x: sp.Symbol, h: sp.Symbol) -> Math:
    """Set the equation of a name (in TeX) and an error on the cell from 0 to h.

    There is a term for each derivative of the target, whose factors are positive where
    0 < x < h.
    """
    inside = {x: 1, h: 2}
    by_derivative = sp.collect(sp.expand(error), _derivatives(error), evaluate=False)
    terms = []
    for derivative in sorted(by_derivative, key=str):
        number, factors = sp.factor_list(by_derivative[derivative] * derivative)
        positive = []
        for factor, power in factors:
            sign = -1 if factor.subs(inside).is_negative else 1
            number *= sign**power
            positive.append(sp.expand(sign * factor) ** power)
        terms.append(sp.Mul(number, *positive))
    return formula(name, *terms)


def _derivatives(expr: sp.Basic) -> list[sp.Symbol]:
    """Find the symbols f0, f1, f2 in an expression."""
    symbols = expr.free_symbols
    return [symbol for symbol in symbols if re.fullmatch(r"f\d", symbol.name)]


def _letters(text: str) -> int:
    """Count the letters that a line of TeX shows, roughly."""
    shown = re.sub(r"\\(left|right|t?frac|mathrm|operatorname|,)|[{}_^&\s]", "", text)
    return len(re.sub(r"\\[A-Za-z]+", "a", shown))
