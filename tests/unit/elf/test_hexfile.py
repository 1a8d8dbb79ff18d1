"""Intel HEX."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.elf import hexfile

BLOCKS = st.dictionaries(
    st.integers(0, 0xFFFF).map(lambda n: n * 0x400), st.binary(min_size=1, max_size=0x400)
).map(lambda d: sorted(d.items()))


@given(BLOCKS)
def test_a_written_file_is_read_back(blocks):
    assert hexfile.read(hexfile.write(blocks)) == hexfile.merge(blocks)


@pytest.mark.needs("intelhex")
@given(BLOCKS)
def test_intelhex_reads_the_same_bytes(blocks):
    import io

    import intelhex

    other = intelhex.IntelHex()
    other.loadhex(io.StringIO(hexfile.write(blocks)))
    for address, data in blocks:
        assert bytes(other.tobinarray(start=address, size=len(data))) == data


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_as_a_usage_error(text):
    try:
        hexfile.read(text)
    except UsageError:
        return
    assert ":00000001FF" in text.upper()


@given(BLOCKS.filter(bool), st.data())
def test_a_changed_digit_is_noticed(blocks, data):
    text = hexfile.write(blocks)
    places = [i for i, c in enumerate(text) if c in "0123456789ABCDEF"]
    place = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([c for c in "0123456789ABCDEF" if c != text[place]]))
    with pytest.raises(UsageError):
        hexfile.read(text[:place] + other + text[place + 1 :])


def test_a_known_record():
    # Address 0x0000, four bytes; checksum worked out by hand from the format's definition.
    assert hexfile.write([(0, bytes((1, 2, 3, 4)))]) == ":0400000001020304F2\n:00000001FF\n"


def test_data_over_a_64_kb_boundary_gets_a_linear_address():
    lines = hexfile.write([(0xFFFE, bytes(4))]).splitlines()
    assert lines == [":02FFFE00000001", ":020000040001F9", ":020000000000FE", ":00000001FF"]


def test_the_same_byte_set_twice_differently_is_refused():
    with pytest.raises(UsageError, match="twice"):
        hexfile.merge([(0, b"ab"), (1, b"c")])


@pytest.mark.parametrize("text", ["", ":0400000001020304F2\n", "hello", ":00000001FE"])
def test_a_broken_file_is_refused(text):
    with pytest.raises(UsageError):
        hexfile.read(text)
