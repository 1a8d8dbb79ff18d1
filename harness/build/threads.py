"""Work on many things at once, in threads: compilers run in processes of their own anyway."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int) -> list[Result]:
    """``work`` of each item, in their order, ``jobs`` at a time (0: one a core).

    After the first error, or an interrupt, nothing more is begun.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
