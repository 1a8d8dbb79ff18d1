"""docs/inside/convolution.md computes what the kernel computes."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from harness.base import paths

PAGE = Path(__file__).parents[3] / "docs" / "inside" / "convolution.md"


def test_the_convolution_of_the_page_equals_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paths.models())
    examples = list(Sybil([PythonCodeBlockParser()]).parse(PAGE).examples())
    for example in examples:
        example.evaluate()
    assert len(examples) == 15
