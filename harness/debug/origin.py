"""Where a bad pointer came from: a fault is run again, and followed back from its last instruction.

Runs of the simulator are repeatable. The last instructions before the fault are run one by one, so
that each register is followed to the load that gave it its value. Who wrote that word last is found
by bisection: the run is continued from snapshots between a time when it had another value and one
when it had this.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from harness.base.clock import Deadline
from harness.base.core_state import MSP, PSP, CoreState
from harness.debug.fault_cause import shortened
from harness.debug.unwind import StackFrame, Unwinder
from harness.elf import Image
from harness.elf.demangle import short_name
from harness.elf.main_stack import stack_at
from harness.elf.operand import Transfer, sources, transferred
from harness.model.schema import IDENTIFIER
from harness.simulator import Machine, snapshot
from harness.simulator.snapshot import Snapshot
from harness.simulator.unicorn import CORE_REGISTERS
from harness.targets.base import Fault

#: Instructions before a fault that are followed.
_FOLLOWED = 20_000
#: Runs with more instructions are not repeated, to bound the time.
_LONGEST_RUN = 500_000_000
#: Loads from the fault back, and accesses of the faulting function that are looked at.
_LINKS, _ACCESSES = 4, 24
#: A register's source has nearly its value: pointers move by less.
_NEAR = 1 << 16
#: Moves of a pointer that show a loop, and its largest distance from the access.
_LOOP, _STRIDE = 4, 64
#: Instructions before a fault in which a model's first word is used as an address.
_RECENT = 64
#: Functions of the C library that write where their caller tells.
_LIBRARY = frozenset(("memset", "memcpy", "memmove", "strcpy", "strncpy", "strcat"))
_SP, _PC = 13, 15
#: EXC_RETURN.SPSEL; offset of xPSR in an exception frame (Armv8-M ARM, B3.19).
_PROCESS, _STACKED_XPSR = 1 << 2, 28
_BRANCH, _BRANCH_MASK = 0x4700, 0xFF07  # BX and BLX of a register
_MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class _Load:
    """The load, at step ``at``, of ``register`` from ``address``, by ``base``."""

    at: int
    register: int
    address: int
    base: int
    pointer: int  # the value of the base register
    indexed: bool  # with another register as index
    #: Additions to the value since, the last one first: pc, and the value before.
    moves: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class _Local:
    """A register got its value from the stack pointer, at step ``at``."""

    at: int


@dataclass(frozen=True)
class _Write:
    """The moment before a word got its value, and the frames that were live."""

    before: Snapshot
    state: CoreState
    frames: tuple[StackFrame, ...]

    @property
    def after(self) -> int:
        """Instructions executed when the word has the value."""
        return self.before.executed + 1


def origin_of(fault: Fault, image: Image, machine: Machine, guard: Deadline) -> str:
    """Where the bad pointer of ``fault`` came from, in a short line; "" if that is not found.

    ``machine`` has not run yet, and is as the one of the fault was.
    """
    if fault.executed is None or fault.executed > _LONGEST_RUN or fault.state is None:
        return ""
    back = _Back(fault, image, machine, guard)
    return shortened(next((line for rule in _RULES if (line := rule(back))), ""))


class _Back:
    """The last instructions before a fault, and what is known of each register in them."""

    def __init__(self, fault: Fault, image: Image, machine: Machine, guard: Deadline) -> None:
        assert fault.executed is not None
        assert fault.state is not None
        self.fault, self.image, self.state = fault, image, fault.state
        self._machine, self._guard = machine, guard
        self._unwinder = Unwinder(image)
        self._begin = snapshot.take(machine)
        self.first = max(0, fault.executed - _FOLLOWED)
        self.steps: list[tuple[int, ...]] = []  # registers before each instruction
        self._transfers: dict[int, Transfer | None] = {}  # of steps
        self._trace(fault.executed)

    def _trace(self, executed: int) -> None:
        machine = self._machine
        machine.run(until_executed=self.first, guard=self._guard)
        if not machine.faults:
            machine.run(until_executed=executed + 1, steps=self.steps)
        same = machine.faults and machine.faults[0].registers == self.state.registers
        if not same:
            self.steps.clear()

    # instructions

    def code(self, at: int) -> bytes:
        """The instruction of a step."""
        pc = self.steps[at][_PC] & ~1
        return self.image.read(pc, 4) or (self.image.read(pc, 2) or b"") + b"\0\0"

    def transfer(self, at: int) -> Transfer | None:
        """What a step loads or stores; None if it does neither."""
        if at not in self._transfers:
            self._transfers[at] = transferred(self.code(at), self.steps[at])
        return self._transfers[at]

    @cached_property
    def _given(self) -> Sequence[Sequence[int]]:
        """The steps that loaded or changed each register, in order."""
        given: list[list[int]] = [[] for _ in CORE_REGISTERS]
        loaded: dict[int, frozenset[int]] = {}  # by the instruction's address
        for step, (before, after) in enumerate(pairwise(self.steps)):
            pc = before[_PC]
            if pc not in loaded:
                moved = self.transfer(step)
                loaded[pc] = frozenset(moved.words if moved is not None and moved.loads else ())
            changed = {
                n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new
            }
            for register in changed | loaded[pc]:
                given[register].append(step)
        return given

    def _last_given(self, register: int, at: int) -> int | None:
        """The last step before ``at`` that loaded or changed a register."""
        place = bisect_left(self._given[register], at)
        return self._given[register][place - 1] if place else None

    @cached_property
    def stack(self) -> tuple[int, int]:
        """Begin and top of the stack of the fault; of the same value if it is not known."""
        return stack_at(self.image, self.state.registers[_SP]) or (0, 0)

    def is_above(self, sp: int, pointer: int) -> bool:
        """Whether a stack pointer is in the stack, and above ``pointer``."""
        return pointer < sp <= self.stack[1]

    @cached_property
    def wild(self) -> tuple[int, int] | _Load | None:
        """The register of the bad pointer, and the step that uses it; a load, if that is of pc."""
        if not self.steps:
            return None
        at = len(self.steps) - 1
        if self.steps[at][_PC] & ~1 != self.fault.pc & ~1:  # the branch to a bad address
            return self._branch(at)
        if self.image.read(self.fault.pc & ~1, 2) is None:
            return self._branch(at - 1)
        moved = self.transfer(at)
        return (moved.base, at) if moved is not None else None

    def _branch(self, at: int) -> tuple[int, int] | _Load | None:
        code, registers = self.code(at), self.steps[at]
        first = int.from_bytes(code[:2], "little")
        if first & _BRANCH_MASK == _BRANCH:
            return first >> 3 & 15, at
        moved = self.transfer(at)
        if moved is None or not moved.loads or _PC not in moved.words:
            return None
        base = moved.base
        return _Load(at, _PC, moved.words[_PC], base, registers[base], moved.indexed)

    @property
    def is_wild(self) -> bool:
        """Whether the register itself has a bad pointer, not what is added to it."""
        if not isinstance(self.wild, tuple):
            return self.wild is not None
        register, at = self.wild
        value = self.steps[at][register]
        in_memory = any(area.holds(value) for area in self.image.chip.areas)
        return at < len(self.steps) - 1 or self.fault.address is None or not in_memory

    @cached_property
    def chain(self) -> tuple[_Load, ...]:
        """The loads from the bad pointer back: each gave the base register of the one before."""
        wild = self.wild
        loads: list[_Load] = []
        found = wild if isinstance(wild, _Load) else wild and self.load_of(*wild)
        while found and len(loads) < _LINKS:
            loads.append(found)
            found = self.load_of(found.base, found.at)
        return tuple(loads)

    def value_loads(self) -> Iterator[_Load]:
        """The load of the bad pointer, and those of the value that was stored where it read.

        Arguments on the stack are followed so.
        """
        load = self.chain[0] if self.chain and self.is_wild else None
        for _ in range(_LINKS):
            if load is None:
                return
            yield load
            on_stack = self.stack[0] <= load.address < self.stack[1]
            kept = self._stored(load) if on_stack else None
            load = self.load_of(*kept) if kept is not None else None

    def load_of(self, register: int, at: int) -> _Load | None:
        """The load that gave ``register`` the value it has at step ``at``; None if it is none."""
        source = self.source_of(register, at)
        return source if isinstance(source, _Load) else None

    def source_of(self, register: int, at: int) -> _Load | _Local | None:
        """Where the value comes from that ``register`` has at step ``at``; None if unknown.

        Moves, small additions, and words that were pushed and popped are followed.
        """
        moves: list[tuple[int, int]] = []
        while (step := self._last_given(register, at)) is not None:
            before, value = self.steps[step], self.steps[step + 1][register]
            moved = self.transfer(step)
            if moved is not None and moved.loads and register in moved.words:
                address, base = moved.words[register], moved.base
                load = _Load(
                    step, register, address, base, before[base], moved.indexed, tuple(moves)
                )
                kept = self._stored(load) if base == _SP else None
                return load if kept is None else self.source_of(*kept)
            from_ = (moved.base,) if moved is not None else sources(self.code(step))
            near = [one for one in from_ if abs(before[one] - value) < _NEAR]
            if _SP in near:
                return _Local(step)
            if not near:
                return None
            register = min(near, key=lambda one: abs(before[one] - value))
            if before[register] != value:
                moves.append((before[_PC], before[register]))
            at = step
        return None

    def _stored(self, load: _Load) -> tuple[int, int] | None:
        """The register that the last store to the address of ``load`` stored, and its step."""
        for step in range(load.at - 1, -1, -1):
            moved = self.transfer(step)
            if moved is not None and not moved.loads:
                for register, address in moved.words.items():
                    if address == load.address:
                        return register, step
        return None

    # the time before

    def write_of(self, address: int, before: int | None = None) -> _Write | None:
        """The last write that gave the word at ``address`` its value; None if none is found.

        ``before``: instructions executed when it has the value, by default when the trace begins
        or ends.
        """
        machine = self._machine
        low, high = self._begin, self._fault_time if before is None else before
        snapshot.restore(machine, self._begin)
        initial = self._word(address)
        machine.run(until_executed=high, guard=self._guard)
        value = self._word(address)
        if value is None or value == initial or machine.core.executed != high:
            return None
        while high - low.executed > 1:
            snapshot.restore(machine, low)
            middle = (low.executed + high) // 2
            machine.run(until_executed=middle, guard=self._guard)
            if self._guard.guard_expired or machine.core.executed != middle:
                return None
            if self._word(address) == value:
                high = middle
            else:
                low = snapshot.take(machine)
        snapshot.restore(machine, low)
        state = machine.core_state()
        return _Write(low, state, self._unwinder.walk(state))

    def keeps(self, address: int, written: _Write, pointer: int, until: int) -> bool:
        """Whether a pointer into the stack stays in a word until its memory is in no frame.

        It is so if the function with that memory returns, and nothing writes the word after that:
        another value, put there then, is still there.
        """
        machine = self._machine
        snapshot.restore(machine, written.before)
        machine.run(until_executed=written.after, guard=self._guard)
        owner = _frame_with(written.frames, pointer)
        if pointer >= written.state.registers[_SP]:
            if owner is None:
                return False

            def has_returned(one: Machine) -> bool:
                return self.is_above(one.registers["sp"], pointer)

            machine.hook(owner.returns_to, has_returned)
            machine.run(until_executed=until, guard=self._guard)
            machine.unhook(owner.returns_to, has_returned)
        if machine.core.executed >= until:
            return False
        other = (~pointer & _MASK).to_bytes(4, "little")
        machine.write_memory(address, other)
        machine.run(until_executed=until, guard=self._guard)
        return machine.read_memory(address, 4) == other

    @property
    def _fault_time(self) -> int:
        return self.first + len(self.steps) - 1

    def _word(self, address: int) -> int | None:
        try:
            return int.from_bytes(self._machine.read_memory(address, 4), "little")
        except ValueError:
            return None


@dataclass(frozen=True)
class _Frame:
    """The stack frame of a function."""

    function: str
    returns_to: int


def _frame_with(frames: Sequence[StackFrame], address: int) -> _Frame | None:
    """The frame that contains ``address``."""
    outlined = [one for one in frames if not one.inlined]
    for one, caller in pairwise(outlined):
        if one.sp <= address < caller.sp and not caller.exception:
            return _Frame(one.location.function, caller.location.address + 2)
    return None


# rules, in the order in which they are asked


def _ran_out(back: _Back) -> str:
    """A pointer that moved out of an object, step by step."""
    address, first = back.fault.address, back.chain[:1]
    if address is None or not first or not isinstance(back.wild, tuple):
        return ""
    moves = first[0].moves
    times = Counter(pc for pc, _ in moves)
    values = [value for pc, value in moves if times[pc] >= _LOOP]
    if not values or abs(back.steps[-1][back.wild[0]] - address) > _STRIDE:
        return ""
    down = address < values[-1]
    held = back.image.object_at(values[-1] - down)  # a pointer that goes down may begin at its end
    if held is None or held.address <= address < held.address + held.size:
        return ""
    way = "below the begin" if down else "beyond the end"
    return f"a loop runs {way} of {short_name(held.name)}, to 0x{address:08x}"


def _beyond_object(back: _Back) -> str:
    """A pointer that was read from beside the table to which the base register points."""
    for load in back.value_loads():
        held = back.image.object_at(load.pointer)
        # Without an index the base may be an anchor, from which compilers address variables.
        if not load.indexed or held is None or held.address != load.pointer or held.size % 4:
            continue
        if held.address <= load.address < held.address + held.size:
            continue
        name, offset, count = short_name(held.name), load.address - held.address, held.size // 4
        if offset > 0 and offset % 4 == 0:
            entries = "1 word" if count == 1 else f"{count} words"
            return f"word {offset // 4} of {name} is read, which has {entries}"
        return f"the pointer is read {-offset} bytes before {name}" if offset < 0 else ""
    return ""


def _index_outside(back: _Back) -> str:
    """An access whose base is an object, with an index that leads out of it."""
    address, wild = back.fault.address, back.wild
    if address is None or not isinstance(wild, tuple) or back.is_wild:
        return ""
    register, at = wild
    moved, base = back.transfer(at), back.steps[at][register]
    held = back.image.object_at(base)
    if moved is None or not moved.indexed or held is None or held.address != base:
        return ""
    before, behind = held.address - address, address - held.address - held.size
    name = short_name(held.name)
    if before > 0:
        return f"an index leads {before:,} bytes before {name}, to 0x{address:08x}"
    if behind >= 0:
        return f"an index leads {behind:,} bytes beyond the end of {name}, to 0x{address:08x}"
    return ""


def _model_as_pointer(back: _Back) -> str:
    """The first word of a model that is taken for its address."""
    for at in range(len(back.steps) - 1, max(-1, len(back.steps) - _RECENT), -1):
        moved = back.transfer(at)
        source = back.load_of(moved.base, at) if moved is not None and moved.loads else None
        held = back.image.object_at(source.address) if source is not None else None
        data = back.image.read(held.address, 8) if held is not None else None
        if source is None or held is None or data is None or source.address != held.address:
            continue
        if data[4:] == IDENTIFIER:
            name = short_name(held.name)
            return f"{name} is an array: it is declared as a pointer where it is used"
    return ""


def _left_frame(back: _Back) -> str:
    """A pointer into the stack frame of a function that has returned."""
    for pointer, register, at in _stack_pointers(back):
        source = back.source_of(register, at)
        owner = ""
        if isinstance(source, _Local):
            sps = (one[_SP] for one in back.steps[source.at : at])
            if any(back.is_above(sp, pointer) for sp in sps):
                owner = back.image.locate(back.steps[source.at][_PC]).function
        elif source is not None:
            owner = _owner(back, source, pointer)
        if owner:
            name = short_name(owner)
            return f"a pointer into the stack frame of {name}, which has returned, is used"
    return ""


def _owner(back: _Back, load: _Load, pointer: int) -> str:
    """The function that has returned and had the memory of a pointer; "" if it is not dead.

    ``load``: from a word to which the pointer was written.
    """
    until = back.first + load.at
    written = back.write_of(load.address, until)
    if written is None or not back.stack[0] <= written.state.registers[_SP] <= back.stack[1]:
        return ""
    if not back.keeps(load.address, written, pointer, until):
        return ""
    frames = written.frames
    if back.is_above(written.state.registers[_SP], pointer):  # dead already: who wrote there
        content = back.write_of(pointer & ~3, written.after)
        frames = content.frames if content is not None else ()
    frame = _frame_with(frames, pointer)
    return frame.function if frame is not None else ""


def _stack_pointers(back: _Back) -> Iterator[tuple[int, int, int]]:
    """Pointers into the stack, the register of each, and the step that uses it.

    Those of the chain come first, then others through which the faulting function accesses memory.
    """
    uses = [(load.pointer, load.base, load.at) for load in back.chain]
    seen: set[int] = set()
    for pointer, register, at in (*uses, *_accesses(back)):
        inside = back.stack[0] <= pointer < back.stack[1] and register not in (_SP, _PC)
        if inside and pointer not in seen and len(seen) < _ACCESSES:
            seen.add(pointer)
            yield pointer, register, at


def _accesses(back: _Back) -> Iterator[tuple[int, int, int]]:
    """The last access of each instruction of the faulting function, as above."""
    own = back.image.locate(back.steps[-1][_PC]).function if back.steps else ""
    places: set[int] = set()
    for at in range(len(back.steps) - 1, -1, -1):
        registers = back.steps[at]
        pc = registers[_PC] & ~1
        if pc in places:
            continue
        places.add(pc)
        moved = back.transfer(at)
        if moved is not None and back.image.locate(pc).function == own:
            yield registers[moved.base], moved.base, at


def _writer(back: _Back) -> str:
    """Who wrote the bad pointer into a variable."""
    for load in back.chain[:1] if back.is_wild else ():
        held = back.image.object_at(load.address)
        written = back.write_of(load.address, back.first + load.at)
        frames = [one for one in written.frames if one.location.function] if written else []
        if held is None or written is None or not frames:
            continue
        if back.image.object_at(written.state.registers[_SP]) != held:  # else its stack did
            return f"the pointer, in {short_name(held.name)}, was written {_by(frames)}"
    return ""


def _bad_frame(back: _Back) -> str:
    """Who wrote over the frame that an exception return has to restore."""
    if "INVPC" not in back.fault.reason.split(", ") or not back.steps:
        return ""
    stack = PSP if back.fault.pc & _PROCESS else MSP
    frame = back.state.stacks.get((back.state.nonsecure, stack), 0)
    written = back.write_of(frame + _STACKED_XPSR)
    frames = [one for one in written.frames if one.location.function] if written else []
    if not frames:
        return ""
    held = back.image.object_at(frame)
    where = f", in {short_name(held.name)}," if held is not None else ""
    return f"the frame at 0x{frame:08x}{where} was written {_by(frames)}"


def _by(frames: Sequence[StackFrame]) -> str:
    """The writer: of a function of the C library its caller, too."""
    first, *callers = (one.location for one in frames)
    if first.function in _LIBRARY and callers:
        return f"by {short_name(first.function)}, called from {callers[0]}"
    return f"by {first}"


_RULES = (
    _bad_frame,
    _ran_out,
    _index_outside,
    _beyond_object,
    _model_as_pointer,
    _left_frame,
    _writer,
)
