"""Instructions by call stack: one table, from which every profile is drawn.

The sum over all nodes is the number of instructions that were counted, to the instruction.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.elf.demangle import demangle
from harness.elf.image import Image

#: The root, whose function is that of no code.
_ROOT = 0
#: Code that no symbol names.
UNKNOWN = "(no symbol)"
ENTRY, EXCEPTION = 1 << 31, 1 << 30


@dataclass(frozen=True)
class CallNode:
    """A function below the node ``parent``; ``instructions`` are its own, without its callees'.

    ``address`` is the function's first one, 0 for none. ``operator`` is whose call it is, of a
    function that several operators register.
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
        """The tree of a target that sees no calls: every function stands alone."""
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

        A function that calls itself, by whatever way, counts once in its inclusive figure.
        """
        own: Counter[str] = Counter()
        whole: Counter[str] = Counter()
        for index, node in enumerate(self.nodes):
            own[node.function] += node.instructions
            if not any(self.nodes[up].function == node.function for up in self._above(index)):
                whole[node.function] += self.inclusive[index]
        counted = [(name, (count, whole[name])) for name, count in own.items() if whole[name]]
        return dict(sorted(counted, key=lambda row: (-row[1][0], -row[1][1], row[0])))

    def _above(self, index: int) -> Iterator[int]:
        while index != _ROOT:
            index = self.nodes[index].parent
            if index != _ROOT:
                yield index

    def stack(self, index: int) -> tuple[str, ...]:
        """The functions of a node, outermost first."""
        return tuple(self.nodes[one].function for one in [*self._above(index)][::-1]) + (
            (self.nodes[index].function,) if index else ()
        )

    @cached_property
    def children(self) -> Mapping[int, tuple[int, ...]]:
        """The nodes below each node, most instructions first."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for index, node in enumerate(self.nodes[1:], 1):
            found[node.parent].append(index)
        order: Callable[[int], int] = lambda one: -self.inclusive[one]  # noqa: E731
        return {parent: tuple(sorted(below, key=order)) for parent, below in found.items()}

    def groups(self, names: Mapping[int, str], rest: str) -> dict[str, int]:
        """Instructions by the outermost function whose address has a name in ``names``.

        ``rest`` is the name of those that no such function called.
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

    def speedscope(self, name: str) -> dict[str, object]:
        """One profile of speedscope's file format: samples by stack, weights in instructions."""
        frames: dict[str, int] = {}
        samples, weights = [], []
        for index, node in enumerate(self.nodes):
            if node.instructions:
                names = self.stack(index) or (UNKNOWN,)
                samples.append([frames.setdefault(one, len(frames)) for one in names])
                weights.append(node.instructions)
        profile = {
            "type": "sampled", "name": name, "unit": "none", "startValue": 0,
            "endValue": sum(weights), "samples": samples, "weights": weights,
        }  # fmt: skip
        return {"frames": list(frames), "profile": profile}


def speedscope_file(trees: Iterable[tuple[str, CallTree]]) -> str:
    """A file of speedscope's format (speedscope.app/file-format-schema.json), a profile a tree."""
    shared: dict[str, int] = {}
    profiles = []
    for name, tree in trees:
        one = tree.speedscope(name)
        own, profile = one["frames"], one["profile"]
        assert isinstance(own, list)
        assert isinstance(profile, dict)
        numbers = [shared.setdefault(frame, len(shared)) for frame in own]
        profile["samples"] = [[numbers[frame] for frame in stack] for stack in profile["samples"]]
        profiles.append(profile)
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tflm-hil",
        "shared": {"frames": [{"name": name} for name in shared]},
        "profiles": profiles,
    }
    return json.dumps(document) + "\n"


class FunctionMap:
    """The functions of an image, and of those beside it, by number from 1.

    Objects are among them: a busy wait of nrfx is an array of machine code.
    """

    def __init__(self, image: Image) -> None:
        starts: dict[int, tuple[int, str]] = {}
        for kind in ("func", "object"):
            found = {
                symbol.address: (symbol.size, symbol.name)
                for one in (image, *image.beside)
                for symbol in sorted(one.symbols, key=lambda symbol: symbol.size)
                if symbol.kind == kind and (symbol.size or kind == "func")
            }
            starts = found | starts
        self._image, self._starts = image, starts
        plain = [demangle(name) for _, name in starts.values()]
        often = Counter(plain)
        self.names = [UNKNOWN] + [
            f"{name} ({image.locate(address).file or hex(address)})" if often[name] > 1 else name
            for name, address in zip(plain, starts, strict=True)
        ]
        self._addresses = sorted(starts)
        self._calls: dict[tuple[int, str], int] = {}  # address, operator -> number

    def numbers(self, origin: int, size: int) -> bytes:
        """The function of each halfword from ``origin`` on: 32-bit words, for the core."""
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
        """Assembly often has no size: such a function reaches to the next one, or 1 KiB."""
        index = bisect_right(self._addresses, address)
        following = self._addresses[index] if index < len(self._addresses) else address + 1024
        return min(following - address, 1024)

    def called_by(self, address: int, operator: str) -> int:
        """Another number of the function at ``address``, for its calls by ``operator``."""
        return self._calls.setdefault((address, operator), len(self.names) + len(self._calls))

    def tree(
        self, nodes: Iterable[tuple[int, int, int]], exception: Callable[[int], str]
    ) -> CallTree:
        """The tree of the core's nodes; ``exception`` names one by its number."""
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
