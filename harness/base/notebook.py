"""HTML for ``_repr_html_``: tables, bars, lists, text. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "padding:1px 8px;text-align:left"
#: Most values with a bar of their own; the others share one.
_BARS = 12


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text."""
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table>{_head_row(heads)}{body}</table>"


def bars(name: str, unit: str, values: Sequence[tuple[str, int]]) -> str:
    """A table of values, each with a bar for its share of the sum; "" if the sum is 0."""
    total = sum(value for _, value in values)
    if total <= 0:
        return ""
    shown = list(values[:_BARS])
    rest = total - sum(value for _, value in shown)
    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(label)}</td><td style="{_CELL}">{value:,}</td>'
        '<td style="width:20em"><div style="background:#0969da;height:0.8em;'
        f'width:{100 * value / total:.1f}%"></div></td></tr>'
        for label, value in [*shown, *([("others", rest)] if rest else [])]
    )
    return f"<table>{_head_row((name, unit, ''))}{rows}</table>"


def _head_row(heads: Sequence[str]) -> str:
    cells = "".join(f'<th style="{_CELL}">{escape(head)}</th>' for head in heads)
    return f"<tr>{cells}</tr>"


def lines(items: Sequence[str]) -> str:
    """A list; "" for an empty one."""
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>" if items else ""


def text(content: str) -> str:
    """Preformatted text; "" for none."""
    return f"<pre>{escape(content)}</pre>" if content else ""
