"""The cost of each operator: the bytes that can be reached from its registration.

Three figures for an operator, in bytes of flash:

* *exclusive*: reached through this operator alone; the image shrinks by this much without it;
* *shared*: reached through this operator and others, but not from the rest of the image; listed
  by those others;
* *alone* = exclusive + shared: the operator's cost in an image without any other.

Bytes that the rest of the image reaches count for no operator. The figures are sums of symbols and
literals; a build without the operator also changes alignment and the application's calls
(:class:`harness.footprint.compare.Swap`). Variables of an operator's code count as its RAM.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from harness.elf import Image
from harness.elf.demangle import demangle
from harness.elf.graph import Graph, GraphNode
from harness.elf.register_functions import Registration


@dataclass(frozen=True)
class SharedSymbol:
    """Bytes of flash that exactly these operators share."""

    operators: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class Member:
    """A function, object or literal that belongs to one operator alone."""

    name: str
    bytes: int


@dataclass(frozen=True)
class OperatorCost:
    """One operator's cost in bytes; ``registrations`` are its registration functions."""

    operator: str
    custom: bool
    exclusive: int
    shared: int
    ram: int
    shares: tuple[SharedSymbol, ...]
    members: tuple[Member, ...]
    registrations: tuple[str, ...]

    @property
    def alone(self) -> int:
        """The operator's cost in an image without any other."""
        return self.exclusive + self.shared

    def to_json(self) -> dict[str, Any]:
        """The record of the ``footprint`` contract, with the summands of its figures."""
        return {
            "operator": self.operator,
            "custom": self.custom,
            "exclusive": self.exclusive,
            "shared": self.shared,
            "alone": self.alone,
            "ram": self.ram,
            "shared_with": [
                {"operators": list(share.operators), "bytes": share.bytes} for share in self.shares
            ],
            "symbols": [{"name": m.name, "bytes": m.bytes} for m in self.members],
            "registrations": list(self.registrations),
        }


@dataclass(frozen=True)
class OperatorReport:
    """All operators of an image, in bytes of flash.

    ``together`` is the cost of all of them, each shared byte once. ``rest`` is reached without any
    operator (interpreter, application, system), ``unreached`` by no reference that was found.
    """

    operators: tuple[OperatorCost, ...]
    together: int
    rest: int
    unreached: int

    def cost(self, operators: Collection[str]) -> int:
        """What the image shrinks by without these operators: what they alone reach."""
        rows = [row for row in self.operators if row.operator in operators]
        shared = {
            share.operators: share.bytes
            for row in rows
            for share in row.shares
            if all(name in operators for name in share.operators)
        }
        return sum(row.exclusive for row in rows) + sum(shared.values())

    def to_json(self) -> dict[str, Any]:
        """The document's ``operator_sums``."""
        return {"together": self.together, "rest": self.rest, "unreached": self.unreached}


def flash(node: GraphNode, ram_regions: frozenset[str]) -> int:
    """A node's bytes outside RAM: code, constants, stored initial values."""
    return sum(size for region, size in node.sizes.items() if region not in ram_regions)


@dataclass(frozen=True)
class _Reached:
    """The nodes that operators alone reach (``through``), and those reached without any."""

    graph: Graph
    live: list[Registration]  # registrations that are reached
    through: dict[int, list[int]]  # node -> indices in `live`
    rest: frozenset[int]


def _reached(image: Image) -> _Reached:
    graph, registrations = image.graph, image.registrations
    entries = frozenset(entry for registration in registrations for entry in registration.entries)
    everything = graph.reach(graph.roots)
    rest = frozenset(graph.reach(graph.roots, without=entries))
    through: dict[int, list[int]] = defaultdict(list)
    live = [r for r in registrations if everything.intersection(r.register)]
    for index, registration in enumerate(live):
        for number in graph.reach(everything.intersection(registration.entries), without=rest):
            through[number].append(index)
    return _Reached(graph, live, through, rest)


def analyse(image: Image, ram_regions: frozenset[str]) -> OperatorReport:
    """The cost of every operator whose registration is linked and reached."""
    reached = _reached(image)
    graph, through = reached.graph, reached.through
    costs = _costs(graph, reached.live, through, ram_regions)
    together = sum(flash(graph.nodes[number], ram_regions) for number in through)
    total = sum(flash(node, ram_regions) for node in graph.nodes)
    in_rest = sum(flash(graph.nodes[number], ram_regions) for number in reached.rest)
    return OperatorReport(tuple(costs), together, in_rest, total - together - in_rest)


@dataclass(frozen=True)
class Group:
    """A part of flash: one operator's own bytes, those that several share, or the rest."""

    name: str
    members: tuple[Member, ...]  # largest first
    operator: bool = False

    @property
    def bytes(self) -> int:
        """The bytes of all members."""
        return sum(member.bytes for member in self.members)


SHARED, REST, UNREACHED = (
    "shared by several operators",
    "interpreter, application, system",
    "reached by nothing that could be followed",
)


def groups(image: Image, ram_regions: frozenset[str]) -> tuple[Group, ...]:
    """All of an image's flash with every node in one group; the largest group first."""
    reached = _reached(image)
    numbers: dict[str, list[int]] = defaultdict(list)
    for number in range(len(reached.graph.nodes)):
        numbers[_group(reached, number)].append(number)
    operators = {registration.operator for registration in reached.live}
    all_groups = (
        Group(name, tuple(_members(reached.graph, nodes, ram_regions)), name in operators)
        for name, nodes in numbers.items()
    )
    return tuple(sorted((g for g in all_groups if g.bytes), key=lambda group: -group.bytes))


def _group(reached: _Reached, number: int) -> str:
    owners = reached.through.get(number, [])
    if len(owners) == 1:
        return reached.live[owners[0]].operator
    return SHARED if owners else REST if number in reached.rest else UNREACHED


def _costs(
    graph: Graph,
    live: list[Registration],
    through: dict[int, list[int]],
    ram_regions: frozenset[str],
) -> Iterable[OperatorCost]:
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, indices in through.items():
        groups[tuple(indices)].append(number)
    sums = {
        group: sum(flash(graph.nodes[number], ram_regions) for number in numbers)
        for group, numbers in groups.items()
    }
    for index, registration in enumerate(live):
        own_nodes = groups.get((index,), [])
        shares = [
            SharedSymbol(tuple(live[i].operator for i in group), size)
            for group, size in sums.items()
            if index in group and len(group) > 1 and size
        ]
        yield OperatorCost(
            registration.operator,
            registration.custom,
            sums.get((index,), 0),
            sum(share.bytes for share in shares),
            sum(
                size
                for number in own_nodes
                for region, size in graph.nodes[number].sizes.items()
                if region in ram_regions
            ),
            tuple(sorted(shares, key=lambda share: -share.bytes)),
            tuple(_members(graph, own_nodes, ram_regions)),
            tuple(demangle(graph.nodes[number].name) for number in registration.register),
        )


def _members(graph: Graph, numbers: list[int], ram_regions: frozenset[str]) -> list[Member]:
    members = [
        Member(demangle(graph.nodes[number].name), flash(graph.nodes[number], ram_regions))
        for number in numbers
    ]
    return sorted(members, key=lambda member: (-member.bytes, member.name))
