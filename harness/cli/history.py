"""``tflm-hil history``: results over time."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import numbers
from harness.base.errors import CheckFailed, UsageError
from harness.base.secrets import HIDDEN
from harness.base.text import count_of
from harness.cli.options import history_option, json_option, number_option
from harness.cli.output import on_stderr, write_text
from harness.cli.parameters import (
    BRANCH,
    EXISTING,
    FIGURE,
    HISTORY_VARIABLE,
    MACHINE,
    RECORDED_CASE,
    STDOUT,
    Destination,
)

if TYPE_CHECKING:
    from harness.history.regression import CaseKey
    from harness.history.store import History, RecordedCase, RunRow


def open_history(url: str | None, *, make: bool = False) -> History:
    """The history given by an option or the environment; without ``make`` it must exist.

    Raises :class:`UsageError` if none is given.
    """
    from harness.history.store import History  # noqa: PLC0415 - see cli/__init__

    if not url:
        raise UsageError("no history is given", hint=f"--history FILE, or set {HISTORY_VARIABLE}")
    return History.open(url, make=make)


@click.group()
def history() -> None:
    """Record the results of runs, show trends, and list regressions.

    \b
    tflm-hil run hil.toml --json results.json
    tflm-hil history record results.json --history lab.db
    tflm-hil history show "my application" --history lab.db
    tflm-hil history check --history lab.db --base main
    tflm-hil history report site --history lab.db
    """


@history.command()
@click.argument("results", nargs=-1, required=True, type=EXISTING)
@history_option()
@click.option("--commit", help="The tested commit.  [default: from RESULTS]")
@click.option("--branch", type=BRANCH, help="Its branch.  [default: from RESULTS]")
@click.option("--machine", type=MACHINE, help="The machine of the run.  [default: from RESULTS]")
@click.option("--at", metavar="ISO-TIME", help="The time of the run.  [default: from RESULTS]")
def record(
    results: tuple[Path, ...],
    url: str | None,
    commit: str | None,
    branch: str | None,
    machine: str | None,
    at: str | None,
) -> None:
    """Record RESULTS, documents of `tflm-hil run --json` or of a Robot execution, one run each.

    A run that is recorded several times is stored once.
    """
    from harness.history.run import from_file  # noqa: PLC0415

    options: dict[str, Any] = {"commit": commit, "branch": branch, "machine": machine,
                               "started": _time(at) if at else None}  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    runs = [from_file(path, given) for path in results]
    with open_history(url, make=True) as store:
        for path, run in zip(results, runs, strict=True):
            outcome = "recorded" if store.record(run) else "already recorded"
            click.echo(f"{path}: {count_of(len(run.cases), 'case')} {outcome} in {store.where}")


@history.command()
@click.argument("case", required=False, type=RECORDED_CASE)
@history_option()
@click.option("--branch", type=BRANCH, help="Runs of this branch only.")
@number_option("--last", check=numbers.count, metavar="N", default=60, help="The last N runs only.")
@click.option("--markdown", type=Destination(dash=True), metavar="FILE",
              help="Write a table of the last results, with a row for each sample, compiler and "
              "builder: passed configurations, and the figures of `exact`.")  # fmt: skip
@json_option()
def show(
    case: str | None, url: str | None, branch: str | None, last: int, markdown: Path | None,
    json_file: Path | None,
) -> None:  # fmt: skip
    """Show the trend of CASE; without CASE, the last verdict of each case."""
    with open_history(url) as store:
        runs = store.runs(branch=branch, last=last)
        cases = store.cases(runs)
    if case is not None:
        known = ", ".join(sorted({key.case for key in cases})[:8])
        cases = {key: points for key, points in cases.items() if key.case == case}
        if not cases:
            raise UsageError(f"the history has no case {case!r}", hint=f"it has {known}")
    write_text(json_file, json.dumps(_document(runs, cases), indent=1))
    if markdown is not None:
        from harness.history.trend import last_results  # noqa: PLC0415 - see cli/__init__

        write_text(markdown, last_results(cases).markdown())
    if STDOUT not in (json_file, markdown):
        click.echo("\n".join(_overview(cases) if case is None else _course(cases)))


def _document(runs: list[RunRow], cases: dict[CaseKey, list[RecordedCase]]) -> dict[str, Any]:
    return {
        "runs": [{"id": run.id, **run.occasion.to_json()} for run in runs],
        "cases": [
            {
                **vars(key),
                "points": [
                    {
                        "run": point.run.id,
                        "verdict": point.outcome.verdict,
                        "reason": point.outcome.reason,
                        "figures": [
                            {"name": name, "source": source, "value": value}
                            for (name, source), value in point.outcome.figures.items()
                        ],
                    }
                    for point in points
                ],
            }
            for key, points in sorted(cases.items(), key=lambda item: str(item[0]))
        ],
    }


def _overview(cases: dict[CaseKey, list[RecordedCase]]) -> list[str]:
    if not cases:
        return ["the history is empty"]
    symbols = {"pass": ".", "skipped": "-"}
    width = max(len(str(key)) for key in cases)
    return [
        f"{key!s:<{width}}  {points[-1].outcome.verdict:<8}  "
        + "".join(symbols.get(point.outcome.verdict, "F") for point in points[-40:])
        for key, points in sorted(cases.items(), key=lambda item: str(item[0]))
    ]


def _course(cases: dict[CaseKey, list[RecordedCase]]) -> list[str]:
    from harness.history.trend import sparkline, trends  # noqa: PLC0415

    lines = []
    for key, points in cases.items():
        last = points[-1]
        when = datetime.fromtimestamp(last.run.occasion.started, UTC).strftime("%Y-%m-%d %H:%M")
        lines.append(f"{key} ({key.builder}), {count_of(len(points), 'run')}, last {when} UTC: "
                     f"{last.outcome.verdict}")  # fmt: skip
        figures = trends(points)
        width = max((len(trend.name) for trend in figures), default=0)
        for trend in figures:
            shown = "" if trend.last is None else f"{trend.last:,.6g} {trend.unit}"
            lines.append(
                f"  {trend.name:<{width}} {trend.source:<10} {sparkline(trend.values)}  {shown}"
            )
            for step in trend.steps[-5:]:
                commit = points[step.at].run.occasion.commit[:10] or "unknown commit"
                lines.append(f"    {step.before:,.6g} -> {step.now:,.6g} at {commit}")
    return lines


@history.command()
@history_option()
@click.option(
    "--base",
    default="main",
    show_default=True,
    metavar="BRANCH",
    type=BRANCH,
    help="Compare with the last runs of this branch.",
)
@number_option("--last", check=numbers.count, metavar="N", default=10, help="Number of its runs.")
@click.option(
    "--results",
    type=EXISTING,
    help="Check this document of `run --json`.  [default: the newest recorded run]",
)
@click.option(
    "--markdown",
    type=Destination(dash=True),
    metavar="FILE",
    help="Write the regressions as a comment for a pull request.",
)
@json_option()
def check(
    url: str | None,
    base: str,
    last: int,
    results: Path | None,
    markdown: Path | None,
    json_file: Path | None,
) -> None:
    """List regressions against the last runs of a branch: verdicts, figures, missing cases.

    Exit code 1 if there is a regression, if no case ran, or if the run is older than the runs that
    it is compared with. Figures without noise (bytes, instructions) are regressions above the
    median, noisy ones if they exceed it by more than their noise. A run of a part of the cases
    (--case, -k, --test) is partial, and no run is compared with it. The first run of a branch
    passes.

    Only runs of the same machine and cases of the same compiler are compared. Without --results
    the newest run of each machine is checked.
    """
    from harness.history.check import check as compare  # noqa: PLC0415
    from harness.history.check import check_labs  # noqa: PLC0415
    from harness.history.run import from_file  # noqa: PLC0415

    with open_history(url) as store:
        labs = (
            (compare(store, base, last, from_file(results)),)
            if results
            else check_labs(store, base, last)
        )
    write_text(json_file, json.dumps({"labs": [lab.to_json() for lab in labs]}, indent=1))
    if markdown is not None:
        write_text(markdown, "\n".join(lab.to_markdown() for lab in labs))
    if STDOUT not in (json_file, markdown):
        for lab in labs:
            for regression in lab.regressions:
                click.echo(f"{regression.key}: {regression.text}")
            click.echo(str(lab))
    failed = [str(lab) for lab in labs if not lab.passed]
    if failed:
        raise CheckFailed("; ".join(failed))


@history.command()
@click.argument("before", metavar="A", type=BRANCH)
@click.argument("after", metavar="B", type=BRANCH)
@history_option()
@number_option("--threshold", check=numbers.tolerance, default=0.0, metavar="PERCENT",
               help="Smallest difference to list.")  # fmt: skip
@click.option("--markdown", type=Destination(dash=True), metavar="FILE",
              help="Write the table as a comment for a pull request.")  # fmt: skip
@json_option()
def compare(
    before: str, after: str, url: str | None, threshold: float, markdown: Path | None,
    json_file: Path | None,
) -> None:  # fmt: skip
    """List the differences of the newest run of B from that of A, largest first.

    A and B are commits (at least four digits), branches, or numbers of runs (`history show
    --json -`). Only cases with the same target, builder, compiler and machine are compared; the
    others are counted.
    """
    from harness.history.compare import compare as compare_runs  # noqa: PLC0415

    with open_history(url) as store:
        found = compare_runs(store, before, after, threshold)
    write_text(json_file, json.dumps(found.to_json(), indent=1))
    if markdown is not None:
        write_text(markdown, f"{found.table.markdown()}\n\n{found}.\n")
    if STDOUT not in (json_file, markdown):
        if found.differences:
            click.echo(found.table.plain())
        click.echo(str(found))


@history.command()
@click.argument("case", type=RECORDED_CASE)
@history_option()
@click.option("--figure", default="", metavar="NAME", type=FIGURE,
              help="The figure.  [default: the verdict, or any figure without noise]")  # fmt: skip
@click.option("--branch", type=BRANCH, help="Runs of this branch only.")
@click.option("--judge", type=EXISTING, metavar="RESULTS",
              help="Check this document of `run --json`, for `git bisect run`: exit code 0 if CASE "
              "is as good as before the step, 1 if it is worse, 125 if it did not "
              "run.")  # fmt: skip
def bisect(
    case: str, url: str | None, figure: str, branch: str | None, judge: Path | None
) -> int:  # fmt: skip
    """Print the commits of the last regression of CASE, and the commands for `git bisect`."""
    from harness.history.bisect import BisectCode, last_step  # noqa: PLC0415
    from harness.history.run import from_file  # noqa: PLC0415

    with open_history(url) as store:
        step = last_step(store, case, figure, branch)
        where = store.where
    if judge is not None:
        code = step.judge(from_file(judge))
        click.echo(f"{case}: {code.name.lower()}")
        return code
    options = [*(("--figure", figure) if figure else ()),
               *(("--branch", branch) if branch else ())]  # fmt: skip
    if HIDDEN in where:
        on_stderr(f"set {HISTORY_VARIABLE} to the URL of the history before you run the commands")
    else:
        options += ["--history", where]
    command = shlex.join(["tflm-hil", "history", "bisect", case, *options, "--judge"])
    click.echo("\n".join(step.lines(command)))
    return BisectCode.GOOD


@history.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@history_option()
@click.option("--commit-url", default="", metavar="TEMPLATE",
              help="Link commits: 'https://host/project/commit/{commit}'.")  # fmt: skip
@click.option("--branch", type=BRANCH, help="Runs of this branch only.")
@number_option("--last", check=numbers.count, metavar="N", help="The last N runs only.",
               default_text="all")  # fmt: skip
@number_option("--moved", "recent", check=numbers.count, default=7, metavar="N",
               help="List the changes in the newest N runs.")  # fmt: skip
@number_option("--threshold", check=numbers.tolerance, default=0.1, metavar="PERCENT",
               help="Smallest change to list.")  # fmt: skip
def report(
    folder: Path,
    url: str | None,
    commit_url: str,
    branch: str | None,
    last: int | None,
    recent: int,
    threshold: float,
) -> None:
    """Write the history as HTML pages into DIR: each case run by run, plots, changes, causes.

    Open DIR/index.html; neither a server nor a network is needed.
    """
    from harness.report.history import write_site  # noqa: PLC0415 - see cli/__init__

    with open_history(url) as store:
        count = write_site(store, folder, commit_url=commit_url, branch=branch, last=last,
                           recent=recent, threshold=threshold)  # fmt: skip
    click.echo(f"{count_of(count, 'case')}: {folder / 'index.html'}")


def _time(text: str) -> float:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"--at {text!r} is not a time: {error}"
        raise UsageError(message, hint="for example 2026-11-21T03:00") from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
