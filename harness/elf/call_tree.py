"""Instructions by call stack: one table from which every profile is made.

The nodes sum to exactly the number of instructions that were counted.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.elf.demangle import demangle
from harness.elf.image import UNSIZED_REACH, Image

#: The index of the root, which has no function.
_ROOT = 0
#: The name of code without a symbol.
UNKNOWN = "(no symbol)"
#: Flags of the core's function numbers (native/calls.h): the first halfword of a function; an
#: exception number in place of a function.
ENTRY, EXCEPTION = 1 << 31, 1 << 30


@dataclass(frozen=True)
class CallNode:
    """A function that the function of node ``parent`` called.

    ``instructions`` are its own, without its callees'; ``address`` is its start, 0 for none.
    ``operator`` is the caller of a function that several operators register.
    """

    parent: int
    function: str
    instructions: int
    address: int = 0
    operator: str = ""


@dataclass(frozen=True)
class CallTree:
    """Nodes, parents before their children; the first one is the root."""

    nodes: tuple[CallNode, ...]

    @classmethod
    def flat(cls, functions: Mapping[str, int]) -> CallTree:
        """The tree of a target that sees no calls: every function is a child of the root."""
        root = CallNode(_ROOT, UNKNOWN, 0)
        return cls((root, *(CallNode(_ROOT, *row) for row in functions.items())))

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(node.instructions for node in self.nodes)

    @cached_property
    def inclusive(self) -> tuple[int, ...]:
        """Instructions of each node and of all below it."""
        sums = [node.instructions for node in self.nodes]
        for index in range(len(self.nodes) - 1, _ROOT, -1):
            sums[self.nodes[index].parent] += sums[index]
        return tuple(sums)

    @cached_property
    def functions(self) -> Mapping[str, tuple[int, int]]:
        """Exclusive and inclusive instructions by function; most exclusive ones first.

        Recursive calls, direct or not, count once in a function's inclusive figure.
        """
        own: Counter[str] = Counter()
        whole: Counter[str] = Counter()
        for index, node in enumerate(self.nodes):
            own[node.function] += node.instructions
            if all(self.nodes[up].function != node.function for up in self._path(node.parent)):
                whole[node.function] += self.inclusive[index]
        counted = [(name, (count, whole[name])) for name, count in own.items() if whole[name]]
        return dict(sorted(counted, key=lambda row: (-row[1][0], -row[1][1], row[0])))

    def _path(self, index: int) -> Iterator[int]:
        """Node ``index`` and the nodes above it, without the root."""
        while index != _ROOT:
            yield index
            index = self.nodes[index].parent

    def stack(self, index: int) -> tuple[str, ...]:
        """The functions of a node, outermost first."""
        return tuple(self.nodes[up].function for up in self._path(index))[::-1]

    def groups(self, names: Mapping[int, str], rest: str) -> dict[str, int]:
        """Instructions by the outermost function whose address has a name in ``names``.

        ``rest`` is the name of the instructions below no such function.
        """
        group = [""] * len(self.nodes)
        sums: Counter[str] = Counter()
        for index, node in enumerate(self.nodes):
            above = group[node.parent] if index else ""
            group[index] = above or node.operator or names.get(node.address, "")
            sums[group[index] or rest] += node.instructions
        return {name: count for name, count in sums.most_common() if count}

    def folded(self) -> str:
        """Folded stacks, as flamegraph.pl reads them: ``outer;inner 123``."""
        lines = []
        for index, node in enumerate(self.nodes):
            if node.instructions:
                names = self.stack(index) or (UNKNOWN,)
                stack = ";".join(name.replace(";", ":") for name in names)
                lines.append(f"{stack} {node.instructions}\n")
        return "".join(lines)

    def speedscope(self, name: str, frames: dict[str, int]) -> dict[str, object]:
        """One profile of speedscope's file format: samples by stack, weights in instructions.

        ``frames`` numbers the functions of all profiles of a file; new ones are added.
        """
        samples, weights = [], []
        for index, node in enumerate(self.nodes):
            if node.instructions:
                stack = self.stack(index) or (UNKNOWN,)
                samples.append([frames.setdefault(one, len(frames)) for one in stack])
                weights.append(node.instructions)
        return {
            "type": "sampled", "name": name, "unit": "none", "startValue": 0,
            "endValue": sum(weights), "samples": samples, "weights": weights,
        }  # fmt: skip


def speedscope_file(trees: Iterable[tuple[str, CallTree]]) -> str:
    """A file of speedscope's format (speedscope.app/file-format-schema.json), a profile a tree."""
    frames: dict[str, int] = {}
    profiles = [tree.speedscope(name, frames) for name, tree in trees]
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tflm-hil",
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
    }
    return json.dumps(document) + "\n"


class FunctionMap:
    """The functions of an image and of the images beside it, numbered from 1.

    Objects count as functions, too: a busy wait of nrfx is an array of machine code.
    """

    def __init__(self, image: Image) -> None:
        starts: dict[int, tuple[int, str]] = {}  # address -> size, name
        for kind in ("func", "object"):
            found = {
                symbol.address: (symbol.size, symbol.name)
                for each in (image, *image.beside)
                for symbol in sorted(each.symbols, key=lambda symbol: symbol.size)
                if symbol.kind == kind and (symbol.size or kind == "func")
            }
            starts = found | starts
        self._starts = starts
        plain = [demangle(name) for _, name in starts.values()]
        uses = Counter(plain)
        self.names = [UNKNOWN] + [
            f"{name} ({image.locate(address).file or hex(address)})" if uses[name] > 1 else name
            for name, address in zip(plain, starts, strict=True)
        ]
        self._addresses = sorted(starts)
        self._calls: dict[tuple[int, str], int] = {}  # address, operator -> number

    def numbers(self, origin: int, size: int) -> bytes:
        """The function number of each halfword from ``origin`` on, as 32-bit words."""
        import numpy as np  # noqa: PLC0415 - only a profile needs it

        table = np.zeros(size // 2, np.uint32)
        number = {address: index for index, address in enumerate(self._starts, 1)}
        for address in self._addresses:
            if not origin <= address < origin + size:
                continue
            length = self._starts[address][0] or self._unsized(address)
            at = (address - origin) // 2
            table[at : at + (length + 1) // 2] = number[address]
            table[at] = number[address] | ENTRY
        return table.tobytes()

    def _unsized(self, address: int) -> int:
        """The bytes of a function whose symbol has no size: up to the next function."""
        index = bisect_right(self._addresses, address)
        following = self._addresses[index : index + 1]
        return min([UNSIZED_REACH, *(start - address for start in following)])

    def called_by(self, address: int, operator: str) -> int:
        """The number of the function at ``address`` in calls by ``operator``."""
        return self._calls.setdefault((address, operator), len(self.names) + len(self._calls))

    def tree(
        self, nodes: Iterable[tuple[int, int, int]], exception: Callable[[int], str]
    ) -> CallTree:
        """The tree of the core's nodes (parent, function number, instructions).

        ``exception`` names an exception by its number.
        """
        addresses = [0, *self._starts]
        number_of = {address: number for number, address in enumerate(self._starts, 1)}
        calls = [(number_of[address], operator) for address, operator in self._calls]
        found = []
        for parent, function, executed in nodes:
            number = function & ~(ENTRY | EXCEPTION)
            if function & EXCEPTION:
                found.append(CallNode(parent, exception(number), executed))
                continue
            known = number < len(self.names)
            number, operator = (number, "") if known else calls[number - len(self.names)]
            found.append(
                CallNode(parent, self.names[number], executed, addresses[number], operator)
            )
        return CallTree(tuple(found))
