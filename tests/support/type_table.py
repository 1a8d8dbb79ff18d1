"""Which types of which operator were held against the official interpreter, as a table.

    python tests/support/type_table.py

runs the property tests of the kernels and rewrites the table in docs/reference.md from what
agreed there. Its rows are the operators of the registry, so that an untested one shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.model import Model
from harness.reference import Kernels

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reference.md"
BEGIN, END = "<!-- types: begin -->\n", "<!-- types: end -->\n"
#: Where the activations and the weights stand among the inputs, by operator.
_WEIGHTS: dict[str, tuple[int, int | None]] = {
    "BATCH_MATMUL": (0, 1),
    "CONV_2D": (0, 1),
    "DEPTHWISE_CONV_2D": (0, 1),
    "FULLY_CONNECTED": (0, 1),
    "SPLIT": (1, None),
    "SVDF": (0, 1),
    "TRANSPOSE_CONV": (2, 1),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, 1),
}
_SVDF_STATE = 4


def signatures(model: Model) -> set[tuple[str, str]]:
    """(operator, types) of every operator: ``int8 x int4`` with weights, ``int8 -> float32``."""
    found = set()
    for operator in model.operators:
        activation, weights = _WEIGHTS.get(operator.name, (0, None))
        dtype = model.tensors[operator.inputs[activation]].dtype
        text = dtype
        if weights is not None:
            text += f" x {model.tensors[operator.inputs[weights]].dtype}"
        if operator.name == "SVDF":
            text += f", state {model.tensors[operator.inputs[_SVDF_STATE]].dtype}"
        result = model.tensors[operator.outputs[0]].dtype
        if result != dtype:
            text += f" -> {result}"
        found.add((operator.name, text))
    return found


def measured() -> dict[str, set[str]]:
    """Types by operator for which the reference agreed with the official interpreter, in a run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agreed.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
             "tests/unit/reference"],
            cwd=ROOT,
            env={**os.environ, "TFLM_HIL_AGREED": str(file), "TFLM_HIL_CASES": "25"},
            check=True,
            timeout=280,
        )  # fmt: skip
        pairs = json.loads(file.read_text())
    table: dict[str, set[str]] = {name: set() for name in Kernels.default().builtin}
    for operator, types in pairs:
        table[operator].add(types)
    return table


def rendered(table: Mapping[str, Iterable[str]]) -> str:
    """The table as it stands in the document."""
    rows = "".join(
        f"| {name} | {'; '.join(sorted(types)) or 'none'} |\n"
        for name, types in sorted(table.items())
    )
    return f"| operator | types |\n|---|---|\n{rows}"


def written() -> str:
    """The table in the document."""
    return DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}{rendered(measured())}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
