"""The audit of an operator resolver: whether what the interpreter gets fits a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from harness.base.errors import UsageError
from harness.base.hints import NO_HINT, Hint, HintText
from harness.elf import Image
from harness.elf.models import held_model
from harness.footprint import resolvers as declarations
from harness.model import Model
from harness.model.pitfalls import pitfalls
from harness.model.refusals import refusals
from harness.resolver import live
from harness.resolver.linked import Linked, linked
from harness.resolver.live import ResolverRun
from harness.resolver.resolver import Key, Refused, Registered, Resolver, in_place, same
from harness.targets import open_target
from harness.targets.registry import DEFAULT


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
    """One operator.

    ``version`` is the highest one in the model, 0 if the model does not use the operator, and
    ``bytes`` the flash of this operator alone. ``verdict`` is ``ok``, ``missing``, ``unused``,
    ``duplicate``, ``refused`` (not needed, and no slot was left) or ``cannot_tell``.
    """

    operator: str
    custom: bool
    needed: bool
    version: int
    linked: bool
    registered: bool | None  # None: not known
    bytes: int
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """One row of the ``operators`` list."""
        return asdict(self)


@dataclass(frozen=True)
class Audit:
    """The result of :func:`check`.

    ``resolver`` is what the interpreter gets; its ``registered`` is None if that is not known.
    ``linked`` are the operators in the image's code, and ``wasted`` is the RAM of empty slots in
    bytes. ``saved_flash`` and ``saved_ram`` are the bytes that a resolver of exactly the needed
    operators saves; None if not each of them is registered, or the image does not show what the
    others cost.
    """

    model: str
    resolver: Resolver
    operators: tuple[OperatorAudit, ...]
    linked: tuple[str, ...]
    verdicts: tuple[AuditVerdict, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    wasted: int = 0
    saved_flash: int | None = None
    saved_ram: int | None = None
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
    def passed(self) -> bool:
        """True if each operator that the model needs is registered exactly once, in a slot.

        False for a model that tflite-micro refuses with any resolver.
        """
        return self.verdict in HARMLESS

    def __bool__(self) -> bool:
        return self.passed

    @property
    def declared(self) -> int | None:
        """The number of slots; None if it is not known, or the resolver has none."""
        return self.resolver.slots

    @property
    def registered(self) -> tuple[str, ...] | None:
        """The registered operators, in the order of registration; None if they are not known."""
        return None if self.resolver.registered is None else self.resolver.operators

    @property
    def needed(self) -> tuple[str, ...]:
        """Operators that the model needs."""
        return tuple(row.operator for row in self.operators if row.needed)

    @property
    def missing(self) -> tuple[str, ...]:
        """Needed operators that are not registered."""
        return tuple(row.operator for row in self.operators if row.verdict == "missing")

    def to_json(self) -> dict[str, Any]:
        """The document of ``resolver check --json``."""
        refused = self.resolver.refused
        return {
            "model": self.model,
            "declared": self.declared,
            "registered": None if self.registered is None else list(self.registered),
            "linked": list(self.linked),
            "needed": list(self.needed),
            "missing": list(self.missing),
            "unused": [
                {"operator": row.operator, "bytes": row.bytes}
                for row in self.operators
                if row.registered and not row.needed
            ],
            "duplicates": [row.operator for row in refused if row.duplicate]
            + _repeated(self.resolver.registered or ()),
            "refused": [row.operator for row in refused if not row.duplicate],
            "wasted": self.wasted,
            "saved_flash": self.saved_flash,
            "saved_ram": self.saved_ram,
            "verdict": str(self.verdict),
            "verdicts": [str(verdict) for verdict in self.verdicts],
            "reason": self.reason,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "operators": [row.to_json() for row in self.operators],
            "resolver": self.resolver.to_json(),
        }


def _repeated(rows: Sequence[Registered]) -> list[str]:
    """Operators with several slots: tflite-micro takes a custom operator again."""
    return [name for (name, _), times in Counter(row.key for row in rows).items() if times > 1]


def check(
    image: Image, model: Model, *, target: str = DEFAULT, timeout: float = 5.0, symbol: str = ""
) -> Audit:
    """Compare the resolver that the interpreter of an image gets with what a model needs.

    The image runs on ``target`` until it allocates its tensors, at most for ``timeout`` seconds of
    the target's clock (:mod:`harness.resolver.live`); ``symbol`` is the function at whose beginning
    the resolver is read instead. If it is not known what the interpreter gets, the verdict is
    ``cannot_tell``, with the reason. Raises :class:`UsageError` for a model without operators.
    """
    with open_target(target, image) as session:
        seen = live.read(session, image, model, symbol=symbol, seconds=timeout)
    return judged(seen, live.with_interpreter(image), model)


def judged(seen: ResolverRun, image: Image, model: Model) -> Audit:
    """The audit of what a run of ``image`` showed."""
    needed, code = _needed(model), linked(image)
    held = held_model(image, model)
    notes = (*([held.text] if held.wrong else []), *seen.notes)
    if seen.resolver is None or seen.resolver.registered is None:
        return _cannot_tell(seen, image, model, code, notes)
    resolver = seen.resolver
    rows = tuple(_operators(resolver, needed, code))
    verdicts, problems = _judge(resolver, rows)
    refused = [str(one) for one in refusals(model)]
    verdicts |= {AuditVerdict.REFUSED} if refused else set()
    absent = _absent((resolver, *seen.others), code)
    return Audit(
        model.name, resolver, rows, tuple(name for name, _ in code.operators),
        tuple(sorted(verdicts, key=list(AuditVerdict).index)) or (AuditVerdict.OK,),
        (*refused, *problems),
        (*notes, *([f"{absent}: linked and not registered"] if absent else []), *pitfalls(model)),
        _empty(resolver) * resolver.slot_bytes, *_saved(resolver, rows, code),
    )  # fmt: skip


def _needed(model: Model) -> dict[Key, int]:
    """The operators of all subgraphs, with the highest version of each."""
    versions: dict[Key, int] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            key = operator.name, operator.custom
            versions[key] = max(versions.get(key, 1), operator.version)
    if not versions:
        raise UsageError(f"{model.name} has no operators")
    return versions


def _operators(
    resolver: Resolver, needed: Mapping[Key, int], code: Linked
) -> Iterator[OperatorAudit]:
    registered = dict.fromkeys(row.key for row in resolver.registered or ())
    duplicates = {row.key for row in resolver.refused if row.duplicate}
    duplicates |= {(name, True) for name in _repeated(resolver.registered or ())}
    for key, version in needed.items():
        verdict = "missing" if key not in registered else "duplicate" if key in duplicates else "ok"
        yield _row(key, version, key in registered, code, verdict)
    for key in registered:
        if key not in needed:
            yield _row(key, 0, True, code, "duplicate" if key in duplicates else "unused")
    for key in dict.fromkeys(row.key for row in resolver.refused):
        if not any(same(key, other) for other in (*registered, *needed)):
            yield _row(key, 0, False, code, "refused")


def _row(
    key: Key, version: int, registered: bool | None, code: Linked, verdict: str
) -> OperatorAudit:
    known = _linked_as(key, code)
    return OperatorAudit(
        *key, bool(version), version, known in code.operators, registered,
        code.costs.get(known, 0), verdict,
    )  # fmt: skip


def _linked_as(key: Key, code: Linked) -> Key:
    """An operator as the image's functions spell it."""
    return next((one for one in code.operators if same(one, key)), key)


