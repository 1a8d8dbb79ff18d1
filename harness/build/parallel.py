"""Parallel work in threads, which mostly wait for compiler processes.

Signals are handled in the main thread, which only waits: they cannot interrupt a step of the work,
such as the removal of a draft.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def _nothing() -> None:
    """Does nothing: the default of ``stop``."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int,
    stop: Callable[[], None] = _nothing,
) -> list[Result]:
    """The results of ``work`` in the order of ``items``, ``jobs`` at a time (0: one per core).

    After the first error, or an interrupt, no further item is started, and ``stop`` is called to
    end those that are running.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            try:
                pool.shutdown(wait=False, cancel_futures=True)
            finally:  # also after a second interrupt
                stop()
            raise
