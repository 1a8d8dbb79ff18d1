"""``tflm-hil footprint``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from harness import footprint as analysis
from harness.base.errors import CheckFailed, UsageError
from harness.base.form import formatted
from harness.base.grid import Grid, Row
from harness.case.subject import Subject
from harness.cli.options import JsonOption, also_load_option, json_option, options_in
from harness.cli.output import screen, write_text
from harness.cli.parameters import EXISTING, IMAGE, STDOUT, Destination, Name
from harness.elf import Image, combined
from harness.elf.map_file import LinkerMap, is_map
from harness.elf.trustzone import side
from harness.footprint.analysis import Footprint, of_map
from harness.footprint.budget import BudgetVerdict, check, load
from harness.footprint.compare import SizeComparison, compare, load_baseline
from harness.footprint.text import (
    VIEWS,
    View,
    comparison_tables,
    pull_request,
    show,
    table,
)

_SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class FootprintOptions(JsonOption):
    """The options of ``tflm-hil footprint``."""

    what: Subject
    views: tuple[View, ...]
    also_load: tuple[Path, ...]
    region: str
    map_file: Path | None
    baseline: Path | None
    budget: Path | None
    measure: bool
    everything: bool
    markdown: Path | None


@click.command()
@click.argument("what", metavar="ELF|MAP|SAMPLE", type=IMAGE)
@click.option("--by", "views", type=click.Choice(VIEWS), multiple=True,
              help="The table to show; repeatable.  [default: region, operator, ram]")  # fmt: skip
@also_load_option
@click.option(
    "--region",
    default="",
    type=Name(lambda: ("FLASH", "RAM")),
    help="Only this region (FLASH, RAM).",
)
@click.option("--map", "map_file", type=EXISTING, help="The linker's map file: regions, libraries.")
@click.option("--baseline", type=EXISTING, help="An ELF, or a file of an earlier --json, to "
              "compare with.")  # fmt: skip
@click.option("--budget", type=EXISTING,
              help="A TOML file of budgets; exit code 1 if one is exceeded.")  # fmt: skip
@click.option("--measure", is_flag=True,
              help="Run it on the simulator; show its use of arena and stacks.")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Show all rows.")
@click.option("--markdown", type=Destination(dash=True),
              help="Write a report for a pull request; - for standard output.")  # fmt: skip
@json_option()
@options_in(FootprintOptions)
def footprint(options: FootprintOptions) -> None:
    """Show flash and RAM of ELF (or SAMPLE) by region, section, file, symbol, operator.

    MAP is the map file of a link by GNU ld or lld, also of one that failed because a region
    overflows.

    \b
    tflm-hil footprint zephyr.elf --by operator
    tflm-hil footprint zephyr.elf --by file --region RAM
    tflm-hil footprint zephyr.elf --measure
    tflm-hil footprint zephyr.map --by symbol --region RAM
    tflm-hil footprint zephyr.elf --baseline main.json --budget budgets.toml --markdown -
    tflm-hil footprint zephyr.elf --also-load tfm_s.elf --also-load bl2.elf
    """
    if options.json_file == options.markdown == STDOUT:
        raise UsageError("--json and --markdown cannot both go to standard output")
    sizes = _sizes(options)
    write_text(options.json_file, json.dumps(sizes.document(), indent=1))
    if options.markdown is not None:
        text = pull_request(sizes.footprint, sizes.comparison, sizes.verdicts)
        write_text(options.markdown, text)
    if STDOUT not in (options.json_file, options.markdown):
        _print(sizes, options)
    _raise_if_over(sizes.verdicts)


@dataclass(frozen=True)
class _Sizes:
    """Footprints of an image and of those beside it, with the comparisons of the first."""

    image: Image | None  # None for a map file
    footprint: Footprint
    beside: Mapping[str, Footprint]
    comparison: SizeComparison | None
    verdicts: Sequence[BudgetVerdict]

    def document(self) -> dict[str, Any]:
        """The document of ``--json``."""
        document = formatted(self.footprint.to_json())
        if self.beside:
            document["beside"] = {name: other.to_json() for name, other in self.beside.items()}
        if self.comparison is not None:
            document["comparison"] = self.comparison.to_json()
        if self.verdicts:
            document["budgets"] = [verdict.to_json() for verdict in self.verdicts]
        return document


def _sizes(options: FootprintOptions) -> _Sizes:
    budgets = load(options.budget) if options.budget else ()
    baseline = load_baseline(options.baseline) if options.baseline else None
    path = options.what.image()
    if is_map(path):
        image, analysed = None, of_map(_linker_map(path, options))
    else:
        image = replace(combined.read(path, options.also_load), map_file=options.map_file)
        analysed = analysis.analyse(image)
    if options.region:
        analysed.region(options.region)  # raises UsageError for an unknown name
    if options.measure and image is not None:
        analysed = _measured(image, analysed)
    document = analysed.to_json()
    return _Sizes(
        image,
        analysed,
        {other.name: analysis.analyse(other) for other in (image.beside if image else ())},
        compare(baseline, document) if baseline is not None else None,
        check(budgets, document, baseline),
    )


def _linker_map(path: Path, options: FootprintOptions) -> LinkerMap:
    """The map file ``path``. Raises UsageError for an option that needs the ELF."""
    given = {
        "--measure": options.measure,
        "--also-load": options.also_load,
        "--map": options.map_file,
        "--by operator": "operator" in options.views,
    }
    for option, value in given.items():
        if value:
            raise UsageError(
                f"{option} needs the ELF, and {path} is a map file",
                hint="link an image that does not fit with -Wl,--noinhibit-exec to get its ELF",
            )
    return LinkerMap.read(path)


def _print_beside(sizes: _Sizes) -> None:
    """Prints a table of the regions of all images that are loaded together."""
    image = sizes.image
    if image is None:
        return
    sides = {each.name: side(each) for each in (image, *image.beside)}
    footprints = {image.name: sizes.footprint, **sizes.beside}
    rows: list[Row] = [
        [name, sides[name], region.name, f"0x{region.origin:08x}", f"{region.used:,}"]
        for name, footprint in footprints.items()
        for region in footprint.regions
    ]
    heads = ["image", "world", "region", "origin", "used B"]
    screen().print()
    show(screen(), "All images", Grid(heads, frozenset({heads.index("used B")}), rows))


def _measured(image: Image, analysed: Footprint) -> Footprint:
    """``analysed`` with the RAM used in a run."""
    from harness.footprint.measure import measure as run  # noqa: PLC0415
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    return replace(analysed, ram=run(image, analysed.ram, open_simulator))


def _print(sizes: _Sizes, options: FootprintOptions) -> None:
    limit = 0 if options.everything else _SHOWN
    console = screen()
    for overflow in sizes.footprint.overflows:
        console.print(overflow, markup=False)
    _print_views(sizes, options, limit)
    if sizes.comparison is not None:
        for title, rows in comparison_tables(sizes.comparison, limit=limit or 10**9):
            show(console, title, rows)
            console.print()
    for verdict in sizes.verdicts:
        console.print(("ok    " if verdict.passed else "OVER  ") + verdict.message, markup=False)
    for note in sizes.footprint.notes:
        console.print(f"note: {note}", markup=False)
    if sizes.beside:
        _print_beside(sizes)


def _print_views(sizes: _Sizes, options: FootprintOptions, limit: int) -> None:
    """Prints the tables of ``--by``; by default the usual ones, or none with a comparison."""
    footprint = sizes.footprint
    compared = sizes.comparison is not None or options.budget
    region = options.region
    if options.views or compared:
        views = options.views
    elif footprint.overflows:
        views = ("region", "symbol")
        region = region or next(each.name for each in footprint.regions if each.overflow)
    elif options.measure:
        views = ("ram",)
    else:
        views = ("region", "library" if footprint.source == "map" else "operator", "ram")
    console = screen()
    for view in views:
        shown = options.region if view == "region" else region
        rows = table(footprint, view, region=shown, limit=limit)
        if rows.rows:
            show(console, f"By {view}", rows)
            console.print()


def _raise_if_over(verdicts: Sequence[BudgetVerdict]) -> None:
    over = [verdict.message for verdict in verdicts if not verdict.passed]
    if over:
        raise CheckFailed("over budget: " + "; ".join(over))
