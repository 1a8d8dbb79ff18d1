"""One case after another: what cannot be run has a result that says why."""

from __future__ import annotations

import pytest

from harness.base.errors import BUG_HINT, UsageError
from harness.case import each
from harness.case.result import Verdict
from harness.case.spec import Case


class Timer(Exception):
    """What a caller's signal raises."""


@pytest.fixture
def raising(monkeypatch, tmp_path):
    """The result of a case that cannot be run: this is raised."""

    def run(error: BaseException, **more):
        def raise_it(case, output, *, look=None):
            raise error

        monkeypatch.setattr(each, "run_case", raise_it)
        return each.result_of(Case("own"), tmp_path, **more)

    return run


def test_what_cannot_be_run_is_an_error_with_its_reason_and_what_to_do(raising):
    result = raising(UsageError("no such thing", hint="try another"))
    assert (result.verdict, result.reason) == (Verdict.ERROR, "no such thing")
    assert (result.name, result.judgement.hint) == ("own", "try another")
    assert 0 <= result.measures.wall_seconds < 60


def test_a_mistake_of_the_harness_is_called_one(raising, monkeypatch):
    monkeypatch.delenv("TFLM_HIL_DEBUG", raising=False)
    result = raising(ZeroDivisionError("by zero"))
    assert result.verdict is Verdict.ERROR
    assert "by zero" in result.reason
    assert (result.judgement.hint, result.evidence.details) == (BUG_HINT, "")


def test_who_debugs_sees_where_it_was_made(raising, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_DEBUG", "1")
    assert "ZeroDivisionError: by zero" in raising(ZeroDivisionError("by zero")).evidence.details


def test_what_the_caller_lets_pass_is_not_the_cases(raising):
    with pytest.raises(Timer):
        raising(Timer(), passing=(Timer,))
    assert raising(Timer()).verdict is Verdict.ERROR


def test_an_interrupt_is_never_a_result(raising):
    with pytest.raises(KeyboardInterrupt):
        raising(KeyboardInterrupt())
