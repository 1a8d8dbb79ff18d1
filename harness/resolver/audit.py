"""The audit of an image's operator resolver: whether it fits a model, without running the image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from harness.base.errors import CannotTell, UsageError
from harness.base.hints import NO_HINT, Hint, HintText, either
from harness.elf import Image
from harness.elf.demangle import demangle
from harness.elf.models import held_model
from harness.footprint import resolvers as declarations
from harness.footprint.resolvers import Declared
from harness.model import Model
from harness.model.pitfalls import pitfalls
from harness.model.refusals import refusals
from harness.resolver.dump import LiveResolver
from harness.resolver.linked import Linked
from harness.resolver.static.registered import Arrival, Trace, trace
from harness.resolver.static.values import Cause

#: An operator's name, and whether it is a custom one.
_Key = tuple[str, bool]


class AuditVerdict(StrEnum):
    """The result of an audit, the most severe first."""

    REFUSED = "refused"  # tflite-micro refuses the model with any resolver
    CANNOT_TELL = "cannot_tell"
    EMPTY = "empty"
    MISSING = "missing"
    TOO_SMALL = "too_small"
    DUPLICATE = "duplicate"
    UNUSED = "unused"
    TOO_LARGE = "too_large"
    OK = "ok"


#: Verdicts with which the model runs.
HARMLESS = frozenset((AuditVerdict.OK, AuditVerdict.UNUSED, AuditVerdict.TOO_LARGE))


@dataclass(frozen=True)
class OperatorAudit:
    """One operator: ``calls`` is the number of its registrations.

    ``bytes`` is its exclusive flash, ``version`` the highest one in the model (0 if the model does
    not use the operator).
    """

    operator: str
    custom: bool
    needed: bool
    version: int
    calls: int
    bytes: int
    verdict: str  # "ok", "missing", "unused", "duplicate", "refused"

    @property
    def registered(self) -> bool:
        """True if the resolver's table has the operator."""
        return bool(self.calls) and self.verdict != "refused"

    def to_json(self) -> dict[str, Any]:
        """One row of the ``operators`` list."""
        return asdict(self)


