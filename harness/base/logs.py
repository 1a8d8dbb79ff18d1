"""Showing the package's log.

Every module logs to ``logging.getLogger(__name__)``: progress at INFO, calls of tools and their
output at DEBUG. The command line and Robot keywords show it with :func:`shown`; Robot Framework and
pytest keep it in their own logs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.base.secrets import redacted

_PACKAGE = logging.getLogger("harness")


class _Shown(logging.Handler):
    def __init__(self, show: Callable[[str], None], level: int) -> None:
        super().__init__(level)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(redacted(record.getMessage()))


@contextmanager
def shown(show: Callable[[str], None], level: int = logging.INFO) -> Iterator[None]:
    """Pass each message of at least ``level`` to ``show`` within the block."""
    handler, before = _Shown(show, level), _PACKAGE.level
    _PACKAGE.addHandler(handler)
    _PACKAGE.setLevel(min(level, before or level))
    try:
        yield
    finally:
        _PACKAGE.removeHandler(handler)
        _PACKAGE.setLevel(before)
