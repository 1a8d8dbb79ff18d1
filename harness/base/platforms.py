"""The tables of ``platforms/``: chips (``chips/``), and how boards are wired (``boards/``).

A fact about the nRF9160 or its DK stands there and nowhere else in the package. Reading is strict:
an unknown key, a wrong type, an address outside 32 bits, memories that overlap, or a pin that the
chip does not have raise :class:`UsageError` with the file and the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from harness.base import files, numbers, paths, tables
from harness.base.errors import UsageError
from harness.base.text import short

DEFAULT_CHIP, DEFAULT_BOARD = "nrf9160", "nrf9160dk"


@tables.check("an address: a whole number of 32 bits")
def _address(value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise ValueError(f"{value:#x} is not a number of 32 bits")
    return value


@tables.check("a whole number above 0")
def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError(f"{value} is not above 0")
    return value


@tables.check("`1` or `2`")
def _stop_bits(value: int) -> int:
    if value not in (1, 2):
        raise ValueError(f"{value} is not 1 or 2")
    return value


_Address = Annotated[int, _address]
_Positive = Annotated[int, _positive]


# -- rows of the files ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Soc:
    """Name, processor and clocks."""

    name: str  # as Nordic spells it
    core: str  # as GCC's -mcpu spells it
    fpu: str  # as GCC's -mfpu spells it
    cpu_hz: _Positive
    lfclk_hz: _Positive
    timer_hz: _Positive
    priority_bits: _Positive
    irqs: _Positive
    mpu_regions: _Positive  # of each MPU


@dataclass(frozen=True)
class ToolNames:
    """The names of the chip in flash tools."""

    jlink_device: str
    pyocd_target: str
    nrfjprog_family: str
    debug_interface: str


@dataclass(frozen=True)
class FlashGeometry:
    """Bytes erased, and attributed by the SPU, at once; what writing and erasing take."""

    page: _Positive
    region: _Positive
    writes_per_word: _Positive  # before the next erase
    write_us: _Positive
    erase_page_us: _Positive
    erase_all_us: _Positive


@dataclass(frozen=True)
class RamGeometry:
    """Bytes that the SPU attributes at once."""

    region: _Positive


@dataclass(frozen=True)
class PortPins:
    """Pins of port 0."""

    pins: _Positive


@dataclass(frozen=True)
class FicrWord:
    """A word that the factory programmed."""

    offset: _Address
    value: _Address


@dataclass(frozen=True)
class _MemoryRow:
    origin: _Address
    size: _Positive


@dataclass(frozen=True)
class _PeripheralRow:
    offset: _Address
    bases: tuple[str, ...]
    model: str
    size: _Positive = 0x1000
    irq: int | None = None
    tasks: Mapping[str, _Address] = field(default_factory=dict)


@dataclass(frozen=True)
class _ChipFile:
    sources: Mapping[str, str]
    soc: Soc
    tools: ToolNames
    memory: Mapping[str, _MemoryRow]
    flash: FlashGeometry
    ram: RamGeometry
    ficr: Mapping[str, FicrWord]
    gpio: PortPins
    windows: Mapping[str, _Address]
    peripherals: Mapping[str, _PeripheralRow]


@dataclass(frozen=True)
class UartPins:
    """Pins of port 0 that a UARTE is routed to; None for a line that the board leaves open."""

    txd: int
    rxd: int | None = None
    rts: int | None = None
    cts: int | None = None


@dataclass(frozen=True)
class ConsoleWiring:
    """The UARTE that the host hears, and how the other end is set up.

    With ``flow_control`` the other end drives CTS; else nobody does. ``board`` is for messages.
    """

    uarte: str
    pins: UartPins
    baud: Annotated[int, numbers.baud]
    data_bits: int
    parity: bool
    stop_bits: Annotated[int, _stop_bits]
    flow_control: bool
    board: str = "the board"


@dataclass(frozen=True)
class VirtualPort:
    """A serial port of the board's interface MCU; ``uarte`` if it is one of the chip's."""

    usb_interface: int
    uarte: str = ""


@dataclass(frozen=True)
class ProbeFamily:
    """How the board's debug probe is found and used.

    ``serials`` maps the beginning of a serial number to the kind of board, this one first.
    ``runners`` are the flash tools in the order in which they are tried.
    """

    family: str
    usb_vendors: tuple[int, ...]
    serials: Mapping[str, str]
    speed_khz: _Positive
    runners: tuple[str, ...]


@dataclass(frozen=True)
class Partitions:
    """How flash is divided; ``nonsecure`` is the first address of the non-secure image."""

    nonsecure: _Address


@dataclass(frozen=True)
class _BoardRow:
    name: str
    chip: str
    zephyr: tuple[str, ...]


@dataclass(frozen=True)
class _BoardFile:
    sources: Mapping[str, str]
    board: _BoardRow
    partitions: Partitions
    console: ConsoleWiring
    vcom: Mapping[str, VirtualPort]
    probe: ProbeFamily
    pins: Mapping[str, int]


# -- tables for the package -----------------------------------------------------------------------


@dataclass(frozen=True)
class Area:
    """A stretch of memory: ``size`` bytes from ``origin``."""

    name: str
    origin: int
    size: int

    @property
    def end(self) -> int:
        """The first address behind the area."""
        return self.origin + self.size

    @property
    def addresses(self) -> range:
        """Every address of the area."""
        return range(self.origin, self.end)

    def holds(self, address: int, size: int = 1) -> bool:
        """True if all ``size`` bytes from ``address`` lie in the area."""
        return self.origin <= address and address + size <= self.end


@dataclass(frozen=True)
class Peripheral:
    """One peripheral: where it answers, its interrupt and the model that stands for it."""

    name: str
    offset: int
    size: int
    irq: int | None
    bases: tuple[int, ...]
    model: str
    tasks: Mapping[str, int] = field(default_factory=dict)  # of one without a model: name -> offset

    def task(self, offset: int) -> str:
        """The name of a task, ``PWM0.TASKS_SEQSTART0``; by its offset if the table has none."""
        for name, place in self.tasks.items():
            if place == offset:
                return f"{self.name}.TASKS_{name}"
        return f"{self.name}+0x{offset:03x}"

    @property
    def number(self) -> int:
        """The peripheral's id, bits 19..12 of its address (PS, "Peripheral ID")."""
        return self.offset >> 12 & 0xFF

    @property
    def addresses(self) -> tuple[int, ...]:
        """Absolute base addresses, one per window."""
        return tuple(base + self.offset for base in self.bases)


