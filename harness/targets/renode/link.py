"""The harness's end of the link to a Renode: lines through two pipes (agent/link.py: other end).

No other program can reach this Renode, which opens neither port nor socket.
"""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator

from harness.base.errors import HilError, TargetLost

_CHUNK = 1 << 16  # bytes of one read
_COMPILER_ERROR = re.compile(r"\berror CS\d+:")


class MonitorError(HilError):
    """Renode refused a command; the message quotes Renode."""


class AgentLink:
    """Sends requests to one Renode and reads their answers, one after another.

    ``requests`` and ``answers`` are file descriptors, which :meth:`close` closes. Every request has
    a wall-clock limit: its own, or ``timeout``, which is longer on a machine that others use.
    :class:`TargetLost` is raised if Renode does not answer in time or has ended,
    :class:`MonitorError` if it refuses the request.
    """

    def __init__(self, requests: int, answers: int, *, timeout: float = 30.0) -> None:
        self.timeout = timeout
        self._requests, self._answers = requests, answers
        self._rest = b""
        self._closed = False
        self._waiting = False  # an answer has not been read completely

    def ready(self, timeout: float) -> None:
        """Wait until Renode has started."""
        self._answer("its start", timeout, None)

    def command(self, text: str, *, timeout: float = 0.0) -> str:
        """Carry out one command of Renode's Monitor and return its output."""
        lines = self._ask(f"monitor {text}", timeout, None)
        printed = "".join(line.removeprefix("said ") for line in lines)
        return bytes.fromhex(printed).decode("utf-8", "backslashreplace")

    def call(
        self, python: str, *, timeout: float = 0.0, take: Callable[[str], None] | None = None
    ) -> list[str]:
        """Run ``python`` in the agent's namespace and return the lines of its answer.

        If given, ``take`` is called with each line on arrival instead: none is lost with Renode.
        """
        return self._ask(f"agent {python}", timeout, take)

    def _ask(self, request: str, timeout: float, take: Callable[[str], None] | None) -> list[str]:
        if "\n" in request:
            raise ValueError(f"a request is one line: {request[:80]!r}")
        if self._waiting or self._closed:
            raise TargetLost("the connection to Renode was broken off in the middle of an answer")
        self._waiting = True
        try:
            data = request.encode() + b"\n"
            while data:
                data = data[os.write(self._requests, data) :]
        except OSError as error:
            raise TargetLost("lost the connection to Renode: it has ended") from error
        return self._answer(request[:60], timeout or self.timeout, take, exact=bool(timeout))

    def _answer(
        self,
        request: str,
        timeout: float,
        take: Callable[[str], None] | None,
        *,
        exact: bool = False,
    ) -> list[str]:
        lines: list[str] = []
        for line in self._lines(request, timeout, exact=exact):
            word, _, text = line.partition(" ")
            self._waiting = word not in ("done", "failed")
            if word == "done":
                break
            if word == "failed":
                raise MonitorError(f"Renode: {_first_line(bytes.fromhex(text).decode())}")
            (take or lines.append)(line)
        return lines

    def _lines(self, request: str, timeout: float, *, exact: bool) -> Iterator[str]:
        """The lines of an answer; without ``exact`` it may take longer on a busy machine."""
        start = time.monotonic()
        while True:
            head, mark, rest = self._rest.partition(b"\n")
            if mark:
                self._rest = rest
                yield head.decode("ascii", "backslashreplace")
                continue
            if not (
                self._has_more(start + timeout)
                or (not exact and self._has_more(start + timeout * _busy()))
            ):
                raise TargetLost(
                    f"Renode did not answer {request} within {timeout:g} s",
                    hint="the emulation hangs; raise the wall-clock guard if it is only slow",
                )
            data = os.read(self._answers, _CHUNK)
            if not data:
                raise TargetLost("lost the connection to Renode: it has ended")
            self._rest += data

    def _has_more(self, end: float) -> bool:
        """Whether there is something to read, or the end of it, before ``end``."""
        remaining = max(0.0, end - time.monotonic())
        return bool(select.select([self._answers], [], [], remaining)[0])

    def close(self) -> None:
        """Close this end of the link; safe to call twice."""
        if not self._closed:
            self._closed = True
            os.close(self._requests)
            os.close(self._answers)


def _busy() -> float:
    """How many times longer than on an idle machine a program waits for a processor, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _first_line(text: str) -> str:
    """The line that says most: the compiler's first error in a model, or the first of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = (line for line in lines if _COMPILER_ERROR.search(line))
    first = " ".join(lines[:2]) if lines and lines[0].endswith(":") else "".join(lines[:1])
    return next(errors, first or "no reason given")


def pipes() -> tuple[AgentLink, tuple[int, int]]:
    """Return a link, and Renode's two descriptors: to read requests and to write answers."""
    read_requests, write_requests = os.pipe()
    read_answers, write_answers = os.pipe()
    return AgentLink(write_requests, read_answers), (read_requests, write_answers)
