"""The records of a good image: single ones with all fields, and whole runs, as lines."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from harness.base.findings import Kind
from harness.model import Model
from harness.reference import Interpreter
from harness.uart import Console, encode
from harness.uart.records import ALLOCATIONS

#: A record without its number: kind and fields.
Told = tuple[str, dict[str, Any]]

PART = {"index": 0, "offset": 0, "total": 4, "hex": "00112233"}
#: A good record of each kind; a test changes the fields that it is about.
FIELDS: dict[str, dict[str, Any]] = {
    "boot": {
        "sample": "x", "board": "nrf9160dk/nrf9160", "runtime": "standalone",
        "model_crc32": "00000000", "model_bytes": 1, "build": "0123456789abcdef",
    },
    "resolver": {"name": "exact", "declared": 1, "registered": 1, "refused": 0},
    "tensor": {
        "role": "input", "index": 0, "type": "int8", "shape": "1,4", "scale": "00000000",
        "zero_point": 0,
    },
    "arena": {"declared": 3072, "used": 564},
    "allocation": {"type": "op_data", "requested": 6, "used": 6, "count": 3},
    "failed": {"stage": "allocate", "status": 1},
    "input": {"inference": 0, **PART},
    "output": {"inference": 0, **PART},
    "layer": {"inference": 0, "node": 0, "operator": "FULLY_CONNECTED", **PART},
    "op": {"inference": 0, "node": 0, "operator": "FULLY_CONNECTED", "ticks": 10},
    "inference": {"index": 0, "ticks": 100, "source": "dwt", "hz": 64000000, "status": 0},
    "lifecycle": {
        "operator": "Atan", "init": 1, "prepare": 1, "invoke": 10, "free": 1, "reset": 2,
        "order": "iprvrf",
    },
    "stack": {"name": "main", "size": 4096, "used": 1048},
    "ready": {"input_bytes": 4},
    "ack": {"of": 0},
    "nak": {"of": 0, "reason": "crc"},
    "end": {"inferences": 0, "status": 0},
}  # fmt: skip


def told(kind: str, **fields: object) -> Told:
    """A good record of ``kind`` with some fields of the test's own."""
    return kind, {**FIELDS[kind], **fields}


def line(sequence: int, kind: str, **fields: object) -> bytes:
    """The same as a line."""
    return encode(sequence, *told(kind, **fields))


def lines(records: Iterable[Told], first: int = 0) -> bytes:
    """Records as lines, numbered from ``first``, whatever their fields are."""
    return b"".join(encode(number, *record) for number, record in enumerate(records, first))


def parts(kind: str, inference: int, index: int, data: bytes, **fields: object) -> list[Told]:
    """The records that carry ``data``, 32 bytes each."""
    return [
        (
            kind,
            {
                "inference": inference, **fields, "index": index, "offset": offset,
                "total": len(data), "hex": data[offset : offset + 32].hex(),
            },
        )
        for offset in range(0, len(data), 32)
    ]  # fmt: skip


def set_up(model: Model, **boot: object) -> list[Told]:
    """The records of a good image until its tensors are allocated."""
    needed = len(model.operator_names)
    records = [
        told("boot", model_crc32=f"{model.crc32:08x}", model_bytes=model.size, **boot),
        told("resolver", declared=needed, registered=needed),
    ]
    for role, tensors in (("input", model.inputs), ("output", model.outputs)):
        for index, tensor in enumerate(tensors):
            fields = {
                "role": role, "index": index, "type": tensor.dtype,
                "shape": ",".join(map(str, tensor.shape)),
                "scale": struct.pack(">f", tensor.scale).hex(), "zero_point": tensor.zero_point,
            }  # fmt: skip
            records.append(told("tensor", **fields))
    return [*records, told("arena", declared=65536, used=60000)]


def closing(model: Model, inferences: int) -> list[Told]:
    """The closing records of a good image."""
    counts = {"eval_tensor": len(model.tensors), "node_and_registration": len(model.operators)}
    sizes = {"eval_tensor": 12 * len(model.tensors)}
    allocations = [
        told(
            "allocation", type=name, count=counts.get(name, 1), requested=sizes.get(name, 8),
            used=sizes.get(name, 8),
        )
        for name in ALLOCATIONS
    ]  # fmt: skip
    return [*allocations, told("stack"), told("end", inferences=inferences)]


def answers(model: Model, rows: Sequence[np.ndarray[Any, Any]]) -> list[bytes]:
    """The bytes of the first output for each row of the only input."""
    outputs = Interpreter.from_model(model).invoke_batch([np.stack(rows)])
    return [row.tobytes() for row in np.array(outputs[0])]


def builtin_run(model: Model, rows: Sequence[np.ndarray[Any, Any]]) -> list[Told]:
    """A run of a model with one input and one output that profiles its operators."""
    records = set_up(model)
    for number, (row, output) in enumerate(zip(rows, answers(model, rows), strict=True)):
        records += parts("input", number, 0, row.tobytes())
        records += parts("output", number, 0, output)
        records.append(told("inference", index=number, ticks=1000))
        records += [
            told("op", inference=number, node=one.index, operator=one.name, ticks=10)
            for one in model.operators
        ]
    return [*records, *closing(model, len(rows))]


def fed_run(model: Model, rows: Sequence[np.ndarray[Any, Any]]) -> list[Told]:
    """A run whose inputs come from the host, each row in one record."""
    wanted = rows[0].nbytes
    records = [*set_up(model), told("ready", input_bytes=wanted)]
    for number, output in enumerate(answers(model, rows)):
        records += [told("ack", of=2 * number), told("ack", of=2 * number + 1)]
        records += parts("output", number, 0, output)
        records += [told("inference", index=number), told("ready", input_bytes=wanted)]
    return [*records, told("ack", of=2 * len(rows)), *closing(model, len(rows))]


def console_of(*data: bytes) -> Console:
    """A console at its end, after these bytes."""
    console = Console()
    for chunk in data:
        console.feed(chunk)
    console.finish()
    return console


def kinds(console: Console) -> list[Kind]:
    """The kinds of its findings, in their order."""
    return [finding.kind for finding in console.findings]
