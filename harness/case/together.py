"""Run many cases at once, one process a core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from harness.case.result import CaseResult
from harness.case.run import run_case
from harness.case.spec import Case

#: Called with each result as it comes, in no order, and how many came so far.
Progress = Callable[[CaseResult, int], None]


def run_together(
    cases: Sequence[Case], output: Path, progress: Progress | None = None
) -> dict[str, CaseResult]:
    """The results of ``cases`` by name; what takes longest should stand first.

    A case that raises, or whose process dies, is left out: who runs it alone sees why.
    """
    results: dict[str, CaseResult] = {}
    with ProcessPoolExecutor() as pool:
        futures: list[Future[CaseResult]] = [pool.submit(run_case, case, output) for case in cases]
        for future in as_completed(futures):
            try:
                result = future.result()
            except BrokenProcessPool:
                break
            except Exception:  # raised again, in a place of its own, where the case runs alone
                continue
            results[result.name] = result
            if progress is not None:
                progress(result, len(results))
    return results
