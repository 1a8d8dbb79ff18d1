"""Bounds-checked access to a FlatBuffer: the last valid byte and the first invalid one."""

from __future__ import annotations

import struct

import pytest

from harness.model.flatbuffer import Buffer, FlatTable, Malformed


def table(*fields: bytes, behind: bytes = b"") -> FlatTable:
    """A table of fields of four bytes each; ``behind`` follows them."""
    size = 4 + 2 * len(fields)
    offsets = [4 + 4 * index if field else 0 for index, field in enumerate(fields)]
    vtable = struct.pack(f"<HH{len(fields)}H", size, 4 + 4 * len(fields), *offsets)
    padding = bytes(-len(vtable) % 4)
    body = struct.pack("<i", len(vtable + padding)) + b"".join(f or bytes(4) for f in fields)
    return FlatTable(Buffer(vtable + padding + body + behind), len(vtable + padding))


def word(number: int) -> bytes:
    return struct.pack("<I", number)


def test_a_number_is_read_up_to_the_last_byte() -> None:
    assert Buffer(b"\0\0\0\0\7\0\0\0").scalar("uint32", 4) == 7
    with pytest.raises(Malformed, match="offset 5 is outside the file"):
        Buffer(bytes(8)).scalar("uint32", 5)


def test_an_offset_points_up_to_the_last_byte() -> None:
    assert Buffer(word(4) + b"x").follow(0) == 4
    with pytest.raises(Malformed, match="the offset at 0 points outside the file"):
        Buffer(word(5) + b"x").follow(0)


def test_a_vector_ends_with_the_file_at_the_latest() -> None:
    assert Buffer(word(2) + bytes(4)).span(0, 2) == (4, 2)
    with pytest.raises(Malformed, match="the vector at 0 has 3 elements, which exceed the file"):
        Buffer(word(3) + bytes(4)).span(0, 2)


@pytest.mark.parametrize(
    ("read", "width"),
    [
        (lambda one: one.raw(0), 1),
        (lambda one: one.text(0), 1),
        (lambda one: one.vector(0, "int16"), 2),
        (lambda one: list(one.tables(0)), 4),
    ],
)
def test_a_field_that_is_a_vector_ends_with_the_file_at_the_latest(read, width: int) -> None:
    with pytest.raises(Malformed, match="has 3 elements, which exceed the file"):
        read(table(word(4), behind=word(3) + bytes(3 * width - 1)))


def test_a_file_holds_sixteen_elements_a_byte_and_65536() -> None:
    most = 16 * 100 + 65536
    Buffer(bytes(100)).spend(most)
    with pytest.raises(Malformed, match="overlap"):
        Buffer(bytes(100)).spend(most + 1)


def left(buffer: Buffer, data: int) -> int:
    """How many elements may still be read of a file of ``data`` bytes."""
    count = 16 * data + 65536
    while True:
        try:
            buffer.spend(count)
        except Malformed:
            buffer.spend(-count)
            count -= 1
        else:
            return count


@pytest.mark.parametrize(
    ("read", "elements"),
    [
        (lambda one: one.scalar(0, "uint32"), 1),
        (lambda one: one.scalar(9, "uint32"), 1),
        (lambda one: one.table(1), 1),
        (lambda one: one.raw(0), 1),
        (lambda one: one.text(0), 1 + 3),
        (lambda one: one.vector(0, "uint8"), 1 + 3),
        (lambda one: list(one.tables(1)), 1 + 1),
    ],
)
def test_reads_are_counted(read, elements: int) -> None:
    one = table(word(8), word(8), behind=word(3) + word(1) + bytes(8))
    size = len(one.buffer.data)
    read(one)
    assert left(one.buffer, size) == 16 * size + 65536 - elements


def test_a_field_that_is_absent_has_its_default() -> None:
    one = table(word(7), b"")
    assert one.scalar(0, "uint32", 5) == 7
    for slot in (1, 2, 99):
        assert one.scalar(slot, "uint32", 5) == 5
        assert one.scalar(slot, "uint32") == 0
        assert one.table(slot) is None
        assert one.raw(slot) is None
        assert one.text(slot) == ""
        assert one.vector(slot, "int32") is None
        assert list(one.tables(slot)) == []


def test_a_table_without_fields_has_defaults_only() -> None:
    assert FlatTable.empty().scalar(0, "int8", 3) == 3


def test_a_vtable_before_the_file_is_refused() -> None:
    one = FlatTable(Buffer(struct.pack("<ii", 0, 5)), 4)
    with pytest.raises(Malformed, match="the vtable of the table at 4 is outside the file"):
        one.scalar(0, "int8")


def test_text_that_is_not_utf8_is_shown_escaped() -> None:
    one = table(word(4), behind=word(2) + b"a\xff")
    assert one.text(0) == "a\\xff"


def test_vectors_are_read_by_the_width_of_their_elements() -> None:
    one = table(word(4), behind=word(2) + struct.pack("<hh", -1, 300))
    assert one.vector(0, "int16") == (-1, 300)
    assert bytes(one.raw(0)) == b"\xff\xff"
