"""Footprints as text: tables on a terminal, Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from harness.base.grid import Grid, Row, escaped
from harness.footprint.analysis import Footprint
from harness.footprint.budget import BudgetVerdict
from harness.footprint.compare import Change, SizeComparison
from harness.footprint.tree import grow, walk

if TYPE_CHECKING:
    from rich.console import Console

View = Literal["region", "section", "file", "symbol", "operator", "library", "ram"]
VIEWS: tuple[View, ...] = ("region", "section", "file", "symbol", "operator", "library", "ram")

#: Most rows of a comparison's table in a pull request.
_LARGEST = 30


def table(footprint: Footprint, view: View, *, region: str = "", limit: int = 0) -> Grid:
    """One view as a table, of one ``region`` if given, with at most ``limit`` rows (0: all)."""
    heads, numbers, rows = {
        "region": _regions,
        "section": _sections,
        "file": _files,
        "symbol": _symbols,
        "operator": _operators,
        "library": _libraries,
        "ram": _ram,
    }[view](footprint, region)
    if limit and len(rows) > limit:
        hidden = len(rows) - limit
        rows = [*rows[:limit], [f"... and {hidden} more (--all)", *[""] * (len(heads) - 1)]]
    return Grid(heads, numbers, rows)


def show(console: Console, title: str, table: Grid) -> None:
    """Print a table on a terminal."""
    from rich.markup import escape  # noqa: PLC0415 - only for a terminal
    from rich.table import Table  # noqa: PLC0415

    heads, numbers, rows = table
    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for index, head in enumerate(heads):
        drawn.add_column(head, justify="right" if index in numbers else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(escape(cell) for cell in row))
    console.print(drawn)


def _bytes(size: int) -> str:
    return f"{size:,}"


def _regions(footprint: Footprint, region: str) -> Grid:
    rows = [
        [row.name, f"0x{row.origin:08x}", _bytes(row.used), _bytes(row.size), f"{row.percent:.2f}"]
        for row in footprint.regions
        if region in ("", row.name)
    ]
    return Grid(["region", "origin", "used B", "size B", "%"], frozenset((2, 3, 4)), list(rows))


def _sections(footprint: Footprint, region: str) -> Grid:
    rows = [
        [section.region, section.name, f"0x{section.address:08x}", _bytes(section.size)]
        for section in footprint.sections
        if region in ("", section.region)
    ]
    return Grid(["region", "section", "address", "B"], frozenset((3,)), list(rows))


def _files(footprint: Footprint, region: str) -> Grid:
    region = region or footprint.regions[0].name
    rows = [
        [
            "  " * depth + node.name,
            _bytes(node.sizes[region]),
            _share(footprint, region, node.sizes),
        ]
        for depth, node in walk(grow(footprint.files), region)
    ]
    of = "object" if footprint.source == "map" else "source"
    return Grid([f"{of} ({region})", "B", "%"], frozenset((1, 2)), list(rows))


def _share(footprint: Footprint, region: str, sizes: dict[str, int]) -> str:
    used = footprint.region(region).used
    return f"{100 * sizes[region] / used:.2f}" if used else ""


def _symbols(footprint: Footprint, region: str) -> Grid:
    ordered = sorted(footprint.symbols, key=lambda symbol: (-symbol.size, symbol.name))
    rows = [
        [
            symbol.region,
            _bytes(symbol.size),
            symbol.kind + (" (stored copy)" if symbol.copy else ""),
            symbol.name,
        ]
        for symbol in ordered
        if region in ("", symbol.region)
    ]
    return Grid(["region", "B", "kind", "symbol"], frozenset((1,)), list(rows))


def _operators(footprint: Footprint, region: str) -> Grid:
    del region  # the table has both flash and RAM
    report = footprint.operators
    rows = [
        [
            cost.operator + (" (custom)" if cost.custom else ""),
            _bytes(cost.exclusive),
            _bytes(cost.shared),
            _bytes(cost.alone),
            _bytes(cost.ram),
            _partners(cost.shares[0].operators, cost.operator) if cost.shares else "",
        ]
        for cost in sorted(report.operators, key=lambda cost: -cost.exclusive)
    ]
    if rows:
        rows.append(["all of them together", "", "", _bytes(report.together), "", ""])
    rows.append(["interpreter, application, system", "", "", _bytes(report.rest), "", ""])
    rows.append(["reached by nothing that could be followed", "", "", _bytes(report.unreached),
                 "", ""])  # fmt: skip
    heads = ["operator", "exclusive B", "shared B", "alone B", "RAM B", "shares most with"]
    return Grid(heads, frozenset((1, 2, 3, 4)), list(rows))


def _partners(operators: Sequence[str], operator: str) -> str:
    others = [name for name in operators if name != operator]
    shown = ", ".join(others[:3])
    return f"{shown} and {len(others) - 3} more" if len(others) > 3 else shown


def _libraries(footprint: Footprint, region: str) -> Grid:
    names = [r.name for r in footprint.regions if r.used and region in ("", r.name)]
    rows = [
        [row.path, *(_bytes(row.sizes.get(name, 0)) for name in names)]
        for row in footprint.libraries
        if any(row.sizes.get(name) for name in names)
    ]
    return Grid(["library", *(f"{name} B" for name in names)], frozenset(range(1, 9)), list(rows))


def _ram(footprint: Footprint, region: str) -> Grid:
    del region
    rows = [
        [memory.purpose, memory.name, f"0x{memory.address:08x}", _bytes(memory.bytes),
         _known(memory.used), _known(memory.least), _known(memory.wasted), memory.note]
        for memory in footprint.ram
    ]  # fmt: skip
    heads = ["purpose", "name", "address", "B", "used B", "least B", "wasted B", ""]
    return Grid(heads, frozenset((3, 4, 5, 6)), list(rows))


def _known(size: int | None) -> str:
    return "" if size is None else _bytes(size)


def comparison_tables(
    comparison: SizeComparison, *, limit: int = _LARGEST
) -> list[tuple[str, Grid]]:
    """The tables of a comparison with their titles, without empty ones."""
    tables = [("Regions", _changes(comparison.regions, limit, unchanged=True))]
    swap = comparison.swap
    if swap is not None:
        agrees = "within the bound" if swap.agrees else "beyond the bound"
        cells = [", ".join(swap.operators), swap.verb, _bytes(swap.reached),
                 _bytes(swap.measured), f"{swap.measured - swap.reached:+,}", agrees]  # fmt: skip
        heads = ["operators", "", "reached B", "measured B", "difference", ""]
        tables.append(
            ("Operators against the images' flash", Grid(heads, frozenset((2, 3, 4)), [cells]))
        )
    for title, changes in (
        ("Operators (exclusive bytes)", comparison.operators),
        ("Files", comparison.files),
        ("Symbols", comparison.symbols),
    ):
        if changes:
            tables.append((title, _changes(changes, limit)))
    if comparison.moves:
        rows: list[Row] = [[move.name, move.before, move.after] for move in comparison.moves]
        tables.append(("Moved", Grid(["symbol", "from", "to"], frozenset(), rows[:limit])))
    return tables


def _changes(changes: Iterable[Change], limit: int, *, unchanged: bool = False) -> Grid:
    rows: list[Row] = [
        [c.name, c.region, _bytes(c.before), _bytes(c.after), f"{c.difference:+,}",
         c.verb if c.difference else "the same"]
        for c in changes
        if c.difference or unchanged
    ]  # fmt: skip
    if len(rows) > limit:
        rows = [*rows[:limit], [f"... and {len(rows) - limit} more", "", "", "", "", ""]]
    return Grid(["name", "in", "before B", "after B", "difference", ""], frozenset((2, 3, 4)), rows)


def pull_request(
    footprint: Footprint, comparison: SizeComparison | None, verdicts: Sequence[BudgetVerdict]
) -> str:
    """A Markdown report: regions, budgets, changes, operators."""
    parts = [f"### Footprint of `{footprint.path.name}`", "", _regions(footprint, "").markdown()]
    if verdicts:
        parts += ["", "**Budgets**", ""]
        parts += [f"- {'ok' if v.passed else '**over**'}: {escaped(v.message)}" for v in verdicts]
    if comparison is not None:
        for title, table_of_changes in comparison_tables(comparison):
            parts += ["", f"**{title}**", "", table_of_changes.markdown()]
    if footprint.operators.operators:
        parts += ["", "**Operators**", "", _operators(footprint, "").markdown()]
    notes = (*footprint.overflows, *footprint.notes)
    if notes:
        parts += ["", *(f"> {escaped(note)}" for note in notes)]
    return "\n".join(parts) + "\n"
