"""Facts of a chip stand in its table alone, however they are spelt.

Numbers of a chip are found by value (addresses, memory sizes, clocks: as a literal, an expression
of literals, a whole float, inside a string), those too small for that by name (interrupts, regions,
channels). What is like a chip's number and is not one stands in a table of exceptions, by name.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import sibling_table

from harness.base import paths, platforms

PACKAGE = Path(__file__).parents[2] / "harness"
CHIPS = [platforms.chip_table(name) for name in platforms.chip_names()]
#: The peripheral part of the address map, the same on all chips (Armv8-M ARM, B3.1).
DEVICES = range(0x4000_0000, 0x6000_0000)
#: Numbers that look like a chip's and are not: by file, with the reason.
OTHERS = {
    "reference/validation.py": {512 << 20},  # bytes of a model's tensors
    "simulator/debug_port/watchpoints.py": {0b01011 << 27},  # DWT_FUNCTION.ID
    "simulator/unicorn.py": {7 | 1 << 26 | 1 << 30, 10 | 1 << 30},  # uc_control's codes
    "simulator/native/count.c": {1 << 18},  # instructions
    "elf/regions.py": {0x2000_0000, 0x4000_0000},  # SRAM: Armv8-M ARM, B3.1
    "targets/renode/isolated.py": {0x4000_0000},  # CLONE_NEWNET: Linux, linux/sched.h
    "targets/renode/agent/exceptions.py": {0x4000_0000},  # Device memory: Armv8-M ARM, B8.1
    "targets/renode/client.py": {0x4000_0000},  # Device memory: Armv8-M ARM, B3.1
    "simulator/native/access.c": {0x4000_0000, 0x2000_0000},  # Device memory, and its size
    "simulator/native/protection.c": {0x4000_0000, 0x5FFF_FFFF},  # the default memory map
    "simulator/native/scb.h": {0x4000_0000},  # HFSR.FORCED
    "simulator/native/exception.c": {0x10_0000},  # RETPSR.SFPA
    "simulator/native/instructions.c": {0x4_0000, 0x8_0000},  # TT's R and RW
    "simulator/native/operands.c": {0x5555_5555},  # every other bit
    "simulator/native/state.c": {0x5A17_C0DC},  # a mark
    "simulator/engine.py": {0x10_0000},  # the private peripheral bus: Armv8-M ARM, B3.2
    "simulator/debug_port/core_debug.py": {0x4770_2A04, 0x4770_1A02, 0x4770_1A03},  # DEVARCH
    "simulator/debug_port/port.py": {0x5400_0000},  # CTRL/STAT
    "simulator/scb.py": {0x410F_D213},  # CPUID
}
_INTERRUPT = re.compile(r"(?i)(?<![a-z])(?:irqn?s?|interrupts?)(?![a-z])")
_PENDS = re.compile(r"(?i)(?<![a-z])(?:irqn?s?|interrupts?|pend|raise)(?![a-z])")
_MEMORY = re.compile(r"(?i)(?<![a-z])(?:flash|ram|ficr|uicr|hz|clock)(?![a-z])")
#: Facts that are too small to be known by their value: by names of fields of the tables.
_SMALL = re.compile(
    r"(?i)(?:mpu_regions|dppi_channels|priority_bits|easydma_bits|writes_per_word|write_us"
    r"|erase_page_us|erase_all_us|lfclk_hz|dpidr|targetid)$"
)
_C_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBER = r"(0[xX][0-9a-fA-F_]+|\d[\d_]*)"
_C_NUMBER = re.compile(rf"(?<![\w.]){_NUMBER}[uUlL]*(?![\w.])")
_C_PAIR = re.compile(rf"(?<![\w.]){_NUMBER}[uUlL]*\s*(<<|\*|\+|\|)\s*{_NUMBER}[uUlL]*(?![\w.])")
_C_INTERRUPT = re.compile(
    r"(?i)\b(\w*(?<![a-z])(?:irqn?s?|interrupts?)(?![a-z])\w*)\s*(?:[!=<>]=|[=<>])\s*([1-9]\w*)"
)
#: Numbers of the architecture (the first interrupt's exception), and this core's own limit.
_OWN_INTERRUPTS = {"FIRST_IRQ 16", "MAX_IRQS 96", "irqs 1"}
#: In a string: hex with its prefix, decimal from six digits on, eight hex digits alone.
_IN_TEXT = re.compile(r"\b(?:0[xX][0-9a-fA-F_]{5,}|\d[\d_]{5,}|[0-9a-fA-F]{8})\b")


_AREAS = {chip.area(name).addresses for chip in CHIPS for name in ("ram", "ficr", "uicr")}
_CLOCKS = {hz for chip in CHIPS for hz in (chip.cpu_hz, chip.timer_hz)}  # 2**15 is too common
_SIZES = {chip.area(name).size for chip in CHIPS for name in ("flash", "ram")}


def is_fact(number: int, *, sized: bool = True) -> bool:
    """True for an address of RAM, FICR, UICR or a device, a fast clock, and a memory's size."""
    known = number in DEVICES or number in _CLOCKS or (sized and number in _SIZES)
    return known or any(number in addresses for addresses in _AREAS)


