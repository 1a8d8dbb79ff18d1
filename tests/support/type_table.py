"""The types of each operator that were compared with the official interpreters, with counts.

    python tests/support/type_table.py [cases] [tests ...]

runs the property tests of the kernels (those of some files only, where they are named) and rewrites
the table in docs/reference.md from what agreed there; rows that a run of some files has fewer cases
of stay. The rows are the operators of the registry, so that an untested one shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.model import Model, Subgraph
from harness.reference import Kernels

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reference.md"
BEGIN, END = "<!-- types: begin -->\n", "<!-- types: end -->\n"
#: (operator, types, oracle) -> cases
Agreed = Counter[tuple[str, str, str]]
#: Where the activations and the weights stand among the inputs, by operator.
_WEIGHTS: dict[str, tuple[int, int | None]] = {
    "ASSIGN_VARIABLE": (1, None),
    "BATCH_MATMUL": (0, 1),
    "CONV_2D": (0, 1),
    "DEPTHWISE_CONV_2D": (0, 1),
    "FULLY_CONNECTED": (0, 1),
    "IF": (1, None),
    "SPLIT": (1, None),
    "SVDF": (0, 1),
    "TRANSPOSE_CONV": (2, 1),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, 1),
}
_SVDF_STATE = 4


#: Operators that no official interpreter has, and why they are right.
NO_ORACLE = {"Atan": "the samples' own operator, equal to their C++ kernel in their suites"}
#: Operators without inputs, and those whose input is a handle: the type is their output's.
_BY_OUTPUT = {"CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"}


def signatures(model: Model) -> set[tuple[str, str]]:
    """(operator, types) of every operator: ``int8 x int4`` with weights, ``int8 -> float32``."""
    return {
        (operator.name, _types(graph, operator.name, operator.inputs, operator.outputs))
        for graph in model.subgraphs
        for operator in graph.operators
    }


def _types(graph: Subgraph, name: str, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> str:
    results = [graph.tensors[index].dtype for index in outputs[:1]]
    if name in _BY_OUTPUT:
        return results[0] if results else "no tensor"
    activation, weights = _WEIGHTS.get(name, (0, None))
    dtype = graph.tensors[inputs[activation]].dtype
    text = dtype
    if weights is not None:
        text += f" x {graph.tensors[inputs[weights]].dtype}"
    if name == "SVDF":
        text += f", state {graph.tensors[inputs[_SVDF_STATE]].dtype}"
    return text if results in ([], [dtype]) else f"{text} -> {results[0]}"


def measured(cases: str, tests: Sequence[str]) -> Agreed:
    """What the reference agreed on with each oracle, in a run of the property tests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agreed"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2",
             "--timeout=0", *(tests or ["tests/unit/reference"])],
            cwd=ROOT,
            env={**os.environ, "TFLM_HIL_AGREED": str(file), "TFLM_HIL_CASES": cases},
            check=True,
        )  # fmt: skip
        table: Agreed = Counter()
        for part in Path(folder).iterdir():
            table.update({tuple(key): count for *key, count in json.loads(part.read_text())})
    return table


def rendered(table: Mapping[tuple[str, str, str], int], operators: Iterable[str]) -> str:
    """The table as it stands in the document: each operator's types with the cases of both."""
    rows = ["| operator | types | tflite-micro | LiteRT |\n|---|---|---|---|\n"]
    pairs = {(operator, types) for operator, types, _ in table}
    tested = {operator for operator, _ in pairs}
    pairs |= {(name, NO_ORACLE.get(name, "none")) for name in set(operators) - tested}
    for operator, types in sorted(pairs):
        counts = (table.get((operator, types, kind), 0) for kind in ("tflm", "litert"))
        rows.append(f"| {operator} | {types} | {' | '.join(map(str, counts))} |\n")
    return "".join(rows)


def written() -> str:
    """The table in the document."""
    return DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]


def recorded() -> Agreed:
    """The table in the document as numbers."""
    table: Agreed = Counter()
    for row in written().splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 4 and cells[2].isdigit() and cells[0] not in NO_ORACLE:
            table[cells[0], cells[1], "tflm"] = int(cells[2])
            table[cells[0], cells[1], "litert"] = int(cells[3])
    return table


def main() -> None:
    head, _, rest = DOCUMENT.read_text().partition(BEGIN)
    kernels = Kernels.default()
    operators = {*kernels.builtin, *kernels.custom}
    cases, *tests = sys.argv[1:] or ["500"]
    counts = measured(cases, tests)
    if tests:  # which may have fewer cases of an operator that other files test
        counts = recorded() | counts
    table = rendered(counts, operators)
    DOCUMENT.write_text(f"{head}{BEGIN}{table}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
