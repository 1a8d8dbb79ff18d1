import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.findings import Kind
from harness.uart import Console, encode
from harness.uart.records import Record, TensorKey, encode_tensor, parse

FIELDS = st.dictionaries(
    st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True), st.text(max_size=20), max_size=4
)


def console_of(*lines: bytes) -> Console:
    console = Console()
    for line in lines:
        console.feed(line)
    console.finish()
    return console


def kinds(console: Console) -> list[Kind]:
    return [finding.kind for finding in console.findings]


BOOT = encode(0, "boot", {"sample": "hello_world"})
END = encode(2, "end", {"inferences": 1, "status": 0})


@given(st.integers(0, 2**31), st.from_regex(r"[a-z_]+", fullmatch=True), FIELDS)
def test_what_is_encoded_is_parsed_back(sequence, kind, fields):
    record = parse(encode(sequence, kind, fields).decode().rstrip())
    assert isinstance(record, Record)
    assert (record.sequence, record.kind, dict(record.fields)) == (sequence, kind, fields)


@given(st.integers(4, 60), st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_record(position, bit):
    good = encode(7, "output", {"inference": 1, "index": 0, "offset": 0, "total": 2, "hex": "80ff"})
    bad = bytearray(good)
    bad[position % len(good.rstrip())] ^= 1 << bit
    parsed = parse(bytes(bad).decode("utf-8", "backslashreplace").rstrip())
    assert parsed is None or isinstance(parsed, str)


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=5))
def test_where_the_stream_is_cut_changes_nothing(data, cuts):
    stream = BOOT + data + b"\n" + END
    whole, parts = console_of(stream), Console()
    edges = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]
    for start, stop in itertools.pairwise(edges):
        parts.feed(stream[start:stop])
    parts.finish()
    assert [line.raw for line in parts.read_lines()] == [line.raw for line in whole.read_lines()]
    assert parts.findings == whole.findings


def test_a_record_behind_a_log_message_on_the_same_line_is_read():
    console = console_of(BOOT, b"[00:00:00.001] <inf> app: busy " + encode(1, "end", {"status": 0}))
    assert [record.kind for record in console.records] == ["boot", "end"]
    assert console.findings == []


def test_a_lost_record_is_a_finding_that_names_its_number():
    console = console_of(BOOT, END)
    assert kinds(console) == [Kind.RECORD_LOST]
    assert "record 1 did not arrive" in console.findings[0].message


def test_a_garbled_record_is_not_reported_as_lost_too():
    console = console_of(BOOT, encode(1, "arena", {"used": 1}).replace(b"used", b"usEd"), END)
    assert kinds(console) == [Kind.RECORD_GARBLED]


def test_a_repeated_record_is_a_finding_and_counts_once():
    console = console_of(BOOT, BOOT, encode(1, "end", {"status": 0}))
    assert console.boots == 2  # a boot record is a new boot, never a repetition
    arena = encode(1, "arena", {"used": 1})
    console = console_of(BOOT, arena, arena, END)
    assert kinds(console) == [Kind.RECORD_REPEATED]
    assert len(console.of_kind("arena")) == 1


def test_a_reboot_whose_first_record_was_lost_is_not_taken_for_repetition():
    console = console_of(BOOT, encode(1, "arena", {"used": 1}), encode(1, "arena", {"used": 2}))
    assert Kind.RECORD_REPEATED not in kinds(console)
    assert Kind.RECORD_LOST in kinds(console)


def test_a_tensor_is_joined_from_its_parts():
    data = bytes(range(100))
    lines = [
        encode(
            sequence + 1,
            "output",
            {"inference": 3, **parse(line.decode().rstrip()).fields},
        )
        for sequence, line in encode_tensor(0, "output", 0, data)
    ]
    console = console_of(BOOT, *lines)
    assert console.tensors[TensorKey("output", 3, 0)] == data


def test_a_tensor_with_a_hole_is_a_finding_and_no_tensor():
    part = {"inference": 0, "index": 0, "offset": 2, "total": 4, "hex": "0102"}
    console = console_of(BOOT, encode(1, "output", part), END)
    assert console.tensors == {}
    assert kinds(console) == [Kind.RECORD_TRUNCATED]
    assert "2 of 4 bytes" in console.findings[0].message


@pytest.mark.parametrize(
    "change", [{"total": 10**9}, {"offset": 3}, {"hex": "zz"}, {"hex": ""}, {"index": "x"}]
)
def test_a_tensor_part_that_makes_no_sense_is_garbled(change):
    part = {"inference": 0, "index": 0, "offset": 0, "total": 4, "hex": "0102"} | change
    console = console_of(BOOT, encode(1, "output", part), END)
    assert Kind.RECORD_GARBLED in kinds(console)


def test_records_without_an_end_are_a_finding():
    assert kinds(console_of(BOOT)) == [Kind.RECORD_TRUNCATED]


def test_a_failed_record_tells_what_a_build_without_messages_does_not_print():
    failed = encode(1, "failed", {"stage": "allocate", "status": 1})
    assert kinds(console_of(BOOT, failed)) == [Kind.ALLOCATION_FAILED]


def test_refused_registrations_are_a_finding_even_where_no_message_names_them():
    resolver = encode(1, "resolver", {"declared": 1, "registered": 1, "refused": 1})
    assert kinds(console_of(BOOT, resolver, END)) == [Kind.RESOLVER_TOO_SMALL]
