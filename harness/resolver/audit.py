"""Is the operator resolver of an image right for a model? Answered before anything runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from harness.errors import UsageError
from harness.firmware.demangle import demangle, qualified
from harness.firmware.elf import Firmware
from harness.firmware.regions import memories
from harness.firmware.variables import Variables
from harness.footprint.analysis import ram_regions
from harness.footprint.files import Sources
from harness.footprint.graph import Graph, build
from harness.footprint.layout import lay_out
from harness.footprint.operators import OperatorReport
from harness.footprint.operators import analyse as analyse_operators
from harness.footprint.registrations import Registration, is_kernel
from harness.footprint.registrations import find as find_registrations
from harness.model import Model
from harness.model.schema import OPERATOR_NAMES
from harness.resolver import declared as declarations
from harness.resolver.declared import Declared

_ADD_METHOD = re.compile(r"MicroMutableOpResolver<\d+u?>::Add[A-Z]\w*$")
_SPELLINGS = {name.replace("_", "").lower(): name for name in OPERATOR_NAMES}
#: Kernel source files whose names are not their operator's.
_KERNEL_FILES = {
    "conv": "CONV_2D", "depthwiseconv": "DEPTHWISE_CONV_2D", "l2norm": "L2_NORMALIZATION",
    "hardswish": "HARD_SWISH", "maximumminimum": "MAXIMUM", "lstm": "UNIDIRECTIONAL_SEQUENCE_LSTM",
}  # fmt: skip
#: Kernel files that hold several operators: what a kernel function's name starts with.
_KERNEL_FUNCTIONS = {
    "Average": "AVERAGE_POOL_2D", "AveragePool": "AVERAGE_POOL_2D", "Max": "MAX_POOL_2D",
    "MaxPool": "MAX_POOL_2D", "L2Pool": "L2_POOL_2D", "Relu": "RELU", "Relu6": "RELU6",
    "Mean": "MEAN", "Sum": "SUM", "ReduceMax": "REDUCE_MAX",
}  # fmt: skip
_ROLE = re.compile(r"(Init|Prepare|Eval\w*|Invoke)$")


class Verdict(StrEnum):
    """The audit in one word; the first that holds, in this order."""

    CANNOT_TELL = "cannot_tell"
    EMPTY = "empty"
    MISSING = "missing"
    TOO_SMALL = "too_small"
    DUPLICATE = "duplicate"
    UNUSED = "unused"
    TOO_LARGE = "too_large"
    OK = "ok"


#: Verdicts with which the model runs as it should.
HARMLESS = frozenset((Verdict.OK, Verdict.UNUSED, Verdict.TOO_LARGE))


@dataclass(frozen=True)
class OperatorAudit:
    """One operator: ``calls`` is how often it is registered, ``bytes`` its exclusive flash."""

    operator: str
    custom: bool
    needed: bool
    version: int
    calls: int
    bytes: int
    verdict: str  # "ok", "missing", "unused", "duplicate"

    def to_json(self) -> dict[str, Any]:
        """One row of the ``operators`` list."""
        return asdict(self)


@dataclass(frozen=True)
class Audit:
    """What :func:`check` found. ``declared`` is None where the image does not tell its slots.

    ``wasted`` is the RAM of unused slots in bytes. ``method`` says how the registered operators
    were found: ``registrations``, ``kernels`` (inlined registrations) or ``nothing``.
    """

    model: str
    declared: int | None
    resolvers: tuple[Declared, ...]
    operators: tuple[OperatorAudit, ...]
    wasted: int
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    method: str

    @property
    def verdict(self) -> Verdict:
        """The gravest verdict."""
        return self.verdicts[0]

    @property
    def passed(self) -> bool:
        """True where the model will find every operator that it needs, each registered once."""
        return self.verdict in HARMLESS

    @property
    def registered(self) -> tuple[str, ...]:
        """Operators that the image registers."""
        return tuple(one.operator for one in self.operators if one.calls)

    @property
    def needed(self) -> tuple[str, ...]:
        """Operators that the model needs."""
        return tuple(one.operator for one in self.operators if one.needed)

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed operators that the image does not register."""
        return tuple(one.operator for one in self.operators if one.verdict == "missing")

    def to_json(self) -> dict[str, Any]:
        """The document of the ``resolver check --json`` contract."""
        return {
            "model": self.model,
            "declared": self.declared,
            "registered": list(self.registered),
            "needed": list(self.needed),
            "missing": list(self.missing),
            "unused": [
                {"operator": one.operator, "bytes": one.bytes}
                for one in self.operators
                if one.calls and not one.needed
            ],
            "duplicates": [one.operator for one in self.operators if one.calls > 1],
            "wasted": self.wasted,
            "verdict": str(self.verdict),
            "verdicts": [str(verdict) for verdict in self.verdicts],
            "problems": list(self.problems),
            "notes": list(self.notes),
            "method": self.method,
            "operators": [one.to_json() for one in self.operators],
            "resolvers": [one.to_json() for one in self.resolvers],
        }


