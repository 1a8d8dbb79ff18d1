import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.findings import Kind
from harness.uart import Console, scraper
from harness.uart.scrapers import SCRAPERS
from harness.uart.scrapers.hello_world import number


def scrape(name: str, text: str):
    console = Console([scraper(name)])
    console.feed(text.encode())
    console.finish()
    return console


@given(st.floats(-100, 100), st.integers(-20, 20))
def test_mantissa_and_exponent_make_a_number(mantissa, exponent):
    assert number(f"{mantissa:.7f}*2^{exponent}") == float(f"{mantissa:.7f}") * 2.0**exponent


@pytest.mark.parametrize("text", ["", "-", "nan", "inf", "1.2*3^4", "*float*", "%f"])
def test_what_is_no_number_is_none(text):
    assert number(text) is None


@pytest.mark.parametrize("name", SCRAPERS)
@given(data=st.binary(max_size=300))
def test_no_scraper_trips_over_garbage(name, data):
    scrape(name, data.decode("latin-1"))


PASSING = "Testing A\nTesting B\n2/2 tests passed\n~~~ALL TESTS PASSED~~~\n"


def test_unit_tests_that_pass_give_one_result_each():
    console = scrape("unit_tests", PASSING)
    assert [result.text for result in console.scrapers[0].results] == ["A", "B"]
    assert console.findings == []
    assert console.scrapers[0].finished


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (
            "Testing A\nx == y (1 vs 2) failed at a_test.cc:12\n~~~SOME TESTS FAILED~~~\n",
            "a_test.cc:12",
        ),
        ("Testing A\n", "never came"),
        ("Testing A\n0/0 tests passed\n~~~ALL TESTS PASSED~~~\n", "say otherwise"),
        ("Testing A\n~~~SOME TESTS FAILED~~~\n", "no line says which"),
    ],
)
def test_unit_tests_that_do_not_clearly_pass_fail(text, word):
    findings = scrape("unit_tests", text).findings
    assert findings[0].kind == Kind.TEST_FAILED
    assert word in findings[0].message


def test_a_regex_of_the_users_reads_named_groups():
    console = scrape(r"/score=(?P<score>\S+)/", "score=12\nscore=oops\n")
    assert [dict(r.values) for r in console.scrapers[0].results] == [{"score": 12.0}]
    assert [f.kind for f in console.findings] == [Kind.UNPARSED_VALUE]


@pytest.mark.parametrize("name", ["nothing", "/score: (\\d+)/", "/(/", "/(?P<x>\\d*)/"])
def test_a_scraper_that_cannot_fail_or_does_not_exist_is_refused(name):
    with pytest.raises(UsageError):
        scraper(name)
