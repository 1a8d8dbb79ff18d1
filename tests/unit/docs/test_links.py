"""Links that lead out of the pages: each has a form that can be opened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

import links


def test_no_page_has_a_link_of_a_wrong_form():
    told = {
        f"{page.name}: {address}": links.wrong(address)
        for page in links.PAGES
        for address in links.links(page.read_text(encoding="utf-8"))
    }
    assert told
    assert {where: problem for where, problem in told.items() if problem} == {}


def test_links_are_found_in_every_form_and_not_in_code():
    text = (
        "[a](https://a.org/x) and <https://b.org>, https://c.org/y.\n"
        "`https://d.org` [e](page.md)\n```\nhttps://f.org\n```\n\n    https://g.org\n"
    )
    assert links.links(text) == ["https://a.org/x", "https://b.org", "https://c.org/y"]


@pytest.mark.parametrize("address", [
    "http://a.org", "https://localhost/x", "https://me:pw@a.org", "https://a.org:8080/",
    "https://10.0.0.1/x", "https://host/project", "https://a.org/?utm_source=x", "ftp://a.org",
])  # fmt: skip
def test_an_address_that_not_everybody_can_open_is_wrong(address):
    assert links.wrong(address)
    assert not links.wrong("https://docs.zephyrproject.org/latest/develop/test/pytest.html")
