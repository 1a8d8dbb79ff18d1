"""The operators in the resolver of an image's interpreter, on every path to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.graph import Graph
from harness.elf.regions import RAM
from harness.footprint.resolvers import vtables
from harness.model.structures import INTERPRETER_RESOLVER, WORD
from harness.resolver.dump import LiveResolver, TableReader
from harness.resolver.static import library
from harness.resolver.static.explorer import Explorer
from harness.resolver.static.memory import Cell
from harness.resolver.static.skipped import Skipped
from harness.resolver.static.state import Decision, Lost, Objects, State
from harness.resolver.static.values import Cause, Unknown, Value

_ALLOCATE = "tflite::MicroInterpreter::AllocateTensors"
#: The initial stack pointer: the end of the RAM part of the address map, where no chip has memory.
_STACK = RAM.stop - 0x100
#: Most passes over all paths, each with more memory that other threads may change.
_MOST_PASSES = 4
#: Prefixes of sections with pointers to constructors: GNU ld's, Zephyr's.
_CONSTRUCTORS = (".init_array", ".ctors", "init_array", "ctors")
#: Parts of the mangled names of functions that only an interpreter calls.
_LIBRARY = ("P13TfLiteContext", "_ZN6tflite", "_ZNK6tflite", "_ZZN6tflite")

#: An operator's name, and whether it is a custom one.
Key = tuple[str, bool]


@dataclass(frozen=True)
class Arrival:
    """An interpreter that allocates its tensors, and the path to it.

    ``attempts`` are the operators whose registration functions the path calls, ``model`` is the
    address of the interpreter's model, None if unknown. ``others`` counts the operators in the
    path's other resolvers, None if unknown.
    """

    resolver: LiveResolver
    model: int | None
    attempts: tuple[Key, ...]
    decisions: tuple[Decision, ...]
    others: Mapping[Key, int] | None


@dataclass(frozen=True)
class Trace:
    """The result of all paths: their arrivals, or why a path could not be followed (``lost``).

    ``others`` are functions outside of all paths that construct a resolver.
    """

    arrivals: tuple[Arrival, ...] = ()
    lost: Cause | None = None
    others: tuple[str, ...] = ()


def trace(image: Image) -> Trace:
    """Follow the image from its entry point to its interpreters.

    If its start-up code cannot be followed (an operating system's), its constructors and main()
    are, from the memory as linked.
    """
    at = frozenset(s.address for s in image.symbols
                   if s.kind == "func" and qualified(s.name) == _ALLOCATE)  # fmt: skip
    if not at:
        return Trace(lost=Cause("the image does not show where an interpreter allocates", 0))
    tracer = _Tracer(image, at)
    found, entered = tracer.fixpoint(tracer.at_entry)
    main = image.symbol("main")
    if found.lost is not None and main is not None and main.address not in entered:
        found, _ = tracer.fixpoint(lambda explorer: tracer.at_main(explorer, main.address))
    return found


class _Tracer:
    def __init__(self, image: Image, allocates: frozenset[int]) -> None:
        self.image = image
        self.allocates = allocates
        self.slots = vtables(image)
        self.reader = TableReader(_Stored(image), image)
        self.objects = Objects(image)
        self.skipped = Skipped(
            image, self.objects, allocates | frozenset(at - 8 for at in self.slots)
        )
        self.registers = {
            image.graph.nodes[number].address: (registration.operator, registration.custom)
            for registration in image.registrations for number in registration.register
        }  # fmt: skip

    def fixpoint(self, start: Callable[[Explorer], State]) -> tuple[Trace, set[int]]:
        """The trace, in which all that threads may change is unknown, and the entered functions."""
        shared: frozenset[tuple[int, int]] = frozenset()
        for _ in range(_MOST_PASSES):
            found, explorer = self._pass(start, shared)
            if found.lost is not None:
                break
            wider = shared | self._concurrent(explorer)
            if wider == shared:
                break
            shared = wider
        return found, explorer.entered

    def _pass(
        self, start: Callable[[Explorer], State], shared: Iterable[tuple[int, int]]
    ) -> tuple[Trace, Explorer]:
        arrivals: list[Arrival] = []
        explorer = Explorer(self.image, self.objects, {}, self._variant)
        explorer.core.memory.watched = frozenset(self.slots)
        explorer.hooks |= library.hooks(self.image, explorer.core)
        explorer.hooks |= {address: self._registers(key) for address, key in self.registers.items()}
        explorer.hooks |= dict.fromkeys(self.allocates, lambda state: self._arrive(state, arrivals))
        explorer.hooks |= dict.fromkeys(self.skipped.functions, self.skipped.skip)
        lost = None
        try:
            state = start(explorer)
            for span in shared:
                cause = Cause("an interrupt or another thread may change it", span[0])
                state.memory.forget(*span, Unknown(cause, external=True, shared=True))
            explorer.explore(state)
        except Lost as error:
            main = self.image.symbol("main")
            booted = main is None or main.address in explorer.entered
            stuck = None if error.final or not booted else error.state
            if stuck is not None and self.skipped.add(stuck):
                return self._pass(start, shared)
            lost = error.cause
        return Trace(tuple(arrivals), lost, tuple(self._others(explorer))), explorer

    # ------------------------------------------------------------------ starts

    def at_entry(self, explorer: Explorer) -> State:
        """The state at the image's entry point."""
        explorer.entered.add(self.image.entry & ~1)
        return State(self.image, self.image.entry & ~1, _STACK)

    def at_main(self, explorer: Explorer, main: int) -> State:
        """The state at the call of main(), after the constructors of static objects."""
        state = State(self.image, main, _STACK)
        for section in self.image.sections:
            if section.address in RAM and section.writable:
                self._load(state, section.address, section.size, section.data)
        for function in dict.fromkeys(self._constructors()):
            state = explorer.call(state, function)
        explorer.entered.add(main)
        return state

    def _constructors(self) -> Iterable[int]:
        """The functions that construct static objects, in their order."""
        for section in self.image.sections:
            if section.name.startswith(_CONSTRUCTORS) and self._is_used(section.address):
                for at in range(section.address, section.end, WORD):
                    function = int.from_bytes(self.image.read(at, WORD) or b"", "little")
                    if function & 1:
                        yield function & ~1

    def _is_used(self, table: int) -> bool:
        """True if code refers to the table at this address."""
        graph = self.image.graph
        number = graph.at(table)
        users = (graph.nodes[n] for n in graph.reach(graph.roots) if number in graph.edges[n])
        return any(node.kind == "function" for node in users)

    def _load(self, state: State, start: int, size: int, data: bytes) -> None:
        for n in range(0, size, WORD):
            word = int.from_bytes(data[n : n + WORD], "little")
            state.memory.store(start + n, WORD, word)
            if word in self.slots:
                state.objects |= {start + n}

    # ------------------------------------------------------------------ hooks

    def _registers(self, key: Key) -> Callable[[State], bool | None]:
        """A hook that notes the call of a registration function."""

        def note(state: State) -> None:
            frame = state.frames[-1]
            callers = {each.function for each in state.frames[:-1]} | {frame.called}
            if not (callers - {state.pc}) & self.registers.keys():  # not part of another one
                state.calls = (*state.calls, key)

        return note

    def _arrive(self, state: State, arrivals: list[Arrival]) -> bool:
        """A hook for AllocateTensors, which ends the path."""
        at = state.pc
        interpreter = state.r[0]
        if not isinstance(interpreter, int):
            raise Lost(Cause("allocates an interpreter that is not known", at))
        model, address = (
            state.memory.load(interpreter + n, WORD, at) for n in (0, INTERPRETER_RESOLVER)
        )
        if not isinstance(address, int):
            raise Lost(
                Cause(f"which resolver the interpreter has {_reason(address)}", address.cause.at)
            )
        arrivals.append(Arrival(
            self._table(state, address, at), model if isinstance(model, int) else None,
            state.calls, state.decisions, self._in_others(state, address, at),
        ))  # fmt: skip
        return True

    def _in_others(self, state: State, chosen: int, at: int) -> Mapping[Key, int] | None:
        """The number of registrations in resolvers other than ``chosen``, None if unknown."""
        found: Counter[Key] = Counter()
        for address in state.objects - {chosen}:
            if state.memory.load(address, WORD, at) in self.slots:  # it still exists
                try:
                    table = self._table(state, address, at)
                except Lost:
                    return None
                found.update((row.operator, row.custom) for row in table.registrations)
        return found

    def _table(self, state: State, address: int, at: int) -> LiveResolver:
        """The resolver at ``address``. Raises :class:`Lost` if a part of it is unknown."""

        def number(place: int, what: str) -> int:
            value = state.memory.load(place, WORD, at)
            if not isinstance(value, int):
                raise Lost(Cause(f"{what} {_reason(value)}", value.cause.at))
            return value

        slots = self.slots.get(number(address, "the resolver's class"))
        if slots is None:
            raise Lost(
                Cause(f"the interpreter's resolver at 0x{address:08x} is of an unknown class", at)
            )
        layout = self.reader.layout
        members = layout.of(slots)
        filled = number(address + members.length, "how many operators are registered")
        if filled > slots:
            raise Lost(Cause(f"the resolver at 0x{address:08x} holds {filled} of {slots}", at))
        data = bytearray(layout.bytes_of(slots) + 2 * WORD)
        places = range(
            members.registrations, members.registrations + filled * layout.registration_bytes, WORD
        )
        for place in (*places, members.length):
            data[place : place + WORD] = number(address + place, "what is registered").to_bytes(
                4, "little"
            )
        found = self.reader.resolver(address, slots, bytes(data))
        if found is None:
            raise Lost(Cause(f"the resolver at 0x{address:08x} holds no registrations", at))
        return found

    def _variant(self, state: State) -> object:
        """The content of a state's resolvers; states that differ in it are not joined."""
        return tuple(
            (at, tuple(map(_number, state.memory.words(at, at + self._size(state, at)))))
            for at in sorted(state.objects)
        ), state.calls

    def _size(self, state: State, at: int) -> int:
        word = state.memory.load(at, WORD, 0)
        return self.reader.layout.bytes_of(self.slots[word]) if word in self.slots else WORD

    # ------------------------------------------------------------------ beside the paths

    def _concurrent(self, explorer: Explorer) -> frozenset[tuple[int, int]]:
        """The extents of objects to which interrupts and other threads can refer.

        Their functions are those whose address is stored or loaded and that no path enters. An
        interpreter's functions are excluded: they run later, on the path itself.
        """
        graph = self.image.graph
        starts = {
            target
            for number in graph.reach(graph.roots)
            for target in graph.edges[number] - set(graph.calls[number])
            if self._is_foreign(graph, target, explorer)
        }
        once = {self.image.entry & ~1, *self._constructors()}
        cut = {n for n, node in enumerate(graph.nodes)
               if node.address in once or node.name == "main"}  # fmt: skip
        nodes = (graph.nodes[n] for n in graph.reach(starts, frozenset(cut)))
        stacks = [top - 1 for top in explorer.core.stacks]
        return frozenset(
            (node.address, node.end)
            for node in nodes
            if node.address in RAM and not any(node.address <= at < node.end for at in stacks)
        )

    def _is_foreign(self, graph: Graph, number: int, explorer: Explorer) -> bool:
        node = graph.nodes[number]
        return (
            node.kind in ("function", "label")
            and node.address not in explorer.entered
            and not any(part in node.name for part in _LIBRARY)
        )

    def _others(self, explorer: Explorer) -> Iterable[str]:
        """Functions outside of all paths that refer to a resolver's class: they construct one."""
        graph = self.image.graph
        wanted = {graph.at(address) for address in self.slots}
        for number in graph.reach(graph.roots):
            node = graph.nodes[number]
            outside = node.kind == "function" and node.address not in explorer.entered
            name = qualified(node.name)
            if outside and wanted & graph.edges[number] and "::~" not in name:
                yield name


class _Stored:
    """The image's stored data as memory, from which a resolver's names are read."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes, fewer where the image ends."""
        found = (self._image.read(address, n) for n in range(size, 0, -1))
        return next((data for data in found if data is not None), b"")

    def write(self, address: int, data: bytes) -> None:
        """Nothing is written to an image."""
        raise NotImplementedError


def _reason(value: Value) -> str:
    return f"is not known: {value.cause.what}" if isinstance(value, Unknown) else ""


def _number(cell: Cell) -> int | None:
    return cell if isinstance(cell, int) else None
