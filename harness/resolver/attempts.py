"""The registrations that an image tries, by the calls of its functions.

``Add*()`` methods tell the resolver, the operator and the result. Where they are inlined into the
application, the functions that return registrations (``Register_*()``) tell that one was tried, and
a resolver that has grown tells that it was taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base.errors import Unsupported
from harness.elf import Image
from harness.elf.file import Symbol
from harness.elf.register_functions import BY_SPELLING, LIBRARY_CUSTOM, registered_by
from harness.model.schema import OPERATOR_NAMES
from harness.resolver.resolver import Key, plain
from harness.resolver.table import Tables
from harness.targets.calls import Call
from harness.targets.session import Session

#: A method that registers. The compiler marks a copy whose arguments it changed (``.isra.0``).
_ADD = re.compile(r"MicroMutableOpResolverILj\d+EE\d+(Add[A-Z][A-Za-z0-9]*?)E(\w*)(\.\w+)?")
#: ``MicroPrintf(format, ...)``, and the older ``ErrorReporter::Report(this, format, ...)``.
_REPORTS = re.compile(r"_Z11MicroPrintfPKcz|_ZN6tflite13ErrorReporter6ReportEPKcz")
_REFUSAL = re.compile(r"Couldn't register |Calling Add(?:Builtin|Custom) ")
#: Most calls at which the resolvers are looked at.
_MOST = 1000
#: Methods for any operator, which the others call.
_BUILTIN, _CUSTOM = "AddBuiltin", "AddCustom"
_LIBRARY = {plain(f"Add{name}"): custom for name, custom in LIBRARY_CUSTOM.items()}


@dataclass(frozen=True)
class Tried:
    """One registration that was tried, ``at`` an address of the application.

    What is not known is None: the operator's ``key``, the ``resolver``'s address, whether it was
    ``taken``.
    """

    key: Key | None
    resolver: int | None
    at: int
    taken: bool | None
    adds: bool = True  # seen as a call of Add*(), not as one of Register_*() alone
    #: How many registrations each resolver in memory had before it, by address.
    lengths: Mapping[int, int] | None = None
    #: r0 to r3, if it is a call of a general method whose arguments the compiler changed.
    words: tuple[int, ...] = ()


class Registering:
    """Notes the calls of functions that register, from here on.

    On a target that stops exactly, how many registrations each resolver has is noted, too.
    """

    def __init__(self, session: Session, image: Image, tables: Tables) -> None:
        self._session, self._tables = session, tables
        functions = [symbol for symbol in image.symbols if symbol.kind == "func"]
        self._functions = {
            symbol.address & ~1: symbol
            for symbol in functions
            if _ADD.search(symbol.name) or registered_by(symbol.name)
        }
        self._printing = {one.address & ~1 for one in functions if _REPORTS.match(one.name)}
        self._lengths: dict[Call, Mapping[int, int]] = {}  # at its first instruction
        self._printed = 0
        seen = self._seen if session.stops_exactly else None
        try:
            session.watch_calls([*self._functions, *self._printing], seen)
        except Unsupported:
            self._functions = {}

    def _seen(self, call: Call) -> bool:
        if call.address in self._printing:
            self._printed += 1
            return self._printed < _MOST
        if call.returned is None and len(self._lengths) < _MOST:
            self._lengths[call] = self._tables.lengths()
        return True

    @property
    def reported(self) -> tuple[int, ...]:
        """Where tflite-micro reported refusals: addresses of the application, in order."""
        printed = (call for call in self._session.calls if call.address in self._printing)
        return tuple(
            call.caller - 2 & ~1
            for call in printed
            if any(map(_REFUSAL.match, map(self._tables.text, (call.argument, *call.others[:1]))))
        )

    def tried(self) -> tuple[Tried, ...]:
        """The registrations that were tried so far, in order, since the last reset."""
        calls = [call for call in self._session.calls if call.address in self._functions]
        calls = [call for call in calls if call.boot == calls[-1].boot]
        found: list[Tried] = []
        fetched: list[bool] = []  # whether each fetches its registration itself
        outer: Call | None = None  # the last call that the application made
        for call in calls:
            one = _attempt(call, self._functions[call.address], self._tables)
            if outer is not None and _is_part_of(call, outer, self._functions):
                found[-1] = replace(found[-1], key=found[-1].key or one.key)
                fetched[-1] |= not one.adds
                continue
            outer = call
            begun = replace(call, returned=None, result=None, ended=None)
            found.append(replace(one, lengths=self._lengths.get(begun)))
            fetched.append(not one.adds)
        return tuple(_with_results(list(_joined(found, fetched)), self._tables.lengths()))


def _with_results(found: Sequence[Tried], now: Mapping[int, int]) -> Iterator[Tried]:
    """``found`` with resolver and result of each attempt: that which has grown took it."""
    for at, one in enumerate(found):
        after = found[at + 1].lengths if at + 1 < len(found) else now
        if one.taken is False or one.lengths is None or after is None or not {*one.lengths, *after}:
            yield one
            continue
        grown = [place for place, count in after.items() if count > one.lengths.get(place, 0)]
        made_anew = any(after.get(place, 0) < count for place, count in one.lengths.items())
        if len(grown) == 1:
            yield replace(one, resolver=grown[0], taken=True)
        elif not grown and not made_anew and one.adds:
            only = next(iter(after)) if len(after) == 1 else one.resolver
            yield replace(one, resolver=only, taken=False)
        else:
            yield one


def _joined(found: Sequence[Tried], fetched: Sequence[bool]) -> Iterator[Tried]:
    """``found`` without registrations that are fetched first, and then added by the next call."""
    for at, one in enumerate(found):
        before = found[at - 1] if at and not found[at - 1].adds else None
        if one.adds:
            waiting = before if before is not None and not fetched[at] else None
            yield replace(one, key=one.key or waiting.key) if waiting is not None else one
        elif at + 1 == len(found) or fetched[at + 1]:
            yield one


def _attempt(call: Call, function: Symbol, tables: Tables) -> Tried:
    """What a call tells alone."""
    at = call.caller - 2 & ~1
    method = _ADD.search(function.name)
    if method is None:
        return Tried(registered_by(function.name), None, at, None, adds=False)
    key = _key_of_method(method[1])
    if method[3]:  # its arguments and its result may not be where the ABI has them
        words = (call.argument, *call.others[:3]) if key is None else ()
        return Tried(key, None, at, None, words=words)
    if key is None and call.others:
        first = call.others[0]
        if method[1] == _CUSTOM:
            key = (tables.text(first), True)
        elif first < len(OPERATOR_NAMES):
            key = (OPERATOR_NAMES[first], False)
    taken = None if call.returned is None or call.result is None else call.result == 0
    return Tried(key, call.argument, at, taken)


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
