"""The operators that are linked into an image: what can be known without running it.

An operator is linked if its ``Register_*`` function is reached from the image's start. If those
functions were inlined (link-time optimization), the names and source files of kernel functions
identify the operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.graph import Graph
from harness.elf.interpreter import is_kernel
from harness.elf.register_functions import BY_SPELLING, registered_by
from harness.footprint.analysis import ram_regions
from harness.footprint.files import Sources
from harness.footprint.operators import OperatorReport
from harness.footprint.operators import analyse as analyse_operators
from harness.resolver.resolver import Key

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


@dataclass(frozen=True)
class Linked:
    """The linked operators, and what they cost."""

    operators: tuple[Key, ...]
    report: OperatorReport

    @cached_property
    def costs(self) -> Mapping[Key, int]:
        """The flash of each operator alone, in bytes."""
        return {(row.operator, row.custom): row.exclusive for row in self.report.operators}


def linked(image: Image) -> Linked:
    """The operators that are linked into ``image``, sorted by name."""
    graph = image.graph
    reached = graph.reach(graph.roots)
    found = {
        (one.operator, one.custom)
        for one in image.registrations
        if reached.intersection(one.register)
    } or set(_by_kernels(image, graph, reached))
    found.update(_inlined(graph, reached))
    return Linked(tuple(sorted(found)), analyse_operators(image, ram_regions(image)))


def _inlined(graph: Graph, reached: Iterable[int]) -> Iterator[Key]:
    """Operators with an inlined registration function, by its static variable."""
    for number in reached:
        node = graph.nodes[number]
        function = _INSIDE.match(qualified(node.name)) if node.kind == "object" else None
        known = registered_by(function[1]) if function else None
        if known is not None:
            yield known


def _by_kernels(image: Image, graph: Graph, reached: Iterable[int]) -> Iterator[Key]:
    """Operators by their kernel functions, for an image with inlined registrations (LTO)."""
    sources = Sources(image)
    for number in reached:
        node = graph.nodes[number]
        if node.kind == "function" and is_kernel(node.name):
            stem = PurePosixPath(sources.of_address(node.address)).stem
            operator = kernel_operator(qualified(node.name).rpartition("::")[2], stem)
            if operator:
                yield operator, False


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