@dataclass(frozen=True)
class Audit:
    """The result of :func:`check`. ``declared`` is the number of slots, None if unknown.

    ``wasted`` is the RAM of unused slots in bytes. ``method`` names the source of the registered
    operators: ``paths`` (all paths to the interpreter) or ``live``; without a verdict
    ``registrations``, ``kernels`` (inlined registrations) or ``nothing``.
    """

    model: str
    declared: int | None
    resolvers: tuple[Declared, ...]
    operators: tuple[OperatorAudit, ...]
    wasted: int
    verdicts: tuple[AuditVerdict, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    method: str
    hint: HintText = NO_HINT

    @property
    def reason(self) -> str:
        """The problems in one line; "" for the verdict ``ok``."""
        return "; ".join(self.problems)

    @property
    def verdict(self) -> AuditVerdict:
        """The most severe verdict."""
        return self.verdicts[0]

    @property
    def undecided(self) -> bool:
        """True if the image does not say what it registers."""
        return AuditVerdict.CANNOT_TELL in self.verdicts

    @property
    def passed(self) -> bool:
        """True if each operator that the model needs is registered exactly once, in a slot.

        False for a model that tflite-micro refuses with any resolver.
        """
        return self.verdict in HARMLESS

    def __bool__(self) -> bool:
        return self.passed

    @property
    def registered(self) -> tuple[str, ...]:
        """Operators that the image registers."""
        return tuple(row.operator for row in self.operators if row.registered)

    @property
    def needed(self) -> tuple[str, ...]:
        """Operators that the model needs."""
        return tuple(row.operator for row in self.operators if row.needed)

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed operators that the image does not register."""
        return tuple(row.operator for row in self.operators if row.verdict == "missing")

    def to_json(self) -> dict[str, Any]:
        """The document of ``resolver check --json``."""
        return {
            "model": self.model,
            "declared": self.declared,
            "registered": list(self.registered),
            "needed": list(self.needed),
            "missing": list(self.missing),
            "unused": [
                {"operator": row.operator, "bytes": row.bytes}
                for row in self.operators
                if row.registered and not row.needed
            ],
            "duplicates": [row.operator for row in self.operators if row.calls > 1],
            "wasted": self.wasted,
            "verdict": str(self.verdict),
            "verdicts": [str(verdict) for verdict in self.verdicts],
            "reason": self.reason,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "method": self.method,
            "operators": [row.to_json() for row in self.operators],
            "resolvers": [resolver.to_json() for resolver in self.resolvers],
        }


@dataclass(frozen=True)
class _Evidence:
    """An image's registrations: ``calls`` is the number of them by ``(operator, custom)``.

    ``costs`` is their exclusive flash in bytes, empty for a stripped image; ``refused`` are
    registrations for which no slot is left.
    """

    calls: Mapping[_Key, int]
    costs: Mapping[_Key, int]
    resolvers: tuple[Declared, ...]
    method: str
    notes: tuple[str, ...]
    refused: Mapping[_Key, int] = field(default_factory=dict)


def _hint(linked: Linked) -> HintText:
    """What to try if the image alone gives no answer."""
    if linked.image.without_symbols:
        return either(linked.image.symbols_hint(), Hint.CHECK_LIVE.told())
    nothing = linked.method == "nothing" and not linked.resolvers
    return NO_HINT if nothing else Hint.CHECK_LIVE.told()


def _noted(audit: Audit, image: Image, model: Model) -> Audit:
    """``audit`` with a note about the model that ``image`` holds, if it is another one."""
    held = held_model(image, model)
    if held.wrong:
        return replace(audit, notes=(held.text, *audit.notes))
    return audit


def check(image: Image, model: Model) -> Audit:
    """Compare the operators of an image's resolver with those that a model needs.

    Nothing is executed: all paths from the image's entry point to its interpreters are followed
    (:mod:`harness.resolver.static`). If they give different answers, or cannot all be followed, the
    verdict is ``cannot_tell``, with the reason. Raises :class:`UsageError` for a model without
    operators.
    """
    return _noted(_check(image, model), image, model)


def _check(image: Image, model: Model) -> Audit:
    linked = Linked(image)
    if not image.symbols:
        return _cannot_tell(model, linked, image.without_symbols)
    if not linked.resolvers and linked.method == "nothing":
        why = "the image names no MicroMutableOpResolver, no Register_*"
        return _cannot_tell(model, linked, why)
    traced = trace(image)
    if traced.lost is not None:
        return _cannot_tell(model, linked, _described(image, traced.lost))
    if not traced.arrivals:
        return _never_allocates(model, linked)
    arrivals = [arrival for arrival in traced.arrivals if _has_model(image, arrival, model)]
    if not arrivals:
        arrivals = list(traced.arrivals)
        if traced.others or len({arrival.resolver.address for arrival in arrivals}) > 1:
            return _cannot_tell(model, linked, _several_resolvers(traced))
    audits = [_judge(_evidence(linked, arrival), model) for arrival in arrivals]
    if len({audit.verdicts for audit in audits}) > 1:
        return _cannot_tell(model, linked, _undecided(image, arrivals))
    return audits[0]


def _never_allocates(model: Model, linked: Linked) -> Audit:
    """The audit of an image that never allocates: by its linked registrations, if one fails."""
    why = "no path from the start reaches AllocateTensors()"
    attempted = _Evidence(
        linked.calls, _costs(linked), linked.resolvers, linked.method, tuple(_notes(linked))
    )
    audit = _judge(attempted, model)
    if audit.passed:
        return _cannot_tell(model, linked, why)
    return replace(audit, problems=(*audit.problems, why))


def _described(image: Image, cause: Cause) -> str:
    place = f" ({image.locate(cause.at)})" if cause.at else ""
    return f"{cause.what}{place}"


def _has_model(image: Image, arrival: Arrival, model: Model) -> bool:
    """True if the interpreter's model equals ``model`` to the byte."""
    root = int.from_bytes(model.data[:4], "little")
    if arrival.model is None or arrival.model < root:
        return False
    return image.read(arrival.model - root, len(model.data)) == model.data


def _several_resolvers(traced: Trace) -> str:
    names = dict.fromkeys(arrival.resolver.name for arrival in traced.arrivals)
    names |= {f"that of {name}()": None for name in traced.others}
    return f"several resolvers ({', '.join(names)}), and no interpreter has this model"


def _undecided(image: Image, arrivals: Sequence[Arrival]) -> str:
    """The operators that only some paths register, and the branch that decides."""
    tables = [frozenset(arrival.resolver.operators) for arrival in arrivals]
    always = tables[0].intersection(*tables[1:])
    some = sorted(tables[0].union(*tables[1:]) - always)
    first = arrivals[0]
    branch = next(
        (
            decision
            for other in arrivals[1:]
            for decision, against in zip(first.decisions, other.decisions, strict=False)
            if decision != against
        ),
        next((decision for arrival in arrivals for decision in arrival.decisions), None),
    )
    text = f"{', '.join(some) or 'an operator'}: registered on some paths only"
    if branch is None:
        return text
    return (
        f"{text}; a branch decides ({image.locate(branch.at)}) that depends on a value that is not"
        f" known: {_described(image, branch.cause)}"
    )


def _evidence(linked: Linked, arrival: Arrival) -> _Evidence:
    """The registrations of the resolver with which a path arrives at its interpreter."""
    table = arrival.resolver
    calls = Counter((row.operator, row.custom) for row in table.registrations)
    attempts = Counter(arrival.attempts) if arrival.others is not None else Counter()
    attempts -= Counter(arrival.others)
    notes = list(_notes(linked))
    refused: dict[_Key, int] = {}
    added = {row.invoke_address for row in table.registrations}
    for attempted, times in attempts.items():
        key = _key_in(calls, attempted)
        if key in calls:
            calls[key] = max(calls[key], times)
        elif added & linked.kernels(key):
            notes.append(f"{key[0]}: its registration is added under another name")
        elif len(table.registrations) == table.slots:
            refused[key] = times
        else:
            notes.append(f"{key[0]}: its registration function is called, and nothing adds it")
    absent = _absent(linked, {*calls, *refused})
    if absent and not attempts:
        notes.append(f"{absent}: linked and not in the table")
    return _Evidence(
        calls, _costs(linked), (_declared(linked, table),), "paths", tuple(notes), refused
    )


def _absent(linked: Linked, present: set[_Key]) -> str:
    """The names of the linked builtin operators that are not in ``present``."""
    keys = linked.calls.keys() - present
    return ", ".join(sorted(name for name, custom in keys if not custom))


def _costs(linked: Linked) -> dict[_Key, int]:
    return {(cost.operator, cost.custom): cost.exclusive for cost in linked.costs.operators}


def _declared(linked: Linked, table: LiveResolver) -> Declared:
    known = next((each for each in linked.resolvers if each.address == table.address), None)
    slot = known.slot_bytes if known else table.slot_bytes
    return Declared(table.name, table.slots, table.address, known.bytes if known else 0, slot)


def check_every(image: Image, model: Model) -> dict[str, Audit]:
    """:func:`check` of the image and of the images beside it that have a verdict, by their names.

    The first audit decides. That of ``image`` is left out if only others have a verdict.
    """
    own = check(image, model)
    others = {other.name: check(other, model) for other in image.beside}
    others = {name: audit for name, audit in others.items() if not audit.undecided}
    if others and own.undecided:
        return others
    return {image.name: own} | others


def check_live(image: Image, model: Model, live: Sequence[LiveResolver]) -> Audit:
    """Compare the resolvers in a running image's memory (from :func:`dump`) with a model.

    Stripped images work, too. Of several resolvers, the one with the most needed operators is
    compared. Raises :class:`CannotTell` if ``live`` is empty.
    """
    if not live:
        raise CannotTell(f"{image.path.name}: no resolver was found in memory")
    needed = set(model.operator_names)
    chosen = max(live, key=lambda resolver: len(needed.intersection(resolver.operators)))
    linked = Linked(image)
    calls = Counter((row.operator, row.custom) for row in chosen.registrations)
    notes = (
        [] if len(live) == 1 else [f"{len(live)} resolvers are in memory; this is {chosen.name}"]
    )
    absent = _absent(linked, set(calls))
    if absent:
        notes.append(
            f"{absent}: linked and not in the table (refused, or its Add* was not reached)"
        )
    declared = (_declared(linked, chosen),)
    found = _Evidence(calls, _costs(linked), declared, "live", tuple(notes))
    return _noted(_judge(found, model), image, model)


def _refused(model: Model) -> tuple[str, ...]:
    return tuple(map(str, refusals(model)))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _needed(model: Model) -> dict[_Key, int]:
    """The operators of all subgraphs, with the highest version of each."""
    versions: dict[_Key, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            key = operator.name, operator.custom
            versions[key] = max(versions.get(key, 1), operator.version)
    if not versions:
        raise UsageError(f"{model.name} has no operators")
    return versions


def _judge(found: _Evidence, model: Model) -> Audit:
    operators = tuple(_operators(found, model))
    distinct = sum(row.registered for row in operators) + len(found.refused)
    declared = max((resolver.slots for resolver in found.resolvers), default=None)
    verdicts: list[AuditVerdict] = []
    problems: list[str] = []
    _judge_operators(operators, distinct, verdicts, problems)
    wasted = _judge_size(found, declared, distinct, verdicts, problems)
    refused = _refused(model)
    verdicts += [AuditVerdict.REFUSED] if refused else []
    order = list(AuditVerdict)
    return Audit(
        model.name, declared, found.resolvers, operators, wasted,
        tuple(sorted(verdicts, key=order.index)) or (AuditVerdict.OK,),
        (*refused, *problems), (*found.notes, *pitfalls(model)), found.method,
    )  # fmt: skip


def _operators(found: _Evidence, model: Model) -> Iterable[OperatorAudit]:
    calls = dict(found.calls)
    for (name, custom), version in _needed(model).items():
        key = _key_in(found.calls, (name, custom))
        times = calls.pop(key, 0)
        verdict = "missing" if not times else "duplicate" if times > 1 else "ok"
        yield OperatorAudit(name, custom, True, version, times, found.costs.get(key, 0), verdict)
    for (name, custom), times in found.refused.items():
        if (name, custom) not in _needed(model):
            cost = found.costs.get((name, custom), 0)
            yield OperatorAudit(name, custom, False, 0, times, cost, "refused")
    for (name, custom), times in calls.items():
        verdict = "duplicate" if times > 1 else "unused"
        cost = found.costs.get((name, custom), 0)
        yield OperatorAudit(name, custom, False, 0, times, cost, verdict)


def _key_in(keys: Iterable[_Key], key: _Key) -> _Key:
    """``key`` as ``keys`` spell it: a custom operator may have another spelling in C++."""
    name, custom = key
    return next(
        (other for other in keys if custom and other[1] and _plain(other[0]) == _plain(name)), key
    )


def _judge_operators(
    operators: Sequence[OperatorAudit],
    distinct: int,
    verdicts: list[AuditVerdict],
    problems: list[str],
) -> None:
    for row in operators:
        if row.verdict == "missing":
            kind = "custom operator" if row.custom else "operator"
            problems.append(f"{kind} {row.operator} is needed by the model and not registered")
        elif row.verdict == "duplicate":
            problems.append(f"{row.operator} is registered {row.calls} times; one is refused")
        elif row.verdict == "unused":
            cost = f": {row.bytes:,} B of flash" if row.bytes else ""
            problems.append(f"{row.operator} is registered and not needed{cost}")
    if not distinct:
        verdicts.append(AuditVerdict.EMPTY)
    found = {row.verdict for row in operators}
    verdicts += [
        v for v in (AuditVerdict.MISSING, AuditVerdict.DUPLICATE, AuditVerdict.UNUSED) if v in found
    ]


def _judge_size(
    found: _Evidence,
    declared: int | None,
    distinct: int,
    verdicts: list[AuditVerdict],
    problems: list[str],
) -> int:
    """Add verdict and problem of the number of slots; the RAM of unused ones, in bytes."""
    if declared is None:
        return 0
    slot = max(resolver.slot_bytes for resolver in found.resolvers)
    if distinct > declared:
        verdicts.append(AuditVerdict.TOO_SMALL)
        names = ", ".join(sorted(name for name, _ in found.refused))
        problems.append(
            f"{distinct} operators are registered in {declared} slots: "
            f"{distinct - declared} of them will be refused{names and f': {names}'}"
        )
    elif distinct < declared:
        verdicts.append(AuditVerdict.TOO_LARGE)
        wasted = (declared - distinct) * slot
        problems.append(
            f"{declared - distinct} of {declared} slots stay empty: {wasted:,} B of RAM wasted"
        )
        return wasted
    return 0


def _notes(linked: Linked) -> Iterable[str]:
    all_ops = declarations.all_ops(linked.image)
    if all_ops:
        yield f"AllOpsResolver is linked: every operator is in the image ({demangle(all_ops[0])})"
    if len(linked.resolvers) > 1:
        names = ", ".join(f"{resolver.name} <{resolver.slots}>" for resolver in linked.resolvers)
        yield (
            f"several resolvers: {names}; what each of them registers is shown by "
            "`tflm-hil resolver dump`"
        )
    declared = {resolver.slots for resolver in linked.resolvers}
    others = declarations.slots_in_symbols(linked.image) - declared
    if others:
        listed = ", ".join(f"<{n}>" for n in sorted(others))
        yield f"the image has code of MicroMutableOpResolver{listed} too, without a static object"


def _cannot_tell(model: Model, linked: Linked, why: str) -> Audit:
    operators = tuple(
        OperatorAudit(name, custom, True, version, 0, 0, "cannot_tell")
        for (name, custom), version in _needed(model).items()
    )
    refused = _refused(model)
    return Audit(
        model.name, None, linked.resolvers, operators, 0,
        (*([AuditVerdict.REFUSED] if refused else []), AuditVerdict.CANNOT_TELL),
        (*refused, why), (*_notes(linked), *pitfalls(model)), linked.method, _hint(linked),
    )  # fmt: skip
