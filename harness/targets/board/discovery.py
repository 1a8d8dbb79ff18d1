"""The boards of this machine: J-Link probes by serial number, and their serial ports.

An nRF9160 DK has several virtual serial ports. The interface MCU numbers them in the order of their
USB interfaces: VCOM0 is UART0 of the nRF9160 (the application core's console), VCOM1 the nRF52840
board controller, VCOM2 UART1 of the nRF9160 (TF-M's secure log). The console is therefore the port
with the lowest interface number, unless a lab file names another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import platforms
from harness.base.debug_access import LOOPBACK
from harness.base.errors import EnvironmentMissing, UsageError
from harness.base.platforms import DEFAULT_CHIP
from harness.base.secrets import redacted
from harness.targets.board.lab import BoardEntry, Lab, is_valid_name, same_serial, unpadded


@dataclass(frozen=True)
class Port:
    """A serial port of this machine. ``interface`` is the USB interface number, if known."""

    device: str
    serial: str
    interface: int | None = None
    vid: int | None = None


@dataclass(frozen=True)
class BenchBoard:
    """A board that can be opened.

    ``kit`` is the kind of board, ``chip`` the key of its chip ("" if unknown), ``baud`` 0 the usual
    rate of its kit, ``how`` the reason for the choice of the port. ``unreachable``: the lab file
    names only a probe that is not attached. For virtual boards, ``control`` is the state folder,
    ``remote_probe`` the HOST:PORT of the debug port for pyOCD.
    """

    name: str
    probe: str
    port: str
    ports: tuple[str, ...] = ()
    runner: str = ""
    baud: int = 0
    tags: tuple[str, ...] = ()
    how: str = ""
    kit: str = ""
    chip: str = ""
    probe_host: str = ""
    power_cycle: tuple[str, ...] = ()
    labgrid: str = ""
    control: Path | None = None
    remote_probe: str = ""
    unreachable: bool = False

    @property
    def rate(self) -> int:
        """The baud rate of its port: ``baud``, or that of the kit with its chip."""
        return self.baud or platforms.board_with(self.chip or DEFAULT_CHIP).console.baud

    @property
    def virtual(self) -> bool:
        """True for a virtual board."""
        return self.control is not None

    @property
    def uid(self) -> str:
        """pyOCD's name of the probe."""
        return f"remote:{self.remote_probe}" if self.virtual else unpadded(self.probe)

    @property
    def present(self) -> bool:
        """True if its port is a URL or an existing device."""
        return bool(self.port) and ("://" in self.port or Path(self.port).exists())

    def __str__(self) -> str:
        return f"{self.name} (probe {self.probe}, port {redacted(self.port) or 'unknown'})"


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
    """The kind of board with this serial number, or an empty string."""
    plain = unpadded(serial)
    boards = map(platforms.board_table, platforms.board_names())
    serials = (pair for board in boards for pair in board.probe.serials.items())
    return next((text for prefix, text in serials if plain.startswith(prefix)), "")


def usb_ports() -> list[Port]:
    """The serial ports of this machine, as listed by pyserial."""
    from serial.tools import list_ports  # noqa: PLC0415 - start-up of other targets stays light

    return [
        Port(p.device, p.serial_number or "", _interface(p.location), p.vid)
        for p in list_ports.comports()
    ]


def _interface(location: str | None) -> int | None:
    """The USB interface number of pyserial's location (``1-2:1.0`` is interface 0)."""
    number = (location or "").rpartition(".")[2] if ":" in (location or "") else ""
    return int(number) if number.isdigit() else None


def attached(
    lab: Lab, *, ports: Callable[[], Iterable[Port]] = usb_ports, bench: Path | None = None
) -> list[BenchBoard]:
    """All boards that are attached or named in the lab file, sorted by name.

    ``bench`` is a folder of virtual boards (default ``$TFLM_HIL_VIRTUAL_BENCH``).
    """
    folder = bench or _bench_of_environment()
    virtual = on_bench(folder) if folder else []
    visible = {unpadded(board.probe): board for board in (*virtual, *_on_usb(ports()))}
    named = [_named(entry, visible.pop(unpadded(entry.probe), None)) for entry in lab.entries]
    return sorted((*named, *visible.values()), key=lambda board: board.name)


