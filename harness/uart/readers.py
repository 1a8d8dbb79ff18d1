"""Readers of messages that may come on any line, apart for running tests.

A test may provoke errors and faults on purpose. So while a scraper says that a test is running,
lines go to readers of their own, which are dropped when the test ends. The findings of a test that
never ends are kept: they say why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.findings import Finding
from harness.uart import faults, messages
from harness.uart.faults import FaultReader
from harness.uart.lines import Line
from harness.uart.messages import MessageReader

_TRIGGER = re.compile("|".join(map(re.escape, (*faults.TRIGGERS, *messages.TRIGGERS))))


class Readers:
    """Messages and fault dumps of one stretch of the console."""

    def __init__(self) -> None:
        self._messages = MessageReader()
        self._faults = FaultReader()

    def feed(self, line: Line) -> None:
        """Read one line. Almost all lines hold nothing and cost one search."""
        if self._messages.waiting or self._faults.waiting or _TRIGGER.search(line.text):
            self._messages.feed(line)
            self._faults.feed(line)

    def finish(self) -> None:
        """No more lines will come."""
        self._messages.finish()
        self._faults.finish()

    def __iter__(self) -> Iterator[Finding]:
        """The findings so far."""
        yield from self._messages.findings
        yield from self._faults.findings


class OwnedReaders:
    """Readers for lines outside of tests, and for those of the running test."""

    def __init__(self) -> None:
        self._common = Readers()
        self._test: Readers | None = None
        self._owner = 0

    def feed(self, line: Line, owner: int) -> None:
        """Read one line; ``owner`` is the number of the running test, 0 for none."""
        if owner != self._owner:
            self._owner = owner
            self._test = Readers() if owner else None
        (self._test or self._common).feed(line)

    def finish(self) -> None:
        """No more lines will come."""
        self._common.finish()
        if self._test is not None:
            self._test.finish()

    def __iter__(self) -> Iterator[Finding]:
        """The findings outside of tests, and in one that is still running."""
        yield from self._common
        if self._test is not None:
            yield from self._test
