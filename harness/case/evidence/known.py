"""Facts about an image from before its run: from the model, the table, the ELF, the host."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.base.findings import Finding, Kind
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.build import board_names
from harness.build.generated import Variant
from harness.build.table import load
from harness.case.case import Case
from harness.case.evidence.builtin import builtin_inputs
from harness.case.samples import build_id, variant_of
from harness.elf import Image
from harness.model import Model, Tensor
from harness.reference.node import NUMPY_TYPES
from harness.uart.records import Value

_RESOLVER = "MicroMutableOpResolver"
_SLOTS = re.compile(rf"{_RESOLVER}ILj(\d+)E")

#: The input or output tensors of each inference, as bytes.
Rows = Sequence[Sequence[bytes]]


@dataclass(frozen=True)
class Fact:
    """The values that ``source`` allows for ``field`` in records of ``kind``.

    ``same`` compares a record's value with an allowed one.
    """

    kind: str
    field: str
    values: tuple[Value, ...]
    source: str
    same: Callable[[Value, Value], bool] = operator.eq

    def holds(self, value: Value) -> bool:
        """Whether ``value`` is allowed."""
        return any(self.same(value, one) for one in self.values)


@dataclass(frozen=True)
class Known:
    """The facts that records are checked against; None for one that only the image can give."""

    model: Model | None = None
    facts: tuple[Fact, ...] = ()
    inputs: Rows | None = None  # input tensors of each inference
    fed: bool = False  # the host sends them
    inferences: int | None = None  # number of inferences
    required: frozenset[str] = frozenset()  # kinds of records, besides those of every image
    lifecycles: frozenset[str] | None = None  # operators that count their calls
    stack_bytes: int | None = None  # size of the main stack
    notes: tuple[Finding, ...] = ()  # approximations among these facts


@dataclass(frozen=True)
class Measured:
    """The harness's own measurements of a run; None for one that was not taken."""

    invoked: Sequence[int] | None = None  # ticks of each Invoke(), over all boots
    stack_used: int | None = None  # bytes of the main stack, when the image printed its figure
    arena_declared: int | None = None  # bytes of the image's only arena
    arena_given: int | None = None  # bytes that the arena's allocator has allocated
    arena_least: int | None = None  # lower bound of them, from the bytes that inferences wrote
    arena_strayed: int = 0  # bytes that inferences wrote outside all allocations
    #: Types of ``allocation`` records whose figures the allocator in the arena does not have; None
    #: if none has been found there, or memory is not known.
    allocations_wrong: Sequence[str] | None = None
    ticks: int | None = None  # upper bound of the whole run
    sent: Sequence[int] | None = None  # number of transmissions of each host record
    hertz: int | None = None  # ticks per second of the records' times


NOT_MEASURED = Measured()


def known_of(case: Case, firmware: Image | None, model: Model | None, fed: Rows) -> Known:
    """Collect the facts about the image of ``case``; ``fed`` are the inputs that the host sends."""
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
    if variant.refused:
        subject = f"tflite-micro {revision}"
        text = f"{subject} cannot run {variant.sample.model}: it refuses {variant.refused}"
        yield Finding(Kind.APPROXIMATION, text, subject)
    elif revision:
        subject = f"tflite-micro {' or '.join(_revisions_like(variant))}"
        text = f"an arena of {variant.arena} B, by the figure of {subject}"
        yield Finding(Kind.APPROXIMATION, text, subject)


def _revisions_like(variant: Variant) -> Iterator[str]:
    """The revisions of tflite-micro with the same smallest arena: their images do not differ."""
    minima = variant.sample.arena_minimum
    for name, figure in minima.items():
        runtime, _, revision = name.partition("@")
        if revision and runtime == variant.runtime and figure == minima[variant.minimum]:
            yield revision


def tensor_bytes(tensor: Tensor) -> int:
    """The size of a tensor in memory; 0 for a type that NumPy does not have."""
    kind = NUMPY_TYPES.get(tensor.dtype)
    return math.prod(tensor.shape) * kind.itemsize if kind is not None else 0


def _of_model(model: Model | None) -> Iterator[Fact]:
    if model is None:
        return
    yield Fact("boot", "model_bytes", (model.size,), model.name)
    yield Fact("ready", "input_bytes", (sum(map(tensor_bytes, model.inputs)),), model.name)


def _of_elf(firmware: Image | None) -> Iterator[Fact]:
    """Yield sizes from the symbol table; a stripped image has none."""
    if firmware is None:
        return
    arenas = {symbol.size for symbol in firmware.tensor_arenas}
    if arenas:
        yield Fact("arena", "declared", tuple(sorted(arenas)), "the ELF's tensor_arena")
    resolvers = (symbol.name for symbol in firmware.symbols if _RESOLVER in symbol.name)
    slots = {int(count) for name in resolvers for count in _SLOTS.findall(name)}
    if slots:
        source = f"the ELF's {_RESOLVER}"
        yield Fact("resolver", "declared", tuple(sorted(slots)), source)


def _stack_bytes(firmware: Image | None) -> int | None:
    if firmware is None:
        return None
    stack = firmware.symbol("z_main_stack")
    return (stack.size or None) if stack is not None else None


def _of_table(variant: Variant, case: Case) -> Iterator[Fact]:
    """Yield the resolver table's facts about the sample, the configuration and the runtime."""
    table = "the resolver table"
    sample = variant.sample
    yield Fact("boot", "sample", (sample.name,), table)
    yield Fact("boot", "runtime", (variant.runtime,), f"the builder {case.builder}")
    yield Fact("boot", "build", (build_id(variant, case),), "the generated header")
    yield Fact("resolver", "name", (variant.configuration.name,), table)
    yield Fact("resolver", "declared", (variant.slots,), table)
    expected = load().expected(variant)
    if expected.registered is not None and expected.refused is not None:
        yield Fact("resolver", "registered", (expected.registered,), table)
        yield Fact("resolver", "refused", (expected.refused,), table)
    yield Fact("arena", "declared", (variant.arena,), table)
    yield Fact("inference", "source", ("dwt",), "the sample's code")
    yield Fact("stack", "name", ("main",), "the sample's code")


def _board(image: Image | None) -> Fact:
    """The fact about the board for which the image was built, whose name it contains."""
    data = [segment.data for segment in image.segments] if image else []
    named = tuple(dict.fromkeys(name for part in data for name in board_names.named_in(part)))
    return Fact("boot", "board", named or board_names.spellings(), "the build", board_names.same)


def _required(variant: Variant) -> Iterator[str]:
    yield from ("resolver", "stack", "end")
    if not variant.console:
        yield from ("input", "op")
    if variant.configuration.arena == "declared":
        yield "allocation"
