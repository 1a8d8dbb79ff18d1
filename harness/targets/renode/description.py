"""Renode's platform descriptions, from the tables of chips and boards.

The texts stand in ``platforms/`` as files: ``python tests/support/renode_platforms.py`` writes
them, a test compares. For each chip there is ``CHIP.repl``; for each board ``BOARD.repl``, which
adds what is wired to it, and one file for each further :class:`Security`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from harness.base.platforms import Area, BoardTable, ChipTable, Peripheral

#: Regions of the core's SAU, into which peripherals/spu.py writes those of the SPU: enough for 64
#: regions of each memory, every other one non-secure.
SAU_REGIONS = 72
#: Both security states have a system control space (Armv8-M ARM, B3.2); it is as large as a page.
_SCS, _SCS_NS, _DWT = 0xE000_E000, 0xE002_E000, 0xE000_1000


class Security(Enum):
    """The security states of a machine, by the end of the name of its description."""

    NONE = ""
    STATES = "_trustzone"  # one world, whose exceptions look as on the chip
    WORLDS = "_worlds"


@dataclass(frozen=True)
class RenodeModel:
    """A model that stands for a block: a class of Renode, or of peripherals/counters.cs.

    ``lost`` says what the block does and the model does not. ``mute``: it gives no interrupt.
    """

    type: str
    attributes: tuple[str, ...] = ()
    lost: str = ""
    mute: bool = False


_CLOCK = RenodeModel(
    "Miscellaneous.NRF_CLOCK",
    lost="Clocks start at once. Lost: POWER and RESET (RESETREAS reads 0, GPREGRET is not kept).",
)
_SPU = RenodeModel(
    "Memory.ArrayMemory", ("size: 0x1000",), "Attributes are kept, not enforced.", True
)
#: By ``model`` of the chip's table.
MODELS: Mapping[str, RenodeModel] = {
    "clock": _CLOCK,
    "clock_reset": _CLOCK,
    "egu": RenodeModel("Miscellaneous.NRF52840_EGU"),
    "gpio": RenodeModel("GPIOPort.NRF52840_GPIO", mute=True),
    "gpiote": RenodeModel("GPIOPort.NRF52840_GPIOTasksEvents"),
    "rtc": RenodeModel("Timers.Nrf9160Rtc"),
    "spu": _SPU,
    "spu_large": _SPU,
    "timer": RenodeModel("Timers.Nrf9160Timer"),
    "uarte": RenodeModel(
        "UART.NRF52840_UART",
        ("easyDMA: true",),
        "Transfers take no virtual time; ENDTX and TXSTOPPED come together.",
    ),
    "wdt": RenodeModel("Timers.NRF52840_Watchdog"),
}
#: Blocks that scripts in peripherals/ stand for, and what they read as without the script.
SCRIPTS: Mapping[str, int] = {"NVMC": 1, "DPPIC": 0}


def unmodelled(chip: ChipTable) -> tuple[Peripheral, ...]:
    """The blocks of ``chip`` that neither Renode nor this project has a model of for Renode."""
    return tuple(one for one in chip.blocks if one.model not in MODELS and one.name not in SCRIPTS)


# -- files ----------------------------------------------------------------------------------------


def descriptions(chips: Iterable[ChipTable], boards: Iterable[BoardTable]) -> dict[str, str]:
    """Every ``.repl`` file of ``platforms/``: its name, its text."""
    made = {f"{chip.key}.repl": chip_description(chip) for chip in chips}
    for board in boards:
        made[f"{board.key}.repl"] = board_description(board)
        made[f"{board.key}{Security.STATES.value}.repl"] = _trustzone(board)
        made[f"{board.key}{Security.WORLDS.value}.repl"] = _worlds(board)
    return made


def made_from(table: str) -> str:
    """The line of a file that says where it comes from; ``table`` is a file in ``platforms/``."""
    return f"Made from {table} by tests/support/renode_platforms.py: change it there."


def chip_description(chip: ChipTable) -> str:
    """``CHIP.repl``: the core, the memories, and every block of the table.

    It boots secure images alone and needs peripherals/counters.cs to be included before it.
    """
    in_both = [one for one in chip.blocks if len(one.bases) > 1]
    in_one = [one for one in chip.blocks if len(one.bases) == 1]
    parts = [
        f"// {chip.name} for Renode 1.16.1 or later.\n"
        f"// {made_from(f'chips/{chip.key}.toml')}\n"
        "// It boots secure images alone, and needs `include @peripherals/counters.cs` before it.\n"
        "// What a model lacks is said at the first block that has it.\n",
        _core(chip),
        "// ---- memory\n",
        "// Lost: NVMC.CONFIG does not gate writes, and they can set bits; a page erase needs\n"
        "// peripherals/nvmc.py.\n",
        *(_memory(chip, area) for area in chip.areas),
        "// ---- peripherals in the secure and the non-secure window\n",
        *_blocks(chip, in_both, set()),
        "// ---- peripherals in one window\n",
        *_blocks(chip, in_one, set()),
        _tags(chip),
    ]
    return "\n".join(parts)


def _core(chip: ChipTable) -> str:
    mask = 0xFF << (8 - chip.priority_bits) & 0xFF
    scs = f"address: {_hex(_SCS)}; cpu: cpu"
    return f"""\
