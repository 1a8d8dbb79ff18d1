"""Runs of hello_world, good and spoilt, and what is found in them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from device import Told, builtin_run, fed_run, lines

from harness.base import paths
from harness.base.findings import Finding, Kind
from harness.case.case import Case
from harness.case.evidence import Known, Measured, check_evidence, known_of
from harness.model import Model
from harness.uart import Console

MODEL = Model.from_file(paths.models() / "hello_world_int8.tflite")
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]
BYTES = [[row.tobytes()] for row in ROWS]
BUILTIN = builtin_run(MODEL, ROWS)
FED = fed_run(MODEL, ROWS)

OWN = known_of(Case("own"), None, MODEL, ())
HOST = replace(OWN, inputs=BYTES, fed=True, inferences=3)
TABLE = replace(
    OWN,
    inputs=BYTES,
    inferences=3,
    required=frozenset(("resolver", "stack", "end", "input", "op", "allocation")),
    lifecycles=frozenset(),
)
UNMEASURED = Measured()
SENT = Measured(sent=[1] * 7)


def console_of(records: Sequence[Told]) -> Console:
    console = Console()
    console.feed(lines(records))
    console.finish()
    return console


def found(
    records: Sequence[Told], known: Known = TABLE, measured: Measured = UNMEASURED
) -> list[Finding]:
    console = console_of(records)
    return [*console.findings, *check_evidence(console, known, measured)]


def kinds(*arguments: object) -> set[Kind]:
    return {finding.kind for finding in found(*arguments)}


def messages(*arguments: object) -> list[str]:
    return [finding.message for finding in found(*arguments)]


def with_field(records: Sequence[Told], kind: str, field: str, value: object, nth: int = 0):
    """The records with one field of the ``nth`` record of ``kind`` changed."""
    changed = copy.deepcopy(list(records))
    at = [n for n, one in enumerate(changed) if one[0] == kind][nth]
    changed[at][1][field] = value
    return changed


def without(records: Sequence[Told], kind: str) -> list[Told]:
    return [one for one in records if one[0] != kind]
