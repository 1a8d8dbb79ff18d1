"""Fault models, and how faults are drawn: a fault follows from a seed and its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

from harness.errors import UsageError
from harness.studies.campaign.stage import Place, Stage
from harness.studies.campaign.supply import BrownOut

#: r0 to r12, sp, lr, pc: the registers that a fault may hit.
REGISTERS = (*(f"r{i}" for i in range(13)), "sp", "lr", "pc")
_WORD = 32
#: The tensor of faults in registers and instructions, and the operator before the first one.
NONE = ""
NOISE, LOST = "noise", "lost"
SENT = "bytes that are sent to it"


@dataclass(frozen=True)
class Fault:
    """One fault.

    ``offset`` counts instructions from the beginning of the inference. ``mask`` has the bits that
    flip, of the little-endian number at ``address``. Some models use the two otherwise: for
    ``registers`` the address is the register's number. On the line it counts the bytes that the
    host sends, and the mask of ``lost`` is how many are lost. The mask of ``brownout`` is a seed.
    """

    id: int
    model: str
    offset: int
    address: int
    mask: int
    region: str
    tensor: str
    operator: str
    bit: int  # the lowest of the bits, within the tensor's element, the register or halfword

    @property
    def when(self) -> str:
        """When it happens, in words."""
        if self.model in LINE:
            return f"byte {self.address:,} of what the host sends"
        where = f", in {self.operator}" if self.operator else ""
        return f"instruction {self.offset:,} of the inference{where}"

    @property
    def what(self) -> str:
        """What it changes, in words; "" if the model's name says all."""
        match self.model:
            case "lost":
                return f"{self.tensor}: {self.mask} byte(s) lost"
            case "brownout":
                return f"{self.tensor} is lost, drawn from seed {self.mask}"
            case "skip" | "reset":
                return ""
            case "replace":
                return f"the instruction: bits 0x{self.mask:x}"
            case "registers" | "noise":
                return f"{self.tensor}: bits 0x{self.mask:x}"
        return f"{self.tensor}: bits 0x{self.mask:x} at 0x{self.address:08x}"

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return {**vars(self)}


def draw(stage: Stage, seed: int, number: int, models: Sequence[str], bits: int = 1) -> Fault:
    """Fault ``number`` of a campaign. Models take turns; the chance of a place is its size."""
    random = Random(f"{seed} {number}")  # a text is hashed by SHA-512, the same everywhere
    return MODELS[models[number % len(models)]](stage, random, number, bits)


def check_models(names: Sequence[str]) -> None:
    """Raise :class:`UsageError` for a fault model that does not exist."""
    for name in names:
        if name not in MODELS:
            raise UsageError(f"no fault model {name!r}", hint=f"one of {', '.join(MODELS)}")


def _byte_of(places: Sequence[Place], what: str, random: Random) -> tuple[Place, int]:
    """A place and a byte in it, each byte of ``places`` as likely as any other."""
    if not places:
        raise UsageError(
            f"the image has no {what} to hit",
            hint="inputs are sent to configurations such as `console`" if what == SENT else "",
        )
    ends = list(accumulate(place.size for place in places))
    byte = random.randrange(ends[-1])
    index = next(i for i, end in enumerate(ends) if byte < end)
    return places[index], byte - (ends[index] - places[index].size)


def _flip(place: Place, byte: int, random: Random, bits: int) -> tuple[int, int, int]:
    """Address, mask and lowest bit of ``bits`` neighbouring bits within one element."""
    width = max(place.width, 1)
    start = byte - byte % width
    width = min(width, place.size - start)
    bits = min(bits, 8 * width)
    low = random.randrange(8 * width - bits + 1)
    return place.address + start, ((1 << bits) - 1) << low, low


