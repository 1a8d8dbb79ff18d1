"""A virtual board that is plugged in, and what its host does with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from virtual_bench import SERIAL

from harness.targets.board.virtual.chip import TranscriptChip
from harness.targets.board.virtual.server import VirtualBoard

TEXT = b"0123456789" * 20
Plugged = Callable[..., VirtualBoard]


class Recorder(TranscriptChip):
    """A transcript that remembers what it was sent and how often it was asked to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.fed = b""
        self.steps = 0
        self.ram = {0x2000_0000: b"abcd"}
        self.pins: dict[int, bool | None] = {}

    def feed(self, data: bytes) -> None:
        self.fed += data

    def step(self, seconds: float) -> bytes:
        self.steps += 1
        return super().step(seconds)

    def read(self, address: int, size: int) -> bytes:
        if address not in self.ram:
            raise ValueError(f"no memory at 0x{address:08x}")
        return self.ram[address][:size]

    def write(self, address: int, data: bytes) -> None:
        self.ram[address] = data

    def read_pin(self, pin: int) -> bool:
        return self.pins[pin] is not False

    def drive_pin(self, pin: int, level: bool | None) -> None:
        self.pins[pin] = level


@pytest.fixture
def plugged(tmp_path: Path) -> Iterator[Plugged]:
    """A board on the bus, with a text in its flash."""
    with ExitStack() as held:

        def made(text: bytes = TEXT, **options: Any) -> VirtualBoard:
            board = VirtualBoard(tmp_path, SERIAL, Recorder(), **{"baud": 1_000_000, **options})
            board.store.program(0, text)
            held.callback(board.close)
            board.plug()
            return board

        yield made
