"""The points where the sides of branches meet: immediate post-dominators in a function's code."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from capstone import arm

from harness.elf import Image
from harness.elf.file import Symbol
from harness.resolver.static.alu import ALWAYS
from harness.resolver.static.core import Core

_EXIT = -1  # the node of a function's end
#: Most bytes of the last function if its symbol has no size.
_UNSIZED_REACH = 4096


class Functions:
    """The extents of an image's functions."""

    def __init__(self, image: Image) -> None:
        ends = _ends(symbol for symbol in image.symbols if symbol.kind == "func")
        self._starts = sorted(ends)
        self._ends = ends

    def at(self, address: int) -> tuple[int, int]:
        """Start and end of the function at ``address``; an empty range if there is none."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return address, address
        start = self._starts[index]
        last = index + 1 == len(self._starts)
        following = start + _UNSIZED_REACH if last else self._starts[index + 1]
        end = start + self._ends[start] if self._ends[start] else following
        return (start, end) if address < end else (address, address)


def _ends(symbols: Iterable[Symbol]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for symbol in symbols:
        sizes[symbol.address] = max(sizes.get(symbol.address, 0), symbol.size)
    return sizes


class Flow:
    """The control flow of functions, each analysed at first use."""

    def __init__(self, core: Core, functions: Functions) -> None:
        self._core = core
        self._functions = functions
        self._meets: dict[int, dict[int, int]] = {}

    def meeting_point(self, at: int) -> int | None:
        """The first address at which all paths from the branch ``at`` meet; None at the end."""
        start, end = self._functions.at(at)
        if start not in self._meets:
            self._meets[start] = self._post_dominators(start, end)
        found = self._meets[start].get(at, _EXIT)
        return None if found == _EXIT else found

    def _post_dominators(self, start: int, end: int) -> dict[int, int]:
        successors = self._successors(start, end)
        _give_endless_loops_an_exit(successors)
        order = _reverse_post_order(successors)
        position = {node: index for index, node in enumerate(order)}
        parents = {_EXIT: _EXIT}
        changed = True
        while changed:
            changed = False
            for node in order[1:]:
                known = [s for s in successors[node] if s in parents]
                if not known:
                    continue
                meet = known[0]
                for other in known[1:]:
                    meet = _common(meet, other, parents, position)
                if parents.get(node) != meet:
                    parents[node] = meet
                    changed = True
        return parents

    def _successors(self, start: int, end: int) -> dict[int, list[int]]:
        successors: dict[int, list[int]] = {}
        queue = [start]
        while queue:
            at = queue.pop()
            if at in successors or at == _EXIT:
                continue
            successors[at] = [
                t if t == _EXIT or start <= t < end else _EXIT for t in self._next(at)
            ]
            queue.extend(successors[at])
        return successors

    def _next(self, at: int) -> list[int]:
        found = self._core.instruction(at)
        if found is None:
            return [_EXIT]
        following = [at + found.size]
        conditional = found.cc not in ALWAYS
        if found.id == arm.ARM_INS_B:
            target = found.operands[0].imm
            return [target, *following] if conditional else [target]
        if found.id in (arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ):
            return [found.operands[1].imm, *following]
        if found.id in (arm.ARM_INS_TBB, arm.ARM_INS_TBH):
            return list(self._core.table_targets(at)) or [_EXIT]
        if found.id == arm.ARM_INS_UDF:
            return [_EXIT]
        if found.id not in (arm.ARM_INS_BL, arm.ARM_INS_BLX) and _writes_pc(found):
            return [_EXIT, *following] if conditional else [_EXIT]
        return [at + found.size, *following] if conditional else following


def _writes_pc(found: Any) -> bool:
    if found.id == arm.ARM_INS_BX:
        return True
    if found.id in (arm.ARM_INS_POP, arm.ARM_INS_LDM):
        return any(operand.reg == arm.ARM_REG_PC for operand in found.operands)
    if found.id not in (arm.ARM_INS_MOV, arm.ARM_INS_LDR, arm.ARM_INS_ADD):
        return False
    first = found.operands[0]
    return bool(first.type == arm.ARM_OP_REG and first.reg == arm.ARM_REG_PC)


def _give_endless_loops_an_exit(successors: dict[int, list[int]]) -> None:
    """Add an exit to the backward jump of each endless loop: post-dominance needs one."""
    while True:
        leading = _reaching_exit(successors)
        stuck = sorted(node for node in successors if node not in leading)
        if not stuck:
            return
        back = [node for node in stuck if any(t <= node for t in successors[node])]
        successors[back[-1] if back else stuck[-1]].append(_EXIT)


def _reaching_exit(successors: dict[int, list[int]]) -> set[int]:
    before: dict[int, list[int]] = {}
    for node, targets in successors.items():
        for target in targets:
            before.setdefault(target, []).append(node)
    seen, queue = {_EXIT}, [_EXIT]
    while queue:
        for node in before.get(queue.pop(), ()):
            if node not in seen:
                seen.add(node)
                queue.append(node)
    return seen


def _reverse_post_order(successors: dict[int, list[int]]) -> list[int]:
    """The nodes of the reversed graph in reverse post-order, the exit first."""
    before: dict[int, list[int]] = {_EXIT: []}
    for node, targets in successors.items():
        for target in targets:
            before.setdefault(target, []).append(node)
    order: list[int] = []
    seen = {_EXIT}
    stack = [(_EXIT, iter(before[_EXIT]))]
    while stack:
        node, rest = stack[-1]
        following = next((n for n in rest if n not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(before.get(following, ()))))
    return order[::-1]


def _common(a: int, b: int, parents: dict[int, int], position: dict[int, int]) -> int:
    while a != b:
        while position[a] > position[b]:
            a = parents[a]
        while position[b] > position[a]:
            b = parents[b]
    return a
