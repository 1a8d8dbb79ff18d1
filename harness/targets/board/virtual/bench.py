"""A bench folder: running virtual boards, and stand-ins for the tools that flash them.

``bin/`` contains the stand-ins. Each board has a folder named after its serial number, with
``dk.json`` (:class:`PublishedBoard`) and links to its serial ports.
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
    """The properties of a virtual board for discovery. ``ports`` is empty while it is unplugged.

    ``control`` is the path of its control socket, ``debug`` the TCP port of its debug port on the
    loopback interface.
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
        """The table of its kit."""
        return board_table(self.kit)


def write(folder: Path, published: PublishedBoard) -> None:
    """Writes ``dk.json`` atomically."""
    fresh = folder / f".{STATE}.{published.pid}"
    fresh.write_text(json.dumps(asdict(published)), encoding="utf-8")
    fresh.replace(folder / STATE)


def read(folder: Path) -> PublishedBoard | None:
    """The board in ``folder``, or None without a valid ``dk.json``."""
    try:
        values = json.loads((folder / STATE).read_text(encoding="utf-8"))
        values["ports"] = tuple((device, number) for device, number in values["ports"])
        return PublishedBoard(**values)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def published_boards(bench: Path) -> dict[Path, PublishedBoard]:
    """The plugged boards of a bench, by their state folders."""
    if not bench.is_dir():
        return {}
    visible = {folder: read(folder) for folder in sorted(bench.iterdir())}
    return {
        folder: published
        for folder, published in visible.items()
        if published is not None
        and published.ports
        and is_valid_name(published.serial)
        and published.kit in board_names()
    }


def install_tools(bench: Path) -> Path:
    """Writes the stand-ins into ``bench/bin``; returns that folder."""
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
