"""Rules of `expect.compare` in a case: each wrong use is told, each door takes them."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.base.expected import ValueRule
from harness.case.plan import load_cases

CASE = "[[case]]\nname = 'a'\nsample = 'hello_world'\n"
REGEX = "scraper = '/(?P<label>a+) (?P<score>.) (?P<temp>.)/'\n"
LISTED = "expect.values = [{ score = 1 }, { label = 'a', score = 2 }]\n"


def load(tmp_path, text: str):
    path = tmp_path / "hil.toml"
    path.write_text(CASE + text)
    return load_cases(path)


def test_rules_are_read(tmp_path):
    rules = "expect.compare = { score = { factor = 0.01 }, temp = { min = 2 }, label = 'ignored' }"
    (case,) = load(tmp_path, f"{REGEX}{LISTED}{rules}\n")
    assert case.expect.compare == {
        "score": ValueRule(factor=0.01), "temp": ValueRule(min=2), "label": "ignored",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "words", "hint"),
    [
        ("{ scor = { factor = 2 } }", "the scraper reads no 'scor'", "did you mean 'score'?"),
        ("{ xyz = 'ignored' }", "the scraper reads no 'xyz'", "it reads label, score, temp"),
        ("{ score = { fctor = 2 } }", "unknown key 'fctor'", "did you mean 'factor'?"),
        ("{ score = 'ignore' }", "compare.score is 'ignored', not 'ignore'", "did you mean"),
        ("{ score = 3 }", "compare.score is 'ignored', not 3", ""),
        ("{ score = { factor = 0 } }", "factor: 0 is not a factor", ""),
        ("{ score = { factor = nan } }", "factor: nan is not a factor", ""),
        ("{ score = { rounded = 1 } }", "rounded is true or false, not 1", ""),
        ("{ score = { tolerance = -1 } }", "tolerance: -1 is not a tolerance", ""),
        ("{ temp = { min = inf } }", "min: inf is not a finite number", ""),
        ("{ temp = { min = 3, max = 2 } }", "temp: min = 3 is above max = 2", ""),
        ("{ temp = { min = 3, rounded = true } }", "a range and rounded exclude each other", ""),
        ("{ temp = { min = 3, tolerance = 1 } }", "a range and tolerance exclude each other", ""),
        (
            "{ score = { rounded = true, tolerance = 1 } }",
            "rounded and tolerance exclude each other", "",
        ),
        ("{ score = {} }", "score: it says nothing", ""),
        ("{ score = { min = 1 } }", "it is a range, and expect.values lists score, too", ""),
        ("{ temp = { factor = 2 } }", "it is of listed numbers, and expect.values has no temp", ""),
        ("{ label = { factor = 2 } }", "it is of numbers, and expect.values has the text 'a'", ""),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_applied_is_refused(tmp_path, rules, words, hint):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, f"{REGEX}{LISTED}expect.compare = {rules}\n")
    assert words in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("expect.compare = { y = { min = 1 } }", "is of a scraper's results, and the case has"),
        ("scraper = 'ztest'\nexpect.compare = { y = { min = 1 } }", "takes expect.tests, not"),
    ],
)
def test_rules_need_a_scraper_that_reads_such_values(tmp_path, case, words):
    with pytest.raises(UsageError, match=words):
        load(tmp_path, f"{case}\n")


def test_an_empty_row_is_of_a_result_with_a_range_alone(tmp_path):
    rows = "scraper = '/t=(?P<t>.+)/'\nexpect.values = [{}]\n"
    [case] = load(tmp_path, f"{rows}expect.compare = {{ t = {{ min = 1 }} }}\n")
    assert case.expect.values == ({},)
    with pytest.raises(UsageError, match=r"an empty row of expect\.values compares nothing"):
        load(tmp_path, rows)
