"""Checks before anything runs whether an image's operator resolver fits a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from harness.elf import Firmware
from harness.elf.demangle import demangle
from harness.errors import UsageError
from harness.footprint import resolvers as declarations
from harness.footprint.resolvers import Declared
from harness.model import Model
from harness.model.pitfalls import pitfalls
from harness.resolver.dump import LiveResolver
from harness.resolver.linked import Linked

#: An operator's name, and whether it is a custom one.
_Key = tuple[str, bool]


class Verdict(StrEnum):
    """The result of an audit, the gravest first."""

    CANNOT_TELL = "cannot_tell"
    EMPTY = "empty"
    MISSING = "missing"
    TOO_SMALL = "too_small"
    DUPLICATE = "duplicate"
    UNUSED = "unused"
    TOO_LARGE = "too_large"
    OK = "ok"


#: The way to an answer if the ELF alone does not give one.
LIVE_HINT = (
    "check the ELF before it was stripped, or its table at run time: "
    "`tflm-hil resolver check --live ELF MODEL`"
)
#: Verdicts with which the model runs.
HARMLESS = frozenset((Verdict.OK, Verdict.UNUSED, Verdict.TOO_LARGE))


@dataclass(frozen=True)
class OperatorAudit:
    """One operator: ``calls`` is how often it is registered.

    ``bytes`` is the flash that it alone needs, ``version`` the highest one in the model (0 if the
    model does not use the operator).
    """

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
    """The result of :func:`check`. ``declared`` is the number of slots, None if it is not known.

    ``wasted`` is the RAM of unused slots in bytes. ``method`` says how the registered operators
    were found: ``registrations``, ``kernels`` (inlined registrations), ``live`` or ``nothing``.
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
        """True if each operator that the model needs is registered exactly once, in a slot."""
        return self.verdict in HARMLESS

    def __bool__(self) -> bool:
        return self.passed

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
        """The document of ``resolver check --json``."""
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


@dataclass(frozen=True)
class _Evidence:
    """An image's registrations: how often each ``(operator, custom)`` is registered.

    ``costs`` is the flash that each needs alone, in bytes; empty for a stripped image.
    ``literals`` is true for the name of a custom operator that code refers to.
    """

    calls: Mapping[_Key, int]
    costs: Mapping[_Key, int]
    resolvers: tuple[Declared, ...]
    method: str
    notes: tuple[str, ...]
    literals: Callable[[str], bool] = lambda name: False


def check(firmware: Firmware, model: Model) -> Audit:
    """Compare the operators that an image registers with those that a model needs.

    Nothing is executed. An operator is registered if its registration function is linked and
    reached; its call sites are counted. Raises :class:`UsageError` for a model without operators.
    The verdict is ``cannot_tell`` if a stripped image does not show its registrations.
    """
    image = Linked(firmware)
    if not firmware.symbols:
        return _cannot_tell(model, image, "the image is stripped: its symbol table is gone")
    if not image.resolvers and image.method == "nothing":
        why = "the image names no MicroMutableOpResolver, no Register_*"
        return _cannot_tell(model, image, why)
    # Each of several resolvers may register an operator once; the code does not tell which do.
    spare = max(len(image.resolvers) - 1, 0)
    calls = {key: max(times - spare, 1) for key, times in image.calls.items()}
    costs = {(c.operator, c.custom): c.exclusive for c in image.costs.operators}
    return _judge(
        _Evidence(calls, costs, image.resolvers, image.method, tuple(_notes(image)),
                  image.custom_by_name), model,
    )  # fmt: skip


def check_every(firmware: Firmware, model: Model) -> dict[str, Audit]:
    """:func:`check` of the image and of each beside it that has a resolver, by the images' names.

    The one that decides is the first: the image itself, or another if only that one can tell.
    """
    found = {firmware.name: check(firmware, model)}
    others = {one.name: check(one, model) for one in firmware.beside}
    telling = {name: a for name, a in others.items() if a.verdict is not Verdict.CANNOT_TELL}
    if telling and found[firmware.name].verdict is Verdict.CANNOT_TELL:
        return telling
    return found | telling


