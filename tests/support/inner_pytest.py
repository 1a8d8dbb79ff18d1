"""pytest in a process of its own, as tests of the plugin start it."""

from __future__ import annotations

import os
import time

import pytest
from forked_python import run_python

#: Imports no installed plugin: half of a short session is the import of those that nobody asked
#: for. tests/dist.py runs a session that finds the plugin by its entry point.
ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
#: What such a session needs instead.
ARGUMENTS = ("-p", "harness.pytest_plugin", "-p", "no:cacheprovider")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """What ``pytester.runpytest_subprocess`` gives, in the folder of ``pytester``."""
    started = time.monotonic()
    done = run_python(
        "pytest", *ARGUMENTS, f"--basetemp={pytester.path / 'basetemp'}", *arguments,
        cwd=pytester.path, env={**os.environ, **ENVIRONMENT},
    )  # fmt: skip
    lines = done.stdout.splitlines(), done.stderr.splitlines()
    return pytest.RunResult(done.returncode, *lines, time.monotonic() - started)
