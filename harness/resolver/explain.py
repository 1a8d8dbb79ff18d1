"""The registration path of one operator: the functions, their stores and their calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.demangle import demangle, qualified
from harness.elf.graph import GraphNode
from harness.elf.register_functions import Registration, is_kernel
from harness.elf.thumb import references
from harness.footprint.analysis import ram_regions
from harness.footprint.operators import OperatorCost
from harness.footprint.operators import analyse as analyse_operators

_ROLES = (("init", "Init"), ("prepare", "Prepare"), ("free", "Free"), ("reset", "Reset"))


@dataclass(frozen=True)
class Referent:
    """A function or object that a registration refers to; ``role`` is its use in the operator."""

    role: str  # "init", "prepare", "invoke", "free", "reset", "calls", "data"
    name: str
    address: int
    size: int
    file: str
    line: int


@dataclass(frozen=True)
class Step:
    """One registration function, its disassembly, and its references."""

    name: str
    address: int
    size: int
    listing: tuple[str, ...]
    targets: tuple[Referent, ...]


@dataclass(frozen=True)
class Explanation:
    """An operator's registration: its callers, the functions that register it, the cost."""

    operator: str
    callers: tuple[Referent, ...]
    steps: tuple[Step, ...]
    cost: OperatorCost | None

    def to_json(self) -> dict[str, Any]:
        """The document of ``resolver explain --json``."""
        return {
            "operator": self.operator,
            "callers": [asdict(caller) for caller in self.callers],
            "steps": [asdict(step) for step in self.steps],
            "cost": self.cost.to_json() if self.cost else None,
        }


def explain(image: Image, operator: str) -> Explanation:
    """Explain the registration of ``operator`` (a builtin's name, or a custom operator's).

    Raises :class:`UsageError` if the image has no symbols or does not register the operator; the
    hint names the registered ones.
    """
    registrations = image.registrations
    chosen = next((r for r in registrations if r.operator.lower() == operator.lower()), None)
    if chosen is None:
        known = ", ".join(registration.operator for registration in registrations)
        raise UsageError(
            f"{image.path} registers no operator {operator!r}",
            hint=f"it registers {known}"
            if known
            else image.symbols_hint() or "it has no Register_* symbol of tflite-micro",
        )
    walker = _Walker(image)
    costs = analyse_operators(image, ram_regions(image)).operators
    return Explanation(
        chosen.operator,
        tuple(walker.callers(chosen)),
        tuple(walker.step(number) for number in chosen.register),
        next((cost for cost in costs if cost.operator == chosen.operator), None),
    )


class _Walker:
    def __init__(self, image: Image) -> None:
        self.image = image
        self.graph = image.graph

    def callers(self, registration: Registration) -> Iterator[Referent]:
        """The functions that refer to the registration function."""
        for number, edges in enumerate(self.graph.edges):
            if edges.intersection(registration.register):
                yield self.target(self.graph.nodes[number], "calls")

    def step(self, number: int) -> Step:
        node = self.graph.nodes[number]
        targets: list[Referent] = []
        for edge in sorted(self.graph.edges[number]):
            target = self.target(self.graph.nodes[edge])
            targets.append(target)
            if target.role == "data":  # a constant registration that is copied
                inner = sorted(self.graph.edges[edge])
                targets += [self.target(self.graph.nodes[number]) for number in inner]
        return Step(demangle(node.name), node.address, node.size,
                    tuple(disassemble(self.image, node)), tuple(targets))  # fmt: skip

    def role(self, node: GraphNode) -> str:
        if node.kind not in ("function", "label"):
            return "data"
        last = qualified(node.name).rpartition("::")[2]
        for role, ending in _ROLES:
            if last.endswith(ending) or ending + "_" in last or last.startswith(ending):
                return role
        return "invoke" if is_kernel(node.name) else "calls"

    def target(self, node: GraphNode, role: str = "") -> Referent:
        """``node`` in ``role``, by default that of its name and kind."""
        file, line = "", 0
        if node.kind in ("function", "label"):
            place = self.image.locate(node.address)
            file, line = place.file, place.line
        return Referent(
            role or self.role(node), demangle(node.name), node.address, node.size, file, line
        )


def disassemble(image: Image, node: GraphNode) -> Iterator[str]:
    """A line for each instruction, with the name of its referent; literal pools as words."""
    import capstone  # noqa: PLC0415 - it takes 40 ms, and only this listing needs it

    data = image.read(node.address, node.size) or b""
    pools = _data(image, node)
    named = {r.at: r.target for r in references(data, node.address, pools)}
    engine = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    at = node.address
    while at < node.end:
        pool_end = next((end for start, end in pools if start <= at < end), None)
        if pool_end is not None:
            step = min(4, pool_end - at)
            word = int.from_bytes(data[at - node.address :][:step], "little")
            yield f"{at:08x}  .word  0x{word:08x}{_name(image, word)}"
            at += step
            continue
        found = next(engine.disasm_lite(data[at - node.address :], at, 1), None)
        if found is None:
            yield f"{at:08x}  (not an instruction)"
            at += 2
            continue
        _, size, mnemonic, operands = found
        shown = _name(image, named[at]) if at in named else ""
        yield f"{at:08x}  {mnemonic:<7}{operands}{shown}".rstrip()
        at += size


def _name(image: Image, address: int) -> str:
    place = image.locate(address)
    if not place.function:
        return ""
    offset = f"+{place.offset}" if place.offset else ""
    return f"    ; {qualified(place.function)}{offset}"


def _data(image: Image, node: GraphNode) -> list[tuple[int, int]]:
    """Start and end of literal pools and tables in ``node``, from the mapping symbols."""
    ends = (*image.mapping, (node.end, ""))
    return [
        (max(start, node.address), min(end, node.end))
        for (start, kind), (end, _) in pairwise(ends)
        if kind == "data" and start < node.end and end > node.address
    ]
