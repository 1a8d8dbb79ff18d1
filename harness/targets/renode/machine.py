"""Commands of Renode's Monitor that make a machine and load an image."""

from __future__ import annotations

from pathlib import Path

from harness.base import paths, platforms, power_on
from harness.base.clock import RESETS_IN_A_LOOP
from harness.base.platforms import BoardTable, ChipTable, ConsoleWiring
from harness.elf import Image
from harness.targets.renode.description import SOURCES, made_from, name_of, wiring_of

#: Renode's numbers of registers; EPSR.T.
_OTHER_SP, _XPSR, _FPSCR, _S0, _THUMB = 22, 25, 74, 75, 1 << 24
#: Virtual seconds between synchronisations, chosen with tests/benchmarks/bench_renode.py.
QUANTUM = 0.001


def make(chip: ChipTable, *, non_secure: bool, quantum: float) -> list[str]:
    """Return the commands that make a machine with empty memories.

    CCR.DIV_0_TRP takes effect, and an access that nothing answers is a BusFault, as on the chip.
    """
    board = platforms.board_with(chip.key)
    description = paths.platforms() / f"{name_of(board, non_secure=non_secure)}.repl"
    return [
        "Clear",
        "emulation SetGlobalAdvanceImmediately true",
        "emulation Mode SynchronizedTimers",  # a button's level reaches its pin immediately
        f'emulation SetGlobalQuantum "{quantum:.6f}"',
        f'mach create "{board.key}"',
        f"machine LoadPlatformDescription {monitor_path(description)}",
        "sysbus.nvic FilterCcrDiv0Write false",
        "sysbus UnhandledAccessBehaviour ThrowException",
    ]


def start_script(board: BoardTable) -> str:
    """Return ``BOARD.resc``, a script for running an ELF file on the board by hand."""
    sources = " ".join(f"$ORIGIN/peripherals/{name}" for name in SOURCES)
    return f'''\
:name: {board.name}
:description: Runs an image on this board. Set $bin to an ELF file first.

# {made_from(f"boards/{board.key}.toml")}
# renode -e '$bin=@path/to/zephyr.elf; include @platforms/{board.key}.resc; start'
#
# A non-secure image that runs alone needs two more before the script:
# $platform=@platforms/{board.key}_nonsecure.repl and $vectors={board.partitions.nonsecure:#x}
#
# With a secure image below it, behind the script: sysbus LoadELF @secure.elf; nvmc GuardErased

$name?="{board.key}"
$platform?=$ORIGIN/{board.key}.repl
$vectors?={board.chip.area("flash").origin:#x}
using sysbus
include {sources}
mach create $name
machine LoadPlatformDescription $platform
sysbus.nvic FilterCcrDiv0Write false
sysbus UnhandledAccessBehaviour ThrowException

# Skip idle time instead of waiting for the wall clock.
emulation SetGlobalAdvanceImmediately true
emulation SetGlobalQuantum "{QUANTUM:.6f}"
emulation Mode SynchronizedTimers

showAnalyzer {board.console.uarte.lower()}

macro load
"""
    sysbus LoadELF $bin
    nvmc GuardErased
"""

# A reset keeps flash and RAM: `runMacro $load` before it loads a new build.
macro reset
"""
    cpu VectorTableOffset $vectors
"""

runMacro $load
runMacro $reset
'''


def agent(chip: ChipTable, vectors: int, console: ConsoleWiring, seed: int) -> str:
    """Return the constructor of the agent for an image whose vector table is at ``vectors``.

    ``console`` is the wiring of the UARTE that is heard. Registers that a reset leaves undefined
    have the pattern of ``seed``.

    Renode executes one instruction per cycle, as the built-in simulator does.
    """
    memories = tuple((area.origin, area.end) for area in (chip.area("flash"), chip.area("ram")))
    regions = (chip.spu_regions(name) for name in ("flash", "ram"))
    spu = (chip.peripheral("SPU").addresses[0], *regions, _peripherals(chip))
    facts = f"{chip.cpu_hz // 1_000_000}, {memories}, {spu}, {RESETS_IN_A_LOOP}"
    return f"Agent({vectors:#x}, {_undefined_registers(seed)}, {wiring_of(console)}, {facts})"


def _undefined_registers(seed: int) -> dict[int, int]:
    """Return Renode's numbers and the values of the registers that a reset leaves undefined."""
    values = dict(enumerate(power_on.words(seed, power_on.R0, 13)))
    values |= dict(enumerate(power_on.words(seed, power_on.S0, 32), _S0))
    (stack,), (flags,), (status,) = (
        power_on.words(seed, place, 1) for place in (power_on.PSP, power_on.APSR, power_on.FPSCR)
    )
    values[_OTHER_SP] = stack & ~3
    values[_XPSR] = flags & power_on.FLAGS | _THUMB
    values[_FPSCR] = status & power_on.FP_STATUS
    return values


def load(image: Image, folder: Path, seed: int) -> str:
    """Return the agent's call that fills the memories from files, which are written to ``folder``.

    Where the image loads nothing, flash is erased and RAM has the pattern of ``seed``.
    """
    contents, words = [], {"ficr": image.chip.ficr, "uicr": image.chip.uicr}
    for area in image.chip.areas:
        content = bytearray(b"\xff" * area.size)
        if area.name == "ram":
            content[:] = power_on.pattern(seed, area.origin, area.size)
        for at, word in words.get(area.name, {}).items():
            content[at : at + 4] = word.to_bytes(4, "little")
        own = [one for one in image.loaded if one.data and area.holds(one.load_address)]
        for segment in own:
            at = segment.load_address - area.origin
            content[at : at + len(segment.data)] = segment.data
        if own or area.name in ("flash", "ram"):
            path = folder / f"{area.name}.bin"
            path.write_bytes(content)
            contents.append((area.name, str(path)))
    return f"load({contents})"


def _peripherals(chip: ChipTable) -> int:
    """Return the number of peripheral ids, to which the SPU gives attributes."""
    return max(block.number for block in chip.blocks) + 1


def monitor_path(path: Path) -> str:
    """Format ``path`` for Renode's Monitor: blanks are escaped."""
    return "@" + str(path).replace(" ", "\\ ")
