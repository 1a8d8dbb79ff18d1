"""Resolver audits, live tables and explanations as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.resolver.audit import Audit
from harness.resolver.dump import LiveResolver
from harness.resolver.explain import Explanation, Referent

if TYPE_CHECKING:
    from rich.console import Console


def show_audit(console: Console, audit: Audit) -> None:
    """A row per operator, then problems and notes, then the verdict."""
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Column, Table  # noqa: PLC0415

    bytes_column = Column("flash B", justify="right")
    drawn = Table(
        "operator", "model", "image", bytes_column, "verdict", box=None, pad_edge=False
    )  # fmt: skip
    for one in audit.operators:
        kind = " (custom)" if one.custom else ""
        version = f"needs v{one.version}" if one.needed else "-"
        times = {0: "-", 1: "registers"}.get(one.calls, f"registers {one.calls} times")
        cost = f"{one.bytes:,}" if one.bytes else "-"
        drawn.add_row(escape(one.operator + kind), version, times, cost, one.verdict)
    console.print(drawn)
    slots = "unknown" if audit.declared is None else str(audit.declared)
    console.print(f"\nslots: {slots} declared, {len(audit.registered)} filled; "
                  f"{audit.wasted:,} B of RAM wasted", markup=False)  # fmt: skip
    for problem in audit.problems:
        console.print(f"  {problem}", markup=False)
    for note in audit.notes:
        console.print(f"note: {note}", markup=False)
    console.print(f"verdict: {', '.join(audit.verdicts)}", markup=False)


def show_live(console: Console, resolvers: Sequence[LiveResolver]) -> None:
    """The live table of every resolver."""
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Column, Table  # noqa: PLC0415

    for resolver in resolvers:
        place = f"0x{resolver.address:08x}"
        name = "resolver" if place in resolver.name else resolver.name
        title = f"{name} at {place}: {len(resolver.registrations)} of {resolver.slots} slots"
        functions = (Column(head, overflow="fold") for head in ("init", "prepare", "invoke", "in"))
        drawn = Table(
            "#", Column("operator", no_wrap=True), *functions,
            title=escape(title), title_justify="left", box=None, pad_edge=False,
        )  # fmt: skip
        for number, one in enumerate(resolver.registrations):
            kind = " (custom)" if one.custom else ""
            names = (escape(_bare(name)) for name in (one.init, one.prepare, one.invoke))
            drawn.add_row(str(number), escape(one.operator + kind), *names, escape(one.file))
        console.print(drawn)


def _bare(name: str) -> str:
    """A kernel's name without its namespaces, which all kernels share, and its arguments."""
    return name.partition("<")[0].rpartition("::")[2] or name


def _short(name: str) -> str:
    """A function without its parameters: every kernel has the same ones."""
    return name.removesuffix("(TfLiteContext*, TfLiteNode*)").removesuffix(
        "(TfLiteContext*, char const*, unsigned int)"
    )


def explanation_lines(found: Explanation) -> Iterator[str]:
    """An explanation as plain lines."""
    yield f"{found.operator} is asked for by"
    yield from (f"    {_target(one)}" for one in found.callers)
    for step in found.steps:
        yield ""
        yield f"{step.name}: {step.size} B at 0x{step.address:08x}"
        yield from (f"    {line}" for line in step.listing)
        yield "  it stores or calls"
        yield from (f"    {one.role:<8}{_target(one)}" for one in step.targets)
    if found.cost is not None:
        cost = found.cost
        yield ""
        yield (f"cost: {cost.exclusive:,} B of flash for this operator alone, {cost.shared:,} B "
               f"shared with others, {cost.ram:,} B of RAM")  # fmt: skip
        yield from (f"    {member.bytes:>6,}  {member.name}" for member in cost.members[:12])
        if len(cost.members) > 12:
            yield f"    ... and {len(cost.members) - 12} smaller ones"


def _target(one: Referent) -> str:
    place = f" ({one.file}:{one.line})" if one.file else ""
    return f"{_short(one.name)}: {one.size} B at 0x{one.address:08x}{place}"
