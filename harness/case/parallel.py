"""Many cases in parallel, one process for each core."""

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

#: Called with each result as it comes, in any order, and how many have come.
Progress = Callable[[CaseResult, int], None]


def run_parallel(
    cases: Mapping[str, Case],
    output: Path,
    progress: Progress | None = None,
    results: dict[str, CaseResult] | None = None,
    calibrate: Calibrate | None = None,
) -> dict[str, CaseResult]:
    """The results of ``cases`` by their keys. The cases that take longest should come first.

    A case that raises, or whose process dies, is left out: run alone, it shows why. An interrupt
    ends the processes; ``results`` then holds what came before it.
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
    """End the workers at once; their cases are lost."""
    for process in list(pool._processes.values()):
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)
