"""The tables of ``platforms/``: chips (``chips/``), and how boards are wired (``boards/``).

A fact about a chip or a board stands there and nowhere else in the package. One that differs from
another in few facts is ``like`` it, and its table has only these. Reading is strict: an unknown
key, a wrong type, an address outside 32 bits, memories that overlap, or a pin that the chip does
not have raise :class:`UsageError` with the file and the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from harness.base import files, numbers, paths, tables
from harness.base.errors import UsageError
from harness.base.findings import Finding, Kind
from harness.base.text import short

DEFAULT_CHIP, DEFAULT_BOARD = "nrf9160", "nrf9160dk"
#: Sections of a board that are its own, whatever board it is like.
_WHOLE = frozenset(("vcom", "pins"))
#: ``model`` of a peripheral that keeps what is written, and does nothing else.
STORAGE = "storage"


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
    dppi_channels: _Positive
    easydma_bits: _Positive  # of MAXCNT of a UARTE


@dataclass(frozen=True)
class ToolNames:
    """The names of the chip in flash tools."""

    jlink_device: str
    pyocd_target: str
    nrfjprog_family: str
    debug_interface: str


@dataclass(frozen=True)
class ZephyrNames:
    """How Zephyr's Kconfig names the chip, without ``CONFIG_SOC_``."""

    soc: str


@dataclass(frozen=True)
class DebugIds:
    """What the debug port answers: DPIDR, TARGETID, and IDR of each access port by its number.

    ``core``, ``other`` and ``control`` are the numbers of the core's access port, of the other
    domain's, and of Nordic's own (CTRL-AP). ``approtect`` and ``secureapprotect``: offsets in UICR
    of words of which any value but all ones protects.
    """

    dpidr: _Address
    targetid: _Address
    core: int
    other: int
    control: int
    memory_idr: _Address
    other_idr: _Address
    control_idr: _Address
    rom_table: _Address
    approtect: _Address
    secureapprotect: _Address

    @property
    def idr(self) -> Mapping[int, int]:
        """IDR by the number of the access port."""
        return {
            self.core: self.memory_idr,
            self.other: self.other_idr,
            self.control: self.control_idr,
        }


@dataclass(frozen=True)
class ResetReasons:
    """Bits of RESETREAS: the reset pin, the watchdog, a pin in System OFF, SYSRESETREQ."""

    pin: int
    dog: int
    off: int
    soft: int


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
class InformationWord:
    """A word of FICR, as the factory programmed it, or of UICR, as a first boot leaves it."""

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
    dma: bool = False
    split: bool = False


@dataclass(frozen=True)
class _ChipFile:
    sources: Mapping[str, str]
    soc: Soc
    tools: ToolNames
    zephyr: ZephyrNames
    debug: DebugIds
    resetreas: ResetReasons
    memory: Mapping[str, _MemoryRow]
    flash: FlashGeometry
    ram: RamGeometry
    ficr: Mapping[str, InformationWord]
    uicr: Mapping[str, InformationWord]
    gpio: PortPins
    windows: Mapping[str, _Address]
    peripherals: Mapping[str, _PeripheralRow]
    notes: tuple[str, ...] = ()


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
    dma: bool = False  # the SPU has a security attribute of its own for its EasyDMA
    split: bool = False  # registers are divided between the security states

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

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        """Absolute base addresses, one per window."""
        return tuple(base + self.offset for base in self.bases)


@dataclass(frozen=True)
class ChipTable(Soc):
    """A chip of ``platforms/chips``: its processor, its memories, its peripherals.

    ``key`` is the name of its file; ``notes`` say what of it is not modelled, or only believed.
    """

    key: str
    notes: tuple[str, ...]
    sources: Mapping[str, str]
    tools: ToolNames
    zephyr: ZephyrNames
    debug: DebugIds
    resetreas: ResetReasons
    flash: FlashGeometry
    ram: RamGeometry
    gpio: PortPins
    ficr: Mapping[int, int]  # offset -> word
    uicr: Mapping[int, int]  # offset -> word, after the first boot
    areas: tuple[Area, ...]
    secure_window: int
    nonsecure_window: int
    blocks: tuple[Peripheral, ...]

    @property
    def approximations(self) -> list[Finding]:
        """The notes, as they stand in each result."""
        return [Finding(Kind.APPROXIMATION, note, self.name) for note in self.notes]

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

    @property
    def without_model(self) -> tuple[Peripheral, ...]:
        """The peripherals that keep what is written and do nothing else."""
        return tuple(one for one in self.blocks if one.model == STORAGE)

    def spu_regions(self, memory: str) -> int:
        """How many regions the SPU divides ``flash`` or ``ram`` into."""
        size = self.flash.region if memory == "flash" else self.ram.region
        return self.area(memory).size // size

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

    @cached_property
    def _answers(self) -> dict[int, tuple[Peripheral, int]]:
        """Page of 256 bytes, of which peripherals have whole ones -> who answers there."""
        return {
            page: (one, base)
            for one in self.blocks
            for base in one.addresses
            for page in range(base >> 8, (base + one.size) >> 8)
        }

    def answering(self, address: int) -> tuple[Peripheral, int] | None:
        """The peripheral that answers at ``address``, and its base address there; None if none."""
        return self._answers.get(address >> 8)

    def peripheral_at(self, address: int) -> Peripheral | None:
        """The peripheral that answers at ``address``; None if none does."""
        found = self.answering(address)
        return found and found[0]


