"""Plots in self-contained pages: plotly's script is part of the page.

Plotly is an extra; pages without it have tables and CSV.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from harness.report.pages import asset

_LAYOUT = {"margin": {"l": 60, "r": 20, "t": 10, "b": 60}, "template": "none"}


def library() -> str:
    """Plotly's script; "" without the extra ``plots``."""
    if find_spec("plotly") is None:
        return ""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - megabytes, only for pages

    script: str = get_plotlyjs()
    return script


def script() -> str:
    """Plotly's script and :func:`figure`'s, for a ``<script>`` element; "" without plotly."""
    plotly = library()
    return f"{plotly}\n{asset('plots.js')}" if plotly else ""


def figure(
    name: str,
    title: str,
    traces: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    *,
    wide: bool = False,
) -> str:
    """A plot with its title as HTML; ``name`` is the id of its element. Texts are escaped.

    A ``wide`` plot keeps its width on a small screen, and scrolls.
    """
    content = json.dumps([list(traces), {**_LAYOUT, **layout}]).replace("<", "\\u003c")
    return (
        f"<h3>{escape(title)}</h3>\n"
        f'<div id="{escape(name)}" class="plot{" wide" if wide else ""}"></div>\n'
        f"<script>drawPlot({json.dumps(name)}, {content});</script>"
    )