_FOLDED = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Pow: operator.pow, ast.FloorDiv: operator.floordiv,
}  # fmt: skip


def folded(node: ast.AST) -> int | None:
    """The whole number that an expression of whole numbers is: ``256 << 10``, ``64e6``."""
    match node:
        case ast.Constant(value=int(number)) if type(number) is int:
            return number
        case ast.Constant(value=float(number)) if number.is_integer() and number < 1 << 32:
            return int(number)
        case ast.Call(func=ast.Name(id="int"), args=[ast.Constant(value=str(text)), *base]):
            try:
                return int(text, *(folded(one) or 0 for one in base))
            except ValueError:
                return None
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return folded(inner)
        case ast.BinOp() if type(node.op) in _FOLDED:
            left, right = folded(node.left), folded(node.right)
            if left is None or right is None or not 0 <= right < 1 << 32:
                return None
            shifts = isinstance(node.op, ast.LShift | ast.RShift | ast.Pow)
            if (shifts and right >= 64) or (isinstance(node.op, ast.FloorDiv) and not right):
                return None
            return _FOLDED[type(node.op)](left, right)
    return None


def given(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Whole numbers that are given to, or compared with, something that has a name: both."""
    for place, value in _given(tree):
        if (number := folded(value)) is not None:
            yield place if isinstance(place, str) else ast.unparse(place), number


def _given(tree: ast.AST) -> Iterator[tuple[str | ast.AST, ast.AST]]:
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from zip(targets, values, strict=False)
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
            case ast.Compare(left=left, comparators=others):
                yield from ((left, other) for other in others)
                yield from ((other, left) for other in others)
            case ast.Dict(keys=keys, values=values):
                named = zip(keys, values, strict=True)
                yield from ((key, value) for key, value in named if key is not None)
            case ast.arguments(args=args, defaults=defaults):
                named = zip(reversed(args), reversed(defaults), strict=False)
                yield from ((one.arg, value) for one, value in named)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                yield from ((name, value) for value in args if _PENDS.search(name))


def _documents(tree: ast.AST) -> set[int]:
    """The strings that only stand there: docstrings."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _is_bit(node: ast.AST) -> bool:
    """True for ``1 << N``: a flag, or a power of two of whatever."""
    shifts = isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift)
    return shifts and folded(node.left) == 1


def facts_of_python(text: str) -> Iterator[int]:
    """Numbers that are facts of one of the chips."""
    tree = ast.parse(text)
    texts = _documents(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            if id(node) not in texts:
                yield from _facts_in(node.value)
        elif (number := folded(node)) is not None and not _is_bit(node):
            literal = isinstance(node, ast.Constant)
            yield from _facts([number], sized=literal)
    yield from _facts(number for name, number in given(tree) if _MEMORY.search(name))


def _facts_in(text: str | bytes) -> Iterator[int]:
    plain = text if isinstance(text, str) else text.decode("latin-1")
    for word in _IN_TEXT.findall(plain):
        digits = word.replace("_", "")
        is_hex = digits[:2] in ("0x", "0X") or (len(digits) == 8 and not digits.isdecimal())
        yield from _facts([int(digits, 16)] if is_hex else [int(digits), int(digits, 16)])


def _facts(numbers: Iterable[int], *, sized: bool = True) -> Iterator[int]:
    yield from (number for number in numbers if is_fact(number, sized=sized))


def small_facts_of_python(text: str) -> Iterator[str]:
    """What is called an interrupt, a region, a channel and has a number."""
    for name, number in given(ast.parse(text)):
        if number and (_INTERRUPT.search(name) or _PENDS.search(name) or _SMALL.search(name)):
            yield f"{name} {number}"


def facts_of_c(text: str) -> Iterator[int]:
    plain = _C_COMMENTS.sub("", text)
    yield from _facts(_c_number(found) for found in _C_NUMBER.findall(plain))
    for left, sign, right in _C_PAIR.findall(plain):
        one, other = _c_number(left), _c_number(right)
        if sign != "<<" or (one != 1 and other < 64):
            yield from _facts([_FOLDED[_C_SIGNS[sign]](one, other)], sized=False)


_C_SIGNS = {"<<": ast.LShift, "*": ast.Mult, "+": ast.Add, "|": ast.BitOr}


def _c_number(text: str) -> int:
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def interrupts_of_c(text: str) -> Iterator[str]:
    found = _C_INTERRUPT.findall(_C_COMMENTS.sub("", text))
    yield from (f"{name} {number}" for name, number in found)


def sources(*suffixes: str) -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in suffixes)


