"""Templates, style sheets and scripts of all HTML pages.

jinja2 is imported only when a page is rendered.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness import __version__
from harness.case.columns import number

FOLDER = Path(__file__).parent / "templates"


def asset(name: str) -> str:
    """The text of a style sheet or a script."""
    return (FOLDER / name).read_text(encoding="utf-8")


@cache  # which keeps the compiled templates
def environment(**filters: Any) -> Any:
    """The jinja2 environment of the templates, with autoescaping and additional ``filters``."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    templates = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {"number": number, "figure": figure, **filters}
    templates.globals["version"] = __version__
    return templates


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """``rows``, which have the same keys, as CSV with a head; "" without rows."""
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def figure(value: float) -> str:
    """``value`` with thousands separators; numbers that are not integers with six digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
