"""Skipped calls: functions that cannot be followed and have no part in a registration.

All that such a call could change is unknown afterwards: every variable to which the function, or
one that it calls, refers, and all objects to which its arguments point.
"""

from __future__ import annotations

import re
from functools import cache

from harness.elf import Image
from harness.elf.regions import RAM
from harness.model.structures import WORD
from harness.resolver.static.frames import aligned
from harness.resolver.static.state import Frame, Lost, Objects, State
from harness.resolver.static.values import Cause, Unknown, Value

#: Most functions that are skipped.
_MOST = 24
_MOST_ARGUMENTS = 8  # words of arguments of a function with unknown parameters
_MOST_TEXT = 256  # bytes of a format string
#: A conversion of printf: flags and widths, length, letter.
_CONVERSION = re.compile(rb"%([-+ #0-9.*]*)(hh?|ll?|[jztL])?([A-Za-z%])")


class Skipped:
    """The functions to skip. None of them may reach the addresses ``relevant``."""

    def __init__(self, image: Image, objects: Objects, relevant: frozenset[int]) -> None:
        self.functions: set[int] = set()
        self._image = image
        self._graph = image.graph
        self._objects = objects
        known = (self._graph.at(address) for address in relevant)
        self._relevant = {number for number in known if number is not None}
        self._relevant.update(*(registration.register for registration in image.registrations))
        self._reach = cache(lambda number: frozenset(self._graph.reach([number])))

    def add(self, state: State) -> bool:
        """Skip a function that is active in ``state``; False if none can be skipped.

        Of several, this is the outermost one without a static object among its arguments, else the
        innermost.
        """
        candidates = [
            frame for frame in state.frames[1:]
            if self._may_skip(frame.function)
            and not state.objects.intersection(self._arguments(state, frame))
        ]  # fmt: skip
        if not candidates or len(self.functions) >= _MOST:
            return False
        harmless = (frame for frame in candidates if not self._gets_static_object(state, frame))
        self.functions.add(next(harmless, candidates[-1]).function)
        return True

    def _may_skip(self, function: int) -> bool:
        number = self._graph.at(function)
        return (
            number is not None
            and function not in self.functions
            and not self._relevant & self._reach(number)
        )

    def _gets_static_object(self, state: State, frame: Frame) -> bool:
        return any(
            isinstance(value, int) and value in RAM and state.frame_of(value) is None
            for value in self._arguments(state, frame)
        )

    def _arguments(self, state: State, frame: Frame) -> list[Value]:
        """The arguments in registers, and those that may be on the stack."""
        count = self._argument_words(frame)
        places = range(frame.top, frame.top + WORD * (count - 4), WORD)
        on_stack = [state.memory.load(place, WORD, frame.function) for place in places]
        return [*frame.arguments[:count], *on_stack]

    def _argument_words(self, frame: Frame) -> int:
        """Words of arguments, of a variadic function by its format string."""
        known = self._objects.locals.parameters(frame.function)
        if known is None:
            return _MOST_ARGUMENTS
        words = known.words
        if not known.variadic:
            return words
        text = self._text(frame.arguments[words - 1]) if 0 < words <= 4 else None
        if text is None:
            return _MOST_ARGUMENTS
        for stars, length, letter in _CONVERSION.findall(text):
            words += stars.count(b"*")
            size = 2 * WORD if length in (b"ll", b"j") or letter in b"aefgAEFG" else WORD
            words = aligned(words, size) + size // WORD if letter != b"%" else words
        return words

    def _text(self, address: Value) -> bytes | None:
        """The string that the image stores at ``address``."""
        if not isinstance(address, int) or address in RAM:
            return None
        for size in range(_MOST_TEXT, 0, -1):
            data = self._image.read(address, size)
            if data is not None:
                return data.split(b"\0")[0] if b"\0" in data else None
        return None

    def skip(self, state: State) -> bool:
        """A hook: return from the call, with the memory unknown that it could change."""
        at = state.pc
        number = self._graph.at(at)
        assert number is not None
        name = self._graph.nodes[number].name
        unknown = Unknown(Cause(f"{name}() may have changed it", at))
        frame = state.frames[-1]
        spans, values = self._spans(number), self._arguments(state, frame)
        known = self._objects.locals.parameters(frame.function)
        for word, size in (known.objects if known else {}).items():
            value = values[word] if word < len(values) else 0
            if isinstance(value, int) and state.frame_of(value) is not None:
                spans.append((value, value + size))  # a temporary object has no entry in DWARF
                values[word] = 0
        self._forget(state, spans, values, unknown)
        state.r[:4] = [unknown] * 4
        state.s[:16] = [Unknown(unknown.cause, external=True)] * 16
        state.flags_unknown(unknown.cause)
        state.outside = state.memory.version
        return False

    def _spans(self, number: int) -> list[tuple[int, int]]:
        nodes = (self._graph.nodes[n] for n in self._reach(number))
        return [(node.address, node.end) for node in nodes if node.address in RAM]

    def _forget(
        self, state: State, spans: list[tuple[int, int]], values: list[Value], unknown: Unknown
    ) -> None:
        """Forget ``spans``, the objects to which ``values`` point, and all reachable from them."""
        done: set[tuple[int, int]] = set()
        while spans or values:
            for value in values:
                if isinstance(value, Unknown) and not value.external and value.base is None:
                    continue  # an unused register, or a pointer whose object is unknown
                pointer = value if isinstance(value, int) else value.base
                if pointer is None:
                    continue
                span = self._objects.at(state, pointer)
                if span is not None:
                    spans.append(span)
                elif pointer & 1 and self._reaches_relevant(pointer):
                    raise Lost(
                        Cause(
                            "calls back a function that registers operators or runs an interpreter",
                            unknown.cause.at,
                        )
                    )
            fresh = [span for span in spans if span not in done]
            done.update(fresh)
            values = [
                cell for start, end in fresh for cell in state.memory.words(start, end)
                if not isinstance(cell, tuple)
            ]  # fmt: skip
            for start, end in fresh:
                if any(start <= at < end for at in state.objects):
                    raise Lost(Cause("may change a resolver", unknown.cause.at))
                state.memory.forget(start, end, unknown)
            spans = []

    def _reaches_relevant(self, pointer: int) -> bool:
        number = self._graph.at(pointer & ~1)
        if number is None:
            return False
        node = self._graph.nodes[number]
        if node.kind not in ("function", "label") or node.address != pointer & ~1:
            return False
        return bool(self._relevant & self._reach(number))
