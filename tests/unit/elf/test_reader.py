"""The ELF's tables as pyelftools reads them; contents that do not decompress."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from elf_writer import MadeSection, write_elf
from elftools.elf.elffile import ELFFile

from harness.base.errors import BadElf
from harness.elf import Image, reader
from harness.elf.reader import RawSection

ZLIB, ZSTD = 1, 2


def test_tables_are_those_that_pyelftools_reads(debuggable):
    data = debuggable.read_bytes()
    mine, theirs = reader.read(data, "x.elf"), ELFFile(io.BytesIO(data))
    assert (mine.entry, mine.type_name) == (theirs["e_entry"], theirs["e_type"])
    assert [(s.name, s.flags, s.address, s.offset, s.size) for s in mine.sections] == [
        (s.name, s["sh_flags"], s["sh_addr"], s["sh_offset"], s["sh_size"])
        for s in theirs.iter_sections()
    ]
    assert [(s.offset, s.address, s.load_address, s.stored, s.size) for s in mine.segments] == [
        tuple(s[f"p_{name}"] for name in ("offset", "vaddr", "paddr", "filesz", "memsz"))
        for s in theirs.iter_segments("PT_LOAD")
    ]


def test_contents_are_those_that_pyelftools_reads(debuggable):
    data = debuggable.read_bytes()
    theirs = {s.name: s.data() for s in ELFFile(io.BytesIO(data)).iter_sections()}
    for section in reader.read(data, "x.elf").sections:
        if section.type not in (reader.SHT_NULL, reader.SHT_NOBITS):
            assert reader.contents(section, data, "x.elf") == theirs[section.name]


def test_symbols_are_those_that_pyelftools_reads(debuggable):
    data = debuggable.read_bytes()
    table = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab")
    theirs = [(s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols() if s.name]
    mine = reader.symbols(reader.read(data, "x.elf").sections, data, "x.elf")
    assert [(s.name, s.value, s.size) for s in mine] == theirs


def compressed(kind: int, size: int, stored: bytes) -> bytes:
    """Elf32_Chdr and what follows it."""
    return struct.pack("<III", kind, size, 1) + stored


def contents(data: bytes, name: str = ".debug_info", flags: int = reader.SHF_COMPRESSED) -> bytes:
    return reader.contents(RawSection(name, 1, flags, 0, 0, len(data), 0), data, "x.elf")


@pytest.mark.parametrize("text", [b"", b"debug information"])
def test_both_forms_of_compression_are_read(text):
    stored = zlib.compress(text)
    assert contents(compressed(ZLIB, len(text), stored)) == text
    older = b"ZLIB" + len(text).to_bytes(8, "big") + stored
    assert contents(older, ".zdebug_info", 0) == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (compressed(ZSTD, 4, b"1234"), "compression type 2 is unknown"),
        (compressed(ZLIB, 4, b"1234"), "incorrect header check"),
        (compressed(ZLIB, 9, zlib.compress(b"1234")), "4 bytes of 9"),
        (compressed(ZLIB, 1 << 31, zlib.compress(b"1234")), "2147483648 bytes uncompressed"),
        (b"\1\0\0\0", "is cut off"),
    ],
)
def test_contents_that_do_not_decompress_are_a_bad_elf(data, message):
    with pytest.raises(BadElf, match=message):
        contents(data)


def spoilt(offset: int, form: str, value: int) -> bytes:
    """A small ELF with one field of its header replaced."""
    data = bytearray(write_elf([MadeSection(".text", 0, bytes(64), load=0, executable=True)], []))
    struct.pack_into(form, data, offset, value)
    return bytes(data)


def test_section_names_must_lie_in_a_section():
    with pytest.raises(BadElf, match="section 77 with its names is missing"):
        reader.read(spoilt(50, "<H", 77), "x.elf")


def test_an_elf_without_sections_has_its_segments(tmp_path):
    (tmp_path / "x.elf").write_bytes(spoilt(32, "<I", 0))
    image = Image.from_elf(tmp_path / "x.elf")
    assert (image.sections, image.symbols) == ((), ())
    assert len(image.segments) == 1