def check(firmware: Firmware, model: Model) -> Audit:
    """Hold the operators that an image registers against those that a model needs.

    Nothing is executed. Registered are the operators whose registration function is linked and
    reached; how often, is counted at its call sites. Raises :class:`UsageError` for a model
    without operators; what a stripped image does not tell gives the verdict ``cannot_tell``.
    """
    if not model.operators:
        raise UsageError(f"{model.name} has no operators")
    image = _Image(firmware)
    return _judge(image, model)


class _Image:
    """What the ELF says about registration."""

    def __init__(self, firmware: Firmware) -> None:
        self.firmware = firmware
        self.variables = Variables(firmware)
        found = memories(firmware)
        layout = lay_out(firmware, found)
        self.graph = build(firmware, layout, self.variables)
        registrations = find_registrations(self.graph)
        self.graph = self.graph.settled(frozenset(e for r in registrations for e in r.entries))
        self.reached = self.graph.reach(self.graph.roots)
        self.costs: OperatorReport = analyse_operators(self.graph, ram_regions(found))
        self.live = [r for r in registrations if self.reached.intersection(r.register)]
        self.resolvers = declarations.find(firmware, self.variables)
        self.method = "registrations"
        self.calls = {(r.operator, r.custom): self._calls(r) for r in self.live}
        if not self.live:
            self.calls = self._by_kernels()
            self.method = "kernels" if self.calls else "nothing"

    def _calls(self, registration: Registration) -> int:
        """How often a registration function is called: twice is a duplicate."""
        count = 0
        others = {number for one in self.live for number in one.register}
        for number in registration.register:
            count += sum(
                self._sites(caller) * times for caller, times in _callers(self.graph, number)
                if caller in self.reached and caller not in others
            )  # fmt: skip
        return max(count, 1)  # reached, though by a pointer and not by a call

    def _sites(self, caller: int) -> int:
        """How often a caller itself is called where it is an Add* method; else once."""
        if not _ADD_METHOD.search(qualified(self.graph.nodes[caller].name)):
            return 1
        return sum(times for up, times in _callers(self.graph, caller) if up in self.reached) or 1

    def _by_kernels(self) -> dict[tuple[str, bool], int]:
        """Operators by their kernel functions, where registrations were inlined (LTO)."""
        sources = Sources(self.firmware, self.variables)
        found: dict[tuple[str, bool], int] = {}
        for number in self.reached:
            node = self.graph.nodes[number]
            if node.kind != "function" or not is_kernel(node.name):
                continue
            stem = PurePosixPath(sources.of_address(node.address)).stem
            function = qualified(node.name).rpartition("::")[2]
            operator = kernel_operator(function, stem)
            if operator:
                found[operator, False] = 1
        return found

    def custom_by_name(self, name: str) -> bool:
        """True where code refers to a string literal that is a custom operator's name."""
        wanted = f'"{name}"'
        return any(self.graph.nodes[n].name == wanted for n in self.reached)


def kernel_operator(function: str, file_stem: str) -> str:
    """The builtin of a kernel function, by its name and its source file's; "" if unknown."""
    bare = _ROLE.sub("", function)
    if bare in _KERNEL_FUNCTIONS:
        return _KERNEL_FUNCTIONS[bare]
    for text in (bare, file_stem):
        spelled = text.replace("_", "").lower()
        operator = _KERNEL_FILES.get(spelled) or _SPELLINGS.get(spelled)
        if operator:
            return operator
    return ""


def _callers(graph: Graph, number: int) -> Iterable[tuple[int, int]]:
    for caller, called in enumerate(graph.calls):
        times = called.count(number)
        if times:
            yield caller, times


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _judge(image: _Image, model: Model) -> Audit:
    if not image.firmware.symbols:
        return _cannot_tell(model, image, "the image is stripped: its symbol table is gone")
    operators = tuple(_operators(image, model))
    distinct = sum(1 for one in operators if one.calls)
    declared = max((one.slots for one in image.resolvers), default=None)
    if not image.resolvers and image.method == "nothing":
        return _cannot_tell(
            model, image, "the image names no MicroMutableOpResolver, no Register_*"
        )
    verdicts: list[Verdict] = []
    problems: list[str] = []
    _judge_operators(operators, distinct, verdicts, problems)
    wasted = _judge_size(image.resolvers, declared, distinct, verdicts, problems)
    notes = list(_notes(image, declared))
    order = list(Verdict)
    return Audit(
        model.name, declared, image.resolvers, operators, wasted,
        tuple(sorted(verdicts, key=order.index)) or (Verdict.OK,),
        tuple(problems), tuple(notes), image.method,
    )  # fmt: skip


