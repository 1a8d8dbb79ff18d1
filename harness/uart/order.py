"""The order of records in one boot (``docs/records.md``, "Order")."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from harness.findings import Finding, Findings, Kind
from harness.uart.store import KIND_NAMES, KIND_NUMBERS, Records

_SET_UP = ("boot", "resolver", "tensor")
#: The last record of an inference, or of the set-up before the first one.
_BETWEEN = ("arena", "inference", "op", "layer")
_CLOSING = ("ack", *_BETWEEN, "failed", "lifecycle", "allocation")

#: For each kind of record, the kinds that may stand right before it in a boot.
MAY_FOLLOW: dict[str, tuple[str, ...]] = {
    "boot": (),
    "resolver": ("boot",),
    "tensor": _SET_UP,
    "arena": _SET_UP,
    "ready": _BETWEEN,
    "ack": ("ready", "ack", "nak"),
    "nak": ("ready", "ack", "nak"),
    "input": (*_BETWEEN, "ack", "input"),
    "output": (*_BETWEEN, "ack", "input", "output"),
    "inference": ("arena", "ack", "input", "output", "layer"),
    "op": ("inference", "op", "layer"),
    "layer": ("ack", "input", "inference", "op", "layer"),
    "failed": (
        "boot", "resolver", *_BETWEEN, "ready", "ack", "nak", "lifecycle",
    ),
    "lifecycle": ("ack", *_BETWEEN, "failed", "lifecycle"),
    "allocation": ("ack", *_BETWEEN, "lifecycle", "allocation"),
    "stack": (*_CLOSING, "stack"),
    "end": (*_CLOSING, "stack"),
}  # fmt: skip

_FORBIDDEN = frozenset(
    (KIND_NUMBERS[before], KIND_NUMBERS[kind])
    for kind, known in MAY_FOLLOW.items()
    for before in KIND_NAMES
    if before not in known
)


def check_order(records: Records, start: int, stop: int, findings: Findings) -> None:
    """Report records of one boot, ``records[start:stop]``, that may not follow the one before."""
    for index in _misplaced(records.kinds, start, stop):
        kind, before = KIND_NAMES[records.kinds[index]], KIND_NAMES[records.kinds[index - 1]]
        name = f"record {records.sequences[index]} ({kind})"
        message = f"{name} may not follow {before}"
        if before == "end":
            message = f"{name} came after the end record"
        findings.add(Finding(Kind.RECORD_UNEXPECTED, message, kind, records.lines[index]))


def _misplaced(kinds: bytearray, start: int, stop: int) -> Iterable[int]:
    for index, pair in enumerate(pairwise(kinds[start:stop]), start + 1):
        if pair in _FORBIDDEN:
            yield index
