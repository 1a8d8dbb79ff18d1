"""``Resolver Check Should Say``: the verdict, and where and how long the image runs."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from little_runs import BOTH, NEEDED

from harness.elf import Image
from robot import api

Compile = Callable[..., Image]

SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil

*** Test Cases ***
One
    Resolver Check Should Say    {arguments}
"""
LATE = f"for (volatile int n = 0; n < 200000; n = n + 1) {{}} {BOTH}"


@pytest.fixture
def said(tmp_path: Path) -> Callable[..., str]:
    """The message of a test with this keyword; "" if it passes."""
    (tmp_path / "made.tflite").write_bytes(NEEDED.data)

    def said(image: Image, arguments: str) -> str:
        words = f"{image.path}    {tmp_path / 'made.tflite'}    {arguments}"
        (tmp_path / "one.robot").write_text(SUITE.format(arguments=words))
        suite = api.TestSuite.from_file_system(tmp_path / "one.robot")
        done = suite.run(
            outputdir=str(tmp_path / "out"), stdout=io.StringIO(), stderr=io.StringIO()
        )
        (test,) = done.suite.all_tests
        assert (test.status == "FAIL") == bool(test.message)
        return str(test.message)

    return said


@pytest.mark.parametrize(
    ("register", "arguments", "message"),
    [(BOTH, "ok", ""),
     (BOTH, "missing", "the verdict is ok, not missing"),
     (BOTH, "ok    target=nowhere", "no target 'nowhere'"),
     (LATE, "ok    timeout=1 s", ""),
     (LATE, "ok    timeout=1 ms", "the verdict is cannot_tell, not ok")],
)  # fmt: skip
def test_the_verdict_is_compared(
    compile_image: Compile, said: Callable[..., str], register: str, arguments: str, message: str
) -> None:
    told = said(compile_image(register), arguments)
    assert told.startswith(message) and bool(told) == bool(message)