@dataclass(frozen=True)
class ChipTable(Soc):
    """A chip of ``platforms/chips``: its processor, its memories, its peripherals."""

    tools: ToolNames
    flash: FlashGeometry
    ram: RamGeometry
    gpio: PortPins
    ficr: Mapping[int, int]  # offset -> word
    areas: tuple[Area, ...]
    secure_window: int
    nonsecure_window: int
    blocks: tuple[Peripheral, ...]

    @property
    def windows(self) -> tuple[int, ...]:
        """Where peripherals lie: the secure and the non-secure window."""
        return self.secure_window, self.nonsecure_window

    @property
    def link_hint(self) -> str:
        """The hint of an error about an image whose addresses are not those of the chip."""
        flash, ram = (f"{origin:#x}" if (origin := self.area(name).origin) else "0"
                      for name in ("flash", "ram"))  # fmt: skip
        return f"is it linked for the {self.name} (flash at {flash}, RAM at {ram})?"

    @cached_property
    def _named(self) -> dict[str, Area | Peripheral]:
        named: tuple[Area | Peripheral, ...] = (*self.areas, *self.blocks)
        return {one.name: one for one in named}

    def area(self, name: str) -> Area:
        """The memory called ``name`` (``flash``, ``ram``, ``ficr``, ``uicr``)."""
        found = self._named[name]
        assert isinstance(found, Area)
        return found

    def peripheral(self, name: str) -> Peripheral:
        """The peripheral called ``name`` (``UARTE0``)."""
        found = self._named[name]
        assert isinstance(found, Peripheral)
        return found

    def peripheral_at(self, address: int) -> Peripheral | None:
        """The peripheral that answers at ``address``; None if none does."""
        for one in self.blocks:
            if any(base <= address < base + one.size for base in one.addresses):
                return one
        return None


@dataclass(frozen=True)
class BoardTable:
    """A kind of board, of ``platforms/boards``; ``pins`` are numbers of port 0 by their names."""

    name: str
    chip: ChipTable
    zephyr: tuple[str, ...]
    partitions: Partitions
    console: ConsoleWiring
    vcom: Mapping[str, VirtualPort]
    probe: ProbeFamily
    pins: Mapping[str, int]


