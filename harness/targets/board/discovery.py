"""The boards of this machine: J-Link probes by serial number, and their serial ports.

An nRF9160 DK shows several virtual serial ports. The interface MCU numbers them in the order of
their USB interfaces: VCOM0 carries UART0 of the nRF9160 (the application core's console), VCOM1
the nRF52840 board controller, VCOM2 UART1 of the nRF9160 (TF-M's secure log). The lowest interface
number is therefore the console, unless a lab file names another (see ``how`` of a board).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from harness.base import platforms
from harness.base.errors import EnvironmentMissing, UsageError
from harness.targets.board.identity import BenchBoard, Port, application_port, kit
from harness.targets.board.lab import BoardEntry, Lab, is_valid_name, same_serial


def usb_ports() -> list[Port]:
    """The serial ports that pyserial lists on this machine."""
    from serial.tools import list_ports  # noqa: PLC0415 - start-up of other targets stays light

    return [
        Port(p.device, p.serial_number or "", _interface(p.location), p.vid, p.product or "")
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
    visible = {board.probe.lstrip("0"): board for board in (*_on_bench(folder), *_on_usb(ports()))}
    named = [_named(entry, visible.pop(entry.probe.lstrip("0"), None)) for entry in lab.entries]
    return sorted((*named, *visible.values()), key=lambda board: board.name)


def select(boards: list[BenchBoard], name: str | None = None) -> BenchBoard:
    """The one board with this name, serial number or tag.

    Without a name there has to be exactly one. Raises :class:`UsageError`, which lists them, if
    several fit, and :class:`EnvironmentMissing` if none does.
    """
    fitting = boards if name is None else [b for b in boards if _is(b, name)]
    if not fitting and name is not None:
        fitting = [b for b in boards if name in b.tags]
    if len(fitting) == 1:
        return fitting[0]
    listing = "\n".join(f"    {board}" for board in (fitting or boards))
    if fitting:
        raise UsageError(
            f"{len(fitting)} boards fit and none was named:\n{listing}"
            if name is None
            else f"{len(fitting)} boards fit {name!r}:\n{listing}",
            hint="name one: --board NAME or the environment variable TFLM_HIL_BOARD",
        )
    if name is not None and boards:
        raise EnvironmentMissing(f"no board {name!r}; there are:\n{listing}")
    raise EnvironmentMissing(
        f"no board {name!r} is attached" if name else "no board is attached",
        hint="plug in an nRF9160 DK, name remote boards in lab.toml (docs/lab.md), "
        "or use --target virtual-board",
    )


def _is(board: BenchBoard, name: str) -> bool:
    return board.name == name or (name.isdigit() and same_serial(board.probe, name))


def _on_usb(ports: Iterable[Port]) -> Iterator[BenchBoard]:
    vendors = platforms.board_table().probe.usb_vendors
    probes: dict[str, list[Port]] = {}
    for port in ports:
        if port.vid in vendors and is_valid_name(port.serial):
            probes.setdefault(port.serial.lstrip("0"), []).append(port)
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


def _on_bench(folder: Path | None) -> list[BenchBoard]:
    if folder is None:
        return []
    from harness.targets.board.virtual import bench  # noqa: PLC0415

    return bench.boards(folder)


def _named(entry: BoardEntry, visible: BenchBoard | None) -> BenchBoard:
    """The board of a lab file's entry: the ``visible`` one, overruled by the file."""
    board = visible or BenchBoard(
        entry.name,
        entry.probe,
        port="",
        how="the lab file names no port and the probe is not attached here",
        kit=kit(entry.probe),
    )
    return replace(
        board,
        name=entry.name,
        probe=entry.probe,
        port=entry.port or board.port,
        how="named in the lab file" if entry.port else board.how,
        runner=entry.runner,
        baud=entry.baud,
        tags=(*entry.tags, *board.tags),
        probe_host=entry.probe_host,
        power_cycle=entry.power_cycle or board.power_cycle,
        labgrid=entry.labgrid,
    )


def _bench_of_environment() -> Path | None:
    named = os.environ.get("TFLM_HIL_VIRTUAL_BENCH")
    return Path(named) if named else None