def select(boards: list[BenchBoard], name: str | None = None) -> BenchBoard:
    """The board with this name, serial number or tag; without a name, the only board.

    Raises :class:`UsageError`, which lists them, if several match, and
    :class:`EnvironmentMissing` if none does.
    """
    fitting = boards if name is None else [b for b in boards if _is(b, name)]
    if not fitting and name is not None:
        fitting = [b for b in boards if name in b.tags]
    if len(fitting) == 1:
        return fitting[0]
    listing = "\n".join(f"    {board}" for board in (fitting or boards))
    if fitting:
        raise UsageError(
            f"{len(fitting)} boards are attached, and none was selected:\n{listing}"
            if name is None
            else f"{len(fitting)} boards match {name!r}:\n{listing}",
            hint="select one: --board NAME or the environment variable TFLM_HIL_BOARD",
        )
    if name is not None and boards:
        raise EnvironmentMissing(f"no board {name!r}; there are:\n{listing}")
    raise EnvironmentMissing(
        f"no board {name!r} is attached" if name else "no board is attached",
        hint="attach a DK, list remote boards in lab.toml (docs/lab.md), "
        "or use --target virtual-board",
    )


@dataclass(frozen=True)
class Discovery:
    """Finds a board by ``name``: its name, serial number or tag.

    ``bench`` is a folder of virtual boards.
    """

    lab: Lab
    name: str | None = None
    bench: Path | None = None

    def find(self) -> BenchBoard:
        """The board with its current ports; raises as :func:`select`."""
        return select(attached(self.lab, bench=self.bench), self.name)


def _is(board: BenchBoard, name: str) -> bool:
    return board.name == name or (name.isdigit() and same_serial(board.probe, name))


def _on_usb(ports: Iterable[Port]) -> Iterator[BenchBoard]:
    boards = map(platforms.board_table, platforms.board_names())
    vendors = {vendor for board in boards for vendor in board.probe.usb_vendors}
    probes: dict[str, list[Port]] = {}
    for port in ports:
        if port.vid in vendors and is_valid_name(port.serial):
            probes.setdefault(unpadded(port.serial), []).append(port)
    for serial, of_probe in probes.items():
        device, how = application_port(of_probe)
        yield BenchBoard(
            name=serial,
            probe=serial,
            port=device,
            ports=tuple(sorted(port.device for port in of_probe)),
            how=how,
            kit=kit(serial),
        )


def on_bench(bench: Path) -> list[BenchBoard]:
    """The virtual boards of a bench folder."""
    from harness.targets.board.virtual.bench import published_boards  # noqa: PLC0415 - it opens boards, too

    boards = []
    for folder, published in published_boards(bench).items():
        ports = [Port(device, published.serial, number) for device, number in published.ports]
        device, how = application_port(ports)
        boards.append(
            BenchBoard(
                name=published.name,
                probe=published.serial,
                port=device,
                ports=tuple(port.device for port in ports),
                runner="pyocd",
                baud=published.baud,
                tags=("virtual",),
                how=how,
                kit=f"virtual {published.table.name}",
                chip=published.table.chip.key,
                control=folder,
                remote_probe=f"{LOOPBACK}:{published.debug}",
            )
        )
    return boards


def _named(entry: BoardEntry, visible: BenchBoard | None) -> BenchBoard:
    """The board of a lab file's entry: the ``visible`` one with the file's values."""
    board = visible or BenchBoard(
        entry.name,
        entry.probe,
        port="",
        how="the lab file names no port and the probe is not attached here",
        kit=kit(entry.probe),
        unreachable=not (entry.port or entry.probe_host or entry.labgrid),
    )
    return replace(
        board,
        name=entry.name,
        probe=entry.probe,
        port=entry.port or board.port,
        how="named in the lab file" if entry.port else board.how,
        runner=entry.runner or board.runner,
        chip=entry.chip or board.chip,
        baud=entry.rate or board.baud,
        tags=(*entry.tags, *board.tags),
        probe_host=entry.probe_host,
        power_cycle=entry.power_cycle or board.power_cycle,
        labgrid=entry.labgrid,
    )


def _bench_of_environment() -> Path | None:
    named = os.environ.get("TFLM_HIL_VIRTUAL_BENCH")
    return Path(named) if named else None
