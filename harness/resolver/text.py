"""Audits and resolvers as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.resolver.audit import Audit, OperatorAudit
from harness.resolver.resolver import Registered, Resolver

if TYPE_CHECKING:
    from rich.console import Console

_ROLES = ("init", "free", "prepare", "invoke", "reset")


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
        cost = f"{row.bytes:,}" if row.bytes else "-"
        drawn.add_row(escape(row.operator + kind), version, _state(row), cost, row.verdict)
    console.print(drawn)
    slots = "unknown" if audit.declared is None else str(audit.declared)
    filled = "unknown" if audit.registered is None else str(len(audit.registered))
    console.print(
        f"\nslots: {slots} declared, {filled} filled; {audit.wasted:,} B of RAM wasted",
        markup=False,
    )
    for problem in audit.problems:
        console.print(f"  {problem}", markup=False)
    for note in audit.notes:
        console.print(f"note: {note}", markup=False)
    console.print(f"verdict: {', '.join(audit.verdicts)}", markup=False)
    if audit.passed and (saved := _saved(audit)):
        slots = f"{len(audit.needed)} slot{'s' if len(audit.needed) > 1 else ''}"
        command = f"tflm-hil resolver generate {audit.model}"
        console.print(f"a resolver of {slots} saves {saved}: {command}", markup=False)


def _saved(audit: Audit) -> str:
    """What a resolver of exactly the needed operators saves, "" if nothing."""
    flash = f"about {audit.saved_flash:,} B of flash" if audit.saved_flash else ""
    ram = f"{audit.saved_ram:,} B of RAM" if audit.saved_ram else ""
    return " and ".join(filter(None, (flash, ram)))


def _state(row: OperatorAudit) -> str:
    """What the image does with an operator."""
    if row.registered:
        return "registers"
    if row.verdict == "refused":
        return "refuses"
    return "links" if row.linked else "-"


def resolver_lines(resolver: Resolver) -> Iterator[str]:
    """A resolver with the path of each registration, from its Add* call to its functions."""
    rows = resolver.registered or ()
    place = f"0x{resolver.address:08x}"
    name = "resolver" if place in resolver.name else resolver.name
    slots = "operators" if resolver.slots is None else f"of {resolver.slots} slots"
    yield f"{name} at {place}: {len(rows)} {slots}"
    for number, row in enumerate(rows):
        kind = " (custom)" if row.custom else ""
        added = f"  added in {row.added}" if row.added else ""
        yield f"  {number}  {row.operator}{kind}{added}"
        yield from (f"       {line}" for line in _functions(row))
    for refusal in resolver.refused:
        why = "a duplicate" if refusal.duplicate else "no slot is left"
        yield f"  -  {refusal.operator} is refused in {refusal.at}: {why}"


def _functions(row: Registered) -> Iterator[str]:
    for role in _ROLES:
        name = getattr(row, role)
        if name:
            file = f"  in {row.file}" if role == "invoke" and row.file else ""
            yield f"{role:<8} {_bare(name)}{file}"


def _bare(name: str) -> str:
    """A kernel's name without namespaces, which all kernels share, and template arguments."""
    return name.partition("<")[0].rpartition("::")[2] or name
