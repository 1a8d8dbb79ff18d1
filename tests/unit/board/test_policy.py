"""Retries, power cycling, quarantine."""

from __future__ import annotations

import logging
import sys

import pytest

from harness.base.errors import (
    BoardUnavailable,
    CheckFailed,
    FirmwareFailed,
    FlashFailed,
    TargetLost,
    UsageError,
)
from harness.targets.board.lab import Policy
from harness.targets.board.policy import Quarantine, attempt, power_cycle


class Bench:
    """Fails with the given errors one after the other, then works."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0
        self.recovered = 0

    def action(self):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    def recover(self):
        self.recovered += 1

    def attempt(self, retries):
        policy = Policy(retries=retries, backoff=0)
        return attempt(self.action, policy, recover=self.recover, sleep=lambda _: None)


def test_an_infrastructure_error_is_tried_again_after_recovering():
    bench = Bench(FlashFailed("no target"), TargetLost("gone"))
    assert bench.attempt(2) == "done"
    assert (bench.calls, bench.recovered) == (3, 2)


def test_the_first_error_is_raised_and_names_the_last():
    bench = Bench(FlashFailed("no target", hint="check power"), BoardUnavailable("no port"))
    with pytest.raises(FlashFailed) as caught:
        bench.attempt(1)
    assert caught.value.message == "no target"
    assert caught.value.hint.startswith("check power (first of 2 failed attempts")
    assert "no port" in caught.value.hint


@pytest.mark.parametrize(
    "error",
    [CheckFailed("wrong output"), FirmwareFailed("silence"), UsageError("bad"), KeyError("x")],
)
def test_firmware_verdicts_and_usage_errors_are_not_retried(error):
    bench = Bench(error)
    with pytest.raises(type(error)):
        bench.attempt(5)
    assert (bench.calls, bench.recovered) == (1, 0)


def test_without_retries_there_is_one_attempt_and_the_error_is_untouched():
    bench = Bench(FlashFailed("no target", hint="h"))
    with pytest.raises(FlashFailed) as caught:
        bench.attempt(0)
    assert (bench.calls, caught.value.hint) == (1, "h")


def test_a_failing_recovery_does_not_hide_the_first_error():
    def recover():
        raise BoardUnavailable("hub is broken")

    bench = Bench(FlashFailed("no target"))
    result = attempt(bench.action, Policy(retries=1, backoff=0), recover=recover)
    assert result == "done"


def test_the_power_hook_gets_probe_and_name(tmp_path):
    note = tmp_path / "note"
    code = "import sys; open(sys.argv[1], 'w').write(' '.join(sys.argv[2:]))"
    hook = (sys.executable, "-c", code, str(note), "{probe}", "{name}")
    power_cycle(hook, Policy(), probe="960", name="dk1")
    assert note.read_text() == "960 dk1"


def test_failed_power_hook_is_reported():
    hook = (sys.executable, "-c", "print('no hub'); raise SystemExit(4)")
    with pytest.raises(
        BoardUnavailable, match=r"power-cycle hook failed: .* exit code 4\n.*no hub"
    ):
        power_cycle(hook, Policy())


def test_quarantine_keeps_a_board_away_until_it_is_released(tmp_path):
    quarantine = Quarantine(tmp_path)
    quarantine.check("dk1", "960")
    quarantine.add("dk1", "000960", "no port")
    with pytest.raises(BoardUnavailable, match=r"in quarantine since .*: no port"):
        Quarantine(tmp_path).check("dk1", "960")
    assert quarantine.release("960").reason == "no port"
    quarantine.check("dk1", "960")
    assert quarantine.release("960") is None


def test_attempts_wait_for_the_backoff_and_are_logged(caplog):
    caplog.set_level(logging.INFO, "harness")
    bench, slept = Bench(FlashFailed("no target"), TargetLost("gone")), []

    def recover():
        raise BoardUnavailable("hub is broken")

    policy = Policy(retries=2, backoff=1.5)
    assert attempt(bench.action, policy, recover=recover, sleep=slept.append) == "done"
    assert slept == [1.5, 1.5]
    assert [record.getMessage() for record in caplog.records] == [
        "attempt 2 of 3, after: no target", "recovery failed: hub is broken",
        "attempt 3 of 3, after: gone", "recovery failed: hub is broken",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("last", "again"),
    [(FlashFailed("no target"), "the last one failed in the same way"),
     (TargetLost("gone\nfor good"), "the last one failed with: gone")],
)  # fmt: skip
def test_error_has_the_number_of_attempts_and_the_last_message(last, again):
    bench = Bench(FlashFailed("no target"), BoardUnavailable("busy"), last)
    with pytest.raises(FlashFailed) as caught:
        bench.attempt(2)
    assert caught.value.hint == f"first of 3 failed attempts, {again}"


def test_without_a_hook_nothing_is_power_cycled():
    power_cycle((), Policy(), probe="960")


def test_a_power_hook_that_hangs_is_stopped():
    with pytest.raises(BoardUnavailable, match=r"did not end within 0.2 s"):
        power_cycle(("sleep", "9"), Policy(power_cycle_seconds=0.2))


def test_quarantine_note_has_board_reason_and_time(tmp_path):
    quarantine = Quarantine(tmp_path)
    assert quarantine.note("960") is None
    made = quarantine.add("dk1", "000960", "no port")
    assert quarantine.note("0960") == made
    assert (made.board, made.probe, made.reason) == ("dk1", "000960", "no port")
    assert made.since.endswith("+00:00") and "." not in made.since
    with pytest.raises(BoardUnavailable) as refused:
        quarantine.check("dk1", "960")
    assert refused.value.message == (
        f"board dk1 (probe 960) has been in quarantine since {made.since}: no port"
    )
    assert refused.value.hint == "repair it, then: tflm-hil boards release dk1"


def test_a_garbled_note_keeps_a_board_away_and_can_be_released(tmp_path):
    quarantine = Quarantine(tmp_path)
    quarantine.add("dk1", "960", "no port")
    (tmp_path / "960.quarantine.json").write_text('{"board": 3}')
    with pytest.raises(BoardUnavailable, match="seems to be in quarantine"):
        quarantine.check("dk1", "960")
    released = quarantine.release("960")
    assert (released.board, released.probe) == ("", "960")
    quarantine.check("dk1", "960")