def _weights(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    place, byte = _byte_of(stage.weights, "weights", random)
    address, mask, bit = _flip(place, byte, random, bits)
    operator = stage.operators[place.operators[0]]
    return Fault(number, "weights", 0, address, mask, "weights", place.name, operator, bit)


def _activations(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    place, byte = _byte_of(stage.activations, "activations", random)
    address, mask, bit = _flip(place, byte, random, bits)
    reader = random.choice(place.operators)
    return Fault(
        number, "activations", stage.boundaries[reader], address, mask, "activations", place.name,
        stage.operators[reader], bit,
    )  # fmt: skip


def _running(stage: Stage, offset: int) -> str:
    """The operator that runs at ``offset``."""
    operator = stage.operator_at(offset)
    return stage.operators[operator] if operator >= 0 else NONE


def _in_ram(name: str, wanted: Callable[[Place], bool]) -> Draw:
    def draw_one(stage: Stage, random: Random, number: int, bits: int) -> Fault:
        places = [place for place in stage.ram if wanted(place)]
        place, byte = _byte_of(places, name, random)
        offset = random.randrange(stage.length)
        address, mask, bit = _flip(place, byte, random, bits)
        operator = _running(stage, offset)
        return Fault(number, name, offset, address, mask, place.region, place.name, operator, bit)

    return draw_one


def _registers(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    offset, register = random.randrange(stage.length), random.randrange(len(REGISTERS))
    bits = min(bits, _WORD)
    low = random.randrange(_WORD - bits + 1)
    return Fault(
        number, "registers", offset, register, ((1 << bits) - 1) << low, "registers",
        REGISTERS[register], _running(stage, offset), low,
    )  # fmt: skip


def _instruction(name: str) -> Draw:
    def draw_one(stage: Stage, random: Random, number: int, bits: int) -> Fault:
        offset = random.randrange(stage.length)
        bits = min(bits, 16)
        low = random.randrange(16 - bits + 1)
        mask, bit = (((1 << bits) - 1) << low, low) if name == "replace" else (0, -1)
        return Fault(number, name, offset, 0, mask, "code", NONE, _running(stage, offset), bit)

    return draw_one


def _reset(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    offset = random.randrange(stage.length)
    return Fault(number, "reset", offset, 0, 0, "chip", NONE, _running(stage, offset), -1)


def _brownout(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    offset, seed = random.randrange(stage.length), random.getrandbits(32)
    name = BrownOut.of(seed).name
    return Fault(
        number, "brownout", offset, 0, seed, "chip", name, _running(stage, offset), -1
    )  # fmt: skip


def _noise(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    """Neighbouring bits on the line, possibly of several bytes."""
    place, byte = _byte_of(stage.line, SENT, random)
    bits, low = min(bits, _WORD), random.randrange(8)
    mask = ((1 << bits) - 1) << low
    return Fault(
        number, NOISE, 0, place.address + byte, mask, place.region, place.name, NONE, low
    )  # fmt: skip


def _lost(stage: Stage, random: Random, number: int, bits: int) -> Fault:
    place, byte = _byte_of(stage.line, SENT, random)
    return Fault(number, LOST, 0, place.address + byte, bits, place.region, place.name, NONE, -1)


Draw = Callable[[Stage, Random, int, int], Fault]

#: Fault models: name -> how a fault is drawn.
MODELS: dict[str, Draw] = {
    "weights": _weights,
    "activations": _activations,
    "arena": _in_ram("arena", lambda place: place.region == "arena"),
    "ram": _in_ram("ram", lambda place: True),
    "registers": _registers,
    "skip": _instruction("skip"),
    "replace": _instruction("replace"),
    "reset": _reset,
    "brownout": _brownout,
    NOISE: _noise,
    LOST: _lost,
}

#: Models after which the image boots again.
AFRESH = ("reset", "brownout")
#: Faults on the line, not in the chip.
LINE = (NOISE, LOST)
#: Models for every image that do not need a boot for each fault.
DEFAULT_MODELS = tuple(name for name in MODELS if name not in (*AFRESH, *LINE))