def check_live(firmware: Firmware, model: Model, live: Sequence[LiveResolver]) -> Audit:
    """Compare the resolvers in a running image's memory (from :func:`dump`) with a model.

    This works for stripped images, too. Of several resolvers, the one with most of the needed
    operators is compared. Raises :class:`UsageError` if ``live`` is empty.
    """
    if not live:
        raise UsageError(f"{firmware.path.name}: no resolver was found in memory")
    needed = set(model.operator_names)
    chosen = max(live, key=lambda one: len(needed.intersection(one.operators)))
    image = Linked(firmware)
    calls = Counter((one.operator, one.custom) for one in chosen.registrations)
    costs = {(c.operator, c.custom): c.exclusive for c in image.costs.operators}
    known = next((r for r in image.resolvers if r.address == chosen.address), None)
    slot = known.slot_bytes if known else chosen.slot_bytes
    declared = Declared(
        chosen.name, chosen.slots, chosen.address, known.bytes if known else 0, slot
    )
    notes = (
        [] if len(live) == 1 else [f"{len(live)} resolvers are in memory; this is {chosen.name}"]
    )
    lost = sorted(
        name for name, custom in image.calls if (name, custom) not in calls and not custom
    )
    if lost:
        notes.append(
            f"{', '.join(lost)}: linked and not in the table (refused, or its Add* was not reached)"
        )
    return _judge(_Evidence(calls, costs, (declared,), "live", tuple(notes)), model)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _needed(model: Model) -> dict[_Key, int]:
    """The operators of all subgraphs, with the highest version of each."""
    versions: dict[_Key, int] = {}
    for operator in (one for graph in model.subgraphs for one in graph.operators):
        key = operator.name, operator.custom
        versions[key] = max(versions.get(key, 1), operator.version)
    if not versions:
        raise UsageError(f"{model.name} has no operators")
    return versions


def _judge(found: _Evidence, model: Model) -> Audit:
    operators = tuple(_operators(found, model))
    distinct = sum(1 for one in operators if one.calls)
    declared = max((one.slots for one in found.resolvers), default=None)
    verdicts: list[Verdict] = []
    problems: list[str] = []
    _judge_operators(operators, distinct, verdicts, problems)
    wasted = _judge_size(found.resolvers, declared, distinct, verdicts, problems)
    order = list(Verdict)
    return Audit(
        model.name, declared, found.resolvers, operators, wasted,
        tuple(sorted(verdicts, key=order.index)) or (Verdict.OK,),
        tuple(problems), (*found.notes, *pitfalls(model)), found.method,
    )  # fmt: skip


def _operators(found: _Evidence, model: Model) -> Iterable[OperatorAudit]:
    calls = dict(found.calls)
    for (name, custom), version in _needed(model).items():
        key = (name, custom) if not custom else _custom_key(found, name)
        times = calls.pop(key, 0)
        if custom and not times and found.literals(name):
            times = 1
        verdict = "missing" if not times else "duplicate" if times > 1 else "ok"
        yield OperatorAudit(name, custom, True, version, times, found.costs.get(key, 0), verdict)
    for (name, custom), times in calls.items():
        verdict = "duplicate" if times > 1 else "unused"
        cost = found.costs.get((name, custom), 0)
        yield OperatorAudit(name, custom, False, 0, times, cost, verdict)


def _custom_key(found: _Evidence, name: str) -> _Key:
    """The registration of a custom operator, even if its C++ name is spelled differently."""
    for key in found.calls:
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
            cost = f": {one.bytes:,} B of flash" if one.bytes else ""
            problems.append(f"{one.operator} is registered and not needed{cost}")
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


def _notes(image: Linked) -> Iterable[str]:
    if not image.resolvers:
        yield "the image does not tell how many slots its resolver has"
    if image.method == "kernels":
        yield "no Register_* is linked (inlined?): operators are found by their kernels"
    leftovers = declarations.all_ops(image.firmware)
    if leftovers:
        yield f"AllOpsResolver is linked: every operator is in the image ({demangle(leftovers[0])})"
    if len(image.resolvers) > 1:
        names = ", ".join(f"{one.name} <{one.slots}>" for one in image.resolvers)
        yield (
            f"several resolvers: {names}; what each of them registers is shown by "
            "`tflm-hil resolver dump`"
        )
    declared = {one.slots for one in image.resolvers}
    others = declarations.slots_in_symbols(image.firmware) - declared
    if others:
        listed = ", ".join(f"<{n}>" for n in sorted(others))
        yield f"the image has code of MicroMutableOpResolver{listed} too, without a static object"


def _cannot_tell(model: Model, image: Linked, why: str) -> Audit:
    operators = tuple(
        OperatorAudit(name, custom, True, version, 0, 0, "cannot_tell")
        for (name, custom), version in _needed(model).items()
    )
    return Audit(
        model.name, None, image.resolvers, operators, 0, (Verdict.CANNOT_TELL,),
        (why,), (LIVE_HINT, *pitfalls(model)), image.method,
    )  # fmt: skip
