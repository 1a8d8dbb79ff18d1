"""Virtual boards that play transcripts: no simulator and no compiler is needed for the bench."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import needs
import pytest
import standins
from virtual_boards import MisbehavingDk

from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.targets.board import open as open_board
from harness.targets.board.lab import Lab, Policy
from harness.targets.board.session import BoardSession
from harness.uart.records import encode

NAMES = {"sample": "play", "board": "dk", "runtime": "tflm", "model_crc32": "0badcafe"}
TICKS = {"index": 0, "ticks": 5344, "source": "dwt", "hz": 64_000_000, "status": 0}
END = encode(2, "end", {"inferences": 1, "status": 0})


def transcript(build: str, filler: int = 0) -> bytes:
    lines = [encode(0, "boot", NAMES | {"model_bytes": 9, "build": build})]
    lines += [f"line {i:05d} of the transcript\r\n".encode() for i in range(filler)]
    return b"".join([*lines, encode(1, "inference", TICKS), END])


@pytest.fixture
def firmware(tmp_path: Path) -> Callable[..., Image]:
    """An image that prints a transcript when a board that plays runs it."""

    def make(build: str = "alpha", filler: int = 0, text: bytes | None = None) -> Image:
        path = tmp_path / f"{build}.elf"
        path.write_bytes(wrap([(0, transcript(build, filler) if text is None else text)]))
        return Image.from_elf(path)

    return make


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bench; stand-ins for flash tools are on PATH."""
    folder = tmp_path / "bench"
    monkeypatch.setenv("PATH", str(standins.install(folder)), prepend=os.pathsep)
    return folder


@pytest.fixture
def dk(bench: Path) -> Iterator[Callable[..., MisbehavingDk]]:
    """Starts virtual boards on the test's bench; they end with the test."""
    with ExitStack() as held:

        def start(serial: str = "960000001", **options: object) -> MisbehavingDk:
            options.setdefault("play", True)
            options.setdefault("baud", 1_000_000)
            return held.enter_context(MisbehavingDk(bench, serial, **options))

        yield start


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab without second chances, so that each error is seen; its locks are the test's own."""
    policy = Policy(
        retries=0, backoff=0.0, settle_seconds=0.5, flash_seconds=10.0, return_seconds=1.0
    )
    return Lab(policy=policy, state=tmp_path / "state")


@pytest.fixture
def run(bench: Path, lab: Lab) -> Iterator[Callable[..., BoardSession]]:
    """Opens sessions on the bench's boards, closed at the end of the test."""
    with ExitStack() as held:

        def start(firmware: Image, **options: object) -> BoardSession:
            options.setdefault("lab", lab)
            options.setdefault("runner", "nrfutil")
            session = open_board(firmware, bench=bench, **options)  # type: ignore[arg-type]
            return held.enter_context(session)

        yield start


@pytest.fixture
def runner_installed() -> Callable[[str], None]:
    """Skips the test if the runner's program is neither here nor on a bench."""

    def check(runner: str) -> None:
        if runner == "pyocd":
            needs.require("pyocd")

    return check
