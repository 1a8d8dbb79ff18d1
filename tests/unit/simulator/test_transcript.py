"""The console's transcript: transfers in their order, each with its time."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest

from harness.elf import Image
from harness.simulator.machine import End, Machine
from harness.simulator.transcript import Chunk, Transcript

SENT = [Chunk(0.5, b"ab"), Chunk(0.75, b""), Chunk(0.75, b"c\n"), Chunk(2.0, b"def")]


@pytest.fixture
def recorded() -> Transcript:
    made = Transcript()
    for time, data in SENT:
        made.append(time, data)
    return made


def test_a_transcript_is_a_sequence_of_transfers(recorded: Transcript) -> None:
    assert (len(recorded), list(recorded), recorded[-1], recorded[2]) == (4, SENT, SENT[3], SENT[2])
    assert (recorded[1:3], recorded[2:], recorded[::-2], recorded[4:]) == (
        SENT[1:3],
        SENT[2:],
        SENT[::-2],
        [],
    )
    with pytest.raises(IndexError):
        recorded[4]


def test_bytes_are_found_wherever_transfers_end(recorded: Transcript) -> None:
    assert (recorded.size, recorded.since(1), recorded.since(7)) == (7, b"bc\ndef", b"")


def test_packed_transfers_are_appended(recorded: Transcript) -> None:
    recorded.extend((array("d", [3.0, 4.0]).tobytes(), array("Q", [8, 10]).tobytes(), b"ghi"))
    assert recorded[4:] == [Chunk(3.0, b"g"), Chunk(4.0, b"hi")]


def test_a_restore_drops_later_transfers(recorded: Transcript) -> None:
    kept = recorded.state()
    recorded.append(9.0, b"later")
    recorded.restore(kept)
    assert list(recorded) == SENT


def test_a_restore_of_another_branch_takes_its_bytes(recorded: Transcript) -> None:
    start = recorded.state()
    recorded.append(3.0, b"one way")
    kept = recorded.state()
    recorded.restore(start)
    for _ in range(2):
        recorded.append(4.0, b"another way")
    recorded.restore(kept)
    assert list(recorded) == [*SENT, Chunk(3.0, b"one way")]


def test_another_transcript_restores_a_kept_state(recorded: Transcript) -> None:
    other = Transcript()
    other.append(0.1, b"mine")
    other.restore(recorded.state())
    assert list(other) == SENT


@pytest.mark.parametrize("lines", [False, True])
def test_a_run_ends_with_the_byte_that_completes_the_pattern(
    build: Callable[[str], Image], lines: bool
) -> None:
    machine = Machine(build("instructions"))
    end = machine.run(until_tick=64_000_000, pattern=rb"comp[^\n]*\n", lines=lines)
    assert end is End.CONDITION
    assert machine.console.since(0) == b"ready\r\ncomputed\r\n"
    assert machine.console[-1].time == machine.now / 64_000_000
    machine.close()
