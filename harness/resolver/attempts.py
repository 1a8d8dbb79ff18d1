"""The registrations that an image tried, by the calls of its functions, and what became of them.

``Add*()`` methods tell the resolver, the operator and the result. Where they are inlined into the
application, the functions that return registrations (``Register_*()``) tell that one was tried, and
the table tells whether it was taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.file import Symbol
from harness.elf.register_functions import BY_SPELLING, LIBRARY_CUSTOM, registered_by
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.resolver import Key, Refusal, Registration, Resolver, plain
from harness.resolver.table import Tables
from harness.targets.calls import Call

#: A method that registers. The compiler marks a copy whose arguments it changed (``.isra.0``).
_ADD = re.compile(r"MicroMutableOpResolverILj\d+EE\d+(Add[A-Z][A-Za-z0-9]*?)E(\w*)(\.\w+)?")
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
    outer: Call | None = None  # the last call of an Add* method
    for call in calls:
        if call.address not in functions:
            continue
        one = _attempt(call, functions[call.address], tables)
        if outer is not None and _is_part_of(call, outer, functions):
            found[-1] = replace(found[-1], key=found[-1].key or one.key)
            continue
        outer = call if _ADD.search(functions[call.address].name) else None
        if outer is not None and found and found[-1].resolver is found[-1].taken is None:
            before = found[-1].key  # of a registration that is fetched, and then added
            if before is not None and (one.key is None or same(before, one.key)):
                found.pop()
                one = replace(one, key=one.key or before)
        found.append(one)
    return tuple(found)


def _attempt(call: Call, function: Symbol, tables: Tables) -> Attempt:
    """What a call tells alone."""
    at = call.caller - 2 & ~1
    method = _ADD.search(function.name)
    if method is None:
        return Attempt(registered_by(function.name), None, at, None)
    key = _key_of_method(method[1])
    if method[3]:  # its arguments and its result may not be where the ABI has them
        return Attempt(key, None, at, None)
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
    """Whether ``outer``, an Add* method, makes ``call``, or ends with a branch to it."""
    function = functions[outer.address]
    if outer.address <= call.caller - 2 < outer.address + function.size:
        return True
    name = functions[call.address].name
    general = any(f"{method}E" in name for method in (_BUILTIN, _CUSTOM))
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
    at_row = 0
    for one in _own(resolver, tried, others):
        row = _taken(one, rows[at_row:])
        if one.taken is not False and row is not None:
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
    elsewhere = {other.address for other in others}
    known = [one for one in tried if one.resolver == resolver.address]
    if known or others:
        return known
    return [one for one in tried if one.resolver not in elsewhere]


def _taken(one: Attempt, rows: Sequence[Registration]) -> int | None:
    """Which of ``rows``, those not yet accounted for, is that of ``one``; None if none is.

    A result that is known lets rows be passed over, whose registration was not seen.
    """
    if one.key is None:
        return 0 if rows and one.taken is not None else None
    last = len(rows) if one.taken else 1
    return next((n for n, row in enumerate(rows[:last]) if same(one.key, row.key)), None)


def place(image: Image, address: int) -> str:
    """Function, file and line of the application at ``address``, outside inlined library code."""
    frames = image.frames(address)
    own = (one for one in frames if not qualified(one.function).startswith("tflite::"))
    return str(next(own, frames[-1]))
