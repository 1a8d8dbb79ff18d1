"""When a resolver is read: at AllocateTensors, or after a time where the target cannot stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed, Unsupported, UsageError
from harness.elf import Image
from harness.resolver.stop_point import after_registration, run_past_registration
from harness.targets.base import Elapsed, Stop, SymbolReached, Until

ALLOCATE = "_ZN6tflite16MicroInterpreter15AllocateTensorsEv"
INVOKE = "_ZN6tflite16MicroInterpreter6InvokeEv"

Made = Callable[..., Image]


class Target:
    """A target with a clock; one that is a board cannot stop at a symbol."""

    target = "fake"

    def __init__(self, *, stops_at_symbols: bool = True, end: Stop = Stop.CONDITION) -> None:
        self.stops_at_symbols = stops_at_symbols
        self.end = end
        self.time = 0.0
        self.stopped_at = ""

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, now=lambda: self.time)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        if isinstance(until, SymbolReached):
            if not self.stops_at_symbols:
                raise Unsupported(self.target, "stop at SymbolReached")
            self.stopped_at = until.symbol
        if isinstance(until, Elapsed):
            assert deadline.seconds > until.seconds
            self.time += until.seconds
        elif self.end is Stop.DEADLINE:
            self.time += deadline.seconds
        return self.end


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """An image with functions of these (mangled) names, or with other symbols."""

    def image(*functions: str, others: tuple[MadeSymbol, ...] = ()) -> Image:
        code = MadeSection(".text", 0, bytes(64), load=0, executable=True)
        named = [MadeSymbol(name, 8 * at + 1, 8, "func") for at, name in enumerate(functions)]
        path = tmp_path / "made.elf"
        path.write_bytes(write_elf([code], [*named, *others]))
        return Image.from_elf(path)

    return image


@pytest.mark.parametrize(
    ("functions", "symbol"),
    [([INVOKE, ALLOCATE], ALLOCATE), ([ALLOCATE, INVOKE], ALLOCATE), (["main", INVOKE], INVOKE),
     (["main", "_ZN3app16MicroInterpreter6InvokeEv"], "")],
)  # fmt: skip
def test_operators_are_registered_where_tensors_are_allocated_else_at_the_first_inference(
    made: Made, functions: list[str], symbol: str
) -> None:
    assert after_registration(made(*functions)) == symbol


def test_data_of_that_name_is_no_place_to_stop_at(made: Made) -> None:
    assert after_registration(made("main", others=(MadeSymbol(ALLOCATE, 32, 4),))) == ""


def test_a_target_that_stops_at_symbols_stops_where_tensors_are_allocated(made: Made) -> None:
    target = Target()
    moment = run_past_registration(target, made("main", ALLOCATE))
    assert target.stopped_at == ALLOCATE
    name = "tflite::MicroInterpreter::AllocateTensors"
    assert (moment.reached, moment.symbol, moment.why) == (True, name, "")


def test_a_target_stops_at_the_symbol_that_is_asked_for(made: Made) -> None:
    target = Target()
    moment = run_past_registration(target, made("loop", ALLOCATE), symbol="loop")
    assert target.stopped_at == "loop"
    assert (moment.reached, moment.symbol, moment.why) == (True, "loop", "")


def test_a_board_runs_for_a_time_and_says_so(made: Made) -> None:
    board = Target(stops_at_symbols=False)
    moment = run_past_registration(board, made("loop"), symbol="loop", seconds=2.0)
    assert board.time == 2.0
    assert not moment.reached
    assert moment.why == "target 'fake' cannot stop at loop: read after 2 s"


def test_an_image_that_does_not_show_allocate_tensors_runs_for_a_time(made: Made) -> None:
    target = Target()
    moment = run_past_registration(target, made("main"), seconds=3.0)
    assert target.time == 3.0
    assert not moment.reached and moment.symbol == ""
    assert moment.why == "the image does not show AllocateTensors: read after 3 s"


def test_without_another_word_the_time_is_five_seconds(made: Made) -> None:
    target = Target()
    run_past_registration(target, made("main"))
    assert target.time == 5.0


def test_a_symbol_that_is_not_reached_in_its_time_is_told(made: Made) -> None:
    target = Target(end=Stop.DEADLINE)
    moment = run_past_registration(target, made("loop"), symbol="loop", seconds=2.0)
    assert target.time == 2.0
    assert not moment.reached
    assert moment.why == "loop was not reached (deadline): the table is as it stands now"


@pytest.mark.parametrize("end", [Stop.LOCKUP, Stop.RESET_LOOP])
def test_an_image_that_stopped_for_good_is_the_firmwares_failure(made: Made, end: Stop) -> None:
    with pytest.raises(FirmwareFailed, match="stopped before its registration"):
        run_past_registration(Target(end=end), made("loop"), symbol="loop")


@pytest.mark.parametrize(
    ("symbol", "function"),
    [("_ZN6tflite6SharedEi", "_ZN6tflite6SharedEi"), ("tflite::Shared", "_ZN6tflite6SharedEi")],
)
def test_a_function_is_named_as_it_stands_or_as_cpp_writes_it(
    made: Made, symbol: str, function: str
) -> None:
    target = Target()
    moment = run_past_registration(target, made("main", function), symbol=symbol)
    assert (target.stopped_at, moment.symbol) == (function, "tflite::Shared")


def test_an_unknown_symbol_is_refused(made: Made) -> None:
    data = MadeSymbol("_ZN3app6tablesE", 32, 4)
    for name in ("nowhere", "app::tables"):  # data cannot be run to
        with pytest.raises(UsageError, match=f"has no symbol '{name}'"):
            run_past_registration(Target(), made("main", others=(data,)), symbol=name)


def test_a_name_of_several_functions_is_refused(made: Made) -> None:
    overloads = made("_ZN3app3runEi", "_ZN3app3runEf")
    with pytest.raises(UsageError, match="has 2 functions called 'app::run'"):
        run_past_registration(Target(), overloads, symbol="app::run")
