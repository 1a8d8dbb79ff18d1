"""Parallel work in threads, which are enough because compilers run in processes of their own.

Signals reach the main thread alone, which waits here: they never interrupt a step of the work, such
as the removal of a draft.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def _nothing() -> None:
    """Stop work that has no processes."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int,
    stop: Callable[[], None] = _nothing,
) -> list[Result]:
    """``work`` of each item, in the order of the items, ``jobs`` at a time (0: one per core).

    After the first error, or an interrupt, no further item is begun, and ``stop`` is called to cut
    short those under way.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            try:
                pool.shutdown(wait=False, cancel_futures=True)
            finally:  # a second interrupt may come meanwhile
                stop()
            raise
