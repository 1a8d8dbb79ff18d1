"""Differences between two runs that count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from device import line
from elf_writer import MadeSection, MadeSymbol, write_elf
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import Unsupported, UsageError
from harness.case.crosscheck import CrossCheck, TargetRun, arenas, collect, compare, run
from harness.elf import Image
from harness.targets import ConsoleMatch, Stop

END = line(2, "end", inferences=1)
RUN = line(0, "output", total=1, hex="7f")
AGAIN = line(1, "output", inference=1, total=1, hex="7f")


def seen(console: bytes, *, stop: Stop = Stop.CONDITION, **more) -> TargetRun:
    return replace(TargetRun("simulator", stop, console, ()), **more)


def test_an_image_without_an_end_may_be_cut_off_at_another_byte():
    check = compare(seen(RUN * 3), seen(RUN * 5))
    assert check.equal
    assert "cut off by the clock" in check.compared


def test_an_image_with_an_end_may_not():
    assert "output records against" in compare(seen(RUN + END), seen(RUN + AGAIN + END)).difference
    assert "console lines" in compare(seen(RUN + END), seen(RUN + END + b"more\r\n")).difference


def test_one_silent_target_is_a_difference():
    one = compare(seen(b""), seen(b"x\r\n"))
    assert one.difference == "0 console lines (0 B) against 1 (3 B)"
    assert compare(one.second, one.first).difference == "1 console lines (3 B) against 0 (0 B)"
    assert not compare(seen(b""), seen(b"")).equal


def test_another_end_of_the_run_is_a_difference_even_where_the_console_is_equal():
    check = compare(seen(RUN), seen(RUN, stop=Stop.LOCKUP))
    assert check.difference == "the runs ended differently: condition against lockup"


def test_a_run_that_rests_after_its_last_line_has_ended_as_one_that_printed_it():
    assert compare(seen(RUN), seen(RUN, stop=Stop.IDLE)).equal
    assert not compare(seen(RUN, stop=Stop.IDLE), seen(RUN, stop=Stop.DEADLINE)).equal


def test_ram_is_not_held_where_the_runs_stand_at_different_points():
    one, other = seen(RUN, symbols=(("a", b"1"),)), seen(RUN * 2, symbols=(("a", b"2"),))
    assert compare(one, other).equal
    assert compare(other, one).equal
    assert not compare(one, replace(other, console=RUN)).equal


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_consoles_that_end_are_equal_where_their_bytes_are(left, right):
    one, other = seen(left + END), seen(right + END)
    assert compare(one, other).equal == (left == right)
    assert compare(one, other).equal == compare(other, one).equal


def test_the_first_output_that_differs_is_named():
    other = line(0, "output", total=1, hex="80")
    assert compare(seen(RUN + END), seen(other + END)).difference == (
        "output record 0: 7f (offset 0 of output 0, inference 0) against "
        "80 (offset 0 of output 0, inference 0)"
    )


def test_measured_ticks_may_differ_and_nothing_else_of_their_records():
    def inference(**fields: int) -> TargetRun:
        return seen(line(0, "inference", **fields) + line(1, "op", ticks=fields["ticks"]) + END)

    check = compare(inference(ticks=5), inference(ticks=7))
    assert check.equal
    assert list(check.first.ticks) == [5]
    assert not compare(inference(ticks=5), inference(ticks=5, status=1)).equal


SUITE = b" PASS - test_a in %b seconds\r\n - PASS - [s.test_a] duration = %b seconds\r\n"
PROJECT = b"PROJECT EXECUTION SUCCESSFUL\r\n"


@pytest.mark.parametrize(
    ("figures", "difference"),
    [
        ({}, ""),
        ({"seconds": 1.000_9}, ""),
        ({"seconds": 1.001_1}, "the last console byte came at 1.000000 s against 1.001100"),
        ({"instructions": 64_064_000}, ""),
        ({"instructions": 64_070_000}, "64,000,000 instructions in all against 64,070,000"),
        ({"instructions": None, "seconds": None}, ""),
        ({"verdict": "fail"}, "the verdicts differ: pass against fail"),
    ],
)
def test_figures_of_virtual_time_and_the_verdict_must_agree(figures, difference):
    one = seen(RUN + END, seconds=1.0, instructions=64_000_000, verdict="pass")
    assert compare(one, replace(one, **figures)).difference == difference


@pytest.mark.parametrize(
    ("ticks", "difference"),
    [
        (516, ""),
        (517, "inference 0: 500 ticks against 517"),
    ],
)
def test_an_inference_must_take_as_long_on_targets_with_virtual_time(ticks, difference):
    one, other = (
        seen(line(0, "inference", ticks=count) + END, seconds=1.0, instructions=9)
        for count in (500, ticks)
    )
    assert compare(one, other).difference == difference


def test_durations_of_tests_are_the_targets_own():
    assert compare(
        seen(SUITE % (b"0.1", b"0.001") + PROJECT), seen(SUITE % (b"0.12", b"0.012") + PROJECT)
    ).equal
    failed = (SUITE % (b"0.1", b"0.1")).replace(b" PASS - test", b" FAIL - test")
    assert not compare(seen(SUITE % (b"0.1", b"0.1") + PROJECT), seen(failed + PROJECT)).equal


def test_a_suite_whose_closing_line_one_target_lacks_is_a_difference():
    suite = SUITE % (b"0.1", b"0.1")
    assert not compare(seen(suite), seen(suite + PROJECT)).equal


def test_a_failed_record_is_an_end_too():
    failed = line(1, "failed", stage="allocate", status=1)
    assert not compare(seen(RUN + failed), seen(RUN + failed + b"more\r\n")).equal
    assert seen(RUN + failed).ended
    assert not seen(RUN).ended


def test_the_line_that_differs_is_counted_from_one():
    check = compare(seen(b"a\r\nb\r\n" + END), seen(b"a\r\nc\r\n" + END))
    assert check.difference == "console line 2: 'b' against 'c'"
    turned = compare(check.second, check.first)
    assert turned.difference == "console line 2: 'c' against 'b'"


def test_the_first_byte_in_ram_that_differs_is_named_by_object_and_offset():
    one = seen(RUN + END, symbols=(("same", b"xx"), ("arena", b"\1\2\3\4")))
    other = seen(RUN + END, symbols=(("same", b"xx"), ("arena", b"\1\2\x7f\4")))
    assert compare(one, other).difference == "arena+0x2: 0x03 against 0x7f"


def test_ram_is_held_where_both_consoles_are_as_long():
    one, other = (seen(RUN, symbols=(("a", data),)) for data in (b"1", b"2"))
    assert not compare(one, other).equal


def test_the_comparison_is_described_in_one_line():
    both = seen(RUN + END, symbols=(("arena", bytes(2048)),))
    size = len(RUN + END)
    assert (
        compare(both, both).compared == f"{size} console bytes, 1 output records, 2,048 B of arena"
    )
    cut = compare(seen(RUN), seen(RUN + AGAIN))
    assert cut.compared.startswith(
        f"{len(RUN)} console bytes of {len(RUN)} and {len(RUN + AGAIN)}, cut off by the clock"
    )


def ticked(*ticks: int) -> TargetRun:
    lines = [line(n, "inference", index=n, ticks=count) for n, count in enumerate(ticks)]
    return seen(b"".join(lines) + line(len(ticks), "end"))


def test_the_ticks_that_lie_furthest_apart_are_shown():
    check = compare(ticked(5000, 100, 7), ticked(5000, 1300, 9))
    assert check.ticks == "ticks of 3 inferences: 1 equal, furthest apart 100 and 1,300"
    assert compare(seen(RUN), seen(RUN)).ticks == ""
    fewer = compare(ticked(5, 9), ticked(5))
    assert fewer.ticks == "ticks of 1 inferences: 1 equal, furthest apart 5 and 5"


def test_equal_runs_list_the_comparisons_and_others_the_difference():
    equal = str(compare(ticked(5), ticked(6))).splitlines()
    assert equal[0] == "simulator and simulator are equal"
    assert [row[:11] for row in equal[1:]] == ["  compared:", "  ticks of "]
    check = CrossCheck(seen(b"a"), replace(seen(b"b"), target="renode"), "all of it")
    assert str(check) == "simulator and renode differ: all of it"


def test_the_comparison_as_json_types():
    one = seen(RUN + END, symbols=(("arena", b"12"),))
    other = replace(one, target="renode")
    assert compare(one, other).to_json() == {
        "targets": ["simulator", "renode"], "equal": True, "difference": "",
        "console_bytes": [len(RUN + END)] * 2, "outputs": 1, "ticks": [[], []],
        "symbols": ["arena"], "instructions": [None, None], "seconds": [None, None],
    }  # fmt: skip


# --- what is collected of a session


ARENAS = {"tensor_arena", "_ZN12_GLOBAL__N_15ArenaE", "arena_last"}


@pytest.fixture
def firmware(tmp_path):
    path = tmp_path / "own.elf"
    sections = [
        MadeSection(".text", 0, bytes(64), load=0, executable=True),
        MadeSection(".bss", 0x2000_0000, size=64),
    ]
    symbols = [
        MadeSymbol("tensor_arena", 0x2000_0000, 4, section=1),
        MadeSymbol("_ZN12_GLOBAL__N_15ArenaE", 0x2000_0008, 2, section=1),
        MadeSymbol("arena_size", 0x20, 4, section=0),
        MadeSymbol("arena_end", 0x2000_0020, 0, section=1),
        MadeSymbol("counter", 0x2000_0010, 1, section=1),
        MadeSymbol("arena_below", 0x1FFF_FFFF, 1, section=1),
        MadeSymbol("arena_above", 0x4000_0000, 1, section=1),
        MadeSymbol("arena_last", 0x3FFF_FFFF, 1, section=1),
    ]
    path.write_bytes(write_elf(sections, symbols, entry=9))
    return Image.from_elf(path)


class Memory:
    def read(self, address, size):
        return bytes((address + at) & 0xFF for at in range(size))


class Closed:
    def read(self, address, size):
        raise Unsupported("board", "read memory")


def session(scripted, memory):
    made = scripted([RUN, END])
    made.memory = memory
    return made


def test_arenas_are_objects_in_ram_with_that_word_in_their_names(firmware):
    assert {one.name for one in arenas(firmware)} == ARENAS


def test_a_run_leaves_console_and_arenas(scripted, firmware):
    made = run(session(scripted, Memory()), firmware, ConsoleMatch(rb" end "), 1.0)
    assert (made.target, made.stop, made.console) == ("scripted", Stop.CONDITION, RUN + END)
    assert dict(made.symbols) == {
        "tensor_arena": b"\0\1\2\3", "(anonymous namespace)::Arena": b"\x08\x09",
        "arena_last": b"\xff",
    }  # fmt: skip


def test_objects_can_be_named_in_either_spelling(scripted, firmware):
    names = ["counter", "(anonymous namespace)::Arena", "_ZN12_GLOBAL__N_15ArenaE"]
    found = collect(session(scripted, Memory()), firmware, Stop.IDLE, names).symbols
    assert [data for _, data in found] == [b"\x10", b"\x08\x09", b"\x08\x09"]
    assert collect(session(scripted, Memory()), firmware, Stop.IDLE, []).symbols == ()


@pytest.mark.parametrize("name", ["nothing", "arena_end"])
def test_an_object_that_the_image_does_not_have_is_refused(scripted, firmware, name):
    with pytest.raises(UsageError, match=f"own.elf has no object '{name}'"):
        collect(session(scripted, Memory()), firmware, Stop.IDLE, [name])


def test_a_target_that_cannot_read_memory_shows_no_objects(scripted, firmware):
    assert collect(session(scripted, Closed()), firmware, Stop.IDLE).symbols == ()


def test_a_target_without_objects_is_compared_by_its_console():
    one = seen(RUN + END, symbols=(("arena", b"12"),))
    assert compare(one, seen(RUN + END)).equal
    assert compare(seen(RUN + END), one).equal


def test_a_run_has_a_minute_of_the_hosts_time(scripted, firmware):
    guards: list[float] = []

    class Timed(scripted):
        def deadline(self, seconds, *, guard=0.0):
            guards.append(guard)
            return super().deadline(seconds, guard=guard)

    run(session(Timed, Memory()), firmware, None, 1.0)
    run(session(Timed, Memory()), firmware, None, 1.0, guard=7.0)
    assert guards == [60.0, 7.0]
