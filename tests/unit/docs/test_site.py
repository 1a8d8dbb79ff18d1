"""The site in a browser: fits a phone, breaks no word of a table, finds its styles below a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_pages import PROJECT, build, measured, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1000),
    pytest.mark.needs("chromium", "mkdocs-material"),
]
#: Robot's own page, with a layout of its own.
FOREIGN = "keywords.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that is served, and its address."""
    folder = tmp_path_factory.mktemp("site")
    with served(folder) as address:
        build(folder / PROJECT, f"{address}/{PROJECT}/")
        yield folder, address


def pages(folder: Path) -> list[str]:
    found = sorted((folder / PROJECT).rglob("*.html"))
    return [f"/{page.relative_to(folder).as_posix()}" for page in found if page.name != FOREIGN]


@pytest.fixture(scope="module")
def told(site):
    """What the browser says of every page on a phone."""
    folder, address = site
    return measured(folder, address, pages(folder), 400)


def test_every_page_was_looked_at(site, told):
    assert len(told) > 30
    assert all(page["styled"] for page in told.values())


def test_no_page_scrolls_sideways_on_a_phone(told):
    assert {name: page["wide"] for name, page in told.items() if page["wide"] > 0} == {}


def test_no_table_breaks_a_word(told):
    assert {name: page["broken"] for name, page in told.items() if page["broken"]} == {}


def test_a_wrong_address_shows_a_page_of_the_site(site):
    folder, address = site
    wrong = f"/{PROJECT}/a/b/nothing.html"
    assert measured(folder, address, [wrong], 1400)[wrong]["styled"]


def test_a_page_that_is_too_wide_or_breaks_words_is_noticed(site):
    folder, address = site
    (folder / "bad.html").write_text(
        '<body style="margin:0"><p style="width:900px">x<table style="width:9px"><tr>'
        '<td style="overflow-wrap:anywhere">abcdefghijkl</table>'
    )
    said = measured(folder, address, ["/bad.html"], 400)["/bad.html"]
    assert (said["wide"], said["broken"]) == (500, ["abcdefghijkl"])
