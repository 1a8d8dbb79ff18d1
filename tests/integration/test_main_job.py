"""The main job in a checkout where it ran before: what is there now is built and tested."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.needs("arm-none-eabi-gcc", "make")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the suites 03 and 08 take from a checkout."""
    for name in ("tests/suites", "tests/cases", "robot", "examples/two_worlds"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def main_job(checkout: Path, *selection: str, code: int = 0) -> str:
    """The hash of the image that the case of ``robot tests/`` ran, which ends with ``code``."""
    command = [sys.executable, "-m", "robot", "--outputdir", "build/hil", *selection, "tests/"]
    done = subprocess.run(command, cwd=checkout, check=False, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    results = checkout / "build" / "hil" / "results.json"
    cases = json.loads(results.read_text())["cases"] if results.is_file() else []
    return "".join(case["elf_sha256"] for case in cases)


@pytest.mark.slow
@needs_compiler
def test_each_run_builds_and_tests_the_source_as_it_is_now(checkout: Path) -> None:
    example = "--test", "Interrupts In Both Worlds"
    source = checkout / "examples" / "two_worlds" / "src" / "nonsecure.c"
    right = source.read_text()
    wrong = right.replace("  ICSR = 1u << 28;", "")
    assert wrong != right

    image = main_job(checkout, *example)
    source.write_text(wrong)
    changed = main_job(checkout, *example, code=1)
    source.write_text(right)
    again = main_job(checkout, *example)

    assert len(image) == len(changed) == 64
    assert image == again != changed


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("selection", [
    ("--suite", "03 Own Firmware"), ("--test", "Interrupts In Both Worlds"),
], ids="".join)  # fmt: skip
def test_files_of_an_earlier_run_are_not_used(checkout: Path, selection: Sequence[str]) -> None:
    main_job(checkout, *selection)
    later = time.time() + 3600  # newer than all sources
    for file in [path for path in checkout.glob("build/hil/**/*") if path.is_file()]:
        file.write_text("not what this file was")
        os.utime(file, (later, later))
    main_job(checkout, *selection)
