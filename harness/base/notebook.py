"""Pieces of HTML for ``_repr_html_``: tables, bars, text; all of it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "padding:1px 8px;text-align:left"
#: Rows that get a bar; the rest is one bar.
_BARS = 12


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text."""
    head = "".join(f'<th style="{_CELL}">{escape(one)}</th>' for one in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def bars(name: str, unit: str, values: Sequence[tuple[str, int]]) -> str:
    """A table of values with a bar for each share of their sum; "" without a value above 0."""
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
    heads = "".join(f'<th style="{_CELL}">{escape(one)}</th>' for one in (name, unit, ""))
    return f"<table><tr>{heads}</tr>{rows}</table>"


def lines(items: Sequence[str]) -> str:
    """A list; "" for an empty one."""
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in items)}</ul>" if items else ""


def text(content: str) -> str:
    """Text in a fixed font, with its line ends; "" for none."""
    return f"<pre>{escape(content)}</pre>" if content else ""
