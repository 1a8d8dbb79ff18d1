"""Fault models, and the drawing of faults: a fault is determined by a seed and its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

from harness.base.errors import UsageError
from harness.base.removed import removed
from harness.studies.campaign.baseline import Baseline, FaultSite

#: Registers that a fault may hit.
REGISTERS = (*(f"r{i}" for i in range(13)), "sp", "lr", "pc")
_WORD = 32  # bits
#: Name of the tensor for a fault in code, and of the operator before the first one.
NONE = ""
#: The model that resets the chip, so that the image boots again.
RESET = "reset"


@dataclass(frozen=True)
class InjectedFault:
    """One fault."""

    id: int
    model: str
    offset: int  # instructions from the beginning of the inference
    address: int  # of memory; "registers": number of the register
    mask: int  # bits to flip
    region: str
    tensor: str
    operator: str
    bit: int  # the lowest flipped bit, within the tensor's element, the register or halfword

    @property
    def when(self) -> str:
        """Its time, in words."""
        where = f", in {self.operator}" if self.operator else ""
        return f"instruction {self.offset:,} of the inference{where}"

    @property
    def effect(self) -> str:
        """Its effect, in words; "" if the model's name is enough."""
        match self.model:
            case "skip" | "reset":
                return ""
            case "replace":
                return f"the instruction: bits 0x{self.mask:x}"
            case "registers":
                return f"{self.tensor}: bits 0x{self.mask:x}"
        return f"{self.tensor}: bits 0x{self.mask:x} at 0x{self.address:08x}"

    def to_json(self) -> dict[str, Any]:
        """The fault as JSON types."""
        return {**vars(self)}


def draw(
    baseline: Baseline, seed: int, number: int, models: Sequence[str], bits: int = 1
) -> InjectedFault:
    """Draw fault ``number`` of a campaign: models in turn, sites with the weight of their size."""
    random = Random(f"{seed} {number}")  # text is hashed with SHA-512, equally on all machines
    return MODELS[models[number % len(models)]](baseline, random, number, bits)


def check_models(names: Sequence[str]) -> None:
    """Raise :class:`UsageError` for an unknown fault model."""
    for name in names:
        if name not in MODELS:
            raise removed(f"fault model {name}") or UsageError(
                f"no fault model {name!r}", hint=f"one of {', '.join(MODELS)}"
            )


def _byte_of(sites: Sequence[FaultSite], kind: str, random: Random) -> tuple[FaultSite, int]:
    """Draw a site and a byte in it; all bytes of ``sites`` are equally likely."""
    if not sites:
        raise UsageError(f"the image has no {kind} to hit")
    ends = list(accumulate(site.size for site in sites))
    byte = random.randrange(ends[-1])
    index = next(i for i, end in enumerate(ends) if byte < end)
    return sites[index], byte - (ends[index] - sites[index].size)


def _flip(site: FaultSite, byte: int, random: Random, bits: int) -> tuple[int, int, int]:
    """Draw address, mask and lowest bit of ``bits`` adjacent bits within one element."""
    width = max(site.width, 1)
    start = byte - byte % width
    width = min(width, site.size - start)
    bits = min(bits, 8 * width)
    low = random.randrange(8 * width - bits + 1)
    return site.address + start, ((1 << bits) - 1) << low, low


def _weights(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
    site, byte = _byte_of(baseline.weights, "weights", random)
    address, mask, bit = _flip(site, byte, random, bits)
    operator = baseline.operators[site.operators[0]]
    return InjectedFault(number, "weights", 0, address, mask, "weights", site.name, operator, bit)


def _activations(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
    site, byte = _byte_of(baseline.activations, "activations", random)
    address, mask, bit = _flip(site, byte, random, bits)
    reader = random.choice(site.operators)
    return InjectedFault(
        number, "activations", baseline.boundaries[reader], address, mask, "activations", site.name,
        baseline.operators[reader], bit,
    )  # fmt: skip


def _running(baseline: Baseline, offset: int) -> str:
    """The operator that runs at ``offset``."""
    operator = baseline.operator_at(offset)
    return baseline.operators[operator] if operator >= 0 else NONE


def _in_ram(name: str, fits: Callable[[FaultSite], bool]) -> Draw:
    def draw_one(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
        sites = [site for site in baseline.ram if fits(site)]
        site, byte = _byte_of(sites, name, random)
        offset = random.randrange(baseline.length)
        address, mask, bit = _flip(site, byte, random, bits)
        operator = _running(baseline, offset)
        return InjectedFault(
            number, name, offset, address, mask, site.region, site.name, operator, bit
        )

    return draw_one


def _registers(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
    offset, register = random.randrange(baseline.length), random.randrange(len(REGISTERS))
    bits = min(bits, _WORD)
    low = random.randrange(_WORD - bits + 1)
    return InjectedFault(
        number, "registers", offset, register, ((1 << bits) - 1) << low, "registers",
        REGISTERS[register], _running(baseline, offset), low,
    )  # fmt: skip


def _instruction(name: str) -> Draw:
    def draw_one(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
        offset = random.randrange(baseline.length)
        bits = min(bits, 16)
        low = random.randrange(16 - bits + 1)
        mask, bit = (((1 << bits) - 1) << low, low) if name == "replace" else (0, -1)
        return InjectedFault(
            number, name, offset, 0, mask, "code", NONE, _running(baseline, offset), bit
        )

    return draw_one


def _reset(baseline: Baseline, random: Random, number: int, bits: int) -> InjectedFault:
    offset = random.randrange(baseline.length)
    return InjectedFault(number, RESET, offset, 0, 0, "chip", NONE, _running(baseline, offset), -1)


Draw = Callable[[Baseline, Random, int, int], InjectedFault]

#: Name of a fault model -> the function that draws its faults.
MODELS: dict[str, Draw] = {
    "weights": _weights,
    "activations": _activations,
    "arena": _in_ram("arena", lambda site: site.region == "arena"),
    "ram": _in_ram("ram", lambda site: True),
    "registers": _registers,
    "skip": _instruction("skip"),
    "replace": _instruction("replace"),
    RESET: _reset,
}

#: Models that need no boot for each fault.
DEFAULT_MODELS = tuple(name for name in MODELS if name != RESET)
