"""A running board, from its serial port alone: ends of a run, and counters."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serial_pty import SerialPty

from harness.base.errors import EnvironmentMissing, FlashFailed, HilError, TargetLost, Unsupported
from harness.base.findings import Kind
from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.targets.base import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached
from harness.targets.board import session as sessions
from harness.targets.board.console import SerialConsole
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.flash import FlashReport
from harness.targets.board.session import BoardSession, Connection, boot_position
from harness.uart.records import encode

NAMES = {"sample": "x", "board": "dk", "runtime": "tflm", "model_crc32": "0badcafe",
         "model_bytes": 9}  # fmt: skip
BUILD = "alpha"
BOOT = encode(0, "boot", NAMES | {"build": BUILD})
END = encode(9, "end", {"inferences": 1, "status": 0})
FLASHED = FlashReport(programmed=True, reason="programmed", seconds=1.0, size=4)


def inference(ticks: int, source: str = "dwt", number: int = 1) -> bytes:
    fields = {"index": 0, "ticks": ticks, "source": source, "hz": 64_000_000, "status": 0}
    return encode(number, "inference", fields)


class Bench:
    """A board on a wire, who may take it away, and what is done to it."""

    def __init__(self, folder: Path) -> None:
        self.wire = SerialPty()
        path = folder / "image.elf"
        path.write_bytes(wrap([(0, BUILD.encode())]))
        self.image = Image.from_elf(path)
        self.console = SerialConsole(self.wire.port, 115200, board="mine", limit=50_000)
        self.done: list[str] = []
        self.taken = False
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.taken:
            raise TargetLost("taken over")

    def reset(self) -> None:
        self.done.append("reset")

    def session(
        self,
        start: int = 0,
        *,
        control: Path | None = None,
        pins: Any = None,
        settled: bool = True,
        memory: Any = None,
    ) -> BoardSession:
        """A session; the bench itself is its flash tool and its lock."""
        resources = ExitStack()
        resources.callback(self.done.append, "close")
        board = BenchBoard("mine", "960000001", self.wire.port, control=control)
        connection = Connection(board, self.console, self, self, memory, pins, resources)
        return BoardSession(connection, self.image, FLASHED, start=start, settled=settled)

    def say(self, *data: bytes) -> None:
        """Send, and wait until it has arrived."""
        wanted = self.console.end + sum(map(len, data))
        self.wire.send(b"".join(data))
        limit = time.monotonic() + 5
        while self.console.end < wanted and time.monotonic() < limit:
            time.sleep(0.001)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as held:
        made = Bench(tmp_path)
        held.callback(made.wire.close)
        held.callback(made.console.close)
        yield made


def after(bench: Bench) -> ExitStack:
    """Something that a session keeps until it is closed."""
    resources = ExitStack()
    resources.callback(bench.done.append, "after")
    return resources


def match(session: BoardSession, pattern: bytes, seconds: float = 5.0) -> Stop:
    return session.run(ConsoleMatch(pattern), session.deadline(seconds))


# -- runs -------------------------------------------------------------------------------------


def test_a_run_ends_at_its_match_and_the_next_one_goes_on_behind_it(bench: Bench) -> None:
    session = bench.session()
    bench.say(b"one two one")
    assert match(session, b"one") is Stop.CONDITION
    assert match(session, b"one") is Stop.CONDITION
    assert match(session, b"one", 0.02) is Stop.DEADLINE


def test_run_for_a_time_skips_its_output_for_later_matches(
    bench: Bench,
) -> None:
    session = bench.session()
    bench.say(b"early")
    started = time.monotonic()
    assert session.run(Elapsed(0.1), session.deadline(5)) is Stop.CONDITION
    assert 0.1 <= time.monotonic() - started < 2
    assert match(session, b"early", 0.02) is Stop.DEADLINE


def test_a_run_without_a_condition_ends_at_its_deadline(bench: Bench) -> None:
    session = bench.session()
    started = time.monotonic()
    assert session.run(None, session.deadline(0.1)) is Stop.DEADLINE
    assert 0.1 <= time.monotonic() - started < 2


def test_the_guard_ends_a_run_that_has_a_longer_deadline(bench: Bench) -> None:
    session = bench.session()
    assert session.deadline(1).guard == 60.0
    assert session.run(None, session.deadline(50, guard=0.05)) is Stop.GUARD


def test_deadline_ends_a_longer_run_for_a_time(bench: Bench) -> None:
    session = bench.session()
    assert session.run(Elapsed(50), session.deadline(0.05)) is Stop.DEADLINE


@pytest.mark.parametrize("until", [Executed(5), SymbolReached("main")])
def test_stop_conditions_of_a_debugger_are_unsupported(bench: Bench, until: object) -> None:
    session = bench.session()
    with pytest.raises(Unsupported, match=f"'board' cannot stop at {type(until).__name__}"):
        session.run(until, session.deadline(1))


def test_a_board_has_no_location_and_no_faults(bench: Bench) -> None:
    session = bench.session()
    assert (session.where(), session.faults) == ("", ())


# -- the image --------------------------------------------------------------------------------


def test_five_boots_without_an_end_are_a_reset_loop(bench: Bench) -> None:
    session = bench.session()
    bench.say(BOOT * 4)
    assert session.run(None, session.deadline(0.05)) is Stop.DEADLINE
    bench.say(BOOT)
    assert session.run(None, session.deadline(5)) is Stop.RESET_LOOP
    assert match(session, b"never") is Stop.RESET_LOOP


def test_boots_are_counted_anew_behind_an_end(bench: Bench) -> None:
    session = bench.session()
    """However its bytes arrive: here all at once."""
    bench.say(BOOT * 3, END, BOOT * 4)
    assert session.run(None, session.deadline(0.05)) is Stop.DEADLINE
    bench.say(BOOT)
    assert session.run(None, session.deadline(5)) is Stop.RESET_LOOP


def test_boots_after_an_end_are_not_a_reset_loop(bench: Bench) -> None:
    session = bench.session()
    bench.say(BOOT * 4, END)
    session.run(None, session.deadline(0.05))
    bench.say(BOOT * 4, END)
    assert session.run(None, session.deadline(0.05)) is Stop.DEADLINE


def test_requested_reset_does_not_count_as_a_boot_of_a_loop(bench: Bench) -> None:
    session = bench.session()
    bench.say(BOOT * 4)
    session.reset()
    assert bench.done == ["reset"]
    bench.say(BOOT * 5)  # the first of them is the reset's
    assert session.run(None, session.deadline(0.05)) is Stop.DEADLINE
    bench.say(BOOT)
    assert session.run(None, session.deadline(5)) is Stop.RESET_LOOP


def test_boot_record_of_another_build_fails_the_run(bench: Bench) -> None:
    session = bench.session()
    bench.say(encode(0, "boot", NAMES | {"build": "beta"}))
    with pytest.raises(FlashFailed, match="runs build 'beta'") as failed:
        match(session, b"boot")
    assert "power-cycle the board" in failed.value.hint


# -- the console ------------------------------------------------------------------------------


def test_output_before_the_boot_is_dropped(bench: Bench) -> None:
    bench.say(b"the image before", BOOT)
    session = bench.session(start=16)
    assert session.read() == BOOT
    assert session.read() == b""
    assert b"".join(chunk.data for chunk in session.console) == BOOT
    assert match(session, b"before", 0.02) is Stop.DEADLINE
    bench.say(END)
    assert session.read() == END
    assert b"".join(chunk.data for chunk in session.console) == BOOT + END


def test_written_bytes_go_to_the_board(bench: Bench) -> None:
    session = bench.session()
    session.write(b"hello\r")
    assert os.read(bench.wire.master, 100) == b"hello\r"


def test_console_overflow_ends_the_session(bench: Bench) -> None:
    session = bench.session()
    bench.say(b"x" * 1000)
    session.read()
    bench.say(*[b"y" * 1000] * 51)
    with pytest.raises(TargetLost, match="mine") as lost:
        session.read()
    assert "console_limit" in lost.value.hint


# -- figures ----------------------------------------------------------------------------------


def test_cycles_are_the_sum_of_the_ticks_of_its_inferences(bench: Bench) -> None:
    session = bench.session()
    silent = session.counters
    assert (silent.source, silent.cycles, silent.instructions) == ("uart", None, None)
    bench.say(BOOT, inference(100), inference(11, number=2), BOOT)
    counted = session.counters
    assert (counted.source, counted.cycles, counted.instructions) == ("dwt", 111, None)
    assert (counted.virtual_seconds, counted.resets) == (None, 1)
    assert 0 < counted.wall_seconds < 60


def test_a_virtual_boards_ticks_are_the_simulators_instructions(
    bench: Bench, tmp_path: Path
) -> None:
    session = bench.session(control=tmp_path)
    bench.say(BOOT, inference(100))
    counted = session.counters
    assert (counted.source, counted.cycles, counted.instructions) == ("simulator", None, 100)
    assert (session.target, bench.session().target) == ("virtual-board", "board")


def test_pins_are_a_virtual_boards_alone(bench: Bench) -> None:
    pins = object()
    assert bench.session(pins=pins).pins is pins
    with pytest.raises(Unsupported, match="'board' cannot drive pins"):
        _ = bench.session().pins
    assert bench.session(memory=b"memory").memory == b"memory"
    assert bench.session().flashed is FLASHED


@pytest.mark.parametrize(
    ("data", "garbage"),
    [(b"\x80" * 31, False), (b"\x80" * 32, True), (b"\x80" * 8 + b"a" * 32, True),
     (b"\x80" * 8 + b"a" * 33, False)],
)  # fmt: skip
def test_garbage_of_a_fifth_of_32_bytes_is_a_wrong_baud_rate(
    bench: Bench, data: bytes, garbage: bool
) -> None:
    session = bench.session()
    bench.say(data)
    found = session.findings
    assert [one.kind for one in found] == [Kind.CONSOLE_GARBAGE] * garbage
    if garbage:
        assert found[0].subject == bench.wire.port
        assert dict(found[0].values) == {"baud": 115200, "bytes": len(data)}
        share = 100 * 8 // 40 if len(data) == 40 else 100
        assert found[0].message.startswith(f"{share} % of {len(data)} console bytes")


def test_an_image_that_never_announces_itself_is_an_approximation(bench: Bench) -> None:
    session = bench.session(settled=False)
    assert [one.kind for one in session.findings] == [Kind.APPROXIMATION]
    assert bench.session(settled=True).findings == ()
    bench.say(BOOT)
    assert session.findings == ()


# -- whose board it is ------------------------------------------------------------------------


def test_a_board_that_is_taken_away_is_noticed_within_a_second(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = bench.session()
    session.read()
    assert bench.checks == 0
    monkeypatch.setattr(sessions, "_LOCK_CHECK_SECONDS", 0.1)
    bench.taken = True
    started = time.monotonic()
    with pytest.raises(TargetLost, match="taken over"):
        session.run(None, session.deadline(10))
    assert time.monotonic() - started < 2
    time.sleep(0.1)
    with pytest.raises(TargetLost, match="taken over"):
        session.write(b"x")


def test_the_lock_is_looked_at_once_a_second_and_not_at_each_read(bench: Bench) -> None:
    session = bench.session()
    session.run(None, session.deadline(1.3))
    for _ in range(10):
        session.read()
    assert bench.checks == 1


def test_closed_session_refuses_every_call(bench: Bench) -> None:
    session = bench.session()
    session.add_resources(after(bench))
    session.close()
    session.close()
    assert bench.done == ["close", "after"]
    uses: list[Callable[[], object]] = [
        session.read, session.reset, lambda: session.write(b""), lambda: match(session, b"x")
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(TargetLost, match=re.escape("session on board mine is closed")):
            use()


def test_kept_resources_are_closed_after_an_error_of_the_session(bench: Bench) -> None:
    session = bench.session()

    def stuck() -> None:
        raise TargetLost("the port is stuck")

    session._connection.resources.callback(stuck)
    session.add_resources(after(bench))
    with pytest.raises(TargetLost, match="stuck"):
        session.close()
    assert bench.done == ["close", "after"]


# -- where an image's own output begins -------------------------------------------------------


BANNER = b"*** Booting Zephyr OS build v4.2.0 ***\r\n"


def test_the_last_boot_that_has_arrived_is_the_images(bench: Bench) -> None:
    before = b"x" * 10
    bench.say(before, BANNER, b"the image before\n", BANNER, b"hello\n")
    assert boot_position(bench.console, 0, 0.0) == (10 + len(BANNER) + 17, True)
    assert boot_position(bench.console, 10, 0.0) == (10 + len(BANNER) + 17, True)


def test_a_boot_is_waited_for(bench: Bench) -> None:
    bench.say(b"garbage\n")
    threading.Timer(0.1, bench.wire.send, [BOOT]).start()
    assert boot_position(bench.console, 2, 5.0) == (8, True)


def test_without_a_boot_all_bytes_since_the_reset_are_taken(bench: Bench) -> None:
    bench.say(b"garbage\n")
    assert boot_position(bench.console, 3, 0.05) == (3, False)


@pytest.mark.parametrize(
    "error", [EnvironmentMissing("pyOCD is not installed"), TargetLost("the chip is locked")]
)
def test_a_core_that_the_probe_does_not_reach_is_unsupported(bench: Bench, error: HilError) -> None:
    """The firmware's verdict does not depend on a debugger."""

    def refuse() -> None:
        raise error

    session = bench.session(memory=SimpleNamespace(core_state=refuse))
    with pytest.raises(Unsupported, match="cannot show its stacks") as refused:
        _ = session.core_state
    assert refused.value.hint == error.message
