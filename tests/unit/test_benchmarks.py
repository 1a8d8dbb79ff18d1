"""Benchmarks measure the installed package, wherever they are started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.name)
def test_a_child_process_does_not_import_from_the_current_folder(file):
    text = file.read_text(encoding="utf-8")
    assert not re.search(r'sys\.executable, "-[cm]"', text), 'put "-P" before -c and -m'
