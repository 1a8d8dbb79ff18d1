"""Renode's platform descriptions, from the tables of chips and boards.

``python tests/support/renode_platforms.py`` writes them to ``platforms/``, and a test compares
them: for each chip ``CHIP.repl``; for each board ``BOARD.repl``, which adds its LEDs and buttons,
and ``BOARD_nonsecure.repl``, for non-secure images alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.base.platforms import Area, BoardTable, ChipTable, Peripheral

#: Regions of the core's SAU, to which peripherals/spu.py writes those of the SPU: enough for 64
#: regions of each memory, every other one non-secure.
SAU_REGIONS = 72
#: Addresses of the system control space of each security state (Armv8-M ARM, B3.2), and of DWT.
_SCS, _SCS_NS, _DWT = 0xE000_E000, 0xE002_E000, 0xE000_1000


@dataclass(frozen=True)
class RenodeModel:
    """The model of a block: a class of Renode, or of peripherals/counters.cs."""

    type: str
    attributes: tuple[str, ...] = ()
    lost: str = ""  # functions of the block that the model does not have
    mute: bool = False  # it has no interrupt


_CLOCK = RenodeModel(
    "Miscellaneous.NRF_CLOCK",
    lost="Clocks start at once. Lost: POWER and RESET (RESETREAS reads 0, GPREGRET is not kept).",
)
#: ``model`` in the chip's table -> Renode's model.
MODELS: Mapping[str, RenodeModel] = {
    "clock": _CLOCK,
    "clock_reset": _CLOCK,
    "egu": RenodeModel("Miscellaneous.NRF52840_EGU"),
    "gpio": RenodeModel("GPIOPort.NRF52840_GPIO", mute=True),
    "gpiote": RenodeModel("GPIOPort.NRF52840_GPIOTasksEvents"),
    "rtc": RenodeModel("Timers.Nrf9160Rtc"),
    "timer": RenodeModel("Timers.Nrf9160Timer"),
    "uarte": RenodeModel(
        "UART.NRF52840_UART",
        ("easyDMA: true",),
        "Transfers take no virtual time; ENDTX and TXSTOPPED come together.",
    ),
    "wdt": RenodeModel("Timers.NRF52840_Watchdog"),
}
_UNMODELLED = RenodeModel(
    "Miscellaneous.Unmodelled",
    lost="Without a model: reads give 0, writes are lost, each access is logged.",
    mute=True,
)
_UNMODELLED_SIZE = 0x1000  # if the description names none
#: Blocks modelled by scripts in peripherals/, which harness/targets/renode/machine.py adds.
SCRIPTS = ("NVMC", "DPPIC", "SPU")
#: Addresses of debug components that exist on the chip (Armv8-M ARM, B11).
_DEBUG = {"itm": 0xE000_0000, "fpb": 0xE000_2000, "tpiu": 0xE004_0000, "etm": 0xE004_1000}


def unmodelled(chip: ChipTable) -> tuple[Peripheral, ...]:
    """Return the blocks of ``chip`` for which there is no model in Renode or in this project."""
    return tuple(one for one in chip.blocks if one.model not in MODELS and one.name not in SCRIPTS)


def name_of(board: BoardTable, *, non_secure: bool) -> str:
    """Return the name of a board's description, without ``.repl``."""
    return f"{board.key}_nonsecure" if non_secure else board.key


# -- files ----------------------------------------------------------------------------------------


def descriptions(chips: Iterable[ChipTable], boards: Iterable[BoardTable]) -> dict[str, str]:
    """Return every ``.repl`` file of ``platforms/``: name -> text."""
    files = {f"{chip.key}.repl": chip_description(chip) for chip in chips}
    for board in boards:
        files[f"{name_of(board, non_secure=False)}.repl"] = board_description(board)
        files[f"{name_of(board, non_secure=True)}.repl"] = _non_secure(board)
    return files


def made_from(table: str) -> str:
    """Return the line of a file that names its source, a ``table`` in ``platforms/``."""
    return f"Made from {table} by tests/support/renode_platforms.py: change it there."


