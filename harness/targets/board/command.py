"""Runs external programs, such as flash tools.

A tool may hang, leave child processes behind or print endlessly. So each call has a time limit, a
limited output, and a process group that is killed at its end.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from harness.base.errors import EnvironmentMissing

#: Placeholder in ``Command.argv`` for the file with ``Command.script``.
SCRIPT = "{script}"

_OUTPUT_LIMIT = 256 * 1024
#: Seconds to read on after a tool has ended, if a child process keeps its output open.
_DRAIN_SECONDS = 0.5


@dataclass(frozen=True)
class Command:
    """A call of an external program, limited to ``timeout`` seconds.

    Some tools end with exit code 0 although they failed. The call fails if any of the regexes
    ``failures`` matches the output, or if ``success`` does not.
    """

    argv: tuple[str, ...]
    timeout: float
    script: str = ""
    failures: tuple[str, ...] = ()
    success: str = ""
    folder: Path | None = None  # working directory

    @property
    def program(self) -> str:
        """The name of the program, to be searched on PATH."""
        return self.argv[0]

    def __str__(self) -> str:
        """The shell command, with the lines of the script below it."""
        text = shlex.join(self.argv).replace(shlex.quote(SCRIPT), SCRIPT)
        if self.folder is not None:
            text = f"cd {shlex.quote(str(self.folder))} && {text}"
        lines = [text, *(f"    | {line}" for line in self.script.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True)
class ToolOutput:
    """The result of a call. ``hung``: the program was killed at its time limit."""

    command: Command
    returncode: int | None
    text: str = field(repr=False)
    seconds: float
    hung: bool = False

    @property
    def ok(self) -> bool:
        """True if the tool succeeded, by its exit code and output."""
        return not self.problem

    @property
    def problem(self) -> str:
        """The reason for the failure, or an empty string."""
        program = Path(self.command.program).name
        if self.hung:
            return f"{program} did not end within {self.command.timeout:g} s and was stopped"
        if self.returncode:
            return f"{program} ended with exit code {self.returncode}"
        for pattern in self.command.failures:
            if match := re.search(pattern, self.text, re.IGNORECASE):
                return f"{program} ended with exit code 0 but printed {match.group(0)!r}"
        if self.command.success and not re.search(self.command.success, self.text, re.IGNORECASE):
            return f"{program} ended with exit code 0 but did not print {self.command.success!r}"
        return ""

    def tail(self, lines: int = 12) -> str:
        """The last lines of the output, for an error message."""
        printed = [line.rstrip() for line in self.text.splitlines() if line.strip()]
        return "\n".join(f"    {line}" for line in printed[-lines:]) or "    (it printed nothing)"


def find(program: str, search_path: str | None = None) -> str | None:
    """The program's full path, or None; ``search_path`` is in the form of ``PATH``."""
    return shutil.which(program, path=search_path)


def run(
    command: Command,
    *,
    search_path: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> ToolOutput:
    """Runs ``command`` to its end or its time limit, and kills its remaining child processes.

    Raises :class:`EnvironmentMissing` if the program is not on the search path.
    """
    program = find(command.program, search_path)
    if program is None:
        raise EnvironmentMissing(
            f"the program {command.program!r} is not on PATH",
            hint="install it, or choose another runner (docs/lab.md lists their programs)",
        )
    surroundings = dict(os.environ)
    if search_path is not None:
        surroundings["PATH"] = search_path
    surroundings.update(environment or {})
    with tempfile.TemporaryDirectory(prefix="tflm-hil-") as folder:
        script = Path(folder) / "commands"
        if command.script:
            script.write_text(command.script, encoding="utf-8")
        argv = [program, *(part.replace(SCRIPT, str(script)) for part in command.argv[1:])]
        return _run(command, argv, surroundings)


def _run(command: Command, argv: list[str], environment: dict[str, str]) -> ToolOutput:
    started = time.monotonic()
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=command.folder,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        try:
            text, hung = _collect(child, child.stdout, started + command.timeout)
        finally:
            _end_group(child)
    seconds = time.monotonic() - started
    return ToolOutput(command, None if hung else child.returncode, text, seconds, hung)


def _collect(child: subprocess.Popen[bytes], pipe: IO[bytes], limit: float) -> tuple[str, bool]:
    output = bytearray()
    drain_until = float("inf")
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            ended = child.poll() is not None
            if ended and drain_until == float("inf"):
                drain_until = now + _DRAIN_SECONDS
            if now >= min(limit, drain_until):
                break
            if not selector.select(min(0.05, limit - now)):
                continue
            chunk = os.read(pipe.fileno(), 65536)
            if not chunk:
                break
            output += chunk
            if len(output) > _OUTPUT_LIMIT:
                del output[: len(output) - _OUTPUT_LIMIT]
    try:
        child.wait(max(0.0, limit - time.monotonic()))
        hung = False
    except subprocess.TimeoutExpired:
        hung = True
    return output.decode("utf-8", "backslashreplace"), hung


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kills the process group of the child."""
    with suppress(ProcessLookupError, PermissionError):  # all processes have ended
        os.killpg(child.pid, signal.SIGKILL)
