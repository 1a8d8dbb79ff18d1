"""Plots in pages that need no network: plotly's script is part of the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_LAYOUT = {"margin": {"l": 60, "r": 20, "t": 40, "b": 60}, "template": "none"}


def script() -> str:
    """Plotly's script, for one ``<script>`` element."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - megabytes, only for pages

    text: str = get_plotlyjs()
    return text


def figure(name: str, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> str:
    """A plot as HTML; ``name`` is its element's id. Text is escaped for a script."""
    content = json.dumps([list(traces), {**_LAYOUT, **layout}]).replace("<", "\\u003c")
    return (
        f'<div id="{escape(name)}" class="plot"></div>\n'
        f"<script>(([data, layout]) => Plotly.newPlot({json.dumps(name)}, data, layout, "
        f'{{"responsive": true, "displaylogo": false}}))({content});</script>'
    )
