"""The resolver that an interpreter of a running image gets.

The image runs until ``AllocateTensors()`` begins: then the operators are registered. The
interpreter has the addresses of its model and of its resolver. Of several interpreters, that with
the asked model counts. On a target that cannot stop there, and for an image without symbols, the
interpreters are searched in RAM after a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness.base.clock import Deadline
from harness.base.errors import TargetLost, Unsupported, UsageError
from harness.elf import Image
from harness.elf.demangle import qualified, short_name
from harness.elf.interpreter import (
    ALLOCATE,
    COMPILED_MODEL,
    is_compiled_model,
    names_interpreter,
)
from harness.elf.main_stack import stack_at
from harness.elf.models import Held, another_given, held_model
from harness.model import Model
from harness.resolver.asked import asked
from harness.resolver.attempts import Registering
from harness.resolver.outcomes import place, told_refusals, with_attempts
from harness.resolver.resolver import Resolver
from harness.resolver.table import Tables
from harness.targets.base import Elapsed, Stop, SymbolReached
from harness.targets.session import Session

#: Seconds by which the deadline of a run for a given time exceeds that time.
_SLACK = 1.0
#: Seconds, on the target's clock, for further interpreters, if the image does not hold the model.
_FURTHER = 0.5
#: Seconds of the wall clock for a run.
_GUARD = 30.0
#: Bytes of an interpreter in which its model and its resolver are searched.
_INTERPRETER = 128


@dataclass(frozen=True)
class ResolverRun:
    """What a run showed.

    ``resolver`` is that of the interpreter, None if it is not known: ``why``. ``others`` are the
    further resolvers in memory. ``notes`` qualify the answer. ``unreached``: the image did not get
    to where the resolver is read.
    """

    resolver: Resolver | None
    others: tuple[Resolver, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    unreached: bool = False


@dataclass(frozen=True)
class _Interpreter:
    """An interpreter whose tensors are about to be allocated: addresses, and where it is used."""

    model: int
    resolver: int
    at: str


def read(
    session: Session, image: Image, model: Model | None, *, symbol: str = "", seconds: float = 5.0
) -> ResolverRun:
    """Run the image of ``session``, at most for ``seconds`` of target time, and read the resolver.

    ``symbol`` is the function at whose beginning it is read instead. Raises :class:`UsageError`
    for an unknown one.
    """
    part = with_interpreter(image)
    if is_compiled_model(part):
        return ResolverRun(None, why=COMPILED_MODEL)
    beside = "" if part is image else f"{part.name}:"
    reader = _RunReader(session, part, model, beside)
    try:
        return reader.read(_symbol(part, symbol) if symbol else ALLOCATE, seconds)
    except TargetLost as error:
        return ResolverRun(None, why=error.message)


def with_interpreter(image: Image) -> Image:
    """``image``, or the one beside it that has an interpreter."""
    parts = (image, *image.beside)
    return next((one for one in parts if one.symbol(ALLOCATE) is not None), image)


def _symbol(image: Image, name: str) -> str:
    """The symbol for ``name``, which is one or a qualified C++ name (``tflite::Model::Get``)."""
    functions = {one.name for one in image.symbols if one.kind == "func"}
    if name in functions:
        return name
    found = {one for one in functions if qualified(one) == name}
    if len(found) != 1:
        several = f"{len(found)} functions called" if found else "no function"
        raise UsageError(f"{image.path} has {several} {name!r}", hint=image.symbols_hint())
    return found.pop()


class _RunReader:
    def __init__(
        self, session: Session, image: Image, model: Model | None, beside: str = ""
    ) -> None:
        self.session, self.image, self.model = session, image, model
        self._beside = beside  # before the names of symbols, if the session has another image first
        self.tables = Tables(session.memory, image)
        self.attempts = Registering(session, image, self.tables)

    def read(self, symbol: str, seconds: float) -> ResolverRun:
        """What interpreters get at ``symbol``."""
        name = _shown(symbol)
        if self.image.symbol(symbol) is None:
            return self._after(seconds, self._hidden(name))
        try:
            return self._at(symbol, self.session.deadline(seconds, guard=_GUARD))
        except Unsupported:
            return self._after(seconds, f"target {self.session.target!r} cannot stop at {name}()")

    def _hidden(self, name: str) -> str:
        """Why the image has no symbol ``name``."""
        if self.image.without_symbols:
            return self.image.without_symbols
        if names_interpreter(self.image):
            return f"the image does not show {name}(): link-time optimization dissolves it"
        return "the image names no interpreter of tflite-micro"

    def _at(self, symbol: str, deadline: Deadline) -> ResolverRun:
        """Run to each beginning of ``symbol`` until the interpreter has the model."""
        seen: dict[_Interpreter, ResolverRun] = {}
        limit = deadline
        begins = SymbolReached(f"{self._beside}{symbol}")
        while (stop := self.session.run(begins, limit)) is Stop.CONDITION:
            interpreter = self._interpreter(symbol)
            if symbol != ALLOCATE or interpreter is None or self._has_model(interpreter):
                return self._live(interpreter)
            if not seen and not self._holds_model:
                limit = self.session.deadline(min(_FURTHER, deadline.remaining), guard=_GUARD)
            if interpreter not in seen:
                seen[interpreter] = self._live(interpreter)
        if seen:
            return self._of_another_model(seen, stop)
        return self._stopped(_shown(symbol), stop)

    def _interpreter(self, symbol: str) -> _Interpreter | None:
        """The interpreter that counts, where ``symbol`` begins; None if it is not known."""
        if symbol != ALLOCATE:
            return self._in_ram()
        registers = self.session.registers  # r0 is ``this``
        given = self.tables.given(registers["r0"], _INTERPRETER)
        if given is None:
            return None
        return _Interpreter(*given, place(self.image, registers["lr"] - 2 & ~1))

    def _in_ram(self) -> _Interpreter | None:
        """The interpreter in RAM with the model; of others, one if all have one resolver."""
        made = [_Interpreter(*pair, "") for pair in self.tables.interpreters()]
        chosen = [one for one in made if self._has_model(one)] or made
        return chosen[0] if len({one.resolver for one in chosen}) == 1 else None

    @cached_property
    def _holds_model(self) -> bool:
        return self.model is None or held_model(self.image, self.model).held is Held.MODEL

    def _has_model(self, interpreter: _Interpreter) -> bool:
        if self.model is None:
            return True
        begin = self.tables.model_begin(interpreter.model)
        return begin is not None and self.tables.peek(begin, self.model.size) == self.model.data

    def _of_another_model(self, seen: dict[_Interpreter, ResolverRun], stop: Stop) -> ResolverRun:
        """Interpreters without the asked model: their resolver, if it is one and the same.

        An image that holds the model may have an interpreter for it that was not seen.
        """
        assert self.model is not None
        lives = list(seen.values())
        made = " and ".join(f"that in {one.at}" for one in seen)
        if self._holds_model:
            why = f"no interpreter has {self.model.name} yet, {made} has another model"
            return ResolverRun(None, (), self._place(why, stop), unreached=True)
        if len({one.resolver for one in seen}) > 1:
            why = f"several resolvers, and no interpreter has this model: {made}"
            return ResolverRun(None, tuple(one.resolver for one in lives if one.resolver), why)
        note = another_given(self.image, [one.model for one in seen], self.model)
        return replace(lives[0], notes=(note, *lives[0].notes) if note else lives[0].notes)

    def _live(self, interpreter: _Interpreter | None) -> ResolverRun:
        """What the memory holds now for ``interpreter``, None if it is not known."""
        found = self.tables.found()
        if interpreter is None:
            if len(found) == 1:
                return ResolverRun(self._tried(found[0], ()))
            return ResolverRun(None, found, _unclear(found))
        others = tuple(one for one in found if one.address != interpreter.resolver)
        try:
            resolver = self.tables.at(interpreter.resolver) or asked(
                self.session, self.tables, interpreter.resolver,
                () if self.model is None else self.model.custom_operator_names,
            )  # fmt: skip
        except Unsupported as error:
            return ResolverRun(
                None, others, f"the resolver is of a class of the application: {error}"
            )
        if resolver is None:
            return ResolverRun(None, others, self._unreadable(interpreter.resolver))
        resolver = self._tried(resolver, others)
        notes = [_chosen(resolver, interpreter.at)] if others else []
        if resolver.registered and not any(row.added for row in resolver.registered):
            notes.append("no call of Add*() is seen: refusals are known from messages alone")
        return ResolverRun(resolver, others, notes=tuple(notes))

    def _unreadable(self, address: int) -> str:
        """Why what an interpreter has for a resolver is none."""
        try:
            sp = self.session.registers["sp"]
        except Unsupported:
            sp = 0
        stack = stack_at(self.image, sp)
        if stack is not None and stack[0] <= address < sp:
            gone = "lies in the stack frame of a function that has returned"
            return f"the interpreter's resolver {gone}: make it static"
        return f"the interpreter's resolver at 0x{address:08x} cannot be read"

    def _tried(self, resolver: Resolver, others: Sequence[Resolver]) -> Resolver:
        """``resolver`` with what became of the registrations that the image tried."""
        resolver = with_attempts(resolver, self.attempts.tried(), others, self.image)
        if others:
            return resolver  # messages do not say which one refused
        console = b"".join(chunk.data for chunk in self.session.console)
        printed = told_refusals(console, self.attempts.reported, self.image)
        seen = {(row.key, row.duplicate) for row in resolver.refused}
        unseen = tuple(row for row in printed if (row.key, row.duplicate) not in seen)
        return replace(resolver, refused=(*resolver.refused, *unseen))

    def _after(self, seconds: float, reason: str) -> ResolverRun:
        """Run for ``seconds``, since ``reason``, and search the interpreters in RAM."""
        session = self.session
        stop = session.run(Elapsed(seconds), session.deadline(seconds + _SLACK, guard=_GUARD))
        interpreter = self._in_ram()
        if interpreter is None:
            late = bool(self.image.without_symbols) or names_interpreter(self.image)
            found = self.tables.found()
            why = "no interpreter is seen in memory"
            if self.image.without_symbols and len(found) == 1:
                # One on a stack is gone if the allocation failed: a missing operator, mostly.
                note = f"{reason}: the only resolver in memory is judged, read after {seconds:g} s"
                return ResolverRun(self._tried(found[0], ()), notes=(f"{why}; {note}",))
            return ResolverRun(None, found, f"{why}: {self._place(reason, stop)}", unreached=late)
        live = self._live(interpreter)
        if live.resolver is None:
            return replace(live, why=f"{live.why}; {reason}")
        return replace(live, notes=(f"{reason}: read after {seconds:g} s", *live.notes))

    def _stopped(self, name: str, stop: Stop) -> ResolverRun:
        """The image did not get so far. A registration after which it gave up is told."""
        why = self._place(f"{name}() is not reached", stop)
        found = self.tables.found()
        tried = [self._tried(one, [other for other in found if other is not one]) for one in found]
        refused = [text for one in tried for text in one.refusals]
        return ResolverRun(
            None, found, "; ".join((*refused, why)),
            unreached=not refused and not self.session.faults,
        )  # fmt: skip

    def _place(self, why: str, stop: Stop) -> str:
        """``why`` with what ended the run, and where the image stands."""
        if self.session.faults:
            return f"{why}: {self.session.faults[0]}"
        try:
            where = self.session.where()
        except Unsupported:
            where = ""
        ended = _ENDED.get(stop, str(stop))
        return f"{why}: {ended}{f' in {where}' if where else ''}"


#: What ended a run that did not get to where the resolver is read.
_ENDED = {
    Stop.DEADLINE: "when its time is over, the image is",
    Stop.CONDITION: "when its time is over, the image is",
    Stop.GUARD: "when its time is over, the image is",
    Stop.IDLE: "the image rests",
    Stop.LOCKUP: "the core locked up",
    Stop.RESET_LOOP: "the image resets again and again",
    Stop.SYSTEM_OFF: "the chip is switched off",
}


def _shown(symbol: str) -> str:
    """The name for a line of text: tflite-micro's own without namespace and class."""
    return "AllocateTensors" if symbol == ALLOCATE else short_name(symbol)


def _unclear(found: Sequence[Resolver]) -> str:
    if not found:
        return "no operator resolver is in memory"
    names = ", ".join(one.name for one in found)
    return f"which of {len(found)} resolvers the interpreter gets is not known: {names}"


def _chosen(resolver: Resolver, at: str) -> str:
    """Which of several resolvers counts."""
    used = f", whose tensors are allocated in {at}" if at else ""
    return f"several resolvers are in memory: {resolver.name} is that of the interpreter{used}"
