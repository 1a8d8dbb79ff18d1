"""Cases one after the other: if one cannot be run, the others' results are still there."""

from __future__ import annotations

import os
import time
import traceback
from functools import partial
from pathlib import Path

from harness.base.errors import BUG_HINT, HilError, describe_bug
from harness.case.result import CaseResult, Evidence, Judgement, Measures, Verdict
from harness.case.run import Calibrate, Look, run_case, setup_of
from harness.case.spec import Case


def result_of(
    case: Case,
    output: Path,
    *,
    look: Look | None = None,
    calibrate: Calibrate | None = None,
    passing: tuple[type[Exception], ...] = (),
) -> CaseResult:
    """Run ``case``; if :func:`run_case` raises, the result has the verdict *error* and the reason.

    Exceptions of the types in ``passing`` are raised on: a signal or a timer of the caller raises
    them, not the case.
    """
    started = time.monotonic()
    run = run_case if calibrate is None else partial(run_case, calibrate=calibrate)
    try:
        return run(case, output, look=look)
    except passing:
        raise
    except HilError as error:
        reason, hint, details = error.message, error.hint, ""
    except Exception as error:
        reason, hint = describe_bug(error), BUG_HINT
        details = traceback.format_exc() if os.environ.get("TFLM_HIL_DEBUG") else ""
    return CaseResult(
        setup_of(case),
        Judgement(Verdict.ERROR, reason, hint=hint),
        Evidence(details=details),
        Measures(wall_seconds=time.monotonic() - started),
    )
