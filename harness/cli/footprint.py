"""``tflm-hil footprint``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness import footprint as analysis
from harness.errors import CheckFailed, UsageError
from harness.firmware import Firmware
from harness.footprint.budget import Verdict, check, load
from harness.footprint.compare import Comparison, compare, load_baseline
from harness.footprint.text import VIEWS, View, comparison_tables, pull_request, show, table

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
_SHOWN = 40


@click.command()
@click.argument("elf", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--by", "views", type=click.Choice(VIEWS), multiple=True,
              help="What to show; repeatable. Default: region and operator.")  # fmt: skip
@click.option("--region", default="", help="Only this region (FLASH, RAM).")
@click.option("--map", "map_file", type=_FILE, help="The linker's map file: regions, libraries.")
@click.option("--linker-script", type=_FILE, help="A linker script with a MEMORY command.")
@click.option("--baseline", type=_FILE, help="An ELF, or a JSON file of an earlier --json.")
@click.option("--budget", type=_FILE, help="A TOML file of budgets; over one is exit code 1.")
@click.option("--all", "everything", is_flag=True, help="All rows, however many.")
@click.option("--markdown", type=_OUTPUT, help="Write a pull request's report (- for stdout).")
@click.option("--json", "json_file", type=_OUTPUT, help="Write the document (- for stdout).")
def footprint(  # noqa: PLR0917 - one parameter an option
    elf: Path,
    views: Sequence[View],
    region: str,
    map_file: Path | None,
    linker_script: Path | None,
    baseline: Path | None,
    budget: Path | None,
    everything: bool,
    markdown: Path | None,
    json_file: Path | None,
) -> None:
    """Flash and RAM of ELF by region, section, file, symbol, operator.

    \b
    tflm-hil footprint zephyr.elf --by operator
    tflm-hil footprint zephyr.elf --by file --region RAM
    tflm-hil footprint zephyr.elf --baseline main.json --budget budgets.toml --markdown -
    """
    budgets = load(budget) if budget else ()
    before = load_baseline(baseline) if baseline else None
    found = analysis.analyse(Firmware.from_elf(elf), map_file=map_file, linker_script=linker_script)
    if region:
        found.region(region)
    document = found.to_json()
    comparison = compare(before, document) if before is not None else None
    verdicts = check(budgets, document, before)
    if comparison is not None:
        document["comparison"] = comparison.to_json()
    if budgets:
        document["budgets"] = [verdict.to_json() for verdict in verdicts]
    _write(json_file, json.dumps(document, indent=1) + "\n")
    _write(markdown, pull_request(found, comparison, verdicts))
    if Path("-") not in (json_file, markdown):
        chosen = views or (() if comparison or budgets else ("region", "operator"))
        limit = 0 if everything else _SHOWN
        _print(found, chosen, region, limit, comparison, verdicts)
    _raise_if_over(verdicts)


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    if path == Path("-"):
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _print(
    found: Any,
    views: Sequence[View],
    region: str,
    limit: int,
    comparison: Comparison | None,
    verdicts: Sequence[Verdict],
) -> None:
    from rich.console import Console  # noqa: PLC0415 - not needed for --json

    console = Console(highlight=False, soft_wrap=False)
    for view in views:
        rows = table(found, view, region=region, limit=limit)
        if rows[2]:
            show(console, f"By {view}", rows)
            console.print()
    if comparison is not None:
        for title, rows in comparison_tables(comparison, limit=limit or 10**9):
            show(console, title, rows)
            console.print()
    for verdict in verdicts:
        console.print(("ok    " if verdict.passed else "OVER  ") + verdict.message, markup=False)
    for note in found.notes:
        console.print(f"note: {note}", markup=False)


def _raise_if_over(verdicts: Sequence[Verdict]) -> None:
    over = [verdict.message for verdict in verdicts if not verdict.passed]
    if over:
        raise CheckFailed("over budget: " + "; ".join(over))
