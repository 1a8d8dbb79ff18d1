"""The machine that runs an image in Renode, as commands of Renode's Monitor."""

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

#: Virtual seconds between synchronisations; measured in tests/benchmarks/bench_renode.py.
QUANTUM = 0.001
#: Debug components that answer on the chip: Armv8-M ARM, B11 (ITM, FPB, TPIU, ETM).
_DEBUG = {"itm": 0xE000_0000, "fpb": 0xE000_2000, "tpiu": 0xE004_0000, "etm": 0xE004_1000}
#: Firmware leaves attribution to the SPU by setting SAU_CTRL.ALLNS. In Renode the SPU's regions are
#: regions of the SAU, so ENABLE is written instead.
_SAU_FOLLOWS = "value = 1 if offset == 0xDD0 and value & 3 == 2 else value"


def make(chip: ChipTable, security: Security, *, quantum: float, strict: bool) -> list[str]:
    """The commands that make a machine with empty memories.

    ``strict``, for a release that knows how: CCR.DIV_0_TRP takes effect, and an access that nothing
    answers is a BusFault.
    """
    board = platforms.board_with(chip.key).key
    description = monitor_path(paths.platforms() / f"{board}{security.value}.repl")
    commands = [
        "Clear",
        "emulation SetGlobalAdvanceImmediately true",
        "emulation Mode SynchronizedTimers",  # a button's level reaches its pin at once
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
    """``BOARD.resc``, which runs an ELF file on the board by hand."""
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
    """The agent's constructor for an image whose vector table is at ``vectors``.

    Renode executes one instruction a cycle, as the built-in simulator does.
    """
    console = platforms.board_with(chip.key).console.uarte.lower()
    flash, ram = ((area.origin, area.end) for area in (chip.area("flash"), chip.area("ram")))
    facts = f"{flash}, {ram}, {chip.gpio.pins}, {RESETS_IN_A_LOOP}"
    return f"Agent('{console}', {chip.cpu_hz // 1_000_000}, {vectors:#x}, {facts})"


def load(image: Image, folder: Path, power_on: int) -> list[str]:
    """Monitor commands that fill flash and RAM; the files that they read go to ``folder``.

    Where the image loads nothing flash is erased, and RAM holds the pattern of the seed
    ``power_on``.
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
    """What stands for blocks without a model, in both windows."""
    folder = monitor_path(paths.platforms())
    commands = []
    for block in unmodelled(chip):
        commands += _script(folder, "stub", block.name.lower(), block.addresses, block.size)
    for name, address in _DEBUG.items():
        commands += _script(folder, "stub", name, (address,))
    return commands


def _scripts(chip: ChipTable, folder: str) -> list[str]:
    """The blocks that scripts in ``folder``/peripherals stand for, with the chip's facts."""
    flash = chip.area("flash")
    facts = {"NVMC": (flash.origin, flash.size, chip.flash.page), "DPPIC": (chip.dppi_channels,)}
    commands = []
    for block in map(chip.peripheral, SCRIPTS):
        name = block.name.lower()
        commands += _script(folder, name, name, block.addresses, block.size, facts[block.name])
    return commands


def _attribution(chip: ChipTable) -> list[str]:
    """The SPU that writes its regions into the core's SAU."""
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
    """A script of ``folder``/peripherals on the bus as ``name``; it is told ``facts`` in order."""
    first, *others = addresses
    file = f"{folder}/peripherals/{script}.py"
    return [
        f'machine PyDevFromFile {file} {first:#x} {size:#x} True "{name}"',
        *(f"sysbus.{name} ControlWrite {number} {fact:#x}" for number, fact in enumerate(facts)),
        *(f"sysbus Redirect {other:#x} {first:#x} {size:#x}" for other in others),
    ]


def monitor_path(path: Path) -> str:
    """``path`` as Renode's Monitor reads one: blanks are escaped."""
    return "@" + str(path).replace(" ", "\\ ")
