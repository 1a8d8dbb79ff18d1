"""What goes wrong on benches: the right error, in bounded time, and the next case works."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from harness.base.errors import BoardUnavailable, FlashFailed, TargetLost
from harness.base.findings import Kind
from harness.targets.base import ConsoleMatch, Stop
from harness.targets.board.lab import BoardEntry, Lab, Policy
from harness.targets.board.policy import Quarantine

END = ConsoleMatch(rb"~HIL \d+ end [^\n]*\n")


def text(session):
    return b"".join(chunk.data for chunk in session.console)


#: The bounds are those of an idle machine; tests may share theirs with much else.
_LOADED = 5


#: Its start alone takes most of a second.
PYOCD = pytest.param("pyocd", marks=pytest.mark.slow)
#: The real pyOCD does not pass on what the probe says.
OWN_WORDS = {"pyocd": r"pyocd ended with exit code 1\n[^$]*Error"}


@contextmanager
def within(seconds):
    """Fails where the block takes far longer than ``seconds``: nothing may hang."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < _LOADED * seconds


def back(board_process):
    """Wait until the board is on the bus again."""
    limit = time.monotonic() + 10 * _LOADED
    while time.monotonic() < limit:
        try:
            return board_process.find()
        except TargetLost:
            time.sleep(0.05)
    raise AssertionError("the board did not come back")


@pytest.fixture
def next_case_works(run, firmware):
    """The proof that nothing was left behind: another image runs to its end on the same board."""

    def check(board_process):
        board_process.do("misbehave", names=[])
        back(board_process)
        with run(firmware("next")) as session:
            assert session.run(END, session.deadline(10)) is Stop.CONDITION
            assert text(session) == firmware("next").segments[0].data

    return check


@pytest.mark.slow
def test_unplugged_in_the_middle(dk, run, firmware, next_case_works):
    board = dk(baud=115200, misbehave=["unplug-after=12000"])
    with within(8):
        session = run(firmware(filler=600))
        with pytest.raises(TargetLost, match="disappeared during") as caught:
            session.run(END, session.deadline(20))
        session.close()
    assert caught.value.exit_code == 3
    next_case_works(board)


@pytest.mark.slow
def test_back_under_another_port_name(dk, run, firmware, next_case_works):
    board = dk(baud=115200, misbehave=["unplug-after=12000", "rename", "gone=200"])
    before = board.find().port
    session = run(firmware(filler=600))
    with within(5), pytest.raises(TargetLost):
        session.run(END, session.deadline(20))
    session.close()
    next_case_works(board)
    assert board.find().port != before


@pytest.mark.parametrize("rate", [9600, 57600, 230400, 460800])
def test_wrong_baud_rate_is_a_finding_that_names_the_rate(dk, run, firmware, next_case_works, rate):
    board = dk(baud=115200, misbehave=[f"baud={rate}"])
    with within(8):
        session = run(firmware(filler=20))
        assert session.run(END, session.deadline(1.5)) is Stop.DEADLINE
        kinds = {finding.kind for finding in session.findings}
        session.close()
    assert Kind.CONSOLE_GARBAGE in kinds
    next_case_works(board)


@pytest.mark.parametrize(("wrong", "found"), [("flip=40", 20), ("drop=40", 20), ("repeat=40", 20)])
def test_bytes_that_are_flipped_dropped_or_repeated_are_seen_by_the_reader(
    dk, run, firmware, next_case_works, wrong, found
):
    from harness.uart import Console

    board = dk(misbehave=[wrong])
    session = run(firmware(filler=20))
    with within(5):
        session.run(END, session.deadline(2))
    reader = Console()
    for chunk in session.console:
        reader.feed(chunk.data, chunk.time)
    reader.finish(10.0)
    session.close()
    assert text(session) != firmware(filler=20).segments[0].data
    kinds = {finding.kind for finding in reader.findings}
    assert kinds & {
        Kind.RECORD_GARBLED,
        Kind.RECORD_LOST,
        Kind.RECORD_TRUNCATED,
        Kind.CONSOLE_GARBAGE,
    }
    next_case_works(board)


def test_silence_ends_at_the_deadline_with_an_empty_console(dk, run, firmware, next_case_works):
    board = dk(misbehave=["silent"])
    with within(5):
        session = run(firmware())
        assert session.run(END, session.deadline(0.5)) is Stop.DEADLINE
        assert text(session) == b""
        assert Kind.APPROXIMATION in {finding.kind for finding in session.findings}
        session.close()
    next_case_works(board)


def test_a_board_that_resets_for_ever_is_told_from_one_that_runs(
    dk, run, firmware, next_case_works
):
    board = dk(misbehave=["reset-loop=200"])
    with within(8):
        session = run(firmware(filler=100))
        assert session.run(END, session.deadline(20)) is Stop.RESET_LOOP
        assert session.counters.resets >= 4
        session.close()
    next_case_works(board)


@pytest.mark.parametrize("wrong", ["brown-out", "unplug-flash=9"])
@pytest.mark.parametrize("runner", ["nrfutil", PYOCD])
def test_power_that_fails_during_flashing(
    dk, run, firmware, next_case_works, runner, wrong, runner_installed
):
    runner_installed(runner)
    board = dk(misbehave=[wrong])
    words = OWN_WORDS.get(runner, "lost while programming")
    with within(10), pytest.raises(FlashFailed, match=words) as caught:
        run(firmware(filler=50), runner=runner)
    assert caught.value.exit_code == 3
    next_case_works(board)


@pytest.mark.parametrize("runner", ["nrfutil", "nrfjprog", "jlink", PYOCD])
def test_a_locked_chip_is_not_erased_silently(dk, run, firmware, runner, runner_installed):
    runner_installed(runner)
    dk(misbehave=["locked"])
    with within(10), pytest.raises(FlashFailed, match=r"locked|not automatically unlocking"):
        run(firmware(), runner=runner)


