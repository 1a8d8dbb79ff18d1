"""A bench folder: virtual boards that run now, and stand-ins for the tools that flash them.

``bin/`` holds the stand-ins. Each board has a folder named after its serial number, with
``dk.json`` (serial number and ports, as a USB bus has them) and the links to its serial ports.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.base.platforms import BoardTable, board_names, board_table
from harness.targets.board.lab import is_valid_name
from harness.targets.board.virtual.standins import STANDINS

STATE = "dk.json"


@dataclass(frozen=True)
class PublishedBoard:
    """A virtual board as discovery sees it. ``ports`` is empty while it is unplugged.

    ``debug`` is the TCP port of its debug port, on the loopback interface.
    """

    name: str
    serial: str
    pid: int
    control: str
    baud: int
    ports: tuple[tuple[str, int], ...]  # (device, USB interface number)
    debug: int
    kit: str  # the name of its table

    @property
    def table(self) -> BoardTable:
        """What kind of board it is."""
        return board_table(self.kit)


def write(folder: Path, presence: PublishedBoard) -> None:
    """Publish ``presence`` atomically."""
    fresh = folder / f".{STATE}.{presence.pid}"
    fresh.write_text(json.dumps(asdict(presence)), encoding="utf-8")
    fresh.replace(folder / STATE)


def read(folder: Path) -> PublishedBoard | None:
    """The board of this folder, or None if there is none."""
    try:
        values = json.loads((folder / STATE).read_text(encoding="utf-8"))
        values["ports"] = tuple((device, number) for device, number in values["ports"])
        return PublishedBoard(**values)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def presences(bench: Path) -> dict[Path, PublishedBoard]:
    """The boards on a bench by their state folders, unplugged ones left out."""
    if not bench.is_dir():
        return {}
    visible = {folder: read(folder) for folder in sorted(bench.iterdir())}
    return {
        folder: presence
        for folder, presence in visible.items()
        if presence is not None
        and presence.ports
        and is_valid_name(presence.serial)
        and presence.kit in board_names()
    }


def install_tools(bench: Path) -> Path:
    """Write the stand-ins into ``bench/bin``; returns that folder."""
    folder = bench / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for tool in STANDINS:
        path = folder / tool
        call = (sys.executable, "-P", "-m", "harness.targets.board.virtual.standins")
        words = shlex.join((*call, str(bench.resolve()), tool))
        fresh = folder / f".{tool}"
        fresh.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(path)
    return folder
