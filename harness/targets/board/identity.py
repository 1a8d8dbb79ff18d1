"""The identity of a board: its probe, its serial ports, and which of them is the console."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base import platforms
from harness.targets.board.lab import BAUD


@dataclass(frozen=True)
class Port:
    """A serial port of this machine. ``interface`` is the USB interface number, if known."""

    device: str
    serial: str
    interface: int | None = None
    vid: int | None = None
    product: str = ""


@dataclass(frozen=True)
class BenchBoard:
    """A board that can be opened.

    ``how`` says how the port was chosen. ``tools`` is a folder that is searched for flash tools
    before PATH (the stand-ins of a virtual board), ``control`` a virtual board's state folder.
    """

    name: str
    probe: str
    port: str
    ports: tuple[str, ...] = ()
    runner: str = ""
    baud: int = BAUD
    tags: tuple[str, ...] = ()
    how: str = ""
    kit: str = ""
    probe_host: str = ""
    power_cycle: tuple[str, ...] = ()
    labgrid: str = ""
    tools: str = ""
    control: Path | None = None

    @property
    def virtual(self) -> bool:
        """True if the built-in simulator is behind the port."""
        return self.control is not None

    @property
    def present(self) -> bool:
        """True if its port can be opened as far as this machine can see."""
        return bool(self.port) and ("://" in self.port or Path(self.port).exists())

    def __str__(self) -> str:
        return f"{self.name} (probe {self.probe}, port {self.port or 'unknown'})"


def application_port(ports: list[Port]) -> tuple[str, str]:
    """The application core's console among a probe's ports, and how it was chosen."""
    if len(ports) == 1:
        return ports[0].device, "the probe's only serial port"
    numbered = [p for p in ports if p.interface is not None]
    if len(numbered) == len(ports):
        first = min(numbered, key=lambda p: p.interface or 0)
        return first.device, f"VCOM0: lowest USB interface ({first.interface}) of {len(ports)}"
    first = min(ports, key=lambda p: (len(p.device), p.device))
    return first.device, f"lowest device name of {len(ports)}: interface numbers are not known"


def kit(serial: str) -> str:
    """The kind of board that the serial number belongs to, or an empty string."""
    plain = serial.lstrip("0")
    serials = platforms.board_table().probe.serials.items()
    return next((text for prefix, text in serials if plain.startswith(prefix)), "")
