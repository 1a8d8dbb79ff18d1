"""References in an image: functions, data and string literals as a directed graph.

Built from the ELF alone: branches, literal pools and MOVW/MOVT of every function
(:mod:`harness.elf.thumb`), pointers in stored data. Data whose DWARF type has no pointers (a
model's bytes, a table of numbers) is not searched, nor, without DWARF, data in which few words look
like pointers.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from harness.elf.file import ElfFile
from harness.elf.layout import Layout, LayoutPart
from harness.elf.thumb import ReferenceKind, references, returned_constant
from harness.elf.variables import Variables

#: Sections whose content is kept only if something refers to it; others are always kept.
_ORDINARY = re.compile(r"^\.?(text|rodata|datas?|bss|noinit|sdata|sbss|ramfunc)(\.|$)")
#: Unwinding tables, whose addresses are not references.
_UNSEARCHED = re.compile(r"^\.ARM\.(exidx|extab)")
_PRINTABLE = re.compile(rb"[\x20-\x7e\t\n\r\x1b]+")
#: Data of unknown type is searched if at least this share of its non-zero words are pointers.
_POINTER_SHARE = 0.25
#: The longest function, in bytes, that only returns nullptr (compiled without optimization).
_NULL_FUNCTION = 32


@dataclass
class GraphNode:
    """A function, an object, a string literal or an unnamed run of bytes."""

    name: str
    kind: str
    section: str
    address: int
    size: int
    aliases: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)  # region -> bytes

    @property
    def end(self) -> int:
        """The first address after the node."""
        return self.address + self.size


@dataclass(frozen=True)
class Graph:
    """``edges[i]`` are the nodes that node ``i`` refers to, ``calls[i]`` those it branches to.

    ``roots`` are always kept by the linker. ``starts`` are the nodes' addresses, ascending.
    ``ambiguous`` are edges to an address at which the previous section ends: the reference may be
    to that end (``__init_array_end``) and not to the node. ``nulls`` are functions that only return
    nullptr.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[frozenset[int], ...]
    calls: tuple[tuple[int, ...], ...]
    roots: frozenset[int]
    starts: tuple[int, ...] = field(repr=False)
    ambiguous: frozenset[tuple[int, int]] = frozenset()
    nulls: frozenset[int] = frozenset()

    def settled(self, owners: frozenset[int]) -> Graph:
        """The graph without ambiguous edges to successors of ``owners``."""
        owned = {target for owner in owners for target in self.edges[owner]}
        wrong = {
            (source, target)
            for source, target in self.ambiguous
            if target in owned and source not in owners
        }
        if not wrong:
            return self
        edges = list(self.edges)
        for source, target in wrong:
            edges[source] = edges[source] - {target}
        return replace(self, edges=tuple(edges))

    def at(self, address: int) -> int | None:
        """The node that contains ``address``."""
        index = bisect_right(self.starts, address) - 1
        return index if index >= 0 and address < self.nodes[index].end else None

    def reach(self, start: Iterable[int], without: frozenset[int] = frozenset()) -> set[int]:
        """All nodes that can be reached from ``start`` without passing through ``without``."""
        seen = set(start) - without
        stack = list(seen)
        while stack:
            fresh = self.edges[stack.pop()] - seen - without
            seen |= fresh
            stack.extend(fresh)
        return seen


def build(image: ElfFile, layout: Layout, variables: Variables | None = None) -> Graph:
    """The reference graph of an image whose layout is known."""
    return _GraphBuilder(image, layout, variables or Variables(image)).graph()


