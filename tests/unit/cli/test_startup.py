"""``tflm-hil run`` of a passing case loads only the modules that it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Rooms, modules and libraries that neither running nor judging a passing case needs.
NEEDLESS = {
    "boards and Renode": ("harness.targets.renode", "harness.targets.board", "serial"),
    "case files and budgets": ("harness.case.casefile", "harness.case.budgets"),
    "comparing targets": ("harness.case.crosscheck",),
    "what an image costs": ("harness.footprint.analysis", "harness.footprint.budget"),
    "call graphs and debug information": ("harness.elf.graph", "harness.elf.dwarf"),
    "resolvers": ("harness.resolver", "harness.elf.register_functions"),
    "histories": ("harness.history.store", "harness.history.calibration", "sqlalchemy"),
    "other reports": ("harness.report.html", "harness.report.junit", "harness.report.coverage",
                      "jinja2", "plotly"),
    "other commands": ("harness.studies", "harness.doctor", "harness.case.init", "tomlkit", "yaml"),
    "libraries": ("statistics", "multiprocessing", "distributed", "robot"),
}  # fmt: skip

RUN = """
import sys
from harness.cli import main
code = main(["run", "hello_world", "--output", sys.argv[1]])
print("loaded", *sys.modules)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> set[str]:
    """Modules that a fresh interpreter has after it ran a sample whose image is in the cache."""
    command = [sys.executable, "-c", RUN, str(tmp_path_factory.mktemp("results"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("names", NEEDLESS.values(), ids=NEEDLESS)
def test_a_passing_case_does_not_load(loaded, names):
    needless = {
        *names,
        *(name for name in loaded if name.startswith(tuple(f"{n}." for n in names))),
    }
    assert not needless & loaded