@dataclass(frozen=True)
class BoardTable:
    """A kind of board, of ``platforms/boards``; ``pins`` are numbers of port 0 by their names."""

    key: str  # the name of its file
    name: str
    chip: ChipTable
    zephyr: tuple[str, ...]
    partitions: Partitions
    console: ConsoleWiring
    vcom: Mapping[str, VirtualPort]
    probe: ProbeFamily
    pins: Mapping[str, int]


# -- reading --------------------------------------------------------------------------------------


def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (paths.platforms() / folder).glob("*.toml")))


def chip_names() -> tuple[str, ...]:
    """The names of the chips that have a table."""
    return _names("chips")


def board_names() -> tuple[str, ...]:
    """The names of the boards that have a table."""
    return _names("boards")


def chip_called(text: str) -> ChipTable:
    """The chip of a name in any case of letters. Raises :class:`UsageError` for an unknown one."""
    name = text.strip().lower()
    if name not in chip_names():
        raise UsageError(f"no chip {short(text)}", hint=f"one of {', '.join(chip_names())}")
    return chip_table(name)


def place(target: str, chip: str) -> str:
    """Where a case ran, for reports: the target, and the chip if it is not the default one."""
    return target if chip in ("", DEFAULT_CHIP) else f"{target} ({chip})"


@cache
def chip_table(name: str = DEFAULT_CHIP) -> ChipTable:
    """The chip of ``platforms/chips/NAME.toml``."""
    return read_chip_table(paths.platforms() / "chips" / f"{name}.toml")


@cache
def _foreign() -> Mapping[int, tuple[str, str]]:
    families = files.read_toml(paths.platforms() / "foreign.toml")
    return {
        address: (family, name) for family, row in families.items() for name, address in row.items()
    }


def foreign_peripheral(address: int) -> tuple[str, str]:
    """Family and name of a peripheral at ``address`` of chips without a table; "" for none."""
    return _foreign().get(address, ("", ""))


@cache
def board_table(name: str = DEFAULT_BOARD) -> BoardTable:
    """The board of ``platforms/boards/NAME.toml``."""
    return read_board_table(paths.platforms() / "boards" / f"{name}.toml")


@cache
def board_with(chip: str) -> BoardTable:
    """The kit of the chip that has this key. Raises :class:`UsageError` if none has a table."""
    likely_first = sorted(board_names(), key=lambda name: not name.startswith(chip))
    for name in likely_first:
        if board_table(name).chip.key == chip:
            return board_table(name)
    raise UsageError(
        f"no board with a table has the chip {chip}", hint=f"{', '.join(board_names())}"
    )


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


def console_wiring(text: str, kit: BoardTable | None = None) -> ConsoleWiring:
    """How a board hears its console: the name of a table of ``platforms/boards``, or keys.

    ``"uarte=UARTE1 txd=1 rxd=0 baud=1000000"``; further keys are ``rts``, ``cts``, ``parity``,
    ``stop_bits``, ``flow_control``. What is left out is as on ``kit`` (the chip's own; default: the
    nRF9160 DK); but if a pin is named, those that are not are unconnected. Raises
    :class:`UsageError` that names the key.
    """
    where, words = "console", text.split()
    if len(words) == 1 and "=" not in text:
        known = board_names()
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
    return _wiring(tables.read(_WiringRow, given, where), kit or board_table(), where)


