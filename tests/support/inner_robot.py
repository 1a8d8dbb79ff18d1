"""Robot in this process, as a test runs a suite of its own."""

from __future__ import annotations

import io
import os
from pathlib import Path

from robot import api

#: How a suite that uses the keywords begins.
SETTINGS = "*** Settings ***\nLibrary    harness.keywords.TflmHil\n\n*** Test Cases ***\n"


def run(folder: Path, tests: str) -> dict[str, str]:
    """Run a suite of ``tests`` in ``folder``: what each says, "" if it passes."""
    (folder / "it.robot").write_text(SETTINGS + tests)
    before, out = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        suite = api.TestSuite.from_file_system("it.robot")
        done = suite.run(outputdir="out", stdout=out, stderr=out)
    finally:
        os.chdir(before)
    return {
        test.name: "" if test.passed else test.message or "failed" for test in done.suite.all_tests
    }
