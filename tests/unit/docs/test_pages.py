"""The pages as text: short paragraphs, messages and pages that exist, no page that nobody finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness
from harness.base import paths

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PACKAGE = Path(harness.__file__).parent
LONGEST = 80  # words
_CODE = re.compile(r"^( *)(```|~~~).*?^\1\2$|(?<=\n\n)(?: {4}[^\n]*\n+)+", re.MULTILINE | re.DOTALL)
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) |\||#)")


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and list items of a page; no code, no tables."""
    for part in _BREAK.split(_CODE.sub("\n", text)):
        if not part.lstrip().startswith("|"):
            yield " ".join(part.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_paragraph_is_long(page):
    told = [part for part in paragraphs(page.read_text("utf-8")) if len(part.split()) > LONGEST]
    assert told == []


def test_paragraphs_end_at_blank_lines_items_and_code():
    text = "a b\nc\n\n* d\n* e\n  f\n\n```sh\ng\n\nh\n```\ni\n\n    j\n\n| l |\n|---|\n\nm\n"
    assert [part for part in paragraphs(text) if part] == ["a b c", "* d", "* e f", "i", "m"]


def test_messages_name_pages_that_a_wheel_has_too():
    """`tflm-hil list paths docs` prints the folder in which docs/cases.md of a hint lies."""
    named = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"\bdocs/([\w/-]+\.md)", path.read_text("utf-8"))
    }
    assert "cases.md" in named
    assert [name for name in sorted(named) if not (paths.docs() / name).is_file()] == []


def test_the_messages_of_troubleshooting_are_those_of_the_package():
    text = (DOCS / "how-to" / "troubleshooting.md").read_text("utf-8")
    told = re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
    source = "".join(path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py")))
    assert len(told) > 8
    assert [message for message in told if message not in source] == []


def test_every_page_stands_in_the_navigation():
    """The generated ones, too; Robot's keywords open as a page of their own."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = [page.relative_to(DOCS).as_posix() for page in PAGES[1:]]
    assert [name for name in named if not re.search(rf"(- |: ){name}$", navigation, re.M)] == []
