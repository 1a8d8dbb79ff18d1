"""Parallel work in threads, which are enough because compilers run in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int) -> list[Result]:
    """``work`` of each item, in the order of the items, ``jobs`` at a time (0: one per core).

    After the first error, or an interrupt, no further item is begun.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