def chip_description(chip: ChipTable) -> str:
    """Return ``CHIP.repl``: the core, the memories, and every block of the table.

    The models of peripherals/*.cs must be included before it.
    """
    in_both = [one for one in chip.blocks if len(one.bases) > 1]
    in_one = [one for one in chip.blocks if len(one.bases) == 1]
    noted: set[str] = set()
    parts = [
        f"// {chip.name} for Renode 1.17 or later.\n"
        f"// {made_from(f'chips/{chip.key}.toml')}\n"
        "// It needs peripherals/*.cs included before it. What a model lacks is said at the first\n"
        "// block that has it. NVMC, DPPIC and SPU are scripts in peripherals/.\n",
        _core(chip),
        "// ---- memory\n",
        "// Lost: NVMC.CONFIG does not gate writes, and they can set bits.\n",
        *(_memory(chip, area) for area in chip.areas),
        "// ---- peripherals in the secure and the non-secure window\n",
        *_blocks(chip, in_both, noted),
        "// ---- peripherals in one window\n",
        *_blocks(chip, in_one, noted),
        *(f"{name}: {_UNMODELLED.type} @ sysbus {_hex(at)}\n" for name, at in _DEBUG.items()),
    ]
    return "\n".join(parts)


def _core(chip: ChipTable) -> str:
    mask = 0xFF << (8 - chip.priority_bits) & 0xFF
    return f"""\
// The chip's SAU has no regions and leaves attribution to the SPU; here the SPU (peripherals/spu.py)
// writes its regions into the SAU. Lost: security attributes of peripherals.
cpu: CPU.CortexM @ sysbus
    cpuType: "{chip.core}"
    nvic: nvic
    enableTrustZone: true
    numberOfMPURegions: {chip.mpu_regions}
    numberOfSAURegions: {SAU_REGIONS}
    PerformanceInMips: {chip.cpu_hz // 1_000_000}

// The system control space; its non-secure alias is for secure code: VTOR_NS, SysTick_NS and the
// like. Without it writes to them are lost, and non-secure exceptions take secure vectors.
nvic: IRQControllers.NVIC @ {{
        sysbus new Bus.BusPointRegistration {{ address: {_hex(_SCS)}; cpu: cpu }};
        sysbus new Bus.BusMultiRegistration {{ address: {_hex(_SCS_NS)}; size: 0x1000; region: "NonSecure"; cpu: cpu }}
    }}
    priorityMask: 0x{mask:X}          // {chip.priority_bits} priority bits
    systickFrequency: {chip.cpu_hz}
    -> cpu@0

// Counts virtual time: one count per instruction.
dwt: Miscellaneous.DWT @ sysbus {_hex(_DWT)}
    frequency: {chip.cpu_hz}
"""  # noqa: E501 - a line of Renode's language


def _memory(chip: ChipTable, area: Area) -> str:
    words = {"ficr": chip.ficr, "uicr": chip.uicr}.get(area.name)
    kind = "MappedMemory" if words is None else "ArrayMemory"
    text = f"{area.name}: Memory.{kind} @ sysbus {_hex(area.origin)}\n    size: {area.size:#x}\n"
    if words is None:
        return text
    writes = (f"        WriteDoubleWord 0x{at:03X} {_hex(word)}\n" for at, word in words.items())
    return f"{text}    initialValue: 0xFF\n    init:\n{''.join(writes)}"


def _blocks(chip: ChipTable, blocks: Iterable[Peripheral], noted: set[str]) -> Iterable[str]:
    for block in blocks:
        if block.name in SCRIPTS:
            continue
        model = MODELS.get(block.model, _UNMODELLED)
        text = _block(chip, block, model)
        if model.lost and model.lost not in noted:
            noted.add(model.lost)
            text = f"// {model.lost}\n{text}"
        yield text


def _block(chip: ChipTable, block: Peripheral, model: RenodeModel) -> str:
    first, *others = (f"sysbus {_hex(address)}" for address in block.addresses)
    where = first
    if others:
        registered = ";\n        ".join((first, *others))
        where = f"{{\n        {registered}\n    }}"
    lines = [f"{block.name.lower()}: {model.type} @ {where}", *model.attributes]
    if model is _UNMODELLED and block.size != _UNMODELLED_SIZE:
        lines.append(f"size: {block.size:#x}")
    if block.model == "gpiote":
        ports = (one.name.lower() for one in chip.blocks if one.model == "gpio")
        lines += [f"port{number}: {name}" for number, name in enumerate(ports)]
    if block.irq is not None and not model.mute:
        lines.append(f"-> nvic@{block.irq}")
    return "\n    ".join(lines) + "\n"


def board_description(board: BoardTable) -> str:
    """Return ``BOARD.repl``: LEDs and buttons at the pins of port 0 that the table names."""
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


def _non_secure(board: BoardTable) -> str:
    return f"""\
// {board.name} whose core has no security states, for non-secure images alone: what secure firmware
// would have set up below them is set up already.
// {made_from(f"boards/{board.key}.toml")}

using "./{board.key}.repl"

cpu:
    enableTrustZone: false

nvic: @ sysbus new Bus.BusPointRegistration {{ address: {_hex(_SCS)}; cpu: cpu }}
"""


def _hex(address: int) -> str:
    return f"0x{address:08X}"
