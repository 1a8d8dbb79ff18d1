"""Changes of what code does in a run: loads that extend the sign, floats in core registers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from harness.case.further_runs.trials import Change
from harness.elf import Image, Symbol
from harness.elf.dwarf.entries import Entry
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED
from harness.elf.thumb import instruction_length
from harness.elf.variables import Variables
from harness.simulator import Machine
from harness.simulator.unicorn import Reg
from harness.targets.session import Session
from harness.targets.simulator import SimulatorSession

#: Registers of arguments, and of a result; a double takes two.
_ARGUMENTS, _RETURNED = 4, 2
_FLOAT = 4  # DW_ATE_float
_FUNCTIONS = frozenset((Tag.SUBPROGRAM,))
_NAMES = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")


def _machine(session: Session) -> Machine:
    assert isinstance(session, SimulatorSession)
    return session.machine


# loads of bytes


@dataclass(frozen=True)
class _ByteLoad:
    """A load of a byte (Armv8-M ARM, C2.4, LDRB, LDRSB): to ``to`` from ``base`` + an offset.

    ``signed``: it extends the sign. ``index`` is the register of the offset, shifted left by
    ``shift``; None for ``offset``.
    """

    at: int
    length: int
    to: int
    base: int
    offset: int = 0
    index: int | None = None
    shift: int = 0
    signed: bool = False

    def address(self, registers: dict[str, int]) -> int:
        """The address that it loads from."""
        index = 0 if self.index is None else registers[_NAMES[self.index]] << self.shift
        return (registers[_NAMES[self.base]] + self.offset + index) & 0xFFFF_FFFF


def otherwise_signed(image: Image, addresses: range) -> Change:
    """Loads of bytes at ``addresses`` extend the sign if they did not, and do not if they did."""
    loads = list(_loads(image))

    def change(session: Session) -> None:
        machine = _machine(session)
        for load in loads:
            _OtherLoad(load, addresses).hook(machine)

    return change


class _OtherLoad:
    """Changes the sign of what a load has read, before the next instruction."""

    def __init__(self, load: _ByteLoad, addresses: range) -> None:
        self._load, self._addresses = load, addresses
        self._loaded = False

    def hook(self, machine: Machine) -> None:
        """Watch the load and the instruction behind it."""
        machine.hook(self._load.at, self._before)
        machine.hook(self._load.at + self._load.length, self._behind)

    def _before(self, machine: Machine) -> None:
        self._loaded = self._load.address(machine.registers) in self._addresses

    def _behind(self, machine: Machine) -> None:
        if not self._loaded:
            return
        self._loaded = False
        value = machine.registers[_NAMES[self._load.to]] & 0xFF
        if not self._load.signed and value > 127:
            value |= 0xFFFF_FF00
        machine.write_register(_NAMES[self._load.to], value)


def _loads(image: Image) -> Iterator[_ByteLoad]:
    for symbol in image.symbols:
        if symbol.kind != "func" or not symbol.size:
            continue
        begin = symbol.address & ~1
        code = image.read(begin, symbol.size) or b""
        at = 0
        while at + 2 <= len(code):
            first = int.from_bytes(code[at : at + 2], "little")
            length = instruction_length(first)
            second = int.from_bytes(code[at + 2 : at + 4], "little")
            load = _narrow(begin + at, first) if length == 2 else _wide(begin + at, first, second)
            if load is not None:
                yield load
            at += length


def _narrow(at: int, first: int) -> _ByteLoad | None:
    to, base = first & 7, first >> 3 & 7
    if first & 0xF800 == 0x7800:  # immediate, T1
        return _ByteLoad(at, 2, to, base, first >> 6 & 31)
    if first & 0xFE00 in (0x5C00, 0x5600):  # register, T1
        return _ByteLoad(at, 2, to, base, index=first >> 6 & 7, signed=first & 0xFE00 == 0x5600)
    return None


def _wide(at: int, first: int, second: int) -> _ByteLoad | None:
    to, base = second >> 12, first & 15
    if to == 15 or base == 15:  # PLD, a literal
        return None
    signed = bool(first & 0x100)
    if first & 0xFEF0 == 0xF890:  # immediate, T2 (LDRSB: T1)
        return _ByteLoad(at, 4, to, base, second & 0xFFF, signed=signed)
    if first & 0xFEF0 != 0xF810:
        return None
    if second & 0x0800:  # immediate, T3 (T2): before or after, up or down
        offset = second & 0xFF if second & 0x200 else -(second & 0xFF)
        return _ByteLoad(at, 4, to, base, offset if second & 0x400 else 0, signed=signed)
    if second & 0x0FC0 == 0:  # register, T2
        shift = second >> 4 & 3
        return _ByteLoad(at, 4, to, base, index=second & 15, shift=shift, signed=signed)
    return None


# variables


def writers(image: Image, variables: Iterable[range], found: dict[int, int]) -> Change:
    """Put into ``found`` the place of each variable's first store after main() has begun."""
    main = image.symbol("main")

    def change(session: Session) -> None:
        machine = _machine(session)
        begun: list[bool] = []

        def stored(begin: int) -> None:
            if begun:
                found.setdefault(begin, machine.pc)

        if main is not None:
            machine.hook(main.address, lambda _: begun.append(True))
        for one in variables:
            machine.engine.watch(one.start, len(one), partial(stored, one.start), False, True)

    return change