def _judge(
    resolver: Resolver, rows: Sequence[OperatorAudit]
) -> tuple[set[AuditVerdict], list[str]]:
    """Verdicts and problems of a resolver whose registered operators are known."""
    verdicts: set[AuditVerdict] = set()
    problems: list[str] = []
    added = {row.key: row.added for row in resolver.registered or ()}
    if not added:
        verdicts.add(AuditVerdict.EMPTY)
    full = [row for row in resolver.refused if not row.duplicate]
    for row in rows:
        key = row.operator, row.custom
        if row.verdict == "missing":
            verdicts.add(AuditVerdict.MISSING)
            refused = next((one for one in full if same(one.key, key)), None)
            problems.append(_missing(row, refused, resolver))
        elif row.registered and not row.needed:
            verdicts.add(AuditVerdict.UNUSED)
            cost = f": {row.bytes:,} B of flash" if row.bytes else ""
            problems.append(
                f"{row.operator} is registered and not needed{cost}{in_place(added[key])}"
            )
    for one in resolver.refused:
        verdicts.add(AuditVerdict.DUPLICATE if one.duplicate else AuditVerdict.TOO_SMALL)
        lacking = [(row.operator, row.custom) for row in rows if row.verdict == "missing"]
        told = any(same(one.key, key) for key in lacking)
        if one.duplicate or not told:
            problems.append(resolver.refusal(one))
    for name in _repeated(resolver.registered or ()):
        verdicts.add(AuditVerdict.DUPLICATE)
        problems.append(f"{name} is registered more than once, and has a slot each time")
    if empty := _empty(resolver):
        verdicts.add(AuditVerdict.TOO_LARGE)
        wasted = empty * resolver.slot_bytes
        problems.append(f"{empty} of {resolver.slots} slots stay empty: {wasted:,} B of RAM wasted")
    return verdicts, problems


