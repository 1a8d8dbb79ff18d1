"""Lines that a case does not allow."""

import pytest

from harness.base.errors import UsageError
from harness.base.findings import Kind
from harness.uart import Console, scraper
from harness.uart.scrapers import AbsentLines


def findings(text: str, *patterns: str, readers=()) -> list[str]:
    console = Console([scraper(one) for one in readers], lines_absent=patterns)
    console.feed(text.encode())
    console.finish()
    assert {finding.kind for finding in console.findings} <= {Kind.LINE_NOT_ABSENT}
    return [finding.message for finding in console.findings]


def test_a_line_that_matches_is_shown_with_the_regex():
    assert findings("ok\nself test: FAIL\n", "FAIL$") == [
        "line 2 'self test: FAIL' matches 'FAIL$': expect.lines_absent allows none"
    ]


def test_every_regex_is_tried_on_every_line():
    assert len(findings("a\nb\nab\n", "a", "b")) == 4


def test_a_console_without_such_a_line_has_no_finding():
    assert findings("FAIL\n", "FAILED", "^AIL") == []
    assert findings("FAIL\n") == []


def test_lines_that_a_scraper_reads_and_those_of_tests_count_too():
    assert len(findings("y=1\n", "y=", readers=[r"/y=(?P<y>\d)/"])) == 1
    assert len(findings("START - t\noh no\n", "oh no", readers=["ztest"])) == 1


def test_the_last_line_counts_without_its_end():
    assert len(findings("all good\nERROR", "ERROR")) == 1


def test_lines_are_searched_as_they_are_shown():
    assert findings("caf\u00e9 \x07\n", "café .x07") != []


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "x*", "", "a" * 2001])
def test_a_regex_that_cannot_be_used_is_refused(pattern):
    with pytest.raises(UsageError, match=r"the regex of expect\.lines_absent"):
        AbsentLines([pattern])


def test_time_is_linear_whatever_the_regex():
    assert findings("a" * 8000 + "\n", "(a*)*b") == []
