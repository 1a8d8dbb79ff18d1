"""The registrations that an image tried, by the calls of its functions, and what became of them.

``Add*()`` methods tell the resolver, the operator and the result. Where they are inlined into the
application, the functions that return registrations (``Register_*()``) tell that one was tried, and
the table tells whether it was taken. Where these are inlined, too, messages are left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base.findings import Kind
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.file import Symbol
from harness.elf.register_functions import BY_SPELLING, LIBRARY_CUSTOM, registered_by
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.resolver import Key, Refusal, Registration, Resolver, plain
from harness.resolver.table import Tables
from harness.targets.calls import Call
from harness.uart import Console

#: A method that registers. The compiler marks a copy whose arguments it changed (``.isra.0``).
_ADD = re.compile(r"MicroMutableOpResolverILj\d+EE\d+(Add[A-Z][A-Za-z0-9]*?)E(\w*)(\.\w+)?")
_DUPLICATE = Kind.DUPLICATE_OPERATOR
#: Methods for any operator, which the others call.
_BUILTIN, _CUSTOM = "AddBuiltin", "AddCustom"
_LIBRARY = {plain(f"Add{name}"): custom for name, custom in LIBRARY_CUSTOM.items()}


@dataclass(frozen=True)
class Attempt:
    """One registration that was tried, ``at`` an address of the application.

    What is not known is None: the operator's ``key``, the ``resolver``'s address, whether it was
    ``taken``.
    """

    key: Key | None
    resolver: int | None
    at: int
    taken: bool | None
    adds: bool = True  # seen as a call of Add*(), not as one of Register_*() alone
    #: r0 to r3, if it is a call of a method whose arguments the compiler changed.
    words: tuple[int, ...] = ()


def watched(image: Image) -> dict[int, Symbol]:
    """The functions whose calls tell of registrations, by their addresses."""
    functions = (symbol for symbol in image.symbols if symbol.kind == "func")
    return {
        symbol.address & ~1: symbol
        for symbol in functions
        if _ADD.search(symbol.name) or registered_by(symbol.name)
    }


def attempts_in(
    calls: Sequence[Call], functions: Mapping[int, Symbol], tables: Tables
) -> tuple[Attempt, ...]:
    """The registrations in ``calls`` of ``functions`` (:func:`watched`), in order."""
    found: list[Attempt] = []
    fetched: list[bool] = []  # whether each fetches its registration itself
    outer: Call | None = None  # the last call that the application made
    for call in calls:
        if call.address not in functions:
            continue
        one = _attempt(call, functions[call.address], tables)
        if outer is not None and _is_part_of(call, outer, functions):
            found[-1] = replace(found[-1], key=found[-1].key or one.key)
            fetched[-1] |= not one.adds
            continue
        outer = call
        found.append(one)
        fetched.append(not one.adds)
    return tuple(_joined(found, fetched))


def _joined(found: Sequence[Attempt], fetched: Sequence[bool]) -> Iterator[Attempt]:
    """``found`` without registrations that are fetched first, and then added by the next call."""
    for at, one in enumerate(found):
        before = found[at - 1] if at and not found[at - 1].adds else None
        if one.adds:
            waiting = before if before is not None and not fetched[at] else None
            yield replace(one, key=one.key or waiting.key) if waiting is not None else one
        elif at + 1 == len(found) or fetched[at + 1]:
            yield one


def _attempt(call: Call, function: Symbol, tables: Tables) -> Attempt:
    """What a call tells alone."""
    at = call.caller - 2 & ~1
    method = _ADD.search(function.name)
    if method is None:
        return Attempt(registered_by(function.name), None, at, None, adds=False)
    key = _key_of_method(method[1])
    if method[3]:  # its arguments and its result may not be where the ABI has them
        return Attempt(key, None, at, None, words=(call.argument, *call.others[:3]))
    if key is None and call.others:
        first = call.others[0]
        if method[1] == _CUSTOM:
            key = (tables.text(first), True)
        elif first < len(OPERATOR_NAMES):
            key = (OPERATOR_NAMES[first], False)
    taken = None if call.returned is None or call.result is None else call.result == 0
    return Attempt(key, call.argument, at, taken)


def _key_of_method(name: str) -> Key | None:
    """The operator of ``AddConv2D``; None for the methods for any operator."""
    if name in (_BUILTIN, _CUSTOM):
        return None
    if plain(name) in _LIBRARY:
        return _LIBRARY[plain(name)], True
    operator = BY_SPELLING.get(plain(name.removeprefix("Add")))
    return None if operator is None else (operator, False)


def _is_part_of(call: Call, outer: Call, functions: Mapping[int, Symbol]) -> bool:
    """Whether ``outer`` makes ``call``, or ends with a branch to it."""
    function = functions[outer.address]
    if outer.address <= call.caller - 2 < outer.address + function.size:
        return True
    name = functions[call.address].name
    general = not _ADD.search(name) or any(f"{one}E" in name for one in (_BUILTIN, _CUSTOM))
    branch = (call.caller, call.sp) == (outer.caller, outer.sp)
    return general and branch and call.address != outer.address


def same(one: Key, other: Key) -> bool:
    """Whether two names mean one operator: a custom one may have another spelling in C++."""
    return one == other or (one[1] and other[1] and plain(one[0]) == plain(other[0]))


def with_attempts(
    resolver: Resolver, tried: Sequence[Attempt], others: Sequence[Resolver], image: Image
) -> Resolver:
    """``resolver`` with the places of its registrations, and with those that it refused.

    ``others`` are further resolvers in memory. An attempt that does not tell its resolver counts if
    there is only one.
    """
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
                refused.append(Refusal(*one.key, again, place(image, one.at)))
    return replace(resolver, registered=tuple(rows), refused=tuple(refused))


def _own(resolver: Resolver, tried: Sequence[Attempt], others: Sequence[Resolver]) -> list[Attempt]:
    """The attempts of ``resolver``; those of an object that was copied into it, if it has none."""
    known = [one for one in tried if one.resolver == resolver.address]
    if known or others:
        return known
    added = [one for one in tried if one.adds]
    # Registrations may be fetched without being added.
    return added if len(added) >= len(resolver.registered or ()) else list(tried)


def _named(tried: Sequence[Attempt], rows: Sequence[Registration]) -> list[Attempt]:
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


def _row_of(one: Attempt, rows: Sequence[Registration], left: int) -> int | None:
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


def told_refusals(console: bytes) -> tuple[Refusal, ...]:
    """The refusals that tflite-micro printed."""
    reader = Console()
    reader.feed(console)
    return tuple(
        Refusal(one.subject, one.subject not in OPERATOR_NAMES, one.kind is _DUPLICATE, "")
        for one in reader.findings
        if one.kind in (_DUPLICATE, Kind.RESOLVER_TOO_SMALL) and one.subject
    )


def place(image: Image, address: int) -> str:
    """Function, file and line of the application at ``address``, outside inlined library code."""
    frames = image.frames(address)
    own = (one for one in frames if not qualified(one.function).startswith("tflite::"))
    return str(next(own, frames[-1]))
