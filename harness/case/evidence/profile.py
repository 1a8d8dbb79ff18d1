"""Checks of single operators: their ticks, and their outputs if the image dumps them."""

from __future__ import annotations

from itertools import groupby

from harness.base.findings import Finding, Kind
from harness.case.evidence.inferences import good_inferences
from harness.case.evidence.known import Known, tensor_bytes
from harness.case.evidence.ledger import Ledger
from harness.model import Model


def check_profile(ledger: Ledger, known: Known) -> None:
    """Check that each profile has the model's operators once and in order, with their ticks."""
    _zero_ticks(ledger)
    _sums_of_ticks(ledger)
    if known.model is not None:
        _operators(ledger, known.model)
        _layers(ledger, known.model)
    _all_or_none(ledger, known)


def _zero_ticks(ledger: Ledger) -> None:
    ticks = ledger.numbers("op", "ticks")
    zeros = [number for number, count in enumerate(ticks) if not count]
    if zeros:
        message = f"{len(zeros)} of {len(ticks)} profiled operators took 0 ticks"
        line = ledger.line("op", zeros[0])
        ledger.findings.add(Finding(Kind.ZERO_TICKS, message, "profile", line))


def _sums_of_ticks(ledger: Ledger) -> None:
    """Check that the operators of an inference take no more ticks than the inference."""
    whole = dict(
        zip(ledger.numbers("inference", "index"), ledger.numbers("inference", "ticks"), strict=True)
    )
    sums: dict[int, int] = {}
    inferences = ledger.numbers("op", "inference")
    for inference, ticks in zip(inferences, ledger.numbers("op", "ticks"), strict=True):
        sums[inference] = sums.get(inference, 0) + ticks
    for inference, ticks in sums.items():
        if inference in whole and ticks > whole[inference]:
            message = f"the operators of inference {inference} took {ticks:,} ticks,"
            ledger.contradicts(f"{message} all of it {whole[inference]:,}", "op")


def _operators(ledger: Ledger, model: Model) -> None:
    names = [operator.name for operator in model.operators]
    rows = zip(
        ledger.numbers("op", "inference"), ledger.numbers("op", "node"),
        ledger.texts("op", "operator"), strict=True,
    )  # fmt: skip
    _, *branches = model.subgraphs  # TFLM profiles their operators among those of the main graph
    first = ledger.rows("op").start
    for inference, group in groupby(enumerate(rows, first), key=lambda row: row[1][0]):
        numbers, fields = zip(*group, strict=True)
        _, nodes, operators = zip(*fields, strict=True)
        untold = ledger.records.value("op", "untold", numbers[-1])
        count = len(operators) + (untold if isinstance(untold, int) else 0)
        if nodes != tuple(range(len(nodes))):
            ledger.contradicts(f"the nodes of inference {inference} are not 0, 1, 2, ...", "op")
        elif branches:
            for name in sorted(set(operators) - set(model.operator_names)):
                ledger.contradicts(f"op {name}: the model has no such operator", "op")
        elif list(operators) != names[: len(operators)]:
            wrong = next(n for n, name in enumerate(operators) if [name] != names[n : n + 1])
            model_has = names[wrong] if wrong < len(names) else "none"
            message = f"node {wrong} of inference {inference} is {operators[wrong]},"
            ledger.contradicts(f"{message} the model's is {model_has}", "op")
        elif count != len(names):
            message = f"{count} of {len(names)} operators of inference {inference} were profiled"
            ledger.missing(message, "op")


def _all_or_none(ledger: Ledger, known: Known) -> None:
    """Check that an image that profiles one good inference profiles them all."""
    profiled = set(ledger.numbers("op", "inference"))
    if not profiled and "op" not in known.required:
        return
    good = set(good_inferences(ledger))
    if not ledger.has("end") and good:
        good -= {max(good)}  # the image may have stopped before its last profile
    for inference in sorted(good - profiled):
        ledger.missing(f"inference {inference} has no op records", "op")


def _layers(ledger: Ledger, model: Model) -> None:
    """Check that dumped tensors are outputs of the model's operators and have their sizes."""
    ledger.rows("layer")
    names = ledger.texts("layer", "operator")
    nodes, indices = ledger.numbers("layer", "node"), ledger.numbers("layer", "index")
    totals = ledger.numbers("layer", "total")
    for number, name in enumerate(names):
        node, index = nodes[number], indices[number]
        operator = model.operators[node] if node < len(model.operators) else None
        line = ledger.line("layer", number)
        if operator is None or operator.name != name or index >= len(operator.outputs):
            ledger.contradicts(f"layer {node} ({name}), output {index}: not the model's", "layer",
                               line)  # fmt: skip
        elif totals[number] != tensor_bytes(model.tensors[operator.outputs[index]]):
            message = f"layer {node} ({name}), output {index} has {totals[number]} bytes"
            ledger.contradicts(f"{message}, not the model's number", "layer", line)
