"""Run a page's cells one after the other, in the reader's browser.

The page is sent this file as it stands, so it needs the standard library alone.
"""

import ast
import contextlib
import io
import traceback
from typing import Any


class Session:
    """The names that cells share, and what they were before each cell.

    Attributes:
        names: global names of all cells; functions keep looking theirs up here.
        before: copies of the names, one for each cell that has run.
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.before: list[dict[str, Any]] = []

    def run(self, index: int, source: str) -> dict[str, str]:
        """Run a cell as if it and those below it had not run before.

        Args:
            index: counted from 0; all cells above have run.
            source: of the cell.

        Returns:
            Its output by kind: ``tex``, ``text``, and ``error`` where it fails.
        """
        if index < len(self.before):
            self.names.clear()
            self.names.update(self.before[index])
            del self.before[index:]
        self.before.append(dict(self.names))
        output: dict[str, str] = {}
        printed = io.StringIO()
        place = f"cell {index}"
        value = None
        try:
            with contextlib.redirect_stdout(printed):
                value = self._value(source, place)
                if hasattr(value, "_repr_latex_"):
                    output["tex"] = value._repr_latex_()
                elif value is not None:
                    printed.write(repr(value))
        except Exception as error:
            output["error"] = _message(error, place)
        if printed.getvalue():
            output["text"] = printed.getvalue()
        return output

    def _value(self, source: str, place: str) -> Any:
        """Execute a cell; return the value of its last line, if it has one."""
        tree = ast.parse(source, place)
        last = tree.body.pop() if tree.body else None
        if isinstance(last, ast.Expr):
            exec(compile(tree, place, "exec"), self.names)
            return eval(compile(ast.Expression(last.value), place, "eval"), self.names)
        exec(compile(source, place, "exec"), self.names)
        return None


def _message(error: Exception, place: str) -> str:
    """Say what failed, and in which line of the cell."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == place]
    text = f"{type(error).__name__}: {error}"
    return f"{text} (line {lines[0]})" if lines else text
