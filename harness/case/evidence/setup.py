"""Checks of the records from boot to AllocateTensors: boot, resolver, tensor, arena."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from harness.case.evidence.known import Known, Measured, tensor_bytes
from harness.case.evidence.ledger import Ledger
from harness.model import Model, Tensor
from harness.uart.records import Value

#: Stages of ``failed`` at which nothing has been allocated.
_BEFORE_ALLOCATION = ("schema", "register", "allocate")


def allocated(ledger: Ledger) -> bool:
    """Whether the image has completed AllocateTensors, according to its records."""
    went_on = any(map(ledger.has, ("arena", "tensor", "inference", "ready")))
    failed = any(record.text("stage") in _BEFORE_ALLOCATION for record in ledger.take("failed"))
    return went_on or not failed


def check_setup(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Check that there is a boot record, and resolver, tensor and arena against model and ELF."""
    if not ledger.take("boot"):
        ledger.missing("no boot record came: nothing says which image ran", "boot")
    _resolver(ledger, known, whole=whole)
    if whole and allocated(ledger) and not ledger.has("arena"):
        ledger.missing("no arena record came, and the image did not fail before it", "arena")
    _tensors(ledger, known, whole=whole)
    _arena(ledger, known, measured)


def _resolver(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("resolver")
    if whole and not records and "resolver" in known.required:
        ledger.missing("no resolver record came", "resolver")
    for record in records:
        declared, registered = record.integer("declared"), record.integer("registered")
        if registered > declared:
            message = f"resolver says {registered} operators are registered in {declared} slots"
            ledger.contradicts(message, "resolver", record.line)
        needed = len(known.model.operator_names) if known.model else 0
        if registered < needed and ledger.has("inference"):
            message = f"resolver says {registered} operators are registered, and {needed} ran"
            ledger.contradicts(message, "resolver", record.line)


def _tensors(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("tensor")
    if known.model is None:
        return
    expected = list(_expected_tensors(known.model))
    for record, (name, fields) in zip(records, expected, strict=False):
        for field, value in fields.items():
            if record.fields[field] != value:
                claimed = _formatted(field, record.fields[field])
                message = f"tensor {name}: the image says {field} {claimed}"
                message = f"{message}, {known.model.name} says {_formatted(field, value)}"
                ledger.contradicts(message, "tensor", record.line)
    for record in records[len(expected) :]:
        message = f"tensor {record.text('role')} {record.integer('index')}: the model has none"
        ledger.unexpected(message, "tensor", record.line)
    complete = ledger.has("arena") or (whole and allocated(ledger))
    if complete and len(records) < len(expected):
        ledger.missing(f"{len(records)} of {len(expected)} tensor records came", "tensor")


def _expected_tensors(model: Model) -> Iterator[tuple[str, dict[str, Value]]]:
    """Yield name and fields of each tensor record of ``model``, inputs first."""
    for role, tensors in (("input", model.inputs), ("output", model.outputs)):
        for index, tensor in enumerate(tensors):
            fields: dict[str, Value] = {
                "role": role, "index": index, "type": tensor.dtype, "shape": tensor.shape,
            }  # fmt: skip
            yield f"{role} {index}", fields | _quantization(tensor)


def _quantization(tensor: Tensor) -> dict[str, Value]:
    if tensor.quantization is not None and len(tensor.quantization.scales) != 1:
        return {}  # TfLiteQuantizationParams has a single scale
    (bits,) = struct.unpack("<I", struct.pack("<f", tensor.scale))
    return {"scale": bits, "zero_point": tensor.zero_point}


def _formatted(field: str, value: Value) -> str:
    """Format the value of a field for a message."""
    if field == "scale" and isinstance(value, int):
        (real,) = struct.unpack("<f", struct.pack("<I", value))
        return f"{real:.9g}"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _arena(ledger: Ledger, known: Known, measured: Measured) -> None:
    given, least = measured.arena_given, measured.arena_least or 0
    if measured.arena_strayed:
        message = f"the inferences wrote {measured.arena_strayed:,} bytes of the arena that were"
        ledger.contradicts(f"{message} not given out", "arena")
    for record in ledger.take("arena"):
        declared, used = record.integer("declared"), record.integer("used")
        if not used or used > declared:
            message = f"arena says {used} of {declared} bytes are used"
            ledger.contradicts(message, "arena", record.line)
        if given is not None and used != given:
            message = f"arena says {used:,} bytes are used, its allocator has given out {given:,}"
            ledger.contradicts(message, "arena", record.line)
        if used < least:
            message = f"arena says {used:,} bytes are used, the inferences need {least:,}:"
            message = f"{message} they left no {declared - used:,} bytes in a row alone"
            ledger.contradicts(message, "arena", record.line)
        largest = _largest_output(known.model)
        if largest is not None and used < largest:
            message = f"arena says {used} bytes are used, one tensor alone takes {largest}"
            ledger.contradicts(message, "arena", record.line)


def _largest_output(model: Model | None) -> int | None:
    """The bytes of the largest tensor that an operator writes: the arena must hold it."""
    if model is None:
        return None
    written = {index for operator in model.operators for index in operator.outputs}
    return max((tensor_bytes(model.tensors[index]) for index in written), default=None)
