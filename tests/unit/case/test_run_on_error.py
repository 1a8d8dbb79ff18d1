"""One of several cases that cannot be run has a result with the reason."""

from __future__ import annotations

import pytest

from harness.base.errors import BUG_HINT, UsageError
from harness.case import run as module
from harness.case.case import Case
from harness.case.result import Verdict


class Timer(Exception):
    """What a caller's signal raises."""


@pytest.fixture
def raising(monkeypatch, tmp_path):
    """The result of a case that cannot be run: this is raised."""

    def run(error: BaseException, **more):
        def raise_it(*arguments):
            raise error

        monkeypatch.setattr(module, "_run_case", raise_it)
        return module.run_case(Case("own"), tmp_path, on_error="record", **more)

    return run


def test_a_usage_error_is_recorded_with_its_hint(raising):
    result = raising(UsageError("no such thing", hint="try another"))
    assert (result.verdict, result.reason) == (Verdict.USAGE, "no such thing")
    assert (result.name, result.judgement.hint) == ("own", "try another")
    assert 0 <= result.measures.wall_seconds < 60


def test_a_bug_of_the_harness_is_recorded_as_one(raising, monkeypatch):
    monkeypatch.delenv("TFLM_HIL_DEBUG", raising=False)
    result = raising(ZeroDivisionError("by zero"))
    assert result.verdict is Verdict.ERROR
    assert "by zero" in result.reason
    assert (result.judgement.hint, result.evidence.details) == (BUG_HINT, "")


def test_a_bug_has_its_traceback_when_debugging(raising, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_DEBUG", "1")
    assert "ZeroDivisionError: by zero" in raising(ZeroDivisionError("by zero")).evidence.details


def test_exceptions_of_the_caller_are_raised(raising):
    with pytest.raises(Timer):
        raising(Timer(), passing=(Timer,))
    assert raising(Timer()).verdict is Verdict.ERROR


def test_an_interrupt_is_raised(raising):
    with pytest.raises(KeyboardInterrupt):
        raising(KeyboardInterrupt())
