"""Which rows run with which official interpreters (conftest.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("tflite-micro")
pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.litert_differs("{row}", reason="it saturates")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_equals(dtype, official):
    assert [one.kind for one in official] == {{
        "int8": ["tflm", "litert"], "int16": ["tflm"]}}[dtype]

def test_without_rows(official):
    assert [one.kind for one in official] == ["tflm", "litert"]

def test_rule(micro):
    assert micro.kind == "tflm"
"""


@pytest.fixture
def ran(pytester: pytest.Pytester):  # type: ignore[no-untyped-def]
    def ran(row: str) -> pytest.RunResult:
        pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
        pytester.makepyfile(TESTS.format(row=row))
        return pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")

    return ran


def test_litert_is_asked_but_for_the_rows_in_which_it_differs(ran) -> None:
    ran("int16").assert_outcomes(passed=4)


def test_a_row_that_does_not_exist_is_an_error(ran) -> None:
    done = ran("int4")
    done.stdout.fnmatch_lines(["test_equals has no row int4"])
    assert done.ret == pytest.ExitCode.INTERRUPTED
