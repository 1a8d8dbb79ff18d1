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
from harness.elf.operand import accessed
from harness.elf.thumb import instruction_length, instructions
from harness.elf.variables import Variables
from harness.simulator import Machine
from harness.simulator.unicorn import CORE_REGISTERS, Reg
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
    """A load of a byte to a register; ``signed``: it extends the sign."""

    at: int
    code: bytes
    to: int
    signed: bool


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
        machine.hook(self._load.at + len(self._load.code), self._behind)

    def _before(self, machine: Machine) -> None:
        registers = machine.core.read_many(CORE_REGISTERS)
        self._loaded = accessed(self._load.code, registers) in self._addresses

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
        for at, first, second in instructions(code):
            if (found := _byte_load(first, second)) is not None:
                end = at + instruction_length(first)
                yield _ByteLoad(begin + at, code[at:end], *found)


def _byte_load(first: int, second: int) -> tuple[int, bool] | None:
    """The register that LDRB or LDRSB loads, and whether it extends the sign (C2.4); else None."""
    if instruction_length(first) == 2:
        if first & 0xF800 == 0x7800 or first & 0xFE00 in (0x5C00, 0x5600):  # immediate, register
            return first & 7, first & 0xFE00 == 0x5600
        return None
    to, base = second >> 12, first & 15
    if first & 0xFE70 != 0xF810 or to == 15 or base == 15:  # PLD, a literal
        return None
    indexed = first & 0x80 or second & 0x800 or not second & 0x0FC0
    return (to, bool(first & 0x100)) if indexed else None


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

        def loaded() -> None:
            store.slice(address, len(content))[:] = content

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
