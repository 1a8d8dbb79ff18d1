"""What became of the registrations that an image tried: rows of a resolver, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.base.findings import Kind
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.attempts import Tried
from harness.resolver.resolver import Refused, Registered, Resolver, same
from harness.uart import Console

_DUPLICATE = Kind.DUPLICATE_OPERATOR


def with_attempts(
    resolver: Resolver, tried: Sequence[Tried], others: Sequence[Resolver], image: Image
) -> Resolver:
    """``resolver`` with the places of its registrations, and with those that it refused.

    ``others`` are further resolvers in memory. An attempt that does not tell its resolver counts if
    there is only one.
    """
    if resolver.slots is None:
        return resolver  # it has no rows in an order
    rows, refused = list(resolver.registered or ()), []
    own = _named(_own(resolver, tried, others), rows)
    at_row, left = 0, sum(one.taken is not False for one in own)
    for one in own:
        row = _row_of(one, rows[at_row:], left)
        left -= one.taken is not False
        if row is not None:
            at_row += row
            rows[at_row] = replace(rows[at_row], added=place(image, one.at))
            at_row += 1
        elif one.taken is not True and one.key is not None:
            again = any(same(one.key, known.key) for known in rows[:at_row])
            if one.taken is False or again or len(rows) == resolver.slots:
                refused.append(Refused(*one.key, again, place(image, one.at)))
    return replace(resolver, registered=tuple(rows), refused=tuple(refused))


def _own(resolver: Resolver, tried: Sequence[Tried], others: Sequence[Resolver]) -> list[Tried]:
    """The attempts of ``resolver``, since it was made the last time.

    If it has none, it may be a copy: then those of the resolver with equal rows.
    """
    known = _last_life(resolver.address, tried)
    if not known and others:
        original = next((one for one in others if one.registered == resolver.registered), None)
        return [] if original is None else _last_life(original.address, tried)
    known = known or list(tried)
    added = [one for one in known if one.adds]
    # Registrations may be fetched without being added.
    return added if len(added) >= len(resolver.registered or ()) else known


def _last_life(address: int, tried: Sequence[Tried]) -> list[Tried]:
    """The attempts of the resolver at ``address`` since it was empty the last time."""
    own = [one for one in tried if one.resolver == address]
    begins = [
        at for at, one in enumerate(own)
        if one.lengths is not None and not one.lengths.get(address, 0) and one.taken
    ]  # fmt: skip
    return own[begins[-1] if begins else 0 :]


def _named(tried: Sequence[Tried], rows: Sequence[Registered]) -> list[Tried]:
    """``tried`` with the operators of changed methods: in one register each has its code.

    It is the register in which the codes of all ``rows`` are.
    """
    changed = [one.words for one in tried if one.words]
    codes = {row.builtin_code for row in rows if not row.custom}
    for words in zip(*changed, strict=False):
        if codes and codes <= set(words) and max(words) < len(OPERATOR_NAMES):
            named = iter(words)
            return [
                replace(one, key=(OPERATOR_NAMES[next(named)], False)) if one.words else one
                for one in tried
            ]
    return list(tried)


def _row_of(one: Tried, rows: Sequence[Registered], left: int) -> int | None:
    """Which of ``rows``, those not yet accounted for, is that of ``one``; None if none is.

    ``left`` attempts may have been taken, this one included: if there is a row for each, it is the
    first, whatever its name. A result that is known lets rows be passed over, whose registration
    was not seen.
    """
    if one.taken is False or not rows:
        return None
    if one.key is not None:
        last = len(rows) if one.taken else 1
        found = next((n for n, row in enumerate(rows[:last]) if same(one.key, row.key)), None)
        if found is not None:
            return found
    return 0 if one.taken or left <= len(rows) else None


def told_refusals(console: bytes, reported: Sequence[int], image: Image) -> tuple[Refused, ...]:
    """The refusals that tflite-micro printed; ``reported`` are the addresses of these calls."""
    reader = Console()
    reader.feed(console)
    found = [
        one for one in reader.findings if one.kind in (_DUPLICATE, Kind.RESOLVER_TOO_SMALL)
    ]  # fmt: skip
    known = len(reported) == len(found)
    return tuple(
        Refused(
            one.subject, one.subject not in OPERATOR_NAMES, one.kind is _DUPLICATE,
            place(image, reported[at]) if known else "",
        )
        for at, one in enumerate(found)
        if one.subject
    )  # fmt: skip


def place(image: Image, address: int) -> str:
    """Function, file and line of the application at ``address``, outside inlined library code."""
    frames = image.frames(address)
    own = (one for one in frames if not qualified(one.function).startswith("tflite::"))
    return str(next(own, frames[-1]))