def test_a_retry_gets_over_one_brown_out(dk, run, firmware, tmp_path):
    dk(misbehave=["brown-out"])
    lab = Lab(policy=Policy(retries=1, backoff=0.6, settle_seconds=0.5), state=tmp_path / "state")
    with within(10):
        session = run(firmware(filler=50), lab=lab)
        assert session.run(END, session.deadline(10)) is Stop.CONDITION
        assert text(session) == firmware(filler=50).segments[0].data


def test_port_held_elsewhere_names_the_program(dk, run, firmware, next_case_works):
    board = dk(misbehave=["busy"])
    with within(8), pytest.raises(BoardUnavailable, match=r"is open in .*process \d+") as caught:
        run(firmware())
    assert caught.value.exit_code == 3
    next_case_works(board)


@pytest.mark.parametrize("runner", ["nrfutil", "nrfjprog", "jlink", PYOCD])
def test_flash_tool_that_fails_is_reported_with_its_words(
    dk, run, firmware, next_case_works, runner, runner_installed
):
    runner_installed(runner)
    board = dk(misbehave=["flash-fails"])
    words = OWN_WORDS.get(runner, "target did not respond")
    with within(8), pytest.raises(FlashFailed, match=words):
        run(firmware(), runner=runner)
    next_case_works(board)


def test_flash_tool_that_hangs_is_stopped(dk, run, firmware, next_case_works, tmp_path):
    board = dk(misbehave=["flash-hangs"])
    lab = Lab(policy=Policy(retries=0, flash_seconds=1.0), state=tmp_path / "state")
    with within(10), pytest.raises(FlashFailed, match="did not end within 1 s and was stopped"):
        run(firmware(), lab=lab)
    next_case_works(board)


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["nrfutil", "jlink", "pyocd"])
def test_flash_tool_that_lies_is_found_by_reading_back(
    dk, run, firmware, next_case_works, runner, runner_installed
):
    runner_installed(runner)
    board = dk()
    run(firmware("old")).close()
    board.do("misbehave", names=["flash-lies"])
    with within(8), pytest.raises(FlashFailed, match="read-back differs"):
        run(firmware("new"), runner=runner)
    next_case_works(board)


def test_tool_that_lies_about_reading_back_too_is_found_by_the_boot_record(
    dk, run, firmware, next_case_works
):
    board = dk()
    run(firmware("old")).close()
    board.do("misbehave", names=["tool-lies"])
    session = run(firmware("new"))
    with (
        within(8),
        pytest.raises(FlashFailed, match="runs build 'old' instead of the flashed image"),
    ):
        session.run(END, session.deadline(5))
    session.close()
    next_case_works(board)


def test_a_board_that_stays_away_is_lost_and_goes_into_quarantine(
    dk, run, firmware, next_case_works, lab
):
    board = dk(misbehave=["unplug-after=1", "gone=4000"])
    with within(6), pytest.raises(TargetLost) as first:
        run(firmware())
    assert "now in quarantine" in first.value.hint
    back(board)
    with within(3), pytest.raises(BoardUnavailable, match="in quarantine since") as later:
        run(firmware())
    assert later.value.exit_code == 3
    note = Quarantine(lab.state).release("960000001")
    assert "left the bus" in note.reason
    next_case_works(board)


def test_a_board_that_was_never_well_is_set_aside_for_one_reason(dk, run, firmware, lab):
    dk("960000001")
    entry = BoardEntry("dk1", "960000001", port="/dev/no-such-port")
    with within(6), pytest.raises(BoardUnavailable, match="no-such-port") as refused:
        run(firmware(), lab=replace(lab, entries=(entry,)))
    note = Quarantine(lab.state).release("960000001")
    assert note.reason == refused.value.message.splitlines()[0]


def test_a_flash_failure_of_a_healthy_board_does_not_set_it_aside(dk, run, firmware, lab):
    dk(misbehave=["flash-fails"])
    with pytest.raises(FlashFailed):
        run(firmware())
    assert Quarantine(lab.state).note("960000001") is None


def test_the_first_error_is_raised_after_power_cycling_did_not_help(dk, run, firmware, tmp_path):
    board = dk(misbehave=["flash-fails=2"])
    switched = BoardEntry("dk1", "960000001", power_cycle=("virtual-power", "{probe}"))
    policy = Policy(retries=1, backoff=0.1)
    lab = Lab((switched,), policy=policy, state=tmp_path / "state")
    before = board.do("info")["resets"]
    with pytest.raises(FlashFailed, match="target did not respond") as caught:
        run(firmware(), lab=lab)
    assert "first of 2 failed attempts" in caught.value.hint
    assert board.do("info")["resets"] > before


def test_a_board_in_use_names_its_user_and_waiting_gets_it(dk, run, firmware):
    import threading

    dk()
    first = run(firmware())
    with within(3), pytest.raises(BoardUnavailable, match=r"is held by .* \(process \d+\) since"):
        run(firmware())
    threading.Timer(0.5, first.close).start()
    with within(8):
        run(firmware(), wait=5)


def test_a_board_taken_away_in_the_middle_is_an_error_that_says_so(dk, run, firmware, lab):
    from harness.targets.board.lock import ProbeLock

    dk()
    session = run(firmware())
    thief = ProbeLock("960000001", "virtual-960000001", state=lab.state)
    thief.take()
    with within(5), pytest.raises(TargetLost, match="taken over during the run by"):
        session.run(ConsoleMatch(b"never printed"), session.deadline(10))
    session.close()
    assert thief.holder() is not None
    thief.release()
    run(firmware())
