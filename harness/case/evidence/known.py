"""What is known of an image before it runs: from the model, the table, the ELF, the host."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.base.findings import Finding, Kind
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.build import board_names
from harness.build.variants import Variant
from harness.case.case import Case
from harness.case.evidence.builtin import builtin_inputs
from harness.case.samples import build_id, variant_of
from harness.elf import Image
from harness.elf.demangle import demangle
from harness.elf.file import Symbol
from harness.elf.regions import RAM
from harness.model import Model, Tensor
from harness.reference.node import NUMPY_TYPES
from harness.uart.records import Value

_ARENA_NAME = "tensor_arena"
_ARENA = re.compile(rf"(?:^|::)\w*{_ARENA_NAME}\w*$")
_SLOTS = re.compile(r"MicroMutableOpResolverILj(\d+)E")

#: The input or output tensors of each inference, as bytes.
Rows = Sequence[Sequence[bytes]]


@dataclass(frozen=True)
class Fact:
    """``field`` of every record of ``kind`` must be one of ``values``, says ``source``.

    ``same`` compares two of them.
    """

    kind: str
    field: str
    values: tuple[Value, ...]
    source: str
    same: Callable[[Value, Value], bool] = operator.eq

    def holds(self, value: Value) -> bool:
        """True if ``value`` may stand in a record."""
        return any(self.same(value, one) for one in self.values)


@dataclass(frozen=True)
class Known:
    """What every record is checked against; None for what only the image can say.

    ``inputs`` are the input tensors of each inference, ``fed`` says that the host sends them.
    ``inferences`` is how many there must be. ``required`` are kinds of records that must come,
    beside those that every image sends. ``lifecycles`` are the operators that count their calls.
    ``notes`` say what of it is known only nearly.
    """

    model: Model | None = None
    facts: tuple[Fact, ...] = ()
    inputs: Rows | None = None
    fed: bool = False
    inferences: int | None = None
    required: frozenset[str] = frozenset()
    lifecycles: frozenset[str] | None = None
    stack_bytes: int | None = None
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What the harness counted, None for what it did not.

    ``ticks`` is the most that the run can have had, ``sent`` how often each host record was sent,
    ``hertz`` the ticks of a second of the records' times, ``invoked`` the ticks of each Invoke()
    over all boots. ``stack_used`` is of the main stack in the last boot. Of its arena the allocator
    has given out ``arena_given`` bytes; by what the inferences wrote it must be ``arena_least``,
    and ``arena_strayed`` bytes were not given out.
    """

    ticks: int | None = None
    sent: Sequence[int] | None = None
    invoked: Sequence[int] | None = None
    stack_used: int | None = None
    arena_given: int | None = None
    arena_least: int | None = None
    arena_strayed: int = 0
    hertz: int | None = None


def known_of(case: Case, firmware: Image | None, model: Model | None, fed: Rows) -> Known:
    """What is known of the image of ``case``; ``fed`` are the inputs that the host sends."""
    facts = [*_of_model(model), *_of_elf(firmware)]
    chip = chip_called(case.chip or DEFAULT_CHIP) if firmware is None else firmware.chip
    facts.append(Fact("inference", "hz", (chip.cpu_hz,), "the chip"))
    variant = variant_of(case, firmware)
    inputs: Rows | None = fed or None
    inferences = len(fed) or None
    required: frozenset[str] = frozenset()
    lifecycles = None
    if variant is not None:
        facts += [*_of_table(variant, case), _board(firmware)]
        if not fed and not variant.console:
            inputs = builtin_inputs(variant.sample, model)
            inferences = variant.sample.inferences
        required = frozenset(_required(variant))
        lifecycles = frozenset(a.operator for a in variant.additions if a.custom or a.own)
    return Known(
        model, tuple(facts), inputs, bool(fed), inferences, required, lifecycles,
        _stack_bytes(firmware), tuple(_notes(variant)) if variant is not None else (),
    )  # fmt: skip


def _notes(variant: Variant) -> Iterator[Finding]:
    revision = variant.minimum.partition("@")[2]
    subject = f"tflite-micro {revision}"
    if variant.refused:
        text = f"{subject} cannot run {variant.sample.model}: it refuses {variant.refused}"
        yield Finding(Kind.APPROXIMATION, text, subject)
    elif revision:
        text = f"an arena of {variant.arena} B, by the figure of {subject}"
        yield Finding(Kind.APPROXIMATION, text, subject)


def tensor_bytes(tensor: Tensor) -> int:
    """The size of a tensor in memory; 0 for a type that NumPy does not have."""
    kind = NUMPY_TYPES.get(tensor.dtype)
    return math.prod(tensor.shape) * kind.itemsize if kind is not None else 0


def _of_model(model: Model | None) -> Iterator[Fact]:
    if model is None:
        return
    yield Fact("boot", "model_bytes", (model.size,), model.name)
    wanted = sum(map(tensor_bytes, model.inputs))
    yield Fact("ready", "input_bytes", (wanted,), model.name)


def _of_elf(firmware: Image | None) -> Iterator[Fact]:
    """Sizes from the symbol table; nothing for a stripped image."""
    if firmware is None:
        return
    arenas = {symbol.size for symbol in firmware.symbols if is_arena(symbol)}
    if arenas:
        yield Fact("arena", "declared", tuple(sorted(arenas)), "the ELF's tensor_arena")
    slots = {int(count) for symbol in firmware.symbols for count in _SLOTS.findall(symbol.name)}
    if slots:
        source = "the ELF's MicroMutableOpResolver"
        yield Fact("resolver", "declared", tuple(sorted(slots)), source)


def is_arena(symbol: Symbol) -> bool:
    """True for an array in RAM that is called a tensor arena."""
    in_ram = bool(symbol.size) and symbol.address in RAM
    named = in_ram and _ARENA_NAME in symbol.name  # mangled names hold identifiers as they are
    return named and _ARENA.search(demangle(symbol.name)) is not None


def _stack_bytes(firmware: Image | None) -> int | None:
    if firmware is None:
        return None
    return next((s.size for s in firmware.symbols if s.name == "z_main_stack" and s.size), None)


def _of_table(variant: Variant, case: Case) -> Iterator[Fact]:
    """What the resolver table says of the sample, the configuration and the runtime."""
    table = "the resolver table"
    sample = variant.sample
    yield Fact("boot", "sample", (sample.name,), table)
    yield Fact("boot", "runtime", (variant.runtime,), f"the builder {case.builder}")
    yield Fact("boot", "build", (build_id(variant, case),), "the generated header")
    yield Fact("resolver", "name", (variant.configuration.name,), table)
    yield Fact("resolver", "declared", (variant.slots,), table)
    expected = variant.expect
    if expected.registered is not None and expected.refused is not None:
        yield Fact("resolver", "registered", (expected.registered,), table)
        yield Fact("resolver", "refused", (expected.refused,), table)
    yield Fact("arena", "declared", (variant.arena,), table)
    yield Fact("inference", "source", ("dwt",), "the sample's code")
    yield Fact("stack", "name", ("main",), "the sample's code")


def _board(image: Image | None) -> Fact:
    """The board that the image was built for, whose name it contains."""
    data = [segment.data for segment in image.segments] if image else []
    named = tuple(dict.fromkeys(name for part in data for name in board_names.named_in(part)))
    return Fact("boot", "board", named or board_names.spellings(), "the build", board_names.same)


def _required(variant: Variant) -> Iterator[str]:
    yield from ("resolver", "stack", "end")
    if not variant.console:
        yield from ("input", "op")
    if variant.configuration.arena == "declared":
        yield "allocation"
