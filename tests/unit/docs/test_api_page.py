"""The examples of docs/api.md do what the page says they do, and it names all that is public."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

import harness

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.needs("arm-none-eabi-gcc", "flatc")
def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = Sybil([PythonCodeBlockParser()]).parse(DOCS / "api.md")
    examples = list(document.examples())
    for example in examples:
        example.evaluate()
    assert len(examples) >= 5


def test_every_public_name_stands_on_the_page():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    missing = [name for name in harness.__all__ if name not in text and name != "__version__"]
    assert not missing


def test_every_public_name_can_be_imported():
    assert [getattr(harness, name) is not None for name in harness.__all__]


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        harness.nothing  # noqa: B018
