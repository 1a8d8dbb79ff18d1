"""Limits BLAS to one thread: products of this size are slower with more.

The thread count of a BLAS is a property of the process. All interpreters therefore share one count
of users: the first one sets one thread, the last one restores the previous number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

#: OpenBLAS uses threads from 2^18 multiplications on; a model with at most so many elements has
#: fewer in each operator.
SMALL = 1 << 12


class _ThreadLimit:
    """The shared limit; entering is reentrant and thread-safe."""

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - small models need none

        self._libraries: list[LibController] = (
            ThreadpoolController().select(user_api="blas").lib_controllers
        )
        self._lock = threading.Lock()
        self._users = 0
        self._previous: list[int | None] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._previous = [library.num_threads for library in self._libraries]
                self._set([1] * len(self._libraries))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._set(self._previous)

    def _set(self, counts: list[int] | list[int | None]) -> None:
        for library, count in zip(self._libraries, counts, strict=True):
            if count is not None:
                # threadpoolctl ties a shared pool to the first thread that limits it. Here any
                # thread may be the first or the last user; the lock serializes them.
                release = getattr(library, "clear_controlling_thread", lambda **_: None)
                release(force=True)
                library.set_num_threads(count)
                release(force=True)


@cache
def _shared() -> _ThreadLimit:
    return _ThreadLimit()


def one_thread(elements: int) -> AbstractContextManager[None]:
    """A context in which a model of so many elements computes its products on one thread."""
    return nullcontext() if elements <= SMALL else _shared()()
