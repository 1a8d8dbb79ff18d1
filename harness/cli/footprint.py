"""``tflm-hil footprint``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from harness import footprint as analysis
from harness.base import logs
from harness.base.errors import CheckFailed, UsageError
from harness.case.subject import Subject
from harness.cli.names import EXISTING, IMAGE
from harness.cli.options import (
    STDOUT,
    Destination,
    beside_option,
    json_option,
    on_stderr,
    screen,
    write_text,
)
from harness.elf import Image, combined
from harness.elf.trustzone import side
from harness.footprint.analysis import Footprint
from harness.footprint.budget import BudgetVerdict, check, load
from harness.footprint.compare import SizeComparison, compare, load_baseline
from harness.footprint.text import (
    VIEWS,
    View,
    comparison_tables,
    marginal_notes,
    marginal_table,
    pull_request,
    show,
    table,
)

_SHOWN = 40


@click.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@click.option("--by", "views", type=click.Choice(VIEWS), multiple=True,
              help="What to show; repeatable.  [default: region, operator, ram]")  # fmt: skip
@beside_option
@click.option("--region", default="", help="Only this region (FLASH, RAM).")
@click.option("--map", "map_file", type=EXISTING, help="The linker's map file: regions, libraries.")
@click.option("--linker-script", type=EXISTING, help="A linker script with a MEMORY command.")
@click.option("--baseline", type=EXISTING, help="An ELF, or a JSON file of an earlier --json.")
@click.option("--budget", type=EXISTING, help="A TOML file of budgets; over one is exit code 1.")
@click.option("--leave-one-out", is_flag=True,
              help="Build SAMPLE without each operator in turn: what each costs.")  # fmt: skip
@click.option("--operators", default="",
              help="For --leave-one-out: operators to add to the sample's own.")  # fmt: skip
@click.option("--measure", is_flag=True,
              help="Run it on the simulator: what it uses of its arena and stacks.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All rows, however many.")
@click.option("--markdown", type=Destination(dash=True),
              help="Write a pull request's report; - for standard output.")  # fmt: skip
@json_option()
def footprint(  # noqa: PLR0917 - one parameter per option
    what: Subject,
    views: Sequence[View],
    beside: Sequence[Path],
    region: str,
    map_file: Path | None,
    linker_script: Path | None,
    baseline: Path | None,
    budget: Path | None,
    leave_one_out: bool,
    operators: str,
    measure: bool,
    everything: bool,
    markdown: Path | None,
    json_file: Path | None,
) -> None:
    """Flash and RAM of ELF (or of SAMPLE's exact build) by region, section, file, symbol, operator.

    \b
    tflm-hil footprint zephyr.elf --by operator
    tflm-hil footprint zephyr.elf --by file --region RAM
    tflm-hil footprint zephyr.elf --measure
    tflm-hil footprint zephyr.elf --baseline main.json --budget budgets.toml --markdown -
    tflm-hil footprint zephyr.elf --beside tfm_s.elf --beside bl2.elf
    tflm-hil footprint digits --leave-one-out
    tflm-hil footprint hello_world --leave-one-out --operators CONV_2D,SOFTMAX
    """
    if leave_one_out:
        _only_with_leave_one_out(click.get_current_context())
        _leave_one_out(
            what.sample or what.text, [name for name in operators.split(",") if name], json_file
        )
        return
    if operators:
        raise UsageError("--operators needs --leave-one-out", hint="add --leave-one-out")
    if json_file == markdown == STDOUT:
        raise UsageError("--json and --markdown cannot both go to standard output")
    budgets = load(budget) if budget else ()
    base = load_baseline(baseline) if baseline else None
    image = combined.read(what.image(), beside)
    image = replace(image, map_file=map_file, linker_script=linker_script)
    analysed = analysis.analyse(image)
    if region:
        analysed.region(region)
    if measure:
        analysed = _measured(image, analysed)
    document = analysed.to_json()
    others = {other.name: analysis.analyse(other) for other in image.beside}
    if others:
        document["beside"] = {name: other.to_json() for name, other in others.items()}
    comparison = compare(base, document) if base is not None else None
    verdicts = check(budgets, document, base)
    if comparison is not None:
        document["comparison"] = comparison.to_json()
    if budgets:
        document["budgets"] = [verdict.to_json() for verdict in verdicts]
    write_text(json_file, json.dumps(document, indent=1))
    if markdown is not None:
        write_text(markdown, pull_request(analysed, comparison, verdicts))
    if STDOUT not in (json_file, markdown):
        default: tuple[View, ...] = ("ram",) if measure else ("region", "operator", "ram")
        chosen = views or (() if comparison or budgets else default)
        limit = 0 if everything else _SHOWN
        _print(analysed, chosen, region, limit, comparison, verdicts)
        if others:
            _print_beside({image.name: analysed, **others}, image)
    _raise_if_over(verdicts)


def _print_beside(footprints: Mapping[str, Footprint], image: Image) -> None:
    """Print the regions of all images that are loaded together in one table."""
    sides = {each.name: side(each) for each in (image, *image.beside)}
    rows: list[Sequence[str]] = [
        [name, sides[name], region.name, f"0x{region.origin:08x}", f"{region.used:,}"]
        for name, footprint in footprints.items()
        for region in footprint.regions
    ]
    heads = ["image", "world", "region", "origin", "used B"]
    screen().print()
    show(screen(), "All images", (heads, frozenset({heads.index("used B")}), rows))


def _measured(image: Image, analysed: Footprint) -> Footprint:
    """``analysed`` with what a run uses of the RAM."""
    from harness.footprint.measure import measure as run  # noqa: PLC0415
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    return replace(analysed, ram=run(image, analysed.ram, open_simulator))


def _only_with_leave_one_out(context: click.Context) -> None:
    """Refuse options about one image: --leave-one-out builds and compares several."""
    allowed = {"what", "leave_one_out", "operators", "json_file"}
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if given and option.name not in allowed:
            raise UsageError(f"{option.opts[0]} cannot be used with --leave-one-out")


def _leave_one_out(sample: str, operators: list[str], json_file: Path | None) -> None:
    from harness.build.configurations import load as load_table  # noqa: PLC0415
    from harness.build.standalone import build_operators  # noqa: PLC0415
    from harness.footprint.marginal import leave_one_out  # noqa: PLC0415

    samples = load_table().samples
    if sample not in samples:
        raise UsageError(f"no sample {sample!r}", hint=f"one of {', '.join(samples)}")
    own = samples[sample].operators
    with logs.shown(on_stderr):
        costs = leave_one_out(
            sample,
            operators or own,
            lambda names: build_operators(sample, names).elf,
            kept=own if operators else (),
        )
    write_text(json_file, json.dumps(costs.to_json(), indent=1))
    if json_file != STDOUT:
        show(screen(), f"Operators of {sample}", marginal_table(costs))
        for line in marginal_notes():
            click.echo(line)


def _print(
    analysed: Any,
    views: Sequence[View],
    region: str,
    limit: int,
    comparison: SizeComparison | None,
    verdicts: Sequence[BudgetVerdict],
) -> None:
    console = screen()
    for view in views:
        rows = table(analysed, view, region=region, limit=limit)
        if rows[2]:
            show(console, f"By {view}", rows)
            console.print()
    if comparison is not None:
        for title, rows in comparison_tables(comparison, limit=limit or 10**9):
            show(console, title, rows)
            console.print()
    for verdict in verdicts:
        console.print(("ok    " if verdict.passed else "OVER  ") + verdict.message, markup=False)
    for note in analysed.notes:
        console.print(f"note: {note}", markup=False)


def _raise_if_over(verdicts: Sequence[BudgetVerdict]) -> None:
    over = [verdict.message for verdict in verdicts if not verdict.passed]
    if over:
        raise CheckFailed("over budget: " + "; ".join(over))