def _wiring(row: _WiringRow, table: BoardTable, where: str) -> ConsoleWiring:
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
    table = tables.read(_ChipFile, _completed(path, where), where)
    _check_sources(table, where)
    if set(table.windows) != {"s", "ns"}:
        raise UsageError(f"{where}: windows are 's' (secure) and 'ns' (non-secure)")
    areas = tuple(Area(name, row.origin, row.size) for name, row in table.memory.items())
    blocks = tuple(_peripheral(name, row, table, where) for name, row in table.peripherals.items())
    for kind, rows in (("memory", areas), ("peripherals", blocks)):
        _check_apart(kind, rows, where)
    for memory in ("ficr", "uicr"):
        _check_words(memory, getattr(table, memory), table, where)
    chip = ChipTable(
        **vars(table.soc),
        key=path.stem,
        notes=table.notes,
        sources=table.sources,
        tools=table.tools,
        zephyr=table.zephyr,
        debug=table.debug,
        resetreas=table.resetreas,
        flash=table.flash,
        ram=table.ram,
        gpio=table.gpio,
        ficr={word.offset: word.value for word in table.ficr.values()},
        uicr={word.offset: word.value for word in table.uicr.values()},
        areas=areas,
        secure_window=table.windows["s"],
        nonsecure_window=table.windows["ns"],
        blocks=blocks,
    )
    _check_regions(chip, where)
    return chip


def _completed(path: Path, where: str) -> dict[str, Any]:
    """The document in a file, completed from the table that it is ``like``.

    Rows of a section go before the other's rows; of the sections in :data:`_WHOLE`, only the own
    ones count. A section that the document touches needs a source of its own: the other's says
    nothing of it.
    """
    document = files.read_toml(path)
    like = document.pop("like", "")
    if not like:
        return document
    other = path.with_name(f"{like}.toml")
    if not isinstance(like, str) or not files.is_file(other):
        raise UsageError(f"{where}: like: there is no table {short(str(like))}")
    whole = files.read_toml(other)
    if "like" in whole:
        raise UsageError(f"{where}: like: {other.name} is like another one itself")
    own = document.get("sources", {})
    for section in sorted(document.keys() - {"sources", "notes"}):
        if section not in own:
            raise UsageError(f"{where}: sources: no source of [{section}]")
    for section, rows in document.items():
        both = isinstance(rows, dict) and isinstance(whole.get(section), dict)
        merged = both and section not in _WHOLE
        whole[section] = {**whole[section], **rows} if merged else rows
    return whole


def read_board_table(path: Path) -> BoardTable:
    """The board in a file. Raises :class:`UsageError` that names file and key."""
    where = f"board table {path.name}"
    table = tables.read(_BoardFile, _completed(path, where), where)
    _check_sources(table, where)
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
        path.stem,
        table.board.name,
        soc,
        table.board.zephyr,
        table.partitions,
        replace(table.console, board=f"the {table.board.name.partition(' (')[0]}"),
        table.vcom,
        table.probe,
        table.pins,
    )


def _check_sources(table: _ChipFile | _BoardFile, where: str) -> None:
    """Each section has a source, and each source a section."""
    sections = {one.name for one in fields(table)} - {"sources", "notes"}
    for name in sorted(sections - {name for name, text in table.sources.items() if text.strip()}):
        raise UsageError(f"{where}: sources: no source of [{name}]")
    tables.only(table.sources, dict.fromkeys(sections), f"{where}, sources")


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
    return Peripheral(
        name, row.offset, row.size, row.irq, bases, row.model, row.tasks, row.dma, row.split
    )


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


def _check_words(
    memory: str, words: Mapping[str, InformationWord], table: _ChipFile, where: str
) -> None:
    if memory not in table.memory:
        raise UsageError(f"{where}: memory: '{memory}' is missing")
    taken: dict[int, str] = {}
    for name, word in words.items():
        if word.offset % 4 or word.offset >= table.memory[memory].size:
            raise UsageError(
                f"{where}: {memory}: {name} at {word.offset:#x} is not a word of {memory.upper()}"
            )
        other = taken.setdefault(word.offset, name)
        if other != name:
            raise UsageError(f"{where}: {memory}: {other} and {name} share offset {word.offset:#x}")


def _check_regions(chip: ChipTable, where: str) -> None:
    """The SPU divides each memory into whole regions."""
    for memory, region in (("flash", chip.flash.region), ("ram", chip.ram.region)):
        if chip.area(memory).size % region:
            raise UsageError(f"{where}: {memory}.region: {region:#x} does not divide the memory")


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
