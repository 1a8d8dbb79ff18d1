"""One thread for matrix products: for models of this size, more threads are slower.

The number of a BLAS' threads holds for the whole process. So all interpreters share one count of
users: the first sets one thread, the last restores the number from before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

#: OpenBLAS starts threads from 2^18 products on. Models with so few elements have fewer products.
SMALL = 1 << 12


class _OneThread:
    def __init__(self) -> None:
        # Small models do not need it.
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415

        self._libraries: list[LibController] = (
            ThreadpoolController().select(user_api="blas").lib_controllers
        )
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[int | None] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = [library.num_threads for library in self._libraries]
                self._set([1] * len(self._libraries))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._set(self._before)

    def _set(self, counts: list[int] | list[int | None]) -> None:
        for library, count in zip(self._libraries, counts, strict=True):
            if count is not None:
                # If the process has one pool, threadpoolctl obeys only the thread that set it
                # first; here any thread may be the first or the last, and the lock orders them.
                release = getattr(library, "clear_controlling_thread", lambda **_: None)
                release(force=True)
                library.set_num_threads(count)
                release(force=True)


@cache
def _shared() -> _OneThread:
    return _OneThread()


def one_thread(elements: int) -> AbstractContextManager[None]:
    """A context in which products of matrices of so many elements run on the caller's thread."""
    return nullcontext() if elements <= SMALL else _shared()()
