"""A batch in chunks that bound the memory, several at once where there are cores for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

#: How many chunks run at once at the most: each has working memory of its own.
MAX_WORKERS = 4

T = TypeVar("T")


def in_chunks(runs: int, chunk: int, run: Callable[[slice], T]) -> list[T]:
    """``run`` of the slices of up to ``chunk`` of ``runs``, in order.

    NumPy computes without the interpreter's lock, so that threads help. Matrix products must have
    one thread meanwhile: see :mod:`harness.reference.blas`.
    """
    workers = min(MAX_WORKERS, os.cpu_count() or 1, -(-runs // chunk))
    if workers == 1:
        return [run(part) for part in slices(0, runs, chunk)]
    rounds = -(-runs // (chunk * workers))
    parts = slices(0, runs, -(-runs // (rounds * workers)))  # no worker waits in the last round
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, parts))


def slices(first: int, end: int, chunk: int) -> list[slice]:
    """The runs from ``first`` to ``end`` in slices of up to ``chunk``."""
    return [slice(start, min(start + chunk, end)) for start in range(first, end, chunk)]
