"""Renode's platform descriptions, from the tables of chips and boards.

``python tests/support/renode_platforms.py`` writes them to ``platforms/``, and a test compares
them: for each chip ``CHIP.repl``; for each board ``BOARD.repl``, which adds its LEDs and buttons,
and ``BOARD_nonsecure.repl``, for non-secure images alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.base.platforms import Area, BoardTable, ChipTable, ConsoleWiring, Peripheral
from harness.simulator.peripherals import MODELS

#: Regions of the core's SAU, to which peripherals/parts.cs writes those of the SPU: enough for 64
#: regions of each memory, every other one non-secure.
SAU_REGIONS = 72
#: What is included before a description, in this order: the runtime, and the models made from those
#: of the simulator (tests/support/csharp).
SOURCES = tuple(
    f"{name}.cs"
    for name in ("python", "tables", "registers", "device", "models", "parts", "chip", "unmodelled")
)
#: Addresses of the system control space of each security state (Armv8-M ARM, B3.2), and of DWT.
_SCS, _SCS_NS, _DWT = 0xE000_E000, 0xE002_E000, 0xE000_1000
#: Addresses of debug components that exist on the chip (Armv8-M ARM, B11): without a model.
_DEBUG = {"itm": 0xE000_0000, "fpb": 0xE000_2000, "tpiu": 0xE004_0000, "etm": 0xE004_1000}


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

    The :data:`SOURCES` must be included before it.
    """
    return "\n".join(
        (
            f"// {chip.name} for Renode 1.17 or later.\n"
            f"// {made_from(f'chips/{chip.key}.toml')}\n"
            "// It needs peripherals/*.cs included before it; BOARD.resc does so.\n",
            _core(chip),
            "// ---- memory\n",
            *(_memory(chip, area) for area in chip.areas),
            "// ---- peripherals\n",
            *(_block(chip, block) for block in chip.blocks),
            "// ---- debug components: reads give 0, writes are lost, each access is logged\n",
            *(
                f"{name}: Miscellaneous.Unmodelled @ sysbus {_hex(at)}\n"
                for name, at in _DEBUG.items()
            ),
        )
    )


def _core(chip: ChipTable) -> str:
    mask = 0xFF << (8 - chip.priority_bits) & 0xFF
    return f"""\
// The chip's SAU has no regions and leaves attribution to the SPU; here the SPU writes its regions
// into the SAU. There is no IDAU.
cpu: CPU.CortexM @ sysbus
    cpuType: "{chip.core}"
    nvic: nvic
    enableTrustZone: true
    numberOfMPURegions: {chip.mpu_regions}
    numberOfSAURegions: {SAU_REGIONS}
    numberOfIDAURegions: 0
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

// What all peripherals share: time, DPPI, EasyDMA, security, resets.
chip: Nordic.Chip @ sysbus
    table: "{chip.key}"
    cpu: cpu
"""  # noqa: E501 - a line of Renode's language


def _memory(chip: ChipTable, area: Area) -> str:
    words = {"ficr": chip.ficr, "uicr": chip.uicr}.get(area.name)
    kind = "MappedMemory" if words is None else "ArrayMemory"
    text = f"{area.name}: Memory.{kind} @ sysbus {_hex(area.origin)}\n    size: {area.size:#x}\n"
    if words is None:
        return text + ("    ResetByte: 0xFF\n" if area.name == "flash" else "")
    writes = (f"        WriteDoubleWord 0x{at:03X} {_hex(word)}\n" for at, word in words.items())
    return f"{text}    initialValue: 0xFF\n    init:\n{''.join(writes)}"


def _block(chip: ChipTable, block: Peripheral) -> str:
    model = MODELS[block.model].__name__
    places = ";\n        ".join(_place(chip, block, window) for window in chip.windows)
    lines = [
        f"{block.name.lower()}: Nordic.{model} @ {{\n        {places}\n    }}",
        "chip: chip",
        f'block: "{block.name}"',
    ]
    if block.irq is not None:
        lines.append(f"-> nvic@{block.irq}")
    return "\n    ".join(lines) + "\n"


def _place(chip: ChipTable, block: Peripheral, window: int) -> str:
    """A registration; the model must know through which window it is reached.

    A block is registered in both, also if it answers in one only: its model reports the access.
    """
    address = window + block.offset
    if window == chip.secure_window:
        return f"sysbus {_hex(address)}"
    return (
        f"sysbus new Bus.BusMultiRegistration {{ address: {_hex(address)};"
        f' size: {block.size:#x}; region: "NonSecure" }}'
    )


def board_description(board: BoardTable) -> str:
    """Return ``BOARD.repl``: the console's wiring, LEDs and buttons at the pins of port 0."""
    leds = {name: pin for name, pin in board.pins.items() if name.startswith("led")}
    keys = {name: pin for name, pin in board.pins.items() if name not in leds}
    pulled = sum(1 << pin for pin in keys.values())
    lights = "".join(f"{name}: Miscellaneous.LED @ p0 {pin}\n" for name, pin in leds.items())
    wires = "".join(f"    {pin} -> {name}@0\n" for name, pin in leds.items())
    buttons = "\n".join(
        f"{name}: Miscellaneous.Button @ p0 {pin}\n"
        f"    invert: true\n    ReleaseOnReset: false\n    -> p0@{pin}\n"
        for name, pin in keys.items()
    )
    return f"""\
// {board.name}: the chip with what the board wires to it.
// {made_from(f"boards/{board.key}.toml")}

using "./{board.chip.key}.repl"

// The console: pins TXD, RXD, RTS, CTS (-1: open), baud rate, parity, stop bits, flow control.
{board.console.uarte.lower()}:
    init:
        Wire {_words(board.console)}

// An LED's state is its pin's level.
{lights}
p0:
    PulledToGround: {pulled:#x}
{wires}
// Buttons and switches pull to ground; one that is held stays so in a reset.
{buttons}"""


def wiring_of(console: ConsoleWiring) -> tuple[str | int, ...]:
    """Return the model's name, and what Wire() of a UARTE's model takes (peripherals/parts.cs)."""
    pins = (console.pins.txd, console.pins.rxd, console.pins.rts, console.pins.cts)
    return (
        console.uarte.lower(),
        *(-1 if pin is None else pin for pin in pins),
        *(console.baud, console.parity, console.stop_bits, console.flow_control, console.board),
    )


def _words(console: ConsoleWiring) -> str:
    """Format the arguments of Wire() as Renode's language has them."""
    _, *numbers, board = wiring_of(console)
    return " ".join(str(one).lower() for one in numbers) + f' "{board}"'


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
