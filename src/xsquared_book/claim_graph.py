"""What claims rest on, drawn: a layered graph as SVG, foundations left, and the same as a table.

Kinds differ by shape and by words, not by colour alone. Every node is a link.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

#: Size of a box, gaps between columns and rows, and the width of a sign, in pixels.
_HEIGHT, _GAP, _ROW, _SIGN = 56, 36, 70, 7.4
#: The outline of each kind for a box of width w: corners square, cut, round and pointed.
SHAPES = {
    "equation": "M0 0H{w}V56H0Z",
    "amended form": "M10 0H{x}L{w} 10V46L{x} 56H10L0 46V10Z",
    "holds": "M16 0H{y}Q{w} 0 {w} 28T{y} 56H16Q0 56 0 28T16 0Z",
    "fails": "M16 0H{y}L{w} 28L{y} 56H16L0 28Z",
    "not judged": "M0 0H{w}L{y} 56H16Z",
}


@dataclass(frozen=True)
class Node:
    """An equation, an erratum or a claim.

    Attributes:
        key: of the ledger, the errata or the equations.
        kind: one of :data:`SHAPES`.
        says: what it states, in a sentence.
        href: where it stands.
    """

    key: str
    kind: str
    says: str
    href: str

    @property
    def lines(self) -> tuple[str, str, str]:
        """Its text: the key, in two lines as short as its hyphens let them be, and the kind."""
        whole = len(self.key)
        ends = [place + 1 for place, sign in enumerate(self.key) if sign == "-"] or [whole]
        end = min(ends, key=lambda place: max(place, whole - place))
        return self.key[:end], self.key[end:], self.kind

    @property
    def width(self) -> float:
        """Of its box, in pixels."""
        return 28 + _SIGN * max(map(len, self.lines))


def columns(
    keys: Collection[str], rests: Mapping[str, Sequence[str]]
) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Where nodes stand and which neighbours are joined.

    A node's column is the length of the longest chain that it rests on. A line over several columns
    passes through places of its own, named ``key>column``, which lines from the same node share.

    Returns:
        The columns from the foundations up, each near what it rests on, and the joined pairs.
    """
    depth: dict[str, int] = {}

    def deep(key: str) -> int:
        if key not in depth:
            below = [deep(one) for one in rests.get(key, ()) if one in keys]
            depth[key] = 1 + max(below, default=-1)
        return depth[key]

    made: list[dict[str, list[str]]] = [{} for _ in range(1 + max(map(deep, keys)))]
    for key in keys:
        made[depth[key]][key] = []
        for one in (one for one in rests.get(key, ()) if one in keys):
            before = one
            for level in range(depth[one] + 1, depth[key]):
                made[level][f"{one}>{level}"] = [before]
                before = f"{one}>{level}"
            made[depth[key]][key].append(before)
    place: dict[str, float] = {}
    sorted_columns = []
    for column in made:
        middle = {
            key: sum(place[one] for one in below) / len(below) if below else len(column)
            for key, below in column.items()
        }
        sorted_columns.append(sorted(column, key=middle.__getitem__))
        place |= {key: row for row, key in enumerate(sorted_columns[-1])}
    joined = [(one, key) for column in made for key, below in column.items() for one in below]
    return sorted_columns, joined


def draw(nodes: Mapping[str, Node], rests: Mapping[str, Sequence[str]], title: str) -> str:
    """The graph as one ``<svg>``, its links in reading order."""
    made, joined = columns(nodes.keys(), rests)
    left, height = 1.0, 0.0
    start, end, boxes, lines = {}, {}, [], []
    for column in made:
        wide, y = max(nodes[key].width if key in nodes else 0 for key in column), 1.0
        for key in column:
            if key not in nodes:
                start[key], end[key] = (left, y + 8), (left + wide, y + 8)
                lines.append(f"M{left:.0f} {y + 8:.0f}h{wide:.0f}")
                y += 30
                continue
            node, w = nodes[key], round(nodes[key].width)
            start[key], end[key] = (left, y + _HEIGHT / 2), (left + wide, y + _HEIGHT / 2)
            if any(key == one for one, _ in joined):
                lines.append(f"M{left + w:.0f} {y + _HEIGHT / 2:.0f}h{wide - w:.0f}")
            outline = SHAPES[node.kind].format(w=w, x=w - 10, y=w - 16)
            says = html.escape(f"{key}, {node.kind}: {node.says}")
            texts = "".join(
                f'<text x="{w / 2:.0f}" y="{at}">{line}</text>'
                for line, at in zip(node.lines, (18, 32, 47), strict=True)
            )
            boxes.append(
                f'<a href="{node.href}" aria-label="{says}" class="{node.kind.replace(" ", "-")}" '
                f'transform="translate({left:.0f} {y:.0f})"><title>{says}</title>'
                f'<path d="{outline}"/>{texts}</a>'
            )
            y += _ROW
        left, height = left + wide + _GAP, max(height, y)
    for one, key in joined:
        (x0, y0), (x1, y1) = end[one], start[key]
        bend = (x0 + x1) / 2
        lines.append(
            f"M{x0:.0f} {y0:.0f}C{bend:.0f} {y0:.0f} {bend:.0f} {y1:.0f} {x1:.0f} {y1:.0f}"
        )
    size = f"{left - _GAP + 1:.0f}", f"{height - _ROW + _HEIGHT + 2:.0f}"
    return (
        f'<svg class="xs-graph" role="group" aria-label="{html.escape(title)}" width="{size[0]}" '
        f'height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}">'
        f'<path class="edges" d="{"".join(lines)}"/>{"".join(boxes)}</svg>'
    )


def as_table(nodes: Mapping[str, Node], rests: Mapping[str, Sequence[str]]) -> str:
    """The same in Markdown: what each rests on."""
    rows = ["| Entry | Kind | Rests on |", "| --- | --- | --- |"]
    for column in columns(nodes.keys(), rests)[0]:
        for key in filter(nodes.__contains__, column):
            below = ", ".join(f"`{one}`" for one in rests.get(key, ()) if one in nodes)
            rows.append(f"| `{key}` | {nodes[key].kind} | {below or '–'} |")
    return "\n".join(rows)
