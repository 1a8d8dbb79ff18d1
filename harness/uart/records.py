"""Records: the line protocol of ``docs/records.md``, both directions."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from harness.findings import Finding, Kind
from harness.uart.lines import Line

PREFIX = "~HIL "
#: Bytes of tensor data in one record to the device: 128 hex digits, and the line stays below 200.
CHUNK = 64
#: A console may take its input in blocks of so many bytes.
BLOCK = 16
#: Tensors larger than this are not believed: the nRF9160 has 256 KB of RAM.
LARGEST_TENSOR = 1 << 20

_SAFE = "_.:,+/@-"
_RECORD = re.compile(
    r"~HIL (?P<sequence>\d{1,10}) (?P<kind>[a-z_]+)(?P<fields>(?: [a-z0-9_]+=[^\s=]*)*) \*"
    r"(?P<crc>[0-9a-f]{8})"
)


@dataclass(frozen=True)
class Record:
    """One record as it was sent; ``fields`` are decoded text."""

    sequence: int
    kind: str
    fields: Mapping[str, str]
    line: int = 0
    time: float = 0.0

    def integer(self, name: str) -> int:
        """A decimal field; 0 where it is missing or not a number is never assumed.

        Raises ValueError naming the record and the field.
        """
        try:
            return int(self.fields[name])
        except (KeyError, ValueError):
            raise ValueError(
                f"record {self.sequence} ({self.kind}) has no number {name!r}"
            ) from None


def encode(sequence: int, kind: str, fields: Mapping[str, object]) -> bytes:
    """A record as a line, ready to be sent."""
    words = "".join(f" {key}={quote(str(value), safe=_SAFE)}" for key, value in fields.items())
    body = f"{PREFIX}{sequence} {kind}{words}"
    return f"{body} *{zlib.crc32(body.encode('ascii')):08x}\r\n".encode("ascii")


def fill_blocks(line: bytes) -> bytes:
    """``line`` behind as many empty lines as make whole blocks of :data:`BLOCK` bytes."""
    return b"\n" * (-len(line) % BLOCK) + line


def encode_tensor(sequence: int, kind: str, index: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """``(sequence, line)`` of each record that carries ``data``, :data:`CHUNK` bytes a line."""
    for offset in range(0, len(data), CHUNK):
        part = data[offset : offset + CHUNK].hex()
        fields = {"index": index, "offset": offset, "total": len(data), "hex": part}
        yield sequence, encode(sequence, kind, fields)
        sequence += 1


def parse(text: str) -> Record | str | None:
    """The record in a line: a Record, the reason why it cannot be read, or None for no record."""
    start = text.find(PREFIX)
    if start < 0:
        return None
    match = _RECORD.match(text, start)
    if match is None:
        return "it does not have the form of a record"
    body = text[start : match.end("fields")]
    if zlib.crc32(body.encode("utf-8", "surrogateescape")) != int(match["crc"], 16):
        return "its CRC-32 does not match"
    words = (word.split("=", 1) for word in match["fields"].split())
    fields = {key: unquote(value, errors="backslashreplace") for key, value in words}
    return Record(int(match["sequence"]), match["kind"], fields)


class RecordReader:
    """Reads records out of lines and notices what is garbled, lost or repeated."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.findings: list[Finding] = []
        self._expected = 0
        self._garbled = 0  # garbled records since the last good one: they took numbers, too
        self._boot: dict[int, Record] = {}  # the records of the boot that is running

    def feed(self, line: Line) -> Record | None:
        """The new record in ``line``, if there is a good one."""
        parsed = parse(line.text)
        if parsed is None:
            return None
        if isinstance(parsed, str):
            message = f"a record on line {line.number} is garbled: {parsed}"
            self.findings.append(Finding(Kind.RECORD_GARBLED, message, line=line.number))
            self._garbled += 1
            return None
        record = Record(parsed.sequence, parsed.kind, parsed.fields, line.number, line.time)
        return self._accept(record)

    def _accept(self, record: Record) -> Record | None:
        earlier = self._boot.get(record.sequence)
        if record.kind == "boot" and record.sequence == 0:
            self._new_boot()
        elif earlier is not None:
            if (earlier.kind, earlier.fields) == (record.kind, record.fields):
                message = f"record {record.sequence} ({record.kind}) came twice"
                self.findings.append(Finding(Kind.RECORD_REPEATED, message, line=record.line))
                return None
            self._new_boot()  # the count began again and the boot record itself was lost
        self._report_lost(record)
        self._expected = record.sequence + 1
        self._garbled = 0
        self._boot[record.sequence] = record
        self.records.append(record)
        return record

    def _new_boot(self) -> None:
        self._boot = {}
        self._expected = self._garbled = 0

    def _report_lost(self, record: Record) -> None:
        first, last = self._expected, record.sequence - 1
        if last - first + 1 <= self._garbled:
            return
        which = f"record {first}" if first == last else f"records {first} to {last}"
        garbled = f", {self._garbled} of them garbled" if self._garbled else ""
        message = f"{which} did not arrive{garbled}"
        self.findings.append(Finding(Kind.RECORD_LOST, message, line=record.line))


@dataclass(frozen=True)
class TensorKey:
    """Which tensor of which inference: ``kind`` is input, output or layer."""

    kind: str
    inference: int
    index: int
    node: int = -1


class TensorAssembler:
    """Joins the parts of tensors; what does not cover its tensor becomes a finding at the end."""

    def __init__(self) -> None:
        self.complete: dict[TensorKey, bytes] = {}
        self._parts: dict[TensorKey, tuple[int, dict[int, bytes]]] = {}
        self.findings: list[Finding] = []

    def feed(self, record: Record) -> None:
        """Take the part of a tensor that ``record`` carries, if it carries one."""
        if record.kind not in ("input", "output", "layer"):
            return
        try:
            node = record.integer("node") if record.kind == "layer" else -1
            key = TensorKey(record.kind, record.integer("inference"), record.integer("index"), node)
            offset, total = record.integer("offset"), record.integer("total")
            data = bytes.fromhex(record.fields.get("hex", ""))
            if not 0 < total <= LARGEST_TENSOR or not data or offset + len(data) > total:
                raise ValueError(f"record {record.sequence} is outside its tensor")
        except ValueError as error:
            self.findings.append(Finding(Kind.RECORD_GARBLED, str(error), line=record.line))
            return
        size, parts = self._parts.setdefault(key, (total, {}))
        parts[offset] = data
        if size == total and sum(map(len, parts.values())) >= total:
            self._join(key, total, parts)

    def _join(self, key: TensorKey, total: int, parts: dict[int, bytes]) -> None:
        tensor = bytearray()
        for offset in sorted(parts):
            if offset != len(tensor):
                return  # a gap or an overlap: reported by finish()
            tensor += parts[offset]
        if len(tensor) == total:
            self.complete[key] = bytes(tensor)
            del self._parts[key]

    def finish(self) -> list[Finding]:
        """Findings about tensors that never became whole."""
        for key, (total, parts) in self._parts.items():
            have = sum(map(len, parts.values()))
            message = (
                f"{key.kind} {key.index} of inference {key.inference}: {have} of {total} bytes"
            )
            self.findings.append(Finding(Kind.RECORD_TRUNCATED, message))
        self._parts.clear()
        return self.findings
