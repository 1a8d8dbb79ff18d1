"""Commands of Renode's Monitor that make a machine and load an image."""

from __future__ import annotations

from pathlib import Path

from harness.base import paths, platforms
from harness.base.clock import RESETS_IN_A_LOOP
from harness.base.platforms import BoardTable, ChipTable
from harness.base.power_on import pattern
from harness.elf import Image
from harness.targets.renode.description import (
    SAU_REGIONS,
    SCRIPTS,
    Security,
    made_from,
    unmodelled,
)

#: Virtual seconds between synchronisations, chosen with tests/benchmarks/bench_renode.py.
QUANTUM = 0.001
#: Addresses of debug components that exist on the chip (Armv8-M ARM, B11).
_DEBUG = {"itm": 0xE000_0000, "fpb": 0xE000_2000, "tpiu": 0xE004_0000, "etm": 0xE004_1000}
#: Hook of writes to the NVIC: where firmware leaves attribution to the SPU (SAU_CTRL.ALLNS), ENABLE
#: is written instead, since the SPU's regions are regions of the SAU in Renode.
_SAU_FOLLOWS = "value = 1 if offset == 0xDD0 and value & 3 == 2 else value"


def make(chip: ChipTable, security: Security, *, quantum: float, strict: bool) -> list[str]:
    """Return the commands that make a machine with empty memories.

    With ``strict`` (1.17 on) CCR.DIV_0_TRP takes effect, and an unanswered access is a BusFault.
    """
    board = platforms.board_with(chip.key).key
    description = monitor_path(paths.platforms() / f"{board}{security.value}.repl")
    commands = [
        "Clear",
        "emulation SetGlobalAdvanceImmediately true",
        "emulation Mode SynchronizedTimers",  # a button's level reaches its pin immediately
        f'emulation SetGlobalQuantum "{quantum:.6f}"',
        f'mach create "{board}"',
        f"machine LoadPlatformDescription {description}",
    ]
    if strict:
        commands.append("sysbus.nvic FilterCcrDiv0Write false")
        commands += _stubs(chip)
        commands.append("sysbus UnhandledAccessBehaviour ThrowException")
    if security is Security.WORLDS:
        commands += _attribution(chip)
    return commands + _scripts(chip, monitor_path(paths.platforms()))


def start_script(board: BoardTable) -> str:
    """Return ``BOARD.resc``, a script for running an ELF file on the board by hand."""
    scripts = "\n".join(_scripts(board.chip, "$ORIGIN"))
    return f'''\
:name: {board.name}
:description: Runs a secure image on this board. Set $bin to an ELF file first.

# {made_from(f"boards/{board.key}.toml")}
# renode -e '$bin=@path/to/zephyr.elf; include @platforms/{board.key}.resc; start'

$name?="{board.key}"
using sysbus
include $ORIGIN/peripherals/counters.cs
mach create $name
machine LoadPlatformDescription $ORIGIN/{board.key}.repl

{scripts}

# Skip idle time instead of waiting for the wall clock.
emulation SetGlobalAdvanceImmediately true
emulation SetGlobalQuantum "{QUANTUM:.6f}"

showAnalyzer {board.console.uarte.lower()}

macro reset
"""
    sysbus LoadELF $bin
    cpu VectorTableOffset `sysbus GetSymbolAddress "_vector_table"`
"""
runMacro $reset
'''


def agent(chip: ChipTable, vectors: int) -> str:
    """Return the constructor of the agent for an image whose vector table is at ``vectors``.

    Renode executes one instruction per cycle, as the built-in simulator does.
    """
    console = platforms.board_with(chip.key).console.uarte.lower()
    flash, ram = ((area.origin, area.end) for area in (chip.area("flash"), chip.area("ram")))
    facts = f"{flash}, {ram}, {chip.gpio.pins}, {RESETS_IN_A_LOOP}"
    return f"Agent('{console}', {chip.cpu_hz // 1_000_000}, {vectors:#x}, {facts})"


def load(image: Image, folder: Path, power_on: int) -> list[str]:
    """Return commands that fill flash and RAM from files, which are written to ``folder``.

    Where the image loads nothing, flash is erased and RAM has the pattern of the seed ``power_on``.
    """
    flash, ram = (image.chip.area(name) for name in ("flash", "ram"))
    commands = []
    for area, data in (
        (flash, b"\xff" * flash.size),
        (ram, pattern(power_on, ram.origin, ram.size)),
    ):
        path = folder / f"{area.name}.bin"
        path.write_bytes(data)
        commands.append(f"sysbus LoadBinary {monitor_path(path)} {area.origin:#x}")
    for index, segment in enumerate(image.loaded):
        path = folder / f"segment{index}.bin"
        path.write_bytes(segment.data)
        if segment.data:
            commands.append(f"sysbus LoadBinary {monitor_path(path)} {segment.load_address:#x}")
    return commands


def _stubs(chip: ChipTable) -> list[str]:
    """Return commands for stubs of blocks without a model, in both windows."""
    folder = monitor_path(paths.platforms())
    commands = []
    for block in unmodelled(chip):
        commands += _script(folder, "stub", block.name.lower(), block.addresses, block.size)
    for name, address in _DEBUG.items():
        commands += _script(folder, "stub", name, (address,))
    return commands


def _scripts(chip: ChipTable, folder: str) -> list[str]:
    """Return commands for the blocks modelled by scripts in ``folder``/peripherals."""
    flash = chip.area("flash")
    facts = {"NVMC": (flash.origin, flash.size, chip.flash.page), "DPPIC": (chip.dppi_channels,)}
    commands = []
    for block in map(chip.peripheral, SCRIPTS):
        name = block.name.lower()
        commands += _script(folder, name, name, block.addresses, block.size, facts[block.name])
    return commands


def _attribution(chip: ChipTable) -> list[str]:
    """Return commands for the SPU that writes its regions into the core's SAU."""
    flash, ram = chip.area("flash"), chip.area("ram")
    facts = (
        *(flash.origin, chip.flash.region, chip.spu_regions("flash")),
        *(ram.origin, chip.ram.region, chip.spu_regions("ram")),
        *(chip.nonsecure_window, chip.secure_window - chip.nonsecure_window),
        max(block.number for block in chip.blocks) + 1,
        SAU_REGIONS,
    )
    addresses = chip.peripheral("SPU").addresses
    return [
        *_script(monitor_path(paths.platforms()), "spu", "attribution", addresses, facts=facts),
        f'sysbus SetHookBeforePeripheralWrite sysbus.nvic "{_SAU_FOLLOWS}"',
    ]


def _script(
    folder: str,
    script: str,
    name: str,
    addresses: tuple[int, ...],
    size: int = 0x1000,
    facts: tuple[int, ...] = (),
) -> list[str]:
    """Return commands that put a script on the bus as ``name`` and pass it ``facts`` in order."""
    first, *others = addresses
    file = f"{folder}/peripherals/{script}.py"
    return [
        f'machine PyDevFromFile {file} {first:#x} {size:#x} True "{name}"',
        *(f"sysbus.{name} ControlWrite {number} {fact:#x}" for number, fact in enumerate(facts)),
        *(f"sysbus Redirect {other:#x} {first:#x} {size:#x}" for other in others),
    ]


def monitor_path(path: Path) -> str:
    """Format ``path`` for Renode's Monitor: blanks are escaped."""
    return "@" + str(path).replace(" ", "\\ ")
