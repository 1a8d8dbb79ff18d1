"""The operators that an image's linked code can register.

An operator is registered if its ``Register_*`` function is linked and reached; its call sites are
counted. If those functions were inlined (link-time optimization), the names and source files of
kernel functions identify the operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.graph import Graph
from harness.elf.register_functions import BY_SPELLING, Registration, is_kernel, registered_by
from harness.footprint import resolvers as declarations
from harness.footprint.analysis import ram_regions
from harness.footprint.files import Sources
from harness.footprint.operators import OperatorReport
from harness.footprint.operators import analyse as analyse_operators

_ADD_METHOD = re.compile(r"MicroMutableOpResolver<\d+u?>::Add[A-Z]\w*$")
#: Operators of kernel source files that are not named after their operator.
_KERNEL_FILES = {
    "conv": "CONV_2D", "depthwiseconv": "DEPTHWISE_CONV_2D", "l2norm": "L2_NORMALIZATION",
    "hardswish": "HARD_SWISH", "maximumminimum": "MAXIMUM", "lstm": "UNIDIRECTIONAL_SEQUENCE_LSTM",
}  # fmt: skip
#: Operators by their kernel function's name without its role, for files with several operators.
_KERNEL_FUNCTIONS = {
    "Average": "AVERAGE_POOL_2D", "AveragePool": "AVERAGE_POOL_2D", "Max": "MAX_POOL_2D",
    "MaxPool": "MAX_POOL_2D", "L2Pool": "L2_POOL_2D", "Relu": "RELU", "Relu6": "RELU6",
    "Mean": "MEAN", "Sum": "SUM", "ReduceMax": "REDUCE_MAX",
}  # fmt: skip
#: A static variable of a registration function: ``Register_X()::registration``.
_INSIDE = re.compile(r"(.*\b(?:Register|Own)_\w+)\(\)::")
_ROLE = re.compile(r"(Init|Prepare|Eval\w*|Invoke)$")


class Linked:
    """The operators that an image's code registers.

    ``calls`` is the number of calls by ``(operator, custom)``. ``method`` is the source of it:
    ``registrations``, ``kernels`` (inlined registrations) or ``nothing``.
    """

    def __init__(self, image: Image) -> None:
        self.image = image
        self._graph = image.graph
        self._reached = self._graph.reach(self._graph.roots)
        self.costs: OperatorReport = analyse_operators(image, ram_regions(image))
        self._live = [r for r in image.registrations if self._reached.intersection(r.register)]
        self.resolvers = declarations.find(image)
        self.calls = {(r.operator, r.custom): self._calls(r) for r in self._live}
        if not self._live:
            self.calls = self._by_kernels()
        self.calls |= {key: 1 for key in self._inlined() if key not in self.calls}
        self.method = "registrations" if self._live else "kernels" if self.calls else "nothing"

    def kernels(self, key: tuple[str, bool]) -> set[int]:
        """The addresses of the kernel functions in an operator's registration.

        Names would be ambiguous: each kernel file may have an anonymous ``Invoke``.
        """
        functions = [n for r in self._live if (r.operator, r.custom) == key for n in r.register]
        direct = {target for number in functions for target in self._graph.edges[number]}
        indirect = {target for number in direct for target in self._graph.edges[number]}
        nodes = (self._graph.nodes[number] for number in direct | indirect)
        return {node.address for node in nodes if is_kernel(node.name)}

    def _calls(self, registration: Registration) -> int:
        """The number of calls of a registration function; two are a duplicate."""
        count = 0
        others = {number for live in self._live for number in live.register}
        for number in registration.register:
            count += sum(
                self._sites(caller) * times for caller, times in _callers(self._graph, number)
                if caller in self._reached and caller not in others
            )  # fmt: skip
        return max(count, 1)  # reached by a pointer instead of a call

    def _inlined(self) -> Iterable[tuple[str, bool]]:
        """Operators with an inlined registration function, by its static variable."""
        for number in self._reached:
            node = self._graph.nodes[number]
            function = _INSIDE.match(qualified(node.name)) if node.kind == "object" else None
            known = registered_by(function[1]) if function else None
            if known is not None:
                yield known

    def _sites(self, caller: int) -> int:
        """The number of calls of an Add* method; 1 for any other caller."""
        if not _ADD_METHOD.search(qualified(self._graph.nodes[caller].name)):
            return 1
        return sum(times for up, times in _callers(self._graph, caller) if up in self._reached) or 1

    def _by_kernels(self) -> dict[tuple[str, bool], int]:
        """Operators by their kernel functions, for an image with inlined registrations (LTO)."""
        sources = Sources(self.image)
        found: dict[tuple[str, bool], int] = {}
        for number in self._reached:
            node = self._graph.nodes[number]
            if node.kind != "function" or not is_kernel(node.name):
                continue
            stem = PurePosixPath(sources.of_address(node.address)).stem
            function = qualified(node.name).rpartition("::")[2]
            operator = kernel_operator(function, stem)
            if operator:
                found[operator, False] = 1
        return found


def kernel_operator(function: str, file_stem: str) -> str:
    """The builtin operator of a kernel function by its name and source file, "" if unknown."""
    bare = _ROLE.sub("", function)
    if bare in _KERNEL_FUNCTIONS:
        return _KERNEL_FUNCTIONS[bare]
    for text in (bare, file_stem):
        spelled = text.replace("_", "").lower()
        operator = _KERNEL_FILES.get(spelled) or BY_SPELLING.get(spelled)
        if operator:
            return operator
    return ""


def _callers(graph: Graph, number: int) -> Iterable[tuple[int, int]]:
    """The nodes that call node ``number``, with the number of calls."""
    for caller, called in enumerate(graph.calls):
        times = called.count(number)
        if times:
            yield caller, times
