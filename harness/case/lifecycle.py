"""The runtime's calls of a custom operator's methods: number, order, and the rules for both.

TensorFlow documents the rules ("Custom operators", and the reference of ``TfLiteRegistration``):
init is called once for each node of the graph, free once for each init, prepare before the first
invoke, and invoke once for each node in each inference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import CheckFailed
from harness.base.hints import NO_HINT, Hint
from harness.model import Model
from harness.uart import Console

METHODS = ("init", "prepare", "invoke", "free", "reset")

#: Valid orders: inits, prepares, then resets and invokes in any order, then frees. reset is a fifth
#: method of tflite-micro, which also calls it at the end of AllocateTensors().
_ORDER = re.compile("i(pr?(vr?)*)?f")


@dataclass(frozen=True)
class Lifecycle:
    """The calls that one operator's kernel counted in one run.

    ``order`` has a letter for each call (init, prepare, in``v``oke, free, reset), one for several
    equal calls in a row. ``inferences`` is the number of completed inferences.
    """

    operator: str
    calls: dict[str, int]
    order: str
    inferences: int

    def violations(self, nodes: int) -> Iterator[str]:
        """Yield each violation of the rules for a graph with ``nodes`` nodes of this operator."""
        expected = {"init": nodes, "free": nodes, "invoke": nodes * self.inferences}
        if self.inferences or self.calls["prepare"] > nodes:
            expected["prepare"] = nodes
        for method, count in expected.items():
            if self.calls[method] != count:
                yield f"{method} was called {self.calls[method]} times, not {count}"
        if not _ORDER.fullmatch(self.order):
            yield f"the calls came in the order {self.order or '(none)'}"


def lifecycle(console_file: Path, operator: str) -> Lifecycle:
    """Read the calls that the kernel of ``operator`` counted from a run's console.

    Raises :class:`CheckFailed` unless the console has exactly one record of them.
    """
    console = Console()
    console.feed(console_file.read_bytes())
    console.finish()
    records = [one for one in console.of_kind("lifecycle") if one.text("operator") == operator]
    if len(records) != 1:
        uncounted = not records and console.ended
        raise CheckFailed(
            f"{len(records)} lifecycle records of {operator} came, not one",
            hint=Hint.COUNT_CALLS.told() if uncounted else NO_HINT,
        )
    (record,) = records
    completed = list(console.records.numbers("inference", "status")).count(0)
    calls = {method: record.integer(method) for method in METHODS}
    return Lifecycle(operator, calls, record.text("order"), completed)


def nodes_of(model_file: Path, operator: str) -> int:
    """Count the nodes of ``operator`` in a model; raise :class:`CheckFailed` if there are none."""
    count = sum(node.name == operator for node in Model.from_file(model_file).operators)
    if not count:
        raise CheckFailed(f"{model_file.name} has no operator {operator}")
    return count
