"""A bench folder: the virtual boards that run.

Each board has a folder named after its serial number, with ``dk.json`` (:class:`PublishedBoard`)
and links to its serial ports.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.base.platforms import BoardTable, board_names, board_table
from harness.targets.board.lab import is_valid_name

STATE = "dk.json"


@dataclass(frozen=True)
class PublishedBoard:
    """The properties of a virtual board for discovery. A board without ``ports`` is not found.

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
    """The boards of a bench, by their state folders."""
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
