"""Virtual boards that misbehave: in a process, in a thread, and without an event loop."""

from __future__ import annotations

import os
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import misbehaviour
import pytest
from forked_python import SERVER
from misbehaving_board import MisbehavingBoard, SwitchedChip, TranscriptChip
from port_client import PortClient

from harness.base.platforms import board_table, chip_table
from harness.elf.hexfile import Block
from harness.targets.board.virtual.client import VirtualDk, call
from harness.targets.board.virtual.server import Server, VirtualBoard

SERIAL = "960000001"


class MisbehavingDk(VirtualDk):
    """A misbehaving board in a process; with ``play`` it prints the text in its flash."""

    def __init__(
        self,
        bench: Path,
        serial: str,
        *,
        misbehave: Iterable[str] = (),
        play: bool = False,
        **options: Any,
    ) -> None:
        wrong = tuple(misbehave)
        misbehaviour.parse(wrong)
        options_of_its_own = [*(["--play"] if play else []), *(f"--misbehave={w}" for w in wrong)]
        _, *self.program = SERVER.program("misbehaving_board", *options_of_its_own)
        super().__init__(bench, serial, **options)

    def do(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request through the control socket."""
        return call(self.folder, operation, **arguments)


class ThreadDk:
    """A board that lives in a thread until it is closed."""

    def __init__(
        self, bench: Path, serial: str = SERIAL, *, chip: SwitchedChip | None = None, **options: Any
    ) -> None:
        chip = chip or TranscriptChip(board_table())
        self.board = MisbehavingBoard(bench, serial, chip, **options)
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
Plugged = Callable[..., MisbehavingBoard]


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

        def made(text: bytes = TEXT, **options: Any) -> MisbehavingBoard:
            board = MisbehavingBoard(tmp_path, SERIAL, Recorder(), **{"baud": 1_000_000, **options})
            held.callback(board.close)
            board.plug()
            board.turn()
            poke(board, 0, text)
            board.chip.steps = 0
            return board

        yield made


# -- at its serial port ---


def set_rate(handle: int, rate: int) -> None:
    settings = termios.tcgetattr(handle)
    settings[4] = settings[5] = getattr(termios, f"B{rate}")
    termios.tcsetattr(handle, termios.TCSANOW, settings)


def port(board: VirtualBoard, rate: int = 0) -> int:
    """The host's end of the console, open at the board's rate or another."""
    handle = os.open(board.terminals[0].link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    set_rate(handle, rate or board.baud)
    return handle


def heard(board: VirtualBoard, handle: int, enough: Callable[[bytes], bool]) -> bytes:
    """What comes at ``handle`` until it is enough, or nothing more can come."""
    got = b""
    limit = time.monotonic() + 3
    while not enough(got) and time.monotonic() < limit:
        board.turn()
        try:
            got += os.read(handle, 4096)
        except BlockingIOError:
            if board.chip.idle and not board.line.waiting and not board.outgoing:
                break
        except OSError:
            break  # it was unplugged
    return got


def everything(board: VirtualBoard, handle: int) -> bytes:
    return heard(board, handle, lambda _: False)


# -- at its debug port ---


@contextmanager
def client(dk: ThreadDk) -> Iterator[PortClient]:
    """A client that has halted the core."""
    with PortClient(dk.board.server.number, chip_table()) as port:
        port.halt()
        yield port


def write(dk: ThreadDk, *blocks: Block) -> None:
    """What a tool does: erase what is touched, and write."""
    with client(dk) as port:
        port.erase_pages(blocks)
        port.program(blocks)


def read(dk: ThreadDk, address: int, size: int) -> bytes:
    with PortClient(dk.board.server.number, chip_table()) as port:
        return port.read(address, size)


def settle(dk: ThreadDk) -> None:
    """Wait until the board has noticed that its clients have gone."""
    limit = time.monotonic() + 5
    while dk.board.server.connected and time.monotonic() < limit:
        time.sleep(0.002)