def _missing(row: OperatorAudit, refused: Refused | None, resolver: Resolver) -> str:
    kind = "custom operator" if row.custom else "operator"
    if refused is None:
        return f"{kind} {row.operator} is needed by the model and not registered"
    text = f"{kind} {row.operator} is needed by the model and refused"
    return f"{text}: {resolver.is_full(refused)}"


def _empty(resolver: Resolver) -> int:
    return 0 if resolver.slots is None else resolver.slots - len(resolver.registered or ())


def _saved(
    resolver: Resolver, rows: Sequence[OperatorAudit], code: Linked
) -> tuple[int | None, int | None]:
    """The bytes of flash and RAM that a resolver of exactly the needed operators saves."""
    needed = [row for row in rows if row.needed]
    if not all(row.registered for row in needed):
        return None, None
    unused = [_linked_as((row.operator, row.custom), code) for row in rows if not row.needed]
    known = all(key in code.costs for key in unused)
    flash = code.report.cost([name for name, _ in unused]) if known else None
    slots = 0 if resolver.slots is None else resolver.slots - len(needed)
    return flash, slots * resolver.slot_bytes


def _absent(resolvers: Sequence[Resolver], code: Linked) -> str:
    """The linked operators that ``resolvers`` neither registered nor refused."""
    told = [row.key for one in resolvers for row in one.registered or ()]
    told += [row.key for one in resolvers for row in one.refused]
    names = (key[0] for key in code.operators if not any(same(key, other) for other in told))
    return ", ".join(names)


def _cannot_tell(
    seen: ResolverRun, image: Image, model: Model, code: Linked, notes: Sequence[str]
) -> Audit:
    """The audit of an image whose interpreter does not show what it gets: what is linked."""
    declared = declarations.find(image)
    resolver = Resolver.of(declared[0]) if len(declared) == 1 else Resolver("", 0, None, None)
    rows = tuple(
        _row(key, version, None, code, "cannot_tell") for key, version in _needed(model).items()
    )
    refused = [str(one) for one in refusals(model)]
    names = tuple(name for name, _ in code.operators)
    shown = [f"linked: {', '.join(names)}"] if names else []
    return Audit(
        model.name, resolver, rows, names,
        (*([AuditVerdict.REFUSED] if refused else []), AuditVerdict.CANNOT_TELL),
        (*refused, seen.why), (*shown, *notes, *pitfalls(model)),
        hint=image.symbols_hint() or (Hint.READ_LATER.told() if seen.unreached else NO_HINT),
    )  # fmt: skip
