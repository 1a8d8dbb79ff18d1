"""The machine that runs an image in Renode, as commands of Renode's Monitor."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from harness.base import paths, platforms
from harness.base.clock import RESETS_IN_A_LOOP
from harness.base.platforms import ChipTable
from harness.base.power_on import pattern
from harness.elf import Image

#: Virtual seconds between synchronisations; measured in tests/benchmarks/bench_renode.py.
QUANTUM = 0.001
#: Peripherals that are scripts of this project.
_SCRIPTED = ("nvmc", "dppic")
#: Peripherals that Renode has no model of, tags of nrf9160.repl.
UNMODELLED = (
    "REGULATORS", "CTRLAPPERI", "SAADC", "PWM0", "PWM1", "PWM2", "PWM3", "PDM", "I2S", "IPC",
    "FPU", "VMC", "CRYPTOCELL",
)  # fmt: skip
#: Debug components that answer on the chip: Armv8-M ARM, B11 (ITM, FPB, TPIU, ETM).
_DEBUG = {"itm": 0xE000_0000, "fpb": 0xE000_2000, "tpiu": 0xE004_0000, "etm": 0xE004_1000}
#: Firmware leaves attribution to the SPU by setting SAU_CTRL.ALLNS. In Renode the SPU's regions are
#: regions of the SAU, so ENABLE is written instead.
_SAU_FOLLOWS = "value = 1 if offset == 0xDD0 and value & 3 == 2 else value"


class Security(Enum):
    """The security states of a machine, by the platform description that has them."""

    NONE = "nrf9160dk.repl"
    STATES = "nrf9160dk_trustzone.repl"  # one world, whose exceptions look as on the chip
    WORLDS = "nrf9160dk_worlds.repl"


def make(chip: ChipTable, security: Security, *, quantum: float, strict: bool) -> list[str]:
    """The commands that make a machine with empty memories.

    ``strict``, for a release that knows how: CCR.DIV_0_TRP takes effect, and an access that nothing
    answers is a BusFault.
    """
    description = monitor_path(paths.platforms() / security.value)
    commands = [
        "Clear",
        "emulation SetGlobalAdvanceImmediately true",
        "emulation Mode SynchronizedTimers",  # a button's level reaches its pin at once
        f'emulation SetGlobalQuantum "{quantum:.6f}"',
        f'mach create "{platforms.board_with(chip.key).key}"',
        f"machine LoadPlatformDescription {description}",
    ]
    if strict:
        commands.append("sysbus.nvic FilterCcrDiv0Write false")
        commands += _stubs(chip)
        commands.append("sysbus UnhandledAccessBehaviour ThrowException")
    if security is Security.WORLDS:
        (spu,) = chip.peripheral("SPU").addresses
        commands.append(_model("spu", spu, "attribution"))
        commands.append(f'sysbus SetHookBeforePeripheralWrite sysbus.nvic "{_SAU_FOLLOWS}"')
    for name in _SCRIPTED:
        block = chip.peripheral(name.upper())
        secure, nonsecure = block.addresses
        commands.append(_model(name, secure))
        commands.append(f"sysbus Redirect {nonsecure:#x} {secure:#x} {block.size:#x}")
    return commands


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
    commands = []
    for name in UNMODELLED:
        block = chip.peripheral(name)
        first, *others = block.addresses
        commands.append(_model("stub", first, name.lower(), block.size))
        commands += [f"sysbus Redirect {one:#x} {first:#x} {block.size:#x}" for one in others]
    return commands + [_model("stub", address, name) for name, address in _DEBUG.items()]


def _model(script: str, address: int, name: str = "", size: int = 0x1000) -> str:
    path = monitor_path(paths.platforms() / "peripherals" / f"{script}.py")
    return f'machine PyDevFromFile {path} {address:#x} {size:#x} True "{name or script}"'


def monitor_path(path: Path) -> str:
    """``path`` as Renode's Monitor reads one: blanks are escaped."""
    return "@" + str(path).replace(" ", "\\ ")