def kept(address: int, content: bytes) -> Change:
    """Loads from the variable at ``address`` find ``content``, whatever is stored there."""

    def change(session: Session) -> None:
        machine = _machine(session)
        store = machine.engine.store_of(address, len(content))
        assert store is not None
        view = store.slice(address, len(content))

        def loaded() -> None:
            view[:] = content

        machine.engine.watch(address, len(content), loaded, True, False)

    return change


# floats


def functions_with_floats(image: Image) -> Iterator[tuple[str, int]]:
    """Functions that C code declares with floats alone, and that have no C source themselves."""
    variables = image.variables
    declared: set[str] = set()
    for unit in variables.dwarf.units:
        for offset in variables.dwarf.scan(unit, _FUNCTIONS, frozenset()):
            try:
                entry = variables.dwarf.entry(offset, unit)
                if entry.number(At.DECLARATION) and _takes_floats(variables, entry):
                    declared.add(variables.dwarf_name(entry))
            except GARBLED:
                continue
    for symbol in image.symbols:
        if symbol.kind == "func" and symbol.name in declared and not _has_source(image, symbol):
            yield symbol.name, symbol.address & ~1


def _takes_floats(variables: Variables, function: Entry) -> bool:
    parameters = [
        one for one in variables.dwarf.children(function) if one.tag == Tag.FORMAL_PARAMETER
    ]
    kinds = [variables.bare_type(one) for one in parameters]
    return bool(kinds) and all(
        kind is not None and kind.number(At.ENCODING) == _FLOAT for kind in kinds
    )


def _has_source(image: Image, symbol: Symbol) -> bool:
    """Whether the function comes from a compiler, and not from an assembler."""
    file = image.locate(symbol.address).file
    return bool(file) and not file.endswith((".S", ".s", ".asm"))


def core_registers(address: int) -> Change:
    """Calls of the function at ``address`` pass floats in r0 to r3, and return them in r0."""

    def change(session: Session) -> None:
        machine = _machine(session)
        returns: set[int] = set()

        def returned(machine: Machine) -> None:
            for number in range(_RETURNED):
                machine.core.write(Reg.S0 + number, machine.registers[f"r{number}"])

        def called(machine: Machine) -> None:
            for number in range(_ARGUMENTS):
                machine.write_register(f"r{number}", machine.core.read(Reg.S0 + number))
            caller = machine.registers["lr"] & ~1
            if caller not in returns:
                returns.add(caller)
                machine.hook(caller, returned)

        machine.hook(address, called)

    return change
