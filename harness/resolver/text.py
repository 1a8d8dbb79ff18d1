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
    """Print a row for each operator, problems and notes, and the verdict."""
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Column, Table  # noqa: PLC0415

    bytes_column = Column("flash B", justify="right")
    drawn = Table(
        "operator", "model", "image", bytes_column, "verdict", box=None, pad_edge=False
    )  # fmt: skip
    for row in audit.operators:
        kind = " (custom)" if row.custom else ""
        version = f"needs v{row.version}" if row.needed else "-"
        times = {0: "-", 1: "registers"}.get(row.calls, f"registers {row.calls} times")
        cost = f"{row.bytes:,}" if row.bytes else "-"
        drawn.add_row(escape(row.operator + kind), version, times, cost, row.verdict)
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
    """Print the live table of each resolver."""
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
        for number, row in enumerate(resolver.registrations):
            kind = " (custom)" if row.custom else ""
            names = (escape(_bare(name)) for name in (row.init, row.prepare, row.invoke))
            drawn.add_row(str(number), escape(row.operator + kind), *names, escape(row.file))
        console.print(drawn)


def _bare(name: str) -> str:
    """A kernel's name without namespaces, which all kernels share, and template arguments."""
    return name.partition("<")[0].rpartition("::")[2] or name


def _short(name: str) -> str:
    """A function's name without the parameters that all kernels have."""
    return name.removesuffix("(TfLiteContext*, TfLiteNode*)").removesuffix(
        "(TfLiteContext*, char const*, unsigned int)"
    )


def explanation_lines(found: Explanation) -> Iterator[str]:
    """An explanation as plain lines."""
    yield f"{found.operator} is registered by"
    yield from (f"    {_target(caller)}" for caller in found.callers)
    for step in found.steps:
        yield ""
        yield f"{step.name}: {step.size} B at 0x{step.address:08x}"
        yield from (f"    {line}" for line in step.listing)
        yield "  it stores or calls"
        yield from (f"    {target.role:<8}{_target(target)}" for target in step.targets)
    if found.cost is not None:
        cost = found.cost
        yield ""
        yield (f"cost: {cost.exclusive:,} B of flash for this operator alone, {cost.shared:,} B "
               f"shared with others, {cost.ram:,} B of RAM")  # fmt: skip
        yield from (f"    {member.bytes:>6,}  {member.name}" for member in cost.members[:12])
        if len(cost.members) > 12:
            yield f"    ... and {len(cost.members) - 12} smaller ones"


def _target(target: Referent) -> str:
    place = f" ({target.file}:{target.line})" if target.file else ""
    return f"{_short(target.name)}: {target.size} B at 0x{target.address:08x}{place}"
