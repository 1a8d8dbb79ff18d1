"""One record: its spelling, and the ranges of its fields."""

import re
import zlib

import pytest
from device import FIELDS, line
from hypothesis import example, given
from hypothesis import strategies as st

from harness.uart import encode
from harness.uart.records import (
    CHUNK,
    FROM_DEVICE,
    TO_DEVICE,
    MalformedRecord,
    Record,
    each_in,
    encode_tensor,
    fill_blocks,
    parse,
    pattern,
    without_ticks,
)


def read(data: bytes, kinds=FROM_DEVICE):
    return parse(data.decode().rstrip(), kinds)


def why(kind: str, **fields: object) -> str:
    """Why a record with these fields, and a right CRC, is refused."""
    unread = read(encode(7, kind, fields))
    assert isinstance(unread, MalformedRecord)
    assert (unread.sound, unread.sequence, unread.kind) == (True, 7, kind)
    return unread.why


def spelt(body: str) -> str:
    return f"{body} *{zlib.crc32(body.encode()):08x}"


@pytest.mark.parametrize("kind", FIELDS)
def test_a_good_record_of_each_kind_is_read(kind):
    record = read(line(3, kind))
    assert isinstance(record, Record)
    assert (record.sequence, record.kind) == (3, kind)
    assert record.fields.keys() == FIELDS[kind].keys()


def test_the_table_of_kinds_and_the_examples_are_the_same():
    assert FIELDS.keys() == FROM_DEVICE.keys()


def test_fields_have_their_types():
    assert read(line(0, "boot", model_crc32="a434927e")).integer("model_crc32") == 0xA434927E
    assert read(line(0, "tensor", shape="1,8,8,1", zero_point=-128)).fields["shape"] == (1, 8, 8, 1)
    assert read(line(0, "tensor", shape="")).fields["shape"] == ()
    assert read(line(0, "tensor", zero_point=-128)).integer("zero_point") == -128
    assert read(line(0, "output", hex="00ff1234")).fields["hex"] == b"\0\xff\x12\x34"
    assert read(line(0, "lifecycle", order="")).text("order") == ""


@given(st.text(min_size=1, max_size=30).filter(str.isprintable))
def test_printable_text_comes_back_as_it_was(text):
    assert read(line(0, "stack", name=text)).text("name") == text


@pytest.mark.parametrize("kind", FIELDS)
def test_a_record_without_a_field_is_malformed(kind):
    for name in FIELDS[kind]:
        left = {key: value for key, value in FIELDS[kind].items() if key != name}
        assert why(kind, **left) == f"{kind} has no {name!r}"


@pytest.mark.parametrize("kind", FIELDS)
def test_a_record_with_a_foreign_field_is_malformed(kind):
    assert why(kind, **FIELDS[kind], strange=1) == f"{kind} has no field 'strange'"


def test_a_repeated_field_is_malformed():
    unread = parse(spelt("~HIL 0 end inferences=1 status=0 status=0"))
    assert unread == MalformedRecord("end has 'status' twice", True, 0, "end")


def test_an_unknown_kind_is_malformed():
    assert why("hello") == "there is no record 'hello'"


@pytest.mark.parametrize(
    "number", ["", "-1", "01", "+1", "1.0", "0x1", "x", "4294967296", "9" * 5000, "\u0663", "-0"]
)
def test_a_malformed_number_is_refused(number):
    assert why("end", inferences=number, status=0).endswith("not a number from 0 to 4294967295")


@pytest.mark.parametrize("number", ["0", "4294967295"])
def test_a_number_of_32_bits_is_taken(number):
    assert read(line(0, "end", inferences=number)).integer("inferences") == int(number)


COUNTS = [
    (kind, field.name)
    for kind, fields in FROM_DEVICE.items()
    for field in fields.values()
    if field.type is int and field.name not in ("model_crc32", "scale", "offset", "total")
]
SIGNED = [("tensor", "zero_point"), *((kind, "status") for kind in ("failed", "inference", "end"))]


@pytest.mark.parametrize(("kind", "field"), COUNTS)
def test_a_number_has_32_bits_and_a_sign_only_where_it_needs_one(kind, field):
    signed = (kind, field) in SIGNED
    least, most = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    least += field == "untold"
    taken = [
        isinstance(read(line(0, kind, **{field: value})), Record)
        for value in (least - 1, least, most, most + 1)
    ]
    assert taken == [False, True, True, False]


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("boot", "runtime", "linux"),
        ("boot", "model_crc32", "A434927E"),
        ("boot", "model_crc32", "a434927"),
        ("boot", "sample", ""),
        ("boot", "sample", "a\x1b[2J"),
        ("tensor", "role", "inout"),
        ("tensor", "shape", "1,,2"),
        ("tensor", "shape", "1,2,"),
        ("tensor", "shape", "1,2,3,4,5,6,7,8,9"),
        ("tensor", "shape", "-1"),
        ("allocation", "type", "heap"),
        ("failed", "stage", "lunch"),
        ("inference", "source", "guess"),
        ("nak", "reason", "mood"),
        ("lifecycle", "order", "ipx"),
        ("lifecycle", "order", "i" * 17),
        ("output", "hex", ""),
        ("output", "hex", "0"),
        ("output", "hex", "0G"),
        ("output", "hex", "FF"),
        ("output", "hex", "00" * 65),
        ("output", "total", 0),
        ("output", "total", (1 << 20) + 1),
        ("op", "untold", 0),
        ("inference", "status", 1 << 31),
        ("inference", "status", -(1 << 31) - 1),
    ],
)
def test_a_field_of_another_form_is_refused(kind, field, value):
    assert why(kind, **{**FIELDS[kind], field: value}).startswith(f"{field!r} of {kind} is ")


