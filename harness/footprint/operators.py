"""What each operator costs, by what can be reached from its registration.

Three figures for an operator, in bytes of flash (and of RAM, where its code has variables):

* *exclusive*: reached through this operator alone; the image shrinks by this much without it;
* *shared*: reached through this operator and others, but not by the rest of the image; told with
  the names of the others;
* *alone* = exclusive + shared: what the operator would add to an image without any other.

What the rest of the image reaches anyway is the interpreter's own and counted with no operator.
The figures are of symbols and literals. Building without the operator moves alignment and the
application's own calls too: ``leave_one_out`` measures that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.elf import Image
from harness.elf.demangle import demangle
from harness.elf.graph import Graph, Node
from harness.elf.registrations import Registration

#: Armv8-M Architecture Reference Manual, section B3.1: the default map's SRAM and peripherals.
RAM_FROM, RAM_TO = 0x2000_0000, 0x4000_0000


#: What reachability says and what building without an operator says differ by the call that
#: registers it, inlined into the application (120 to 130 B at -Os), and alignment; the share is
#: for small changes of inlining.
BOUND_BYTES = 160
BOUND_SHARE = 0.03


def agree(reached: int, measured: int, operators: int = 1) -> bool:
    """True if bytes by reachability and by measurement lie within the stated bound."""
    return abs(measured - reached) <= BOUND_BYTES * operators + BOUND_SHARE * abs(measured)


@dataclass(frozen=True)
class Share:
    """Bytes of flash that an operator shares with exactly these others."""

    operators: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class Member:
    """A function, object or literal that belongs to one operator alone."""

    name: str
    bytes: int


@dataclass(frozen=True)
class OperatorCost:
    """One operator's cost in bytes; ``registrations`` are the symbols that register it."""

    operator: str
    custom: bool
    exclusive: int
    shared: int
    ram: int
    shares: tuple[Share, ...]
    members: tuple[Member, ...]
    registrations: tuple[str, ...]

    @property
    def alone(self) -> int:
        """What this operator would add to the image if it were the only one."""
        return self.exclusive + self.shared

    def to_json(self) -> dict[str, Any]:
        """The record of the ``footprint`` contract, with what stands behind its figures."""
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
    """All operators of an image.

    ``together`` is what all of them add, each shared byte once. ``rest`` is reached without any
    operator (interpreter, application, system), ``unreached`` by nothing that could be followed.
    """

    operators: tuple[OperatorCost, ...]
    together: int
    rest: int
    unreached: int

    def to_json(self) -> dict[str, Any]:
        """The sums beside the contract's ``operators`` list."""
        return {"together": self.together, "rest": self.rest, "unreached": self.unreached}

    def together_of(self, names: Iterable[str]) -> int:
        """What a set of operators adds beyond the rest, each shared byte once."""
        wanted = set(names)
        found = sum(cost.exclusive for cost in self.operators if cost.operator in wanted)
        groups = {share for cost in self.operators for share in cost.shares}
        return found + sum(share.bytes for share in groups if wanted & set(share.operators))


def flash(node: Node, ram_regions: frozenset[str]) -> int:
    """A node's bytes outside RAM: code, constants, stored initial values."""
    return sum(size for region, size in node.sizes.items() if region not in ram_regions)


@dataclass(frozen=True)
class _Reached:
    """Nodes by what reaches them: ``through`` the operators alone, ``rest`` without any of them."""

    graph: Graph
    live: list[Registration]
    through: dict[int, list[int]]  # node -> indices in `live`
    rest: set[int]


def _reached(image: Image) -> _Reached:
    graph, registrations = image.graph, image.registrations
    entries = frozenset(entry for one in registrations for entry in one.entries)
    everything = graph.reach(graph.roots)
    rest = graph.reach(graph.roots, without=entries)
    through: dict[int, list[int]] = defaultdict(list)
    live = [one for one in registrations if everything.intersection(one.register)]
    frozen = frozenset(rest)
    for index, one in enumerate(live):
        for number in graph.reach((e for e in one.entries if e in everything), without=frozen):
            through[number].append(index)
    return _Reached(graph, live, through, set(rest))


def analyse(image: Image, ram_regions: frozenset[str]) -> OperatorReport:
    """The cost of every operator whose registration is linked and reached."""
    found = _reached(image)
    graph, through = found.graph, found.through
    costs = _costs(graph, found.live, through, ram_regions)
    together = sum(flash(graph.nodes[number], ram_regions) for number in through)
    total = sum(flash(node, ram_regions) for node in graph.nodes)
    in_rest = sum(flash(graph.nodes[number], ram_regions) for number in found.rest)
    return OperatorReport(tuple(costs), together, in_rest, total - together - in_rest)


@dataclass(frozen=True)
class Group:
    """What belongs together in flash: an operator's own, what several share, or the rest."""

    name: str
    members: tuple[Member, ...]  # largest first
    operator: bool = False

    @property
    def bytes(self) -> int:
        """Of all members."""
        return sum(member.bytes for member in self.members)


SHARED, REST, UNREACHED = (
    "shared by several operators",
    "interpreter, application, system",
    "reached by nothing that could be followed",
)


def groups(image: Image, ram_regions: frozenset[str]) -> tuple[Group, ...]:
    """All of an image's flash, every node in one group; the largest group first."""
    found = _reached(image)
    numbers: dict[str, list[int]] = defaultdict(list)
    for number in range(len(found.graph.nodes)):
        numbers[_group(found, number)].append(number)
    operators = {one.operator for one in found.live}
    made = (
        Group(name, tuple(_members(found.graph, which, ram_regions)), name in operators)
        for name, which in numbers.items()
    )
    return tuple(sorted((one for one in made if one.bytes), key=lambda one: -one.bytes))


def _group(found: _Reached, number: int) -> str:
    owners = found.through.get(number, [])
    if len(owners) == 1:
        return found.live[owners[0]].operator
    return SHARED if owners else REST if number in found.rest else UNREACHED


def instructions(image: Image, starts: Mapping[int, int]) -> dict[str, int]:
    """Instructions by group, most first, of those counted by the first addresses of functions.

    What ran outside the image (code copied to RAM, another image) is the rest's.
    """
    found = _reached(image)
    counted: Counter[str] = Counter()
    for address, count in starts.items():
        number = found.graph.at(address)
        counted[REST if number is None else _group(found, number)] += count
    return dict(counted.most_common())


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
    for index, one in enumerate(live):
        own = groups.get((index,), [])
        shares = [
            Share(tuple(live[i].operator for i in group), size)
            for group, size in sums.items()
            if index in group and len(group) > 1 and size
        ]
        yield OperatorCost(
            one.operator,
            one.custom,
            sums.get((index,), 0),
            sum(share.bytes for share in shares),
            sum(
                size
                for number in own
                for region, size in graph.nodes[number].sizes.items()
                if region in ram_regions
            ),
            tuple(sorted(shares, key=lambda share: -share.bytes)),
            tuple(_members(graph, own, ram_regions)),
            tuple(demangle(graph.nodes[number].name) for number in one.register),
        )


def _members(graph: Graph, own: list[int], ram_regions: frozenset[str]) -> list[Member]:
    found = [
        Member(demangle(graph.nodes[number].name), flash(graph.nodes[number], ram_regions))
        for number in own
    ]
    return sorted(found, key=lambda member: (-member.bytes, member.name))
