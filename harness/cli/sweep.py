"""``tflm-hil sweep``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base.code_identity import code_identity
from harness.base.errors import CheckFailed
from harness.base.form import formatted
from harness.case.columns import COMPARED
from harness.cli.options import (
    HistoryOption,
    JsonOption,
    StudyOptions,
    history_option,
    json_option,
    named_limits,
    options_in,
    study_options,
)
from harness.cli.output import write_text
from harness.cli.parameters import STDOUT, Destination, Name

if TYPE_CHECKING:
    from harness.studies.sweep import SweepPoint

_LOWER = ", ".join(name for name, one in COMPARED.items() if one.better == "more")
_UPPER = ", ".join(name for name, one in COMPARED.items() if one.better == "less")


@dataclass(frozen=True, kw_only=True)
class SweepOptions(StudyOptions, HistoryOption, JsonOption):
    """The options of ``tflm-hil sweep``."""

    file: Path
    budgets: tuple[str, ...]
    by: str
    csv_file: Path | None
    html: Path | None


@click.command()
@click.argument("file", metavar="sweep.toml", type=click.Path(path_type=Path))
@click.option("--budget", "budgets", multiple=True, metavar="MEASURE=LIMIT",
              type=Name(lambda: [f"{name}=" for name in COMPARED]),
              help=f"Limit of {_UPPER} (at most) or {_LOWER} (at least); "
              "repeatable. The best point within all budgets is shown; exit code 1 if there is "
              "none.")  # fmt: skip
@click.option("--best", "by", default="instructions", show_default=True,
              type=click.Choice(tuple(COMPARED)),
              help="The measure that determines the best point.")  # fmt: skip
@study_options
@click.option(
    "--csv", "csv_file", type=Destination(), metavar="FILE", help="Write the rows as CSV."
)
@click.option("--html", type=Destination(), metavar="FILE",
              help="Write a page with the Pareto front and all points.")  # fmt: skip
@history_option("Record each point as a case in this history: an SQLite file, or a database URL.")
@json_option("every point's parameters, verdict and measures")
@options_in(SweepOptions)
def sweep(options: SweepOptions) -> int:
    """Build, run and check every point of the axes in sweep.toml.

    Only points that pass can be the best. Points of different samples or models are never
    compared. Exit code 0 only if at least one point of each sample, model, builder and target
    passes; otherwise that of its points: 4, 1 or 3.

    \b
    tflm-hil sweep sweep.toml --html sweep.html
    tflm-hil sweep sweep.toml --budget flash=40000 --budget ram=10000
    """
    from harness.history.run import Occasion  # noqa: PLC0415 - see cli/__init__
    from harness.history.selection import Selection  # noqa: PLC0415
    from harness.studies.sweep import (  # noqa: PLC0415
        best_of_each,
        history_case,
        load,
        verdict,
        without_pass,
    )

    form = f"MEASURE=LIMIT, with {', '.join(COMPARED)} and a number of zero or more"
    limits = named_limits(options.budgets, COMPARED, form)
    occasion = Occasion.here(selection=Selection.of([str(options.file)]))
    rows = _rows(load(options.file).points, options)
    document = formatted({"code": code_identity().to_json(), "rows": rows})
    write_text(options.json_file, json.dumps(document))
    _tables(rows, options)
    if options.url:
        from harness.history.keep import keep  # noqa: PLC0415

        cases = [history_case(row) for row in rows]
        click.echo(f"history: {keep(options.url, {'cases': cases}, occasion)}", err=True)
    chosen = best_of_each(rows, limits, options.by)
    if options.json_file != STDOUT:
        from harness.report.sweep import table  # noqa: PLC0415

        click.echo(table(rows, chosen if limits else {}))
    lacking = without_pass(rows)
    if lacking:
        tasks = "; ".join(" ".join(filter(None, task)) for task in lacking)
        click.echo(f"tflm-hil: no point of {tasks} passes", err=True)
        return verdict(rows).exit_code
    without = [task[0] for task, index in chosen.items() if index is None]
    if limits and without:
        wanted = ", ".join(f"{name} {limit:g}" for name, limit in limits.items())
        raise CheckFailed(f"no point of {', '.join(without)} passes and is within {wanted}")
    return verdict(rows).exit_code


def _rows(points: tuple[SweepPoint, ...], options: SweepOptions) -> list[dict[str, Any]]:
    from harness.report.progress import StudyProgress  # noqa: PLC0415
    from harness.studies import ResultStore, carry_out  # noqa: PLC0415
    from harness.studies.sweep import study_of  # noqa: PLC0415

    study = study_of(points)
    with ResultStore(options.store, study) as store:
        with options.open_workers() as workers:
            units = carry_out(study, store, workers, progress=StudyProgress())
        return list(store.all_rows(units))


def _tables(rows: list[dict[str, Any]], options: SweepOptions) -> None:
    from harness.report.sweep import as_csv, page  # noqa: PLC0415 - see cli/__init__

    if options.csv_file is not None:
        write_text(options.csv_file, as_csv(rows))
    if options.html is not None:
        write_text(options.html, page(rows))
