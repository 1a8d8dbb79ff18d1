"""The host's steps of a case: text and bytes that it sends, lines that it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.base.clock import Deadline
from harness.base.text import short
from harness.case.case import HostStep
from harness.case.tap import Tap
from harness.targets.base import ConsoleMatch
from harness.targets.session import Session
from harness.uart.lines import LineSplitter
from harness.uart.scrapers.pattern import compile_regex

if TYPE_CHECKING:
    import re2

#: Stops a run at the end of a line.
LINE_END = ConsoleMatch(rb"[\r\n]")


def take_steps(tap: Tap, steps: Sequence[HostStep], deadline: Deadline) -> str:
    """Take the steps in turn; return which one got no answer, "" if none is missing."""
    lines = Lines(tap.session)
    for number, step in enumerate(steps, 1):
        if step.wait is None:
            tap.session.write(step.data)
            continue
        regex = compile_regex(step.wait, "the regex to wait for")
        found = LineSearch(lines, regex)
        tap.until(lambda found=found: found.done() or tap.console.flooded, LINE_END, deadline)  # type: ignore[misc]
        if found.match is None:
            return f"step {number} of {len(steps)}: no line matched {short(step.wait)}"
    return ""


class LineSearch:
    """The search for one regex in text that still comes."""

    def __init__(self, lines: Lines, regex: re2._Regexp) -> None:
        self._lines, self._regex = lines, regex
        self.match: re2._Match[str] | None = None

    def done(self) -> bool:
        """LineSearch the text so far; true once the regex has matched."""
        if self.match is None:  # a search consumes text
            self.match = self._lines.search(self._regex)
        return self.match is not None


class Lines:
    """The text of a session's console that no search has consumed yet, as a case reads it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read = 0  # number of the session's chunks in here
        self._splitter = LineSplitter()
        self._whole: deque[str] = deque()
        self._consumed = 0  # characters of the line that has not ended yet

    def _feed(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            self._whole.append(line.text[self._consumed :])
            self._consumed = 0

    @property
    def unfinished(self) -> str:
        """What has come of the line that has not ended yet."""
        self._read_console()
        return self._splitter.pending

    def cut(self) -> None:
        """End the line that has begun: the device was reset."""
        self._read_console()
        for line in self._splitter.flush():
            self._whole.append(line.text[self._consumed :])
        self._consumed = 0

    def _read_console(self) -> None:
        chunks = self._session.console
        for chunk in chunks[self._read :]:
            self._feed(chunk.data)
        self._read = len(chunks)

    def search(self, regex: re2._Regexp) -> re2._Match[str] | None:
        """The first match in all text so far; it and the text before it are removed."""
        self._read_console()
        while self._whole:
            line = self._whole.popleft()
            match = regex.search(line)
            if match:
                self._whole.appendleft(line[match.end() :])
                return match
        match = regex.search(self._splitter.pending[self._consumed :])
        if match:
            self._consumed += match.end()
        return match
