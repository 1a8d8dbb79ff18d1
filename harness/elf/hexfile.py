"""Intel HEX, the format that all flash tools read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.base.errors import UsageError

#: Record types.
_DATA, _END, _SEGMENT, _START_SEGMENT, _LINEAR, _START_LINEAR = range(6)
_PER_LINE = 16  # bytes of data in a record

Block = tuple[int, bytes]


def write(blocks: Iterable[Block]) -> str:
    """Intel HEX text of ``(address, data)`` blocks, with extended linear addresses.

    Addresses are 32 bits; a block may cross a 64 KB boundary.
    """
    lines = []
    upper = 0
    for start, data in blocks:
        offset = 0
        while offset < len(data):
            address = start + offset
            if address >> 16 != upper:
                upper = address >> 16
                lines.append(_record(0, _LINEAR, upper.to_bytes(2, "big")))
            room = 0x10000 - (address & 0xFFFF)
            part = data[offset : offset + min(_PER_LINE, room)]
            lines.append(_record(address & 0xFFFF, _DATA, part))
            offset += len(part)
    lines.append(_record(0, _END, b""))
    return "\n".join(lines) + "\n"


def read(text: str, name: str = "hex file") -> list[Block]:
    """The blocks of an Intel HEX text, merged where they touch, in ascending order.

    Raises :class:`UsageError` for a line that is not a record, a wrong checksum, a missing end
    record, or two records that set the same byte differently.
    """
    blocks: list[tuple[int, bytes]] = []
    base = 0
    ended = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if ended:
            raise UsageError(f"{name}:{number}: data after the end record")
        address, kind, data = _parse(line.strip(), f"{name}:{number}")
        if kind == _DATA:
            blocks.append((base + address, data))
        elif kind == _LINEAR:
            base = int.from_bytes(data, "big") << 16
        elif kind == _SEGMENT:
            base = int.from_bytes(data, "big") << 4
        elif kind == _END:
            ended = True
    if not ended:
        raise UsageError(f"{name}: no end record, the file is truncated")
    return merge(blocks, name)


def merge(blocks: Iterable[Block], name: str = "image") -> list[Block]:
    """Blocks in ascending order, joined where they touch or overlap.

    Raises :class:`UsageError` if two blocks set a byte to different values.
    """
    merged: list[tuple[int, bytearray]] = []
    for start, data in sorted((block for block in blocks if block[1]), key=lambda b: b[0]):
        if not merged or start > merged[-1][0] + len(merged[-1][1]):
            merged.append((start, bytearray(data)))
            continue
        first, content = merged[-1]
        overlap = min(first + len(content) - start, len(data))
        if overlap and bytes(content[start - first : start - first + overlap]) != data[:overlap]:
            raise UsageError(f"{name} sets the bytes at 0x{start:08x} twice, to different values")
        content.extend(data[overlap:])
    return [(start, bytes(data)) for start, data in merged]


def differences(wanted: Sequence[Block], present: Sequence[Block]) -> list[int]:
    """The first address of each block of ``wanted`` whose bytes are not in ``present``."""
    return [
        start
        for start, data in wanted
        if not any(
            begin <= start
            and start + len(data) <= begin + len(content)
            and content[start - begin : start - begin + len(data)] == data
            for begin, content in present
        )
    ]


def _record(address: int, kind: int, data: bytes) -> str:
    body = bytes((len(data), address >> 8, address & 0xFF, kind)) + data
    return f":{(body + bytes((-sum(body) & 0xFF,))).hex().upper()}"


def _parse(line: str, where: str) -> tuple[int, int, bytes]:
    if not line.startswith(":"):
        raise UsageError(f"{where}: not an Intel HEX record")
    try:
        body = bytes.fromhex(line[1:])
    except ValueError:
        raise UsageError(f"{where}: not an Intel HEX record") from None
    if len(body) < 5 or len(body) != body[0] + 5:
        raise UsageError(f"{where}: a record of the wrong length")
    if sum(body) & 0xFF:
        raise UsageError(f"{where}: wrong checksum")
    kind = body[3]
    if kind > _START_LINEAR:
        raise UsageError(f"{where}: unknown record type {kind}")
    return int.from_bytes(body[1:3], "big"), kind, body[4:-1]
