"""Robot's documentation of the library: each keyword has its effect and its failure."""

import re
from pathlib import Path

import pytest
from robot.libdocpkg import LibraryDocumentation

from robot import api

LIBRARY = LibraryDocumentation("harness.keywords.TflmHil")
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("keyword", LIBRARY.keywords, ids=lambda keyword: keyword.name)
def test_a_keyword_documents_its_effect_and_its_failure(keyword):
    first, *_ = keyword.doc.splitlines()
    assert first.endswith((".", ",")) or len(first) > 80
    assert re.match(r"[A-Z][a-z]+s ", first), "the first line starts with what it does"
    checks = "Should" in keyword.name or keyword.name.startswith(("Run", "Build", "Wait"))
    assert "Fails " in keyword.doc or "Never fails" in keyword.doc or not checks


@pytest.mark.parametrize("keyword", LIBRARY.keywords, ids=lambda keyword: keyword.name)
def test_examples_call_the_keyword_they_belong_to(keyword):
    rows = re.findall(r"^\| (.*) \|$", keyword.doc, re.MULTILINE)
    assert all(keyword.name in row for row in rows)


def test_the_documentation_uses_keywords_that_there_are():
    names = {keyword.name for keyword in LIBRARY.keywords}
    text = (ROOT / "docs" / "cases.md").read_text()
    suite = api.TestSuite.from_string(text.partition("```robotframework\n")[2].partition("```")[0])
    used = {step.name for test in suite.tests for step in test.body}
    assert used and used <= names