// TrustZone is off here: the core is always secure. Lost: BXNS, SAU, secure faults.
cpu: CPU.CortexM @ sysbus
    cpuType: "{chip.core}"
    nvic: nvic
    numberOfMPURegions: {chip.mpu_regions}
    PerformanceInMips: {chip.cpu_hz // 1_000_000}

nvic: IRQControllers.NVIC @ sysbus new Bus.BusPointRegistration {{ {scs} }}
    priorityMask: 0x{mask:X}          // {chip.priority_bits} priority bits
    systickFrequency: {chip.cpu_hz}
    -> cpu@0

// Counts virtual time: one count per instruction.
dwt: Miscellaneous.DWT @ sysbus {_hex(_DWT)}
    frequency: {chip.cpu_hz}
"""


def _memory(chip: ChipTable, area: Area) -> str:
    words = {"ficr": chip.ficr, "uicr": chip.uicr}.get(area.name)
    kind = "MappedMemory" if words is None else "ArrayMemory"
    text = f"{area.name}: Memory.{kind} @ sysbus {_hex(area.origin)}\n    size: {area.size:#x}\n"
    if words is None:
        return text
    writes = (f"        WriteDoubleWord 0x{at:03X} {_hex(word)}\n" for at, word in words.items())
    return f"{text}    initialValue: 0xFF\n    init:\n{''.join(writes)}"


def _blocks(chip: ChipTable, blocks: Iterable[Peripheral], told: set[str]) -> Iterable[str]:
    for block in blocks:
        model = MODELS.get(block.model)
        if model is None:
            continue
        if model.lost and model.lost not in told:
            told.add(model.lost)
            yield f"// {model.lost}\n{_block(chip, block, model)}"
        else:
            yield _block(chip, block, model)


def _block(chip: ChipTable, block: Peripheral, model: RenodeModel) -> str:
    first, *others = (f"sysbus {_hex(address)}" for address in block.addresses)
    where = first
    if others:
        registered = ";\n        ".join((first, *others))
        where = f"{{\n        {registered}\n    }}"
    lines = [f"{block.name.lower()}: {model.type} @ {where}", *model.attributes]
    if block.model == "gpiote":
        ports = (one.name.lower() for one in chip.blocks if one.model == "gpio")
        lines += [f"port{number}: {name}" for number, name in enumerate(ports)]
    if block.irq is not None and not model.mute:
        lines.append(f"-> nvic@{block.irq}")
    return "\n    ".join(lines) + "\n"


def _tags(chip: ChipTable) -> str:
    """Blocks without a model: reads give a value, writes are lost, each access is logged."""
    lines = []
    for block in chip.blocks:
        if block.model in MODELS:
            continue
        value = SCRIPTS.get(block.name, 0)
        for address in block.addresses:
            name = block.name + ("_NS" if address != block.addresses[0] else "")
            end = address + block.size - 1
            lines.append(f'        Tag <{_hex(address)}, {_hex(end)}> "{name}" {value:#x}\n')
    return f"""\
// ---- no model: reads give the value, writes are lost, each access is logged. For NVMC and DPPIC
// there are scripts in peripherals/.

sysbus:
    init:
{"".join(lines)}"""


def board_description(board: BoardTable) -> str:
    """``BOARD.repl``: LEDs and buttons at the pins of port 0 that the table names."""
    leds = {name: pin for name, pin in board.pins.items() if name.startswith("led")}
    keys = {name: pin for name, pin in board.pins.items() if name not in leds}
    console = board.console
    lights = "".join(f"{name}: Miscellaneous.LED @ p0 {pin}\n" for name, pin in leds.items())
    wires = "".join(f"    {pin} -> {name}@0\n" for name, pin in leds.items())
    buttons = "\n".join(
        f"{name}: Miscellaneous.Button @ p0 {pin}\n    invert: true\n    -> p0@{pin}\n"
        for name, pin in keys.items()
    )
    return f"""\
// {board.name}: the chip with what the board wires to it.
// {made_from(f"boards/{board.key}.toml")}

using "./{board.chip.key}.repl"

// The console is {console.uarte.lower()}: TX P0.{console.pins.txd}, {console.baud} baud.

// An LED's state is its pin's level.
{lights}
p0:
{wires}
// Buttons and switches pull to ground.
{buttons}"""


def _trustzone(board: BoardTable) -> str:
    return f"""\
// {board.name} whose core knows security states, for secure images on Renode 1.17 and later:
// without them EXC_RETURN.ES is 0 there, and Zephyr's secure fault handler finds no frame.
// {made_from(f"boards/{board.key}.toml")}

using "./{board.key}.repl"

cpu:
    enableTrustZone: true

// The system control space of the non-secure state, for secure code: VTOR_NS, SysTick_NS and the
// like. Without it writes to them are lost, and non-secure exceptions take secure vectors.
nvic: @ {{
        sysbus new Bus.BusPointRegistration {{ address: {_hex(_SCS)}; cpu: cpu }};
        sysbus new Bus.BusMultiRegistration {{ address: {_hex(_SCS_NS)}; size: 0x1000; region: "NonSecure"; cpu: cpu }}
    }}
"""  # noqa: E501 - a line of Renode's language


def _worlds(board: BoardTable) -> str:
    return f"""\
// {board.name} for images of both worlds, on Renode 1.17 and later. The chip's SAU has no regions
// and leaves attribution to the SPU; here the SPU (peripherals/spu.py) writes its regions into the
// SAU.
// {made_from(f"boards/{board.key}.toml")}

using "./{board.key}{Security.STATES.value}.repl"

cpu:
    numberOfSAURegions: {SAU_REGIONS}

// Plain storage, which peripherals/spu.py replaces.
spu: @ none
"""


def _hex(address: int) -> str:
    return f"0x{address:08X}"