def _operators(image: _Image, model: Model) -> Iterable[OperatorAudit]:
    costs = {(c.operator, c.custom): c.exclusive for c in image.costs.operators}
    versions: dict[tuple[str, bool], int] = {}
    for operator in model.operators:
        key = operator.name, operator.custom
        versions[key] = max(versions.get(key, 1), operator.version)
    calls = dict(image.calls)
    for (name, custom), version in versions.items():
        key = (name, custom) if not custom else _custom_key(image, name)
        times = calls.pop(key, 0)
        if custom and not times and image.custom_by_name(name):
            times = 1
        verdict = "missing" if not times else "duplicate" if times > 1 else "ok"
        yield OperatorAudit(name, custom, True, version, times, costs.get(key, 0), verdict)
    for (name, custom), times in calls.items():
        verdict = "duplicate" if times > 1 else "unused"
        yield OperatorAudit(name, custom, False, 0, times, costs.get((name, custom), 0), verdict)


def _custom_key(image: _Image, name: str) -> tuple[str, bool]:
    """The registration of a custom operator, whose C++ name is spelled its own way."""
    for key in image.calls:
        if key[1] and _plain(key[0]) == _plain(name):
            return key
    return name, True


def _judge_operators(
    operators: Sequence[OperatorAudit], distinct: int, verdicts: list[Verdict], problems: list[str]
) -> None:
    for one in operators:
        if one.verdict == "missing":
            kind = "custom operator" if one.custom else "operator"
            problems.append(f"{kind} {one.operator} is needed by the model and not registered")
        elif one.verdict == "duplicate":
            problems.append(f"{one.operator} is registered {one.calls} times; one is refused")
        elif one.verdict == "unused":
            problems.append(
                f"{one.operator} is registered and not needed: {one.bytes:,} B of flash"
            )
    if not distinct:
        verdicts.append(Verdict.EMPTY)
    found = {one.verdict for one in operators}
    verdicts += [v for v in (Verdict.MISSING, Verdict.DUPLICATE, Verdict.UNUSED) if v in found]


def _judge_size(
    resolvers: Sequence[Declared],
    declared: int | None,
    distinct: int,
    verdicts: list[Verdict],
    problems: list[str],
) -> int:
    if declared is None:
        return 0
    slot = max(one.slot_bytes for one in resolvers)
    if distinct > declared:
        verdicts.append(Verdict.TOO_SMALL)
        problems.append(
            f"{distinct} operators are registered in {declared} slots: "
            f"{distinct - declared} of them will be refused"
        )
    elif distinct < declared:
        verdicts.append(Verdict.TOO_LARGE)
        wasted = (declared - distinct) * slot
        problems.append(
            f"{declared - distinct} of {declared} slots stay empty: {wasted:,} B of RAM wasted"
        )
        return wasted
    return 0


def _notes(image: _Image, declared: int | None) -> Iterable[str]:
    if declared is None:
        yield "the image does not tell how many slots its resolver has"
    if image.method == "kernels":
        yield "no Register_* is linked (inlined?): operators were told by their kernel functions"
    leftovers = declarations.all_ops(image.firmware)
    if leftovers:
        yield f"AllOpsResolver is linked: every operator is in the image ({demangle(leftovers[0])})"
    if len(image.resolvers) > 1:
        names = ", ".join(f"{one.name} <{one.slots}>" for one in image.resolvers)
        yield (
            f"several resolvers: {names}; what each of them registers is told by "
            "`tflm-hil resolver dump`"
        )
    counts = Counter(one.slots for one in image.resolvers)
    others = declarations.slots_in_symbols(image.firmware) - set(counts)
    if others and counts:
        listed = ", ".join(f"<{n}>" for n in sorted(others))
        yield f"the image has code of MicroMutableOpResolver{listed} too, without a static object"


def _cannot_tell(model: Model, image: _Image, why: str) -> Audit:
    needed = {(one.name, one.custom): one.version for one in model.operators}
    operators = tuple(
        OperatorAudit(name, custom, True, version, 0, 0, "cannot_tell")
        for (name, custom), version in needed.items()
    )
    return Audit(
        model.name, None, image.resolvers, operators, 0, (Verdict.CANNOT_TELL,),
        (f"cannot tell: {why}",),
        ("check the ELF from before it was stripped, or read the live table: "
         "`tflm-hil resolver dump ELF` finds it in a running image's memory",),
        image.method,
    )  # fmt: skip