class _GraphBuilder:
    def __init__(self, image: ElfFile, layout: Layout, variables: Variables) -> None:
        self.image = image
        self.variables = variables
        self.executable = {s.name for s in image.sections if s.executable}
        self.nodes = _nodes(layout.parts)
        self.starts = [node.address for node in self.nodes]
        ends = [start for start, _ in image.mapping[1:]]
        self.data_ranges = [
            (start, end)
            for (start, kind), end in zip(image.mapping, ends, strict=False)
            if kind == "data" and end > start
        ]
        self.data_ends = [end for _, end in self.data_ranges]

    def graph(self) -> Graph:
        found = {node.address: self._targets(node) for node in self.nodes}
        targets = {address for pairs in found.values() for address, _ in pairs}
        sizes = {node.address: node.size for node in self.nodes}
        self.nodes = list(_split(self.nodes, targets, self.image))
        self.starts = [node.address for node in self.nodes]
        edges: list[set[int]] = [set() for _ in self.nodes]
        calls: list[list[int]] = [[] for _ in self.nodes]
        ends = {s.address: s.section for s in self.image.symbols
                if s.kind == "notype" and not s.size}  # fmt: skip
        ambiguous: set[tuple[int, int]] = set()
        for number, node in enumerate(self.nodes):
            unsplit = sizes.get(node.address) == node.size
            for target, called in found[node.address] if unsplit else self._targets(node):
                index = self._find(target)
                if index is not None and index != number:
                    edges[number].add(index)
                    if ends.get(target, self.nodes[index].section) != self.nodes[index].section:
                        ambiguous.add((number, index))
                    if called:
                        calls[number].append(index)
        _join_tails(self.nodes, edges, self.image)
        return Graph(
            tuple(self.nodes),
            tuple(map(frozenset, edges)),
            tuple(map(tuple, calls)),
            frozenset(self._roots()),
            tuple(self.starts),
            frozenset(ambiguous),
            frozenset(number for number, node in enumerate(self.nodes) if self._returns_null(node)),
        )

    def _returns_null(self, node: GraphNode) -> bool:
        if node.kind not in ("function", "label") or not 0 < node.size <= _NULL_FUNCTION:
            return False
        return returned_constant(self.image.read(node.address, node.size) or b"") == 0

    def _find(self, address: int) -> int | None:
        index = bisect_right(self.starts, address) - 1
        return index if index >= 0 and address < self.nodes[index].end else None

    def _roots(self) -> Iterable[int]:
        entry = self._find(self.image.entry & ~1)
        if entry is not None:
            yield entry
        for number, node in enumerate(self.nodes):
            unnamed_code = node.section in self.executable and node.kind == "unnamed"
            if unnamed_code or not _ORDINARY.match(node.section):
                yield number

    def _targets(self, node: GraphNode) -> list[tuple[int, bool]]:
        """The addresses that a node refers to, each with whether the node branches to it."""
        data = self.image.read(node.address, node.size)
        if data is None or _UNSEARCHED.match(node.section):
            return []
        if node.kind in ("function", "label") and node.section in self.executable:
            return list(self._code_targets(node, data))
        return [(target, False) for target in self._data_targets(node, data)]

    def _code_targets(self, node: GraphNode, data: bytes) -> Iterable[tuple[int, bool]]:
        first = bisect_right(self.data_ends, node.address)
        last = bisect_left(self.data_ranges, (node.end, 0))
        for reference in references(data, node.address, self.data_ranges[first:last]):
            target = reference.target
            if node.address <= target & ~1 < node.end:
                continue
            branch = reference.kind in (ReferenceKind.CALL, ReferenceKind.BRANCH)
            if branch or reference.kind is ReferenceKind.ADDRESS:
                yield target & ~1, branch
                continue
            pointed = self._pointed(target)
            if pointed is not None:
                yield pointed, False

    def _pointed(self, word: int) -> int | None:
        """The address that a 32-bit value points to: a function's start, or a place in data."""
        number = self._find(word & ~1)
        if number is None:
            return None
        node = self.nodes[number]
        if node.section in self.executable and node.kind in ("function", "label"):
            return word & ~1 if word & 1 and node.address == word & ~1 else None
        number = self._find(word)
        return word if number is not None else None

    def _data_targets(self, node: GraphNode, data: bytes) -> list[int]:
        always_kept = not _ORDINARY.match(node.section)  # vector tables are typed as numbers
        may_point = always_kept or self.variables.may_hold_pointers(node.address)
        if may_point is False:
            return []
        skip = -node.address % 4
        words = memoryview(data[skip : skip + (len(data) - skip) // 4 * 4]).cast("I")
        pointed = (self._pointed_from_data(word) for word in words if word)
        targets = [target for target in pointed if target is not None]
        filled = sum(1 for word in words if word)
        if may_point is None and len(targets) < _POINTER_SHARE * filled:
            return []
        return targets

    def _pointed_from_data(self, word: int) -> int | None:
        """Like _pointed, but stricter: small numbers in data look like flash addresses."""
        number = self._find(word & ~1)
        if number is None:
            return None
        node = self.nodes[number]
        if node.section in self.executable:
            return word & ~1 if word & 1 and node.address == word & ~1 else None
        if word != node.address and node.kind == "object" and word % 4:
            return None
        return word if self._find(word) is not None else None


def _nodes(parts: Sequence[LayoutPart]) -> list[GraphNode]:
    by_address: dict[int, GraphNode] = {}
    copies: list[LayoutPart] = []
    for part in parts:
        if part.kind in ("padding", "gap"):
            continue
        if part.copy:
            copies.append(part)
            continue
        node = GraphNode(part.name, part.kind, part.section, part.address, part.size, part.aliases)
        node.sizes[part.region] = part.size
        by_address[part.address] = node
    for part in copies:
        loaded = by_address.get(part.address)
        if loaded is not None:
            loaded.sizes[part.region] = loaded.sizes.get(part.region, 0) + part.size
    return [by_address[address] for address in sorted(by_address)]


def _split(nodes: Iterable[GraphNode], targets: set[int], image: ElfFile) -> Iterable[GraphNode]:
    """Split unnamed data and string literals at the addresses that something refers to."""
    ordered = sorted(targets)
    for node in nodes:
        if node.kind not in ("strings", "unnamed"):
            yield node
            continue
        data = image.read(node.address, node.size)
        low, high = bisect_right(ordered, node.address), bisect_left(ordered, node.end)
        cuts = [node.address, *ordered[low:high], node.end]
        for start, end in pairwise(cuts):
            yield _piece(node, start, end, data)


def _piece(node: GraphNode, start: int, end: int, data: bytes | None) -> GraphNode:
    name, kind = node.name, node.kind
    if kind == "strings" and data is not None:
        text = data[start - node.address : end - node.address].split(b"\0")[0]
        if text and _PRINTABLE.fullmatch(text):
            name = '"' + text.decode("ascii").encode("unicode_escape").decode("ascii") + '"'
        else:
            name, kind = "(unnamed constant)", "unnamed"
    share = dict.fromkeys(node.sizes, end - start)
    return GraphNode(name, kind, node.section, start, end - start, (), share)


def _join_tails(nodes: Sequence[GraphNode], edges: list[set[int]], image: ElfFile) -> None:
    """Add an edge from each literal to the next one if they share their tail (no NUL between)."""
    for number, (node, following) in enumerate(pairwise(nodes)):
        if node.kind == following.kind == "strings" and node.end == following.address:
            last_byte = image.read(node.end - 1, 1)
            if last_byte not in (None, b"\0"):
                edges[number].add(number + 1)
