"""Records: their kinds, their fields, and their text form (``docs/records.md``).

Only this module knows the text form of a record, in both directions.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote, unquote

PREFIX = "~HIL "
#: Most bytes of tensor data in one record: with 128 hex digits a line stays below 200 characters.
CHUNK = 64
#: The block size, in bytes, of consoles that read their input in blocks.
BLOCK = 16
#: Most bytes of a tensor: 1 MiB, four times the RAM of an nRF9160.
LARGEST_TENSOR = 1 << 20
#: The largest unsigned number of 32 bits.
LARGEST = (1 << 32) - 1

#: Characters, besides letters and digits, that are written without %XX.
_SAFE = "_.:,+/@-"
_RECORD = re.compile(
    r"~HIL (?P<sequence>\d{1,10}) (?P<kind>[a-z_]+)(?P<fields>(?: [a-z0-9_]+=[^\s=]*)*) \*"
    r"(?P<crc>[0-9a-f]{8})",
    re.ASCII,
)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,10}")
_WORD = re.compile(r"[0-9a-f]{8}")
_BYTES = re.compile(rf"(?:[0-9a-f]{{2}}){{1,{CHUNK}}}")
_SHAPE = re.compile(r"(?:[0-9]{1,7}(?:,[0-9]{1,7}){0,7})?")

Value = int | str | bytes | tuple[int, ...]


@dataclass(frozen=True)
class Field:
    """A field: ``read`` returns the value of a text, or raises ValueError with the right form."""

    name: str
    type: type
    read: Callable[[str], Value]
    required: bool = True


def _count(name: str, least: int = 0, most: int = LARGEST, *, required: bool = True) -> Field:
    """A decimal number from ``least`` to ``most``, without leading zeros."""

    def read(text: str) -> int:
        if _INTEGER.fullmatch(text) and least <= (value := int(text)) <= most:
            return value
        raise ValueError(f"a number from {least} to {most}")

    return Field(name, int, read, required)


def _signed(name: str) -> Field:
    """A signed decimal number of 32 bits."""
    return _count(name, -(1 << 31), (1 << 31) - 1)


def _word(name: str) -> Field:
    """Eight hex digits, read as a number: a CRC-32, or the bits of a float."""

    def read(text: str) -> int:
        if not _WORD.fullmatch(text):
            raise ValueError("eight lower-case hex digits")
        return int(text, 16)

    return Field(name, int, read)


def _text(name: str) -> Field:
    """Printable text, with ``%XX`` for special characters."""

    def read(text: str) -> str:
        value = unquote(text, errors="backslashreplace") if "%" in text else text
        if not value or not value.isprintable():
            raise ValueError("printable text")
        return sys.intern(value)

    return Field(name, str, read)


def _choice(name: str, *words: str) -> Field:
    known = {word: word for word in words}

    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"one of {', '.join(words)}")
        return known[text]

    return Field(name, str, read)


def _order(name: str) -> Field:
    def read(text: str) -> str:
        if len(text) > 16 or set(text) - set("ipvfr"):
            raise ValueError("letters of i, p, v, f, r")
        return sys.intern(text)

    return Field(name, str, read)


def _shape(name: str) -> Field:
    """Numbers separated by commas; empty for a scalar."""

    def read(text: str) -> tuple[int, ...]:
        if not _SHAPE.fullmatch(text):
            raise ValueError("up to eight sizes, separated by commas")
        return tuple(map(int, text.split(","))) if text else ()

    return Field(name, tuple, read)


def _bytes(name: str) -> Field:
    def read(text: str) -> bytes:
        if not _BYTES.fullmatch(text):
            raise ValueError(f"1 to {CHUNK} bytes in lower-case hex digits")
        return bytes.fromhex(text)

    return Field(name, bytes, read)


Kinds = Mapping[str, Mapping[str, Field]]


def _kinds(**kinds: tuple[Field, ...]) -> Kinds:
    return {kind: {field.name: field for field in fields} for kind, fields in kinds.items()}


#: The fields of a part of a tensor.
_PART = (
    _count("index"),
    _count("offset"),
    _count("total", 1, LARGEST_TENSOR),
    _bytes("hex"),
)
#: The fields that identify an operator of an inference.
_OPERATOR = (_count("inference"), _count("node"), _text("operator"))
#: The purposes of allocations, in the order of the records.
ALLOCATIONS = (
    "eval_tensor", "persistent_tensor", "persistent_quantization", "persistent_buffer",
    "variable_buffer", "node_and_registration", "op_data",
)  # fmt: skip
STAGES = ("schema", "register", "allocate", "input", "invoke")

#: Records that an image sends.
FROM_DEVICE = _kinds(
    boot=(
        _text("sample"), _text("board"), _choice("runtime", "tflm", "standalone"),
        _word("model_crc32"), _count("model_bytes"), _text("build"),
    ),
    resolver=(_text("name"), _count("declared"), _count("registered"), _count("refused")),
    tensor=(
        _choice("role", "input", "output"), _count("index"), _text("type"), _shape("shape"),
        _word("scale"), _signed("zero_point"),
    ),
    arena=(_count("declared"), _count("used")),
    allocation=(
        _choice("type", *ALLOCATIONS), _count("requested"), _count("used"), _count("count"),
    ),
    failed=(_choice("stage", *STAGES), _signed("status")),
    input=(_count("inference"), *_PART),
    output=(_count("inference"), *_PART),
    layer=(*_OPERATOR, *_PART),
    op=(*_OPERATOR, _count("ticks"), _count("untold", 1, required=False)),
    inference=(
        _count("index"), _count("ticks"), _choice("source", "dwt", "systick"), _count("hz"),
        _signed("status"),
    ),
    lifecycle=(
        _text("operator"), _count("init"), _count("prepare"), _count("invoke"), _count("free"),
        _count("reset"), _order("order"),
    ),
    stack=(_text("name"), _count("size"), _count("used")),
    ready=(_count("input_bytes"),),
    ack=(_count("of"),),
    nak=(_count("of"), _choice("reason", "crc", "format", "sequence", "range", "kind")),
    end=(_count("inferences"), _signed("status")),
)  # fmt: skip

#: Records that the host sends.
TO_DEVICE = _kinds(input=_PART, run=(_count("inference"),), done=())

#: Kinds of records with a part of a tensor.
PARTS = ("input", "output", "layer")


@dataclass(frozen=True, slots=True)
class Record:
    """One record; ``fields`` have the types of the table, ``line`` is its console line.

    ``time`` is the time of the line's end, in seconds on the target's clock.
    """

    sequence: int
    kind: str
    fields: Mapping[str, Value]
    line: int = 0
    time: float = 0.0

    def integer(self, name: str) -> int:
        """The value of a field of numbers."""
        return cast("int", self.fields[name])

    def text(self, name: str) -> str:
        """The value of a field of text."""
        return cast("str", self.fields[name])


def encode(sequence: int, kind: str, fields: Mapping[str, object]) -> bytes:
    """A record as a line, ready to be sent."""
    words = "".join(f" {key}={quote(str(value), safe=_SAFE)}" for key, value in fields.items())
    body = f"{PREFIX}{sequence} {kind}{words}"
    return f"{body} *{zlib.crc32(body.encode('ascii')):08x}\r\n".encode("ascii")


def fill_blocks(line: bytes) -> bytes:
    """``line`` after empty lines that fill it up to whole blocks of :data:`BLOCK` bytes."""
    return b"\n" * (-len(line) % BLOCK) + line


def encode_tensor(sequence: int, kind: str, index: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """``(sequence, line)`` of the records for ``data``, with :data:`CHUNK` bytes each."""
    for offset in range(0, len(data), CHUNK):
        part = data[offset : offset + CHUNK].hex()
        fields = {"index": index, "offset": offset, "total": len(data), "hex": part}
        yield sequence, encode(sequence, kind, fields)
        sequence += 1


@dataclass(frozen=True)
class MalformedRecord:
    """A line that begins like a record but cannot be read as one. ``sound``: its CRC is right."""

    why: str
    sound: bool = False
    sequence: int = 0
    kind: str = ""


def pattern(*kinds: str) -> bytes:
    """A bytes regex of a line with a record of one of ``kinds``, at which a run can stop."""
    return rf"{PREFIX}\d{{1,10}} (?:{'|'.join(kinds)}) [^\n]{{0,300}}\n".encode()


#: The beginning of the first record of every boot.
BOOT = f"{PREFIX}0 boot ".encode()

_TICKS = re.compile(
    rb"(~HIL \d{1,10} (?:inference|op) [^*\r\n]{0,160}?ticks=)\d{1,10}([^*\r\n]{0,160}?)"
    rb" \*[0-9a-f]{8}"
)


def without_ticks(console: bytes) -> bytes:
    """A console without the measured ticks of its records and the CRC-32 that depend on them."""
    return _TICKS.sub(rb"\1-\2", console)


def parse(
    text: str, kinds: Kinds = FROM_DEVICE, line: int = 0, time: float = 0.0
) -> Record | MalformedRecord | None:
    """The record in a line, the reason why it cannot be read, or None if there is no record.

    ``line`` is the number of the line, ``time`` that of its end.
    """
    start = text.find(PREFIX)
    if start < 0:
        return None
    match = _RECORD.match(text, start)
    if match is None:
        return MalformedRecord("it does not have the form of a record")
    body = text[start : match.end("fields")]
    if zlib.crc32(body.encode("utf-8", "surrogateescape")) != int(match["crc"], 16):
        return MalformedRecord("its CRC-32 does not match")
    sequence, kind = int(match["sequence"]), match["kind"]
    try:
        fields = _fields(kind, match["fields"], kinds)
    except ValueError as error:
        return MalformedRecord(str(error), sound=True, sequence=sequence, kind=kind)
    if PREFIX in text[match.end() :]:
        return MalformedRecord(
            "a second record follows it", sound=True, sequence=sequence, kind=kind
        )
    return Record(sequence, sys.intern(kind), fields, line, time)


def each_in(line: bytes) -> Iterator[Record]:
    """The readable records of a line, also those after one that a reset cut short."""
    _, *texts = line.decode("utf-8", "surrogateescape").split(PREFIX)
    for text in texts:
        record = parse(PREFIX + text)
        if isinstance(record, Record):
            yield record


def _fields(kind: str, words: str, kinds: Kinds) -> dict[str, Value]:
    """The typed fields of one record; ValueError has the reason why they cannot be read."""
    known = kinds.get(kind)
    if known is None:
        raise ValueError(f"there is no record {kind!r}")
    fields: dict[str, Value] = {}
    for word in words.split():
        name, _, text = word.partition("=")
        field = known.get(name)
        if field is None:
            raise ValueError(f"{kind} has no field {name!r}")
        if name in fields:
            raise ValueError(f"{kind} has {name!r} twice")
        try:
            fields[name] = field.read(text)
        except ValueError as error:
            raise ValueError(f"{name!r} of {kind} is {text[:40]!r}, not {error}") from None
    if len(fields) < len(known):
        for name, field in known.items():
            if field.required and name not in fields:
                raise ValueError(f"{kind} has no {name!r}")
    if kind in PARTS:
        end = cast("int", fields["offset"]) + len(cast("bytes", fields["hex"]))
        if end > cast("int", fields["total"]):
            raise ValueError(f"this part of {kind} is outside its tensor")
    return fields
