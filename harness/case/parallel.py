"""Cases in parallel, one process per core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from harness.base import signals
from harness.case.case import Case
from harness.case.result import CaseResult
from harness.case.run import Calibrate, run_case

#: Called with each result, in order of completion, and the number of results so far.
Progress = Callable[[CaseResult, int], None]


def run_parallel(
    cases: Mapping[str, Case],
    output: Path,
    progress: Progress | None = None,
    results: dict[str, CaseResult] | None = None,
    calibrate: Calibrate | None = None,
) -> dict[str, CaseResult]:
    """Run ``cases`` and return their results by key. Put the longest cases first.

    A case that raises, or whose process dies, has no result: run it alone to see why. An interrupt
    ends the processes; ``results`` then holds the results before it.
    """
    results = {} if results is None else results
    run = run_case if calibrate is None else partial(run_case, calibrate=calibrate)
    pool = ProcessPoolExecutor(initializer=signals.worker, initargs=(os.getpid(),))
    try:
        futures: dict[Future[CaseResult], str] = {
            pool.submit(run, case, output): key for key, case in cases.items()
        }
        for future in as_completed(futures):
            try:
                result = future.result()
            except BrokenProcessPool:
                break
            except Exception:  # raised again when the case runs alone
                continue
            results[futures[future]] = result
            if progress is not None:
                progress(result, len(results))
    except BaseException:
        _terminate(pool)
        raise
    pool.shutdown()
    return results


def _terminate(pool: ProcessPoolExecutor) -> None:
    """Terminate the workers; the results of their cases are lost."""
    for process in list(pool._processes.values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
