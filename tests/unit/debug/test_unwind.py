"""Stack unwinding without a debugger."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from firmwares import SOURCES, compiled
from gdb_stub import SIGNAL, GdbFrame, backtraces
from hypothesis import given
from hypothesis import strategies as st

from harness.base.core_state import MSP, PSP, CoreState
from harness.debug.unwind import DEEPEST, Unwinder
from harness.elf import Image
from harness.elf.call_frames import CallFrames, execute
from harness.simulator import Machine

IMAGES = needs.find("zephyr images")
RAM, RAM_BYTES = 0x2000_0000, 0x4_0000
ROOTS = ("z_thread_entry", "z_arm_reset", "__start")
NOT_CODE = ("vectors", "_vector_table")
DEEP = ["Divide", "Handle", "Egu0", "Inner", "Outer", "Thread"]


def functions(image: Image, state: CoreState) -> list[str]:
    return [frame.location.function for frame in Unwinder(image).walk(state)]


def crash(image: Image) -> CoreState:
    machine = Machine(image)
    machine.run(until_tick=10_000_000)
    state = machine.faults[0].state
    machine.close()
    assert state is not None
    return state


@pytest.mark.parametrize(
    "flags",
    ["-g", "-g0", "-g -Os", "-g -O1", "-g0 -O1", "-g0 -funwind-tables", "-g0 -Os -funwind-tables"],
)
def test_a_fault_in_an_interrupt_is_walked_down_to_the_thread(tmp_path: Path, flags: str) -> None:
    compiler = needs.require("arm-none-eabi-gcc")
    elf = tmp_path / "deep.elf"
    symbols = (f"-Wl,--defsym=__aeabi_unwind_cpp_pr{n}=0" for n in (0, 1))
    image = Image.from_elf(compiled(compiler, "deep", elf, *flags.split(), *symbols))
    frames = Unwinder(image).walk(crash(image))
    assert [frame.location.function for frame in frames][:6] == DEEP
    assert [frame.exception for frame in frames][:6] == ["", "", "", "EGU0 (IRQ27)", "", ""]


def test_a_branch_to_an_invalid_address_is_reported_at_its_caller(
    build: Callable[[str], Image],
) -> None:
    image = build("wildbranch")
    state = crash(image)
    assert functions(image, state)[:2] == ["", "Caller.constprop.0"]


@pytest.mark.parametrize("seed", range(40))
def test_the_walk_ends_for_any_stack_content(build: Callable[[str], Image], seed: int) -> None:
    image, draw = build("deep"), random.Random(seed)
    walker = Unwinder(image)
    likely = [symbol.address + draw.randrange(0, 64) for symbol in image.symbols]
    likely += [0xFFFF_FFBC, 0xFFFF_FFFD, 0xFFFF_FFB0, 0xFEFF_FFFF, RAM + 0x1000, RAM + 0x2000, 0]

    def word() -> int:
        return draw.choice(likely) if draw.random() < 0.7 else draw.getrandbits(32)

    memory = b"".join(word().to_bytes(4, "little") for _ in range(RAM_BYTES // 16))
    for _ in range(50):
        registers = [word() for _ in range(17)]
        registers[13] = draw.choice([RAM + draw.randrange(0, RAM_BYTES // 4), draw.getrandbits(32)])
        stacks = {(world, name): word() for world in (False, True) for name in (MSP, PSP)}
        threads = {world: draw.choice((MSP, PSP)) for world in (False, True)}
        nonsecure, divided = draw.random() < 0.5, draw.random() < 0.5
        state = CoreState(
            tuple(registers), stacks, threads, nonsecure, divided, ((RAM, memory),)
        )  # fmt: skip
        assert 1 <= len(walker.walk(state)) <= DEEPEST


@pytest.mark.parametrize(
    ("code", "offset", "saved"),
    [
        ("b0", 0, {}),
        ("a8 b0", 8, {4: -8, 14: -4}),
        ("03 a9 b0", 28, {4: -12, 5: -8, 14: -4}),
        ("80 08 b0", 4, {7: -4}),
        ("84 08 b0", 8, {7: -8, 14: -4}),
        ("b1 0f b0", 16, {0: -16, 1: -12, 2: -8, 3: -4}),
        ("b2 04 b0", 0x214, {}),
        ("bb b0", 36, {}),
        ("c9 01 b0", 16, {}),
        ("b3 01 b0", 20, {}),
        ("b4 b0", 4, {}),
        ("41 b0", -8, {}),
    ],
)
def test_unwinding_instructions(code: str, offset: int, saved: dict[int, int]) -> None:
    rule = execute(bytes.fromhex(code))
    assert rule is not None
    assert (rule.offset, rule.saved) == (offset, saved)


def test_the_stack_pointer_may_come_from_a_register() -> None:
    rule = execute(bytes.fromhex("97 41 84 08 b0"))
    assert rule is not None
    assert (rule.register, rule.offset, rule.saved) == (7, 0, {7: -8, 14: -4})


@pytest.mark.parametrize("code", ["80 00", "9d", "9f", "b1 00", "b1 10", "c6", "80", "ca", "f0"])
def test_instructions_that_refuse_to_unwind(code: str) -> None:
    assert execute(bytes.fromhex(code)) is None


@given(st.binary(max_size=64))
def test_any_unwinding_instructions_end(code: bytes) -> None:
    rule = execute(code)
    assert rule is None or rule.source == "exidx"


def test_prologue_analysis_equals_the_call_frame_table(build: Callable[[str], Image]) -> None:
    image = build("deep")
    tables = CallFrames(image)
    for name in DEEP[:5]:
        symbol = image.symbol(name)
        assert symbol is not None
        middle = symbol.address + symbol.size // 2 & ~1
        known, guessed = tables.rule(middle, called=False), tables._by_prologue(middle)
        assert known is not None
        assert guessed is not None
        assert known.source == "debug_frame"
        if guessed.register == known.register:
            assert (guessed.offset, guessed.saved.get(14)) == (known.offset, known.saved.get(14))


def stacks_of(image: Image, seed: str, stops: int = 10) -> list[CoreState]:
    """The core at random moments of a run, and at its faults."""
    machine, draw, states = Machine(image), random.Random(seed), []
    for _ in range(stops):
        before = machine.core.executed
        steps = draw.randrange(1, draw.choice((20, 500, 20_000, 400_000)))
        machine.run(until_executed=before + steps, until_tick=64_000_000)
        states.append(machine.core_state())
        if machine.core.locked_up or machine.core.executed == before:
            break
    states += [one.state for one in machine.faults if one.state is not None]
    machine.close()
    return states


def named(image: Image, frames: Iterable[GdbFrame]) -> list[GdbFrame]:
    """Down to where the stack begins or no function is known; aliases by one name."""
    kept = []
    functions = {symbol.name: symbol.address for symbol in image.symbols if symbol.kind == "func"}
    names = {address: name for name, address in sorted(functions.items())}
    for one in frames:
        plain = one.function.partition(".")[0]  # without the compiler's suffix of a clone
        same = functions.get(one.function, functions.get(plain))
        if one.function in ("", *NOT_CODE):
            break
        function = one.function if one.function == SIGNAL else names.get(same or -1, plain)
        function = "" if one.file.endswith(".S") else function  # gdb shows labels, too
        kept.append(replace(one, function=function.partition(".")[0]))
        if one.function in ROOTS:
            break
    while kept and kept[-1].function == SIGNAL:  # what it interrupted has no name
        kept.pop()
    return kept


def addr2line_says(image: Image, frame: GdbFrame) -> bool:
    """Whether a frame's line is the one that addr2line has for its address."""
    command = ["arm-none-eabi-addr2line", "-se", str(image.path), hex(frame.address)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()[0] == f"{frame.file}:{frame.line}"


def compare_with_gdb(image: Image, seed: str) -> int:
    """Every frame's function, file and line is gdb's; how many frames there are."""
    gdb = needs.require("gdb-multiarch")
    states = [
        state for state in stacks_of(image, seed) if image.locate(state.registers[15]).function
    ]
    walker, compared = Unwinder(image), 0
    for state, theirs in zip(states, backtraces(gdb, image, states), strict=True):
        frames, guess = list[GdbFrame](), None
        for frame in walker.walk(state):
            place = frame.location
            guess = len(frames) if frame.guess and guess is None else guess
            frames += [GdbFrame(SIGNAL)] if frame.exception else []
            frames.append(
                GdbFrame(place.function, Path(place.file).name, place.line, place.address)
            )
        own, gdbs = named(image, frames), named(image, theirs)
        if len(frames) >= DEEPEST:
            gdbs = gdbs[: len(own)]
        elif guess is not None:  # gdb may end where there is no table
            own = own[: max(guess, len(gdbs))]
        for number, (mine, one) in enumerate(zip(own, gdbs, strict=False)):
            # Of several lines at an address gdb shows one that begins a statement.
            if mine != one and addr2line_says(image, mine):
                gdbs[number] = replace(one, file=mine.file, line=mine.line)
        assert own == gdbs
        compared += len(own)
    return compared


@pytest.mark.parametrize("name", sorted(
    path.stem for path in SOURCES.glob("*.c") if path.stem not in ("nothumb", "ramcode", "speed")
))  # fmt: skip
def test_stacks_of_the_firmwares_are_gdbs_frame_by_frame(
    build: Callable[[str], Image], name: str
) -> None:
    assert compare_with_gdb(build(name), name) >= 1


@pytest.mark.needs("zephyr images")
@pytest.mark.parametrize("elf", sorted(Path(IMAGES).glob("*.elf")) if IMAGES else [None])
def test_stacks_of_zephyr_are_gdbs_frame_by_frame(elf: Path) -> None:
    assert compare_with_gdb(Image.from_elf(elf), elf.stem) >= 10