def test_an_order_may_have_sixteen_letters():
    assert read(line(0, "lifecycle", order="iprv" * 4)).text("order") == "iprv" * 4


def test_an_optional_field_may_be_present():
    assert read(line(0, "op", untold=3)).integer("untold") == 3


@pytest.mark.parametrize(
    "part", [{"total": 1 << 20}, {"hex": "00" * 64, "total": 64}, {"hex": "ff", "total": 1}]
)
def test_a_part_has_up_to_64_bytes_and_its_tensor_up_to_a_megabyte(part):
    assert isinstance(read(line(0, "output", **part)), Record)


def test_a_value_that_is_refused_is_shown_by_its_first_forty_characters():
    told = why("ack", of="x" * 100)
    assert told == f"'of' of ack is '{'x' * 40}', not a number from 0 to 4294967295"


@pytest.mark.parametrize(("offset", "good"), [(0, True), (1, False), (4, False)])
def test_a_part_lies_within_its_tensor(offset, good):
    assert isinstance(read(line(0, "output", offset=offset)), Record) is good


def test_a_second_record_on_a_line_is_malformed():
    both = line(0, "ack").decode().rstrip() + line(1, "ack").decode().rstrip()
    assert parse(both) == MalformedRecord("a second record follows it", True, 0, "ack")


def test_the_directions_have_kinds_of_their_own():
    run = encode(0, "run", {"inference": 3})
    assert read(run, TO_DEVICE).integer("inference") == 3
    assert isinstance(read(run), MalformedRecord)
    assert isinstance(read(line(0, "boot"), TO_DEVICE), MalformedRecord)


@given(st.integers(4, 60), st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_record(position, bit):
    good = line(7, "output", hex="80ff1122")
    bad = bytearray(good)
    bad[position % len(good.rstrip())] ^= 1 << bit
    parsed = parse(bytes(bad).decode("utf-8", "backslashreplace").rstrip())
    assert parsed is None or isinstance(parsed, MalformedRecord)


def test_text_without_a_record_gives_none():
    assert parse("an ordinary line") is None


def test_a_record_without_a_console_has_no_line():
    assert read(line(3, "ack")) == Record(3, "ack", {"of": 0}, 0)


def test_a_wrong_crc_hides_number_and_kind():
    assert parse("~HIL 7 ack of=0") == MalformedRecord(
        "it does not have the form of a record", False, 0, ""
    )


def test_wrong_crc_and_wrong_form_have_different_reasons():
    good = line(0, "end").decode().rstrip()
    assert parse(good[:-1] + "g").why == "it does not have the form of a record"
    other = "0" if good[-1] != "0" else "1"
    assert parse(good[:-1] + other).why == "its CRC-32 does not match"


@given(st.binary(min_size=1, max_size=300))
@example(bytes(range(130)))
def test_a_tensor_is_cut_into_records_that_hold_all_of_it(data):
    records = [read(one, TO_DEVICE) for _, one in encode_tensor(5, "input", 2, data)]
    assert b"".join(record.fields["hex"] for record in records) == data
    assert [record.sequence for record in records] == list(range(5, 5 + len(records)))
    offsets = list(range(0, len(data), CHUNK))
    assert [record.integer("offset") for record in records] == offsets
    assert {(r.integer("index"), r.integer("total")) for r in records} == {(2, len(data))}
    assert max(len(one) for _, one in encode_tensor(5, "input", 2, data)) <= 200


@given(st.binary(max_size=100))
def test_empty_lines_fill_whole_blocks(data):
    filled = fill_blocks(data)
    assert len(filled) % 16 == 0
    assert len(filled) - len(data) < 16
    assert filled == b"\n" * (len(filled) - len(data)) + data


def test_a_record_behind_one_that_a_reset_cut_short_is_read_too():
    found = each_in(b"noise ~HIL 3 inference ind" + line(0, "boot") + line(1, "failed"))
    assert [(record.sequence, record.kind) for record in found] == [(0, "boot"), (1, "failed")]


def test_a_line_without_records_has_none():
    assert list(each_in(b"an ordinary line\xff\n")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (line(3, "arena"), True),
        (b"noise " + line(4294967295, "stack"), True),
        (line(3, "ack"), False),
        (line(3, "arena").rstrip(), False),
    ],
)
def test_a_run_may_stop_at_the_end_of_a_line_with_a_record_of_some_kinds(text, found):
    assert bool(re.search(pattern("arena", "stack"), text)) is found


@pytest.mark.parametrize("kind", ["op", "inference"])
def test_without_ticks_two_runs_that_took_other_times_are_the_same(kind):
    one, other = line(3, kind, ticks=17), line(3, kind, ticks=99999)
    assert without_ticks(one) == without_ticks(other) != one
    assert without_ticks(one) != without_ticks(line(4, kind, ticks=17))
    assert without_ticks(line(3, "stack")) == line(3, "stack")
