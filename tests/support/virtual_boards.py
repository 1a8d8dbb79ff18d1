"""Virtual boards in this process: one behind its control socket in a thread, one without a loop."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.base.platforms import board_table
from harness.targets.board.virtual.chip import TranscriptChip, VirtualChip
from harness.targets.board.virtual.client import call
from harness.targets.board.virtual.server import Server, VirtualBoard

SERIAL = "960000001"


class ThreadDk:
    """A board that lives in a thread until it is closed."""

    def __init__(
        self, bench: Path, serial: str = SERIAL, *, chip: VirtualChip | None = None, **options: Any
    ) -> None:
        self.board = VirtualBoard(bench, serial, chip or TranscriptChip(board_table()), **options)
        self._sockets = tempfile.TemporaryDirectory(prefix="dk-")
        ours, self._parent = os.pipe()
        self._ours = ours
        server = Server(self.board, Path(self._sockets.name) / "control", ours)
        self.board.plug()
        self._thread = threading.Thread(target=server.serve, daemon=True)
        self._thread.start()

    def do(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request through the control socket."""
        return call(self.board.folder, operation, **arguments)

    def close(self) -> None:
        """What a parent's end does: the loop ends, the board leaves the bench."""
        os.close(self._parent)
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()
        os.close(self._ours)
        self.board.close()
        self._sockets.cleanup()

    def __enter__(self) -> ThreadDk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def poke(board: VirtualBoard, address: int, data: bytes) -> None:
    """Write memory past everything."""
    assert board.chip.port is not None
    board.chip.port.machine.write_memory(address, data)


def peek(board: VirtualBoard, address: int, size: int) -> bytes:
    """Memory as it is."""
    assert board.chip.port is not None
    return board.chip.port.machine.read_memory(address, size)


TEXT = b"0123456789" * 20
Plugged = Callable[..., VirtualBoard]


class Recorder(TranscriptChip):
    """A transcript that remembers what it was sent and how often it was asked to go on."""

    def __init__(self) -> None:
        super().__init__(board_table())
        self.fed = b""
        self.steps = 0

    def feed(self, data: bytes) -> None:
        self.fed += data

    def step(self, seconds: float) -> bytes:
        self.steps += 1
        return super().step(seconds)


@pytest.fixture
def plugged(tmp_path: Path) -> Iterator[Plugged]:
    """A board on the bus, with a text in its flash."""
    with ExitStack() as held:

        def made(text: bytes = TEXT, **options: Any) -> VirtualBoard:
            board = VirtualBoard(tmp_path, SERIAL, Recorder(), **{"baud": 1_000_000, **options})
            held.callback(board.close)
            board.plug()
            board.turn()
            poke(board, 0, text)
            board.chip.steps = 0
            return board

        yield made
