"""The order of records in one boot (``docs/records.md``, "Order")."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from harness.findings import Finding, Findings, Kind
from harness.uart.store import KIND_NAMES, KIND_NUMBERS, Records

_SET_UP = ("boot", "resolver", "tensor")
#: What an inference may end with, and set-up where the next inference begins.
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


def check_order(records: Records, start: int, stop: int, found: Findings) -> None:
    """Find records among ``records[start:stop]``, one boot, that may not stand where they do."""
    for at in _misplaced(records.kinds, start, stop):
        kind, before = KIND_NAMES[records.kinds[at]], KIND_NAMES[records.kinds[at - 1]]
        name = f"record {records.sequences[at]} ({kind})"
        message = f"{name} may not follow {before}"
        if before == "end":
            message = f"{name} came after the end record"
        found.add(Finding(Kind.RECORD_UNEXPECTED, message, kind, records.lines[at]))


def _misplaced(kinds: bytearray, start: int, stop: int) -> Iterable[int]:
    for at, pair in enumerate(pairwise(kinds[start:stop]), start + 1):
        if pair in _FORBIDDEN:
            yield at
