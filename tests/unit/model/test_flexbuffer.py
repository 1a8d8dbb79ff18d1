"""Options of custom operators: numbers of every width, and bytes that are not a map."""

import pytest
from flatbuffers import flexbuffers
from hypothesis import given
from hypothesis import strategies as st

from harness.model.flexbuffer import NoFlexMap, scalars

NUMBERS = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1), st.booleans(), st.floats(width=32, allow_nan=False)
)
NAMES = st.text("abcdefghijk_", min_size=1, max_size=300)


def written(values: dict[str, object]) -> bytes:
    return bytes(flexbuffers.Dumps(values))


@given(st.dictionaries(NAMES, NUMBERS, max_size=12))
def test_a_written_map_is_read(values):
    assert scalars(written(values)) == values


@pytest.mark.parametrize("value", [-1, 127, -128, 32_767, -32_768, 1 << 31, -(1 << 62), 0.1])
def test_a_number_is_read_at_its_own_width_beside_others(value):
    values = {"a": 1, "value": value, "z": True}
    assert scalars(written(values)) == values


def test_indirect_numbers_are_followed():
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("signed")
        builder.IndirectInt(-5)
        builder.Key("unsigned")
        builder.IndirectUInt(200)
        builder.Key("wide")
        builder.IndirectInt(-(1 << 40))
        builder.Key("real")
        builder.IndirectFloat(0.5)
    read = scalars(bytes(builder.Finish()))
    assert read == {"signed": -5, "unsigned": 200, "wide": -(1 << 40), "real": 0.5}


def test_unsigned_numbers_are_not_taken_for_negative_ones():
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in (("byte", 200), ("word", 40_000), ("long", 3_000_000_000)):
            builder.Key(name)
            builder.UInt(value)
    assert scalars(bytes(builder.Finish())) == {"byte": 200, "word": 40_000, "long": 3_000_000_000}


def test_text_and_lists_are_left_out():
    assert scalars(written({"name": "x", "list": [1, 2], "number": 3})) == {"number": 3}


def test_256_entries_are_read_and_one_more_is_refused():
    assert len(scalars(written({f"n{i}": i for i in range(256)}))) == 256
    with pytest.raises(NoFlexMap, match="257 entries"):
        scalars(written({f"n{i}": i for i in range(257)}))


@pytest.mark.parametrize("data", [b"", b"\x01", written([1, 2]), written(5)])
def test_a_value_that_is_not_a_map_is_refused(data):
    with pytest.raises(NoFlexMap):
        scalars(data)


def test_an_offset_out_of_the_buffer_is_refused():
    data = bytearray(written({"a": 1}))
    data[-3] = 250  # where the root's offset stands
    with pytest.raises(NoFlexMap, match="leaves the buffer"):
        scalars(bytes(data))


#: {"a": 5}, the number behind an offset to the buffer's first byte.
INDIRECT = bytes([
    5, ord("a"), 0,  # the number; the key
    1, 3,  # the vector of keys: its length, the offset to the key
    1, 1, 1, 8, 24,  # the map: offset to the keys, their width, its length, the offset, its type
    2, 36, 1,  # the root: its offset, that it is a map, its width
])  # fmt: skip


def test_an_offset_may_point_to_the_first_byte() -> None:
    assert scalars(INDIRECT) == {"a": 5}


@pytest.mark.parametrize("place", [4, 5, 8, 10])
def test_an_offset_before_the_buffer_is_refused(place: int) -> None:
    data = bytearray(INDIRECT)
    data[place] = place + 1
    with pytest.raises(NoFlexMap, match="leaves the buffer"):
        scalars(bytes(data))


def test_a_map_with_its_length_before_the_buffer_is_refused() -> None:
    with pytest.raises(NoFlexMap, match="leaves the buffer"):
        scalars(bytes([0, 0, 0, 0, 3, 37, 1]))  # words of two bytes from the second byte on


def test_a_number_of_64_bits_without_sign_is_read() -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("large")
        builder.UInt((1 << 64) - 1)
    assert scalars(bytes(builder.Finish())) == {"large": (1 << 64) - 1}


@given(st.binary(max_size=80))
def test_garbage_is_a_map_or_is_refused(data):
    try:
        read = scalars(data)
    except NoFlexMap:
        return
    assert all(isinstance(value, int | float) for value in read.values())
