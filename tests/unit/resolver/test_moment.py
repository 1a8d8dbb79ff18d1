"""When a resolver is read: at AllocateTensors, or after a time where the target cannot stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.deadline import Deadline
from harness.elf import Firmware
from harness.errors import FirmwareFailed, Unsupported, UsageError
from harness.resolver.moment import run_past_registration
from harness.targets.base import Elapsed, Stop, SymbolReached, Until

Compile = Callable[..., Firmware]


class Target:
    """A target with a clock; one that is a board cannot stop at a symbol."""

    target = "fake"

    def __init__(self, *, stops_at_symbols: bool = True, end: Stop = Stop.CONDITION) -> None:
        self.stops_at_symbols = stops_at_symbols
        self.end = end
        self.time = 0.0

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, now=lambda: self.time)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        if isinstance(until, SymbolReached) and not self.stops_at_symbols:
            raise Unsupported(self.target, "stop at SymbolReached")
        if isinstance(until, Elapsed):
            assert deadline.seconds > until.seconds
            self.time += until.seconds
        return self.end


def test_a_target_that_stops_at_symbols_stops_there(compile_image: Compile) -> None:
    moment = run_past_registration(Target(), compile_image(), symbol="loop")
    assert (moment.reached, moment.symbol, moment.why) == (True, "loop", "")


def test_a_board_runs_for_a_time_and_says_so(compile_image: Compile) -> None:
    board = Target(stops_at_symbols=False)
    moment = run_past_registration(board, compile_image(), symbol="loop", seconds=2.0)
    assert board.time == 2.0
    assert not moment.reached and "cannot stop at loop: read after 2 s" in moment.why


def test_an_image_that_does_not_show_allocate_tensors_runs_for_a_time(
    compile_image: Compile,
) -> None:
    moment = run_past_registration(Target(), compile_image(), seconds=3.0)
    assert not moment.reached and "does not show AllocateTensors" in moment.why


def test_a_symbol_that_is_not_reached_is_told(compile_image: Compile) -> None:
    moment = run_past_registration(Target(end=Stop.DEADLINE), compile_image(), symbol="loop")
    assert not moment.reached and "loop was not reached (deadline)" in moment.why


@pytest.mark.parametrize("end", [Stop.LOCKUP, Stop.RESET_LOOP])
def test_an_image_that_stopped_for_good_is_the_firmwares_failure(
    compile_image: Compile, end: Stop
) -> None:
    with pytest.raises(FirmwareFailed, match="stopped before its registration"):
        run_past_registration(Target(end=end), compile_image(), symbol="loop")


def test_an_unknown_symbol_is_refused(compile_image: Compile) -> None:
    with pytest.raises(UsageError, match="no symbol"):
        run_past_registration(Target(), compile_image(), symbol="nowhere")


def test_a_function_may_be_named_as_cpp_writes_it(compile_image: Compile) -> None:
    image = compile_image("resolver.AddConv2D();")
    moment = run_past_registration(Target(), image, symbol="tflite::Shared")
    assert (moment.reached, moment.symbol) == (True, "tflite::Shared")
