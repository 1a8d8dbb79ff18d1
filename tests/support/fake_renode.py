"""The other end of the link to Renode: it answers each request with the lines of a table.

The link, the server and the session are the real ones. Lines are those that the agent sends inside
Renode; HANGS and DIES stand for none.
"""

from __future__ import annotations

import ast
import os
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.elf import Image
from harness.targets.renode.link import AgentLink, pipes
from harness.targets.renode.server import RenodeServer
from harness.targets.renode.session import RenodeSession

HANGS, DIES = "hangs", "dies"
#: The lines of an answer, or what gives them for the arguments of the call.
Answer = Sequence[str] | Callable[..., Iterable[str]]
MAIN = 0x40  # of image()


def refused(text: str) -> list[str]:
    """The answer to a request that fails in Renode."""
    return ["failed " + text.encode().hex().upper()]


def ran(
    *lines: str, time: int, executed: int = 0, resets: int = 0, handler: int = 0, stop: str = "time"
) -> list[str]:
    """What the agent sends of a run until ``time`` (ns), which ``stop`` ended."""
    counters = (f"time {time}", f"executed {executed}", f"resets {resets}", f"handler {handler}")
    return [*lines, *counters, f"stop {stop}"]


def image(
    folder: Path,
    table: Sequence[int] = (0x20001000, *[MAIN | 1] * 15),
    function: str = "main",
) -> Image:
    """An image of a vector table at 0, and of a function, which branches to itself."""
    code = struct.pack(f"<{len(table)}I", *table) + bytes.fromhex("fee7")
    path = folder / "image.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, code, load=0, executable=True)],
        [MadeSymbol(function, MAIN | 1, 2, "func")], entry=MAIN | 1,
    ))  # fmt: skip
    return Image.from_elf(path)


class FakeRenode:
    """Answers the calls that ``answers`` names, and every other request with nothing.

    ``run``, unless it is answered otherwise, lets the time pass that it is given.
    """

    def __init__(self, **answers: Answer) -> None:
        self.answers: dict[str, Answer] = {"run": self._run, "Agent": self._restart, **answers}
        self.refuses = self.dies_at = ""  # beginnings of commands
        self.commands: list[str] = []  # of the Monitor
        self.calls: list[str] = []  # of the agent
        self.starts = 0
        self._now = 0  # ns

    def connect(self) -> AgentLink:
        """A process, which runs until the harness closes its end of the link."""
        self.starts += 1
        link, theirs = pipes()
        threading.Thread(target=self._serve, args=theirs, daemon=True).start()
        return link

    def session(self, image: Image, **options: int) -> RenodeSession:
        """A session on a Renode of its own."""
        server = RenodeServer(connect=self.connect)
        return RenodeSession(image, server, owns_server=True, **options)

    def called(self, name: str) -> list[str]:
        """The calls of one method of the agent."""
        return [call for call in self.calls if call.startswith(name + "(")]

    def _serve(self, requests: int, answers: int) -> None:
        with (
            suppress(BrokenPipeError),
            os.fdopen(requests, "rb") as asked,
            os.fdopen(answers, "wb", buffering=0) as out,
        ):
            for request in asked:
                for line in self._answer(*request.decode().rstrip("\n").split(" ", 1)):
                    if line == DIES:
                        return
                    if line == HANGS:
                        break
                    out.write(line.encode() + b"\n")
                    if line.startswith("failed "):
                        break
                else:
                    out.write(b"done\n")

    def _answer(self, kind: str, text: str) -> Iterable[str]:
        if kind == "monitor":
            self.commands.append(text)
            if self.dies_at and text.startswith(self.dies_at):
                return [DIES]
            if self.refuses and text.startswith(self.refuses):
                return refused("Error E39: Exception was thrown during construction\n")
            return ["said "]
        return (line for call in ast.parse(text).body for line in self._carried_out(call))

    def _carried_out(self, statement: ast.stmt) -> Iterable[str]:
        """The answer to a call: ``hil['agent'].run(1, 2, 3)``, ``save_initial_state()``."""
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        called = statement.value
        self.calls.append(ast.unparse(called).removeprefix("hil['agent']."))
        name = ast.unparse(called.func).rpartition(".")[2]
        answer = self.answers.get(name, ())
        if callable(answer):
            return answer(*map(ast.literal_eval, called.args))
        return answer

    def _restart(self, *_: object) -> list[str]:
        self._now = 0
        return []

    def _run(self, budget: int, wall: int, target: int) -> list[str]:
        self._now += budget
        return ran(time=self._now, executed=self._now * 64 // 1000)
