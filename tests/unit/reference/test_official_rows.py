"""Which rows run with which official interpreter (conftest.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.litert_differs("{row}", reason="it saturates")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_equals(dtype, official): pass

def test_rule(micro): pass
"""


@pytest.fixture
def collected(pytester: pytest.Pytester):  # type: ignore[no-untyped-def]
    def collected(row: str) -> pytest.RunResult:
        pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
        pytester.makepyfile(TESTS.format(row=row))
        return pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider")

    return collected


def test_rows_in_which_litert_differs_are_no_tests(collected) -> None:
    rows = [line.partition("::")[2] for line in collected("int16").outlines if "::" in line]
    assert rows == [
        "test_equals[tflm-int8]", "test_equals[tflm-int16]", "test_rule[tflm]",
        "test_equals[litert-int8]",
    ]  # fmt: skip


def test_a_row_that_does_not_exist_is_an_error(collected) -> None:
    done = collected("int4")
    done.stdout.fnmatch_lines(["test_equals has no row litert-int4"])
    assert done.ret == pytest.ExitCode.INTERRUPTED
