"""A board on a desk, with a flash tool of a few lines of shell."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serial_pty import SerialPty

from harness.base.errors import EnvironmentMissing
from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import Lab, Policy
from harness.targets.board.lock import ProbeLock
from harness.targets.board.opening import Opening
from harness.targets.board.session import BoardSession

SERIAL = "000960000001"
BOOT = b"*** Booting Zephyr OS ***\r\n"

#: nrfutil as far as the harness calls it: the flash is a file, a reset makes the board speak.
TOOL = """#!/bin/sh
cd {desk}
echo "$2" >> calls
if [ "$2" = "$(cat failing)" ] && [ -s times ]; then
  sed -i 1d times
  echo "no answer from the target"
  exit 1
fi
case "$2" in
  program) cp "$6" flash;;
  fw-verify) cmp "$6" flash;;
  reset) echo > speak;;
esac
"""


class Desk:
    """A board on a desk: its wire, its flash, what its tool was called for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "desk"
        self.tools = self.folder / "bin"
        self.tools.mkdir(parents=True)
        (self.tools / "nrfutil").write_text(TOOL.format(desk=self.folder))
        (self.tools / "nrfutil").chmod(0o755)
        for name in ("calls", "flash", "failing", "times", "cycles"):
            (self.folder / name).touch()
        os.mkfifo(self.folder / "speak")
        self.wire = SerialPty()
        self.says = BOOT
        self.plugged = True
        self.leaves: list[int] = []  # bytes after which it leaves the bus, one for each boot
        self.away_seconds = 0.5
        self._link: Path | None = None
        self._voice = threading.Thread(target=self._speak, daemon=True)
        self._voice.start()

    def _speak(self) -> None:
        while (self.folder / "speak").read_text() == "\n":
            if self.leaves:
                self.wire.send(self.says[: self.leaves.pop(0)])
                time.sleep(0.05)  # what is on the wire arrives
                self.leave()
            else:
                self.wire.send(self.says)

    def leave(self) -> None:
        """Vanish from the bus for a while; the port has another name afterwards."""
        self.plugged = False
        if self._link is not None:
            self._link.unlink()
        self.wire.unplug()
        threading.Timer(self.away_seconds, self._come_back).start()

    def _come_back(self) -> None:
        self.wire = SerialPty()
        self.plugged = True
        if self._link is not None:
            self._link.symlink_to(self.wire.port)

    def follow(self, link: Path) -> None:
        """Give the port a name that stays, as udev does."""
        self._link = link
        link.symlink_to(self.wire.port)

    @property
    def board(self) -> BenchBoard:
        hook = ("sh", "-c", f'echo "{{name}} {{probe}}" >> {self.folder / "cycles"}')
        return BenchBoard("mine", SERIAL, self.wire.port, power_cycle=hook)

    def find(self) -> BenchBoard:
        if not self.plugged:
            raise EnvironmentMissing("no board is attached")
        return self.board

    def fails(self, call: str, times: int) -> None:
        """The tool fails so often at ``call``."""
        (self.folder / "failing").write_text(call)
        (self.folder / "times").write_text("x\n" * times)

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().split()

    @property
    def cycles(self) -> list[str]:
        return (self.folder / "cycles").read_text().splitlines()

    def close(self) -> None:
        (self.folder / "speak").write_text("end")
        self._voice.join()
        self.wire.close()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(tmp_path)
    monkeypatch.setenv("PATH", str(made.tools), prepend=os.pathsep)
    yield made
    made.close()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    policy = Policy(retries=0, backoff=0.0, settle_seconds=5.0, return_seconds=0.1)
    return Lab(policy=policy, state=tmp_path / "state")


@pytest.fixture
def firmware(tmp_path: Path) -> Image:
    path = tmp_path / "image.elf"
    path.write_bytes(wrap([(0, b"the image")]))
    return Image.from_elf(path)


@dataclass(frozen=True)
class Source:
    """Finds the board that ``find`` returns."""

    find: Callable[[], BenchBoard]


Start = Callable[..., BoardSession]


@pytest.fixture
def start(desk: Desk, lab: Lab, firmware: Image) -> Iterator[Start]:
    """Opens a session, closed with the test."""
    with ExitStack() as held:

        def opened(wait: float = 0.0, **options: Any) -> BoardSession:
            chosen = {"lab": lab, "source": desk, "runner": "nrfutil", **options}
            return held.enter_context(Opening(firmware, wait=wait, **chosen).open())

        yield opened


def free(lab: Lab) -> bool:
    return not ProbeLock(SERIAL.lstrip("0"), "mine", state=lab.state).held
