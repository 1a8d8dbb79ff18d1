"""Pages as they are without the extra ``plots``."""

import csv
import html
import io
import re
import sys
from collections.abc import Callable
from urllib.parse import unquote

import pytest

NOTE = 'pip install "tflm-hil[plots]"'


@pytest.fixture
def without_plotly(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)


@pytest.fixture
def csv_of() -> Callable[[str], list[dict[str, str]]]:
    """The rows of the CSV that a page without plots links, beside a line that names the extra."""

    def rows(page: str) -> list[dict[str, str]]:
        assert NOTE in page
        assert "Plotly" not in page and "plotly" not in page
        (link,) = re.findall(r'\.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
        return list(csv.DictReader(io.StringIO(unquote(html.unescape(link)))))

    return rows
