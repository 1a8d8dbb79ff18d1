"""Facts of a chip stand in its table alone: no address, interrupt or memory size elsewhere."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sibling_table

from harness.base import paths, platforms
from harness.base.platforms import ChipTable

PACKAGE = Path(__file__).parents[2] / "harness"
CHIPS = [platforms.chip_table(name) for name in platforms.chip_names()]
#: The peripheral part of the address map, the same on all chips (Armv8-M ARM, B3.1).
DEVICES = range(0x4000_0000, 0x6000_0000)
#: Numbers that look like a chip's and are not: by file, with the reason.
OTHERS = {
    "elf/regions.py": {0x2000_0000, 0x4000_0000},  # SRAM: Armv8-M ARM, B3.1
    "targets/renode/faults.py": {0x4000_0000},  # execute never: Armv8-M ARM, B3.1
    "targets/renode/isolated.py": {0x4000_0000},  # CLONE_NEWNET: Linux, linux/sched.h
    "targets/renode/session.py": {0x4000_0000},  # Device memory: Armv8-M ARM, B3.1
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
    "resolver/static/alu.py": {0xFF_00FF},  # REV16
    "simulator/scb.py": {0x410F_D213},  # CPUID
}
_INTERRUPT = re.compile(r"(?i)(?<![a-z])irqs?(?![a-z])")
_MEMORY = re.compile(r"(?i)(?<![a-z])(?:flash|ram|ficr|uicr|hz|clock)(?![a-z])")
_HEX = re.compile(r"\b0[xX][0-9a-fA-F_]+")
_C_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def is_fact(number: int, chip: ChipTable) -> bool:
    """True for an address of RAM, FICR, UICR or a device, a memory's size, a fast clock."""
    sizes = {chip.area("flash").size, chip.area("ram").size}
    clocks = {chip.cpu_hz, chip.timer_hz}  # the third, 2**15, is too common a number
    areas = [chip.area(name) for name in ("ram", "ficr", "uicr")]
    in_memory = any(area.holds(number) for area in areas)
    return in_memory or number in sizes | clocks or number in DEVICES


_FOLDED = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitOr: operator.or_,
    ast.LShift: operator.lshift, ast.Pow: operator.pow,
}  # fmt: skip


def folded(node: ast.AST) -> int | None:
    """The whole number that an expression of whole numbers is: ``256 << 10``."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _FOLDED:
        left, right = folded(node.left), folded(node.right)
        if left is None or right is None or not 0 <= right < 1 << 32:
            return None
        small = not isinstance(node.op, ast.LShift | ast.Pow) or right < 64
        return _FOLDED[type(node.op)](left, right) if small else None
    return None


def given(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What is given to, or compared with, something that has a name: the name and the value."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Assign(targets=targets, value=value):
                yield from ((ast.unparse(target), value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield ast.unparse(target), value
            case ast.Compare(left=left, comparators=others):
                yield from ((ast.unparse(left), other) for other in others)
            case ast.Dict(keys=keys, values=values):
                named = zip(keys, values, strict=True)
                yield from ((ast.unparse(key), value) for key, value in named if key is not None)


def numbers_of_python(text: str) -> Iterator[int]:
    """Every whole number, and expressions that are given to something called a memory or clock."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node.value
    for name, value in given(tree):
        if _MEMORY.search(name) and (number := folded(value)) is not None:
            yield number


def interrupts_of_python(text: str) -> Iterator[str]:
    """What is called an interrupt's number and has one."""
    for name, value in given(ast.parse(text)):
        if _INTERRUPT.search(name) and folded(value):
            yield f"{name} {ast.unparse(value)}"


def numbers_of_c(text: str) -> Iterator[int]:
    for found in _HEX.findall(_C_COMMENTS.sub("", text)):
        yield int(found.replace("_", ""), 16)


def sources(*suffixes: str) -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in suffixes)


def stray(path: Path) -> set[int]:
    text = path.read_text(encoding="utf-8")
    found = numbers_of_python(text) if path.suffix == ".py" else numbers_of_c(text)
    return {number for number in found if any(is_fact(number, chip) for chip in CHIPS)}


def test_no_number_of_a_chip_stands_outside_its_table():
    found = {
        path.relative_to(PACKAGE).as_posix(): own
        for path in sources(".py", ".c", ".h")
        if (own := stray(path)) and "kernels" not in path.parts
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
    ],
)
def test_a_fact_is_noticed(text):
    assert any(is_fact(number, chip) for number in numbers_of_python(text) for chip in CHIPS)


def test_no_interrupt_number_is_spelt():
    spelt = {
        f"{path.relative_to(PACKAGE)}: {found}"
        for path in sources(".py")
        for found in interrupts_of_python(path.read_text(encoding="utf-8"))
    }
    assert not spelt


@pytest.mark.parametrize(
    "text",
    ["raises(irq=8)", "UARTE0_IRQ = 8", "irq: int = 8", "x = irq == 8", "x = {'irq': 8}",
     "self.irq = 2 * 4", "IRQS = 65"],
)  # fmt: skip
def test_an_interrupt_number_is_noticed(text):
    assert list(interrupts_of_python(text))


def test_the_tables_lie_where_the_reader_looks():
    assert {path.stem for path in (paths.platforms() / "chips").glob("*.toml")} == {
        chip.key for chip in CHIPS
    }


def test_the_page_of_chips_has_todays_table():
    page = sibling_table.PAGE.read_text()
    assert page == sibling_table.with_table(page)