# -- reading --------------------------------------------------------------------------------------


@cache
def chip_table(name: str = DEFAULT_CHIP) -> ChipTable:
    """The chip of ``platforms/chips/NAME.toml``."""
    return read_chip_table(paths.platforms() / "chips" / f"{name}.toml")


@cache
def board_table(name: str = DEFAULT_BOARD) -> BoardTable:
    """The board of ``platforms/boards/NAME.toml``."""
    return read_board_table(paths.platforms() / "boards" / f"{name}.toml")


_YES_NO = {"true": True, "false": False}


@dataclass(frozen=True)
class _WiringRow:
    """The keys of a console's wiring, as :func:`console_wiring` reads them."""

    txd: int | None = None
    rxd: int | None = None
    rts: int | None = None
    cts: int | None = None
    uarte: str | None = None
    baud: Annotated[int, numbers.baud] | None = None
    parity: bool | None = None
    stop_bits: Annotated[int, _stop_bits] | None = None
    flow_control: bool | None = None


def console_wiring(text: str) -> ConsoleWiring:
    """How a board hears its console: the name of a table of ``platforms/boards``, or keys.

    ``"uarte=UARTE1 txd=1 rxd=0 baud=1000000"``; further keys are ``rts``, ``cts``, ``parity``,
    ``stop_bits``, ``flow_control``. What is left out is as on the nRF9160 DK; but if a pin is
    named, those that are not are unconnected. Raises :class:`UsageError` that names the key.
    """
    where, words = "console", text.split()
    if len(words) == 1 and "=" not in text:
        known = sorted(path.stem for path in (paths.platforms() / "boards").glob("*.toml"))
        if words[0] not in known:
            raise UsageError(
                f"{where}: no board {short(words[0])}",
                hint=f'one of {", ".join(known)}, or "uarte=UARTE1 txd=1 rxd=0 baud=1000000"',
            )
        return board_table(words[0]).console
    given: dict[str, object] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or key in given:
            raise UsageError(f"{where}: {short(word)} is not a KEY=VALUE of its own")
        given[key] = _YES_NO.get(value, numbers.whole(value))
    return _wiring(tables.read(_WiringRow, given, where), where)


def _wiring(row: _WiringRow, where: str) -> ConsoleWiring:
    table = board_table()
    other = {key: value for key, value in vars(row).items() if value is not None}
    pins = {name: other.pop(name) for name in vars(table.console.pins) if name in other}
    if pins and "txd" not in pins:
        raise UsageError(f"{where}: txd is missing: the pin that the board listens to")
    chosen = UartPins(**pins) if pins else table.console.pins
    wiring = replace(table.console, **other, pins=chosen, board="the board")
    if wiring.uarte not in {one.name for one in table.chip.blocks if one.model == "uarte"}:
        raise UsageError(f"{where}: the {table.chip.name} has no {short(wiring.uarte)}")
    if wiring.flow_control and wiring.pins.cts is None:
        raise UsageError(f"{where}: flow_control needs cts, the pin that the board drives")
    _check_pins(_connected(wiring.pins), table.chip, where)
    return wiring


def _connected(pins: UartPins) -> dict[str, int]:
    return {name: pin for name, pin in vars(pins).items() if pin is not None}


def read_chip_table(path: Path) -> ChipTable:
    """The chip in a file. Raises :class:`UsageError` that names file and key."""
    where = f"chip table {path.name}"
    table = tables.read(_ChipFile, files.read_toml(path), where)
    _check_sources(_ChipFile, table.sources, where)
    if set(table.windows) != {"s", "ns"}:
        raise UsageError(f"{where}: windows are 's' (secure) and 'ns' (non-secure)")
    areas = tuple(Area(name, row.origin, row.size) for name, row in table.memory.items())
    blocks = tuple(_peripheral(name, row, table, where) for name, row in table.peripherals.items())
    for kind, rows in (("memory", areas), ("peripherals", blocks)):
        _check_apart(kind, rows, where)
    _check_ficr(table, where)
    return ChipTable(
        **vars(table.soc),
        tools=table.tools,
        flash=table.flash,
        ram=table.ram,
        gpio=table.gpio,
        ficr={word.offset: word.value for word in table.ficr.values()},
        areas=areas,
        secure_window=table.windows["s"],
        nonsecure_window=table.windows["ns"],
        blocks=blocks,
    )