def stray(path: Path) -> set[int]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return set(facts_of_python(text))
    return set(facts_of_c(text) if path.suffix in (".c", ".h") else _facts_in(text))


@pytest.mark.slow
def test_no_number_of_a_chip_stands_outside_its_table():
    found = {
        path.relative_to(PACKAGE).as_posix(): own
        for path in sources(".py", ".pyi", ".c", ".h", ".html", ".js", ".css", ".json")
        if (own := stray(path))
    }
    strays = {name: own - OTHERS.get(name, set()) for name, own in found.items()}
    assert not {name: sorted(map(hex, own)) for name, own in strays.items() if own}


def test_each_exception_is_still_needed():
    for name, numbers in OTHERS.items():
        assert numbers <= stray(PACKAGE / name), name


@pytest.mark.parametrize(
    "text",
    [
        "X = 0x5000_8000",
        "size = 262_144",
        "hz = 64_000_000",
        "A = 0x20000000",
        "0xFF8000",
        "RAM = 256 << 10",
        "FLASH = 1024 * 1024",
        "HZ = 64 * 10**6",
        "U = 0x5000_0000 + 0x8000",
        "RAM = 2**18",
        "uart = 5 << 28 | 8 << 12",
        "uart = 1_342_210_048",
        "x = 64e6",
        "x = 16.0e6",
        "x = int('50008000', 16)",
        "x = int('0x5000_8000', 0)",
        "x = '0x40008000'",
        "x = f'{name} at 0x50008000'",
        "x = b'20001000'",
        "x = '64000000'",
        "wait(64 * 1_000_000)",
        "x = 0x6000_0000 - 0x0FFF_8000",
        "FLASH, RAM = 1 << 20, 1 << 18",
        "def f(ram=256 * 1024): pass",
        "if 1 << 18 > ram: pass",
        "x = 0xA001_0000 >> 1",
        "x = 0x50008000 ^ 0",
        "x = 128 * 10**6 // 2",
    ],
)
def test_a_fact_is_noticed(text):
    assert list(facts_of_python(text))


@pytest.mark.parametrize(
    "text",
    ["x = 0x50008000u;", "hz = 64000000;", "at(5u << 28);", "size = 262144;", "x = 64 * 1000000;",
     "x = 0x40000000 + 0x8000;"],
)  # fmt: skip
def test_a_fact_in_c_is_noticed(text):
    assert list(facts_of_c(text))


@pytest.mark.parametrize("text", ["X = 1 << 30", '"""Reads 0x50008000."""', "LIMIT = 1 << 20"])
def test_flags_limits_and_docstrings_are_none(text):
    assert not list(facts_of_python(text))


@pytest.mark.slow
def test_no_interrupt_number_is_spelt():
    spelt = {
        f"{path.relative_to(PACKAGE)}: {found}"
        for path in sources(".py")
        for found in small_facts_of_python(path.read_text(encoding="utf-8"))
    }
    elsewhere = (
        "targets/renode/agent/rest.py"  # run inside Renode, where it imports nothing of ours
    )
    assert spelt == {f"{file}: FIRST_IRQ 16" for file in ("base/exceptions.py", elsewhere)}
    in_c = {found for path in sources(".c", ".h") for found in interrupts_of_c(path.read_text())}
    assert in_c == _OWN_INTERRUPTS


@pytest.mark.parametrize(
    "text",
    ["raises(irq=8)", "UARTE0_IRQ = 8", "irq: int = 8", "x = irq == 8", "x = {'irq': 8}",
     "self.irq = 2 * 4", "IRQS = 65", "UARTE0_IRQn = 8", "interrupt = 8", "x = 8 == irq",
     "nvic.pend(8)", "raise_irq(20)", "def f(irq=8): pass", "RTC, IRQ = 1, 20", "mpu_regions = 16",
     "Soc(dppi_channels=16)", "write_us = 41", "dpidr = 0x6BA0_2477"],
)  # fmt: skip
def test_an_interrupt_number_is_noticed(text):
    assert list(small_facts_of_python(text))


@pytest.mark.parametrize("text", ["if (irq == 8) {", "enum { UARTE0_IRQ = 8 };", "irqs <= 65;"])
def test_an_interrupt_number_in_c_is_noticed(text):
    assert set(interrupts_of_c(text)) - _OWN_INTERRUPTS


def test_the_tables_lie_where_the_reader_looks():
    assert {path.stem for path in (paths.platforms() / "chips").glob("*.toml")} == {
        chip.key for chip in CHIPS
    }


def test_the_page_of_chips_has_todays_table():
    page = sibling_table.PAGE.read_text()
    assert page == sibling_table.with_table(page)