def read_board_table(path: Path) -> BoardTable:
    """The board in a file. Raises :class:`UsageError` that names file and key."""
    where = f"board table {path.name}"
    table = tables.read(_BoardFile, files.read_toml(path), where)
    _check_sources(_BoardFile, table.sources, where)
    soc = chip_table(table.board.chip)
    names = {block.name for block in soc.blocks}
    uartes = {f"vcom.{key}": port.uarte for key, port in table.vcom.items()}
    for key, uarte in {"console": table.console.uarte, **uartes}.items():
        if uarte and uarte not in names:
            raise UsageError(f"{where}: {key}: the {soc.name} has no {short(uarte)}")
    _check_partitions(table.partitions, soc, where)
    wired = {f"console.pins.{key}": pin for key, pin in _connected(table.console.pins).items()}
    _check_pins({**wired, **{f"pins.{key}": pin for key, pin in table.pins.items()}}, soc, where)
    return BoardTable(
        table.board.name,
        soc,
        table.board.zephyr,
        table.partitions,
        replace(table.console, board=f"the {table.board.name.partition(' (')[0]}"),
        table.vcom,
        table.probe,
        table.pins,
    )


def _check_sources(schema: type, sources: Mapping[str, str], where: str) -> None:
    """Each section has a source, and each source a section."""
    sections = {one.name for one in fields(schema)} - {"sources"}
    for name in sorted(sections - {name for name, text in sources.items() if text.strip()}):
        raise UsageError(f"{where}: sources: no source of [{name}]")
    tables.only(sources, dict.fromkeys(sections), f"{where}, sources")


def _peripheral(name: str, row: _PeripheralRow, table: _ChipFile, where: str) -> Peripheral:
    key = f"{where}: peripherals.{name}"
    for base in row.bases:
        if base not in table.windows:
            raise UsageError(f"{key}: no window {short(base)}", hint="s, ns")
    if not row.bases:
        raise UsageError(f"{key}: bases is empty")
    if row.irq is not None and not 0 <= row.irq < table.soc.irqs:
        raise UsageError(f"{key}: irq {row.irq} is not below {table.soc.irqs}")
    bases = tuple(table.windows[base] for base in row.bases)
    return Peripheral(name, row.offset, row.size, row.irq, bases, row.model, row.tasks)


def _check_apart(kind: str, rows: Iterable[Area | Peripheral], where: str) -> None:
    """No two of ``rows`` share an address."""
    stretches = sorted(
        (origin, origin + row.size, row.name)
        for row in rows
        for origin in ((row.origin,) if isinstance(row, Area) else row.addresses)
    )
    for (_, end, one), (origin, _, other) in pairwise(stretches):
        if origin < end:
            raise UsageError(f"{where}: {kind}: {one} and {other} share address {origin:#010x}")


def _check_ficr(table: _ChipFile, where: str) -> None:
    if "ficr" not in table.memory:
        raise UsageError(f"{where}: memory: 'ficr' is missing")
    taken: dict[int, str] = {}
    for name, word in table.ficr.items():
        if word.offset % 4 or word.offset >= table.memory["ficr"].size:
            raise UsageError(f"{where}: ficr: {name} at {word.offset:#x} is not a word of FICR")
        other = taken.setdefault(word.offset, name)
        if other != name:
            raise UsageError(f"{where}: ficr: {other} and {name} share offset {word.offset:#x}")


def _check_partitions(partitions: Partitions, chip: ChipTable, where: str) -> None:
    """The border is one that the SPU can draw between the worlds."""
    border, flash = partitions.nonsecure, chip.area("flash")
    if not flash.holds(border) or (border - flash.origin) % chip.flash.region:
        raise UsageError(
            f"{where}: partitions.nonsecure: {border:#x} is not the start of a region of flash"
        )


def _check_pins(pins: Mapping[str, int], chip: ChipTable, where: str) -> None:
    """Each pin is one of port 0, and no other's."""
    taken: dict[int, str] = {}
    for name, pin in pins.items():
        if not 0 <= pin < chip.gpio.pins:
            raise UsageError(f"{where}: {name}: the {chip.name} has no P0.{pin}")
        other = taken.setdefault(pin, name)
        if other != name:
            raise UsageError(f"{where}: {other} and {name} are both P0.{pin}")
