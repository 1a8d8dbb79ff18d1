"""``tflm-hil run``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.base import logs, signals
from harness.base.errors import ExitCode, HilError, UsageError
from harness.build.builders import build_all
from harness.case import Case, CaseResult, Verdict
from harness.case.overlay import CaseLayer
from harness.case.plan import Plan, Request, execute, plan
from harness.case.subject import Subject
from harness.case.tally import exit_code
from harness.cli.options import (
    GroupedCommand,
    case_options,
    history_option,
    json_option,
    options_in,
)
from harness.cli.output import on_stderr
from harness.cli.parameters import CASE, FILE_OR_WORD, IMAGE_OR_CASES, STDOUT, Destination
from harness.cli.run.crosschecks import CrossChecks
from harness.cli.run.reports import (
    ReportOptions,
    RunReport,
    check_destinations,
    interrupted,
    report,
)
from harness.report.progress import Ticker
from harness.targets.opening import Targets
from harness.targets.registry import Ability, who_can
from harness.uart.echo import Echo

if TYPE_CHECKING:
    from harness.case.run import Calibrate
    from harness.history.run import Occasion
    from harness.history.selection import Selection

_SKIPS_HINT = "--allow-skips, if this is intended"


@dataclass(frozen=True, kw_only=True)
class RunOptions(ReportOptions):
    """The options of ``tflm-hil run``."""

    what: Subject
    names: tuple[str, ...]
    tags: tuple[str, ...]
    layers: tuple[CaseLayer, ...]
    dry_run: bool
    update: bool
    rerun: bool
    show_console: bool
    allow_skips: bool
    calibration: str | None
    symbols: tuple[str, ...]


@click.command(cls=GroupedCommand)
@click.argument("what", metavar="IMAGE|SAMPLE|hil.toml", type=IMAGE_OR_CASES)
@click.option("--case", "names", metavar="NAME", type=CASE, multiple=True,
              help="Run only this case of a case file; repeatable.")  # fmt: skip
@click.option("--tag", "tags", metavar="TAG", multiple=True,
              help="Run only the cases of a case file with this tag; repeatable.")  # fmt: skip
@click.option("--dry-run", is_flag=True,
              help="Run nothing: show each case on its targets, and where its values come "
              "from. With --update: write nothing.")  # fmt: skip
@click.option("--update", is_flag=True,
              help="Write the values that came to expect.values and expect.tests of the case "
              "file, and show the change.")  # fmt: skip
@case_options()
@click.option("-v", "--console", "show_console", is_flag=True,
              help="Show the console on standard error while it runs.")  # fmt: skip
@click.option("--rerun", is_flag=True,
              help="Run again after each change of an image, a case file, a model or a sample's "
              "source, until Ctrl-C.")  # fmt: skip
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              default="hil-results", show_default=True,
              help="Folder for console, transcript and result.json of each case.")  # fmt: skip
@json_option("the results")
@click.option("--junit", type=Destination(), help="Write a JUnit XML file.")
@click.option("--html", type=Destination(), help="Write an HTML report.")
@click.option("--markdown", type=Destination(),
              help="Write table and failures as Markdown, for the summary of a job.")  # fmt: skip
@click.option("--annotate", is_flag=True,
              help="Print failures as annotations for GitHub, at a line of the sources or of the "
              "case file (on standard error).")  # fmt: skip
@click.option("--coverage", type=Destination(),
              help="Write the line coverage of the firmware as LCOV (for genhtml); on "
              f"{' and '.join(who_can(Ability.TRACE))}.")  # fmt: skip
@click.option("--profile", type=Destination(),
              help="Write instructions by call stack from boot to end, and show those of each "
              "function: JSON for speedscope, or folded stacks if the name ends in .folded or "
              f".txt; on {' and '.join(who_can(Ability.TRACE))} (call stacks on the simulator "
              "only).")  # fmt: skip
@click.option(
    "--allow-skips",
    is_flag=True,
    help="Exit code 0 even if a case was skipped on all targets, or on a target of --target.",
)
@history_option("Record the results in this history: an SQLite file, or a database URL.")
@click.option("--calibration", metavar="FILE", type=FILE_OR_WORD,
              default=lambda: os.environ.get("TFLM_HIL_CALIBRATION") or None,
              help="A file of `tflm-hil calibrate`, to convert instructions to milliseconds.  "
              "[default: $TFLM_HIL_CALIBRATION]")  # fmt: skip
@click.option("--symbol", "symbols", metavar="NAME", multiple=True,
              help="With several targets: an object in RAM whose final content must be equal on "
              "all of them; repeatable.  [default: the tensor arena]")  # fmt: skip
@options_in(RunOptions)
def run(options: RunOptions) -> int:
    """Run an image, a sample or the cases of a file, and check the results.

    An IMAGE is an ELF, an Intel HEX file, FILE@ADDRESS for raw binary, or a Zephyr build folder.

    \b
    tflm-hil run hello_world
    tflm-hil run hello_world --resolver all-configurations --html report.html
    tflm-hil run zephyr.elf --scraper hello_world --end never --model model.tflite
    tflm-hil run zephyr.elf --scraper ztest
    tflm-hil run app.signed.hex --also-load mcuboot.hex --scraper hello_world
    tflm-hil run . --case "my application"
    tflm-hil run build --scraper ztest --rerun      # while you edit and build
    tflm-hil run hil.toml --target simulator,renode --junit hil.xml
    tflm-hil run zephyr.elf --scraper '/y=(?P<y>\\S+)/' --set 'expect.values=[{y=3}]'
    tflm-hil run hil.toml --update --dry-run        # which values are new?
    tflm-hil run digits --profile digits.json --coverage digits.info

    With several targets, console, outputs and RAM of each case are compared between them.

    Exit code 0: all passed; 1: a check failed; 4: the firmware failed (a fault, a hang, no
    output); 3: environment error; 2: usage error. If cases differ, the first of 4, 1, 3 is used. A
    case that is skipped because its target is not available counts as 3, unless the case file
    lists other targets and the case ran on one of them.
    """
    check_destinations(options)
    if options.update:
        return _update(options)
    if options.rerun:
        from harness.cli.run.rerun import files_of, repeat  # noqa: PLC0415 - see cli/__init__

        repeat(lambda: _run(options), lambda: files_of(_plan(options), options.what))
    return _run(options)


def _update(options: RunOptions) -> int:
    from harness.cli.run.update import update  # noqa: PLC0415 - see cli/__init__

    given = [f"--{name}" for name in options.files]
    flags = {"--rerun": options.rerun, "--annotate": options.annotate, "--symbol": options.symbols}
    given += [name for name, value in flags.items() if value]
    if given:
        raise UsageError(f"{given[0]} cannot stand beside --update, which reports no results")
    if options.what.case_file is None:
        raise UsageError(
            f"--update rewrites a case file, and {options.what.text} is none",
            hint="tflm-hil init writes one",
        )

    def run(made: Plan) -> list[CaseResult]:
        _build_together(made.cases)
        with Targets() as pools:
            return [*_results(made, pools, CrossChecks(made.cases), None, options)]

    return update(_plan(options), options.what.case_file, run, dry_run=options.dry_run)


def _plan(options: RunOptions) -> Plan:
    """The plan of the arguments."""
    traced = (name for name in ("coverage", "profile") if name in options.files)
    needs = tuple((f"--{name}", Ability.TRACE) for name in traced)
    return plan(
        Request(
            options.what,
            options.layers,
            options.names,
            options.tags,
            allow_skips=options.allow_skips,
            needs=needs,
        )
    )


def _run(options: RunOptions) -> int:
    """Runs the cases selected by the options, once; returns the exit code."""
    made = _plan(options)
    for note in made.notes:
        click.echo(f"tflm-hil: {note}", err=True)
    if options.dry_run:
        click.echo(made)
        return ExitCode.PASSED
    occasion = _occasion(options, made)
    calibrate = _calibrate(options.calibration)
    checks = CrossChecks(made.cases, options.symbols)
    if options.symbols and not checks.wanted:
        raise UsageError("--symbol compares targets, and no case runs on two of them")
    _build_together(made.cases)
    results: list[CaseResult] = []
    with signals.Keeping() as keeping, Targets() as pools:
        for result in _results(made, pools, checks, calibrate, options):
            results.append(result)
            checks.note(result)
    with signals.held_back():
        if keeping.stop is not None and occasion is not None:
            occasion = occasion.without("cases after the interrupt")
        tally = made.tally(results)
        report(RunReport(results, occasion, checks, tally), options, options.what.case_file)
        if keeping.stop is not None:
            click.echo(interrupted(keeping.stop, len(results), len(made.items), options), err=True)
            return signals.exit_code(keeping.stop)
    verdicts = [result.judgement.verdict for result in results]
    code = exit_code([*verdicts, Verdict.FAIL] if checks.differ else verdicts, tally)
    for problem in (tally.untested, checks.untested):
        if problem and not options.allow_skips:
            click.echo(f"tflm-hil: {problem}\nhint: {_SKIPS_HINT}", err=True)
            code = code or ExitCode.ENVIRONMENT
    return code


def _occasion(options: RunOptions, made: Plan) -> Occasion | None:
    """Time, commit and selection of this run; None if no report needs them (git is slow)."""
    if not (options.json_file or options.html or options.url):
        return None
    from harness.history.run import Occasion  # noqa: PLC0415 - see above

    return Occasion.here(selection=selection(options, made))


def selection(options: RunOptions, made: Plan) -> Selection:
    """The selection of cases by WHAT and the options, for the history."""
    from harness.history.selection import Selection  # noqa: PLC0415 - see above

    what = options.what
    values = options.layers[-1].values
    source = str(what.case_file or what.elf)
    if what.sample:
        built = str(values.get("resolver", "exact")), str(values.get("builder", "standalone"))
        source = "/".join([what.sample, *built])
    filters = [f"case {name}" for name in options.names]
    filters += [f"tag {name}" for name in options.tags]
    chips = filter(None, [str(values.get("chip", ""))])
    return Selection.of([source], filters, sorted(made.named), chips)


def _calibrate(file: str | None) -> Calibrate | None:
    """A function that adds figures by the calibration in ``file``; None without a file."""
    if not file:
        return None
    from harness.history.timing import calibrate_with  # noqa: PLC0415 - needs a calibration

    return calibrate_with(file)


def _build_together(cases: Sequence[Case]) -> None:
    """Builds the samples of several cases in parallel; each case then takes its own image."""
    by_builder: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for case in cases:
        if case.elf is None:
            pairs = by_builder.setdefault((case.builder, case.chip), [])
            pairs.append((case.sample, case.resolver))
    for (builder, chip), pairs in by_builder.items():
        if len(pairs) > 1:
            with suppress(HilError), logs.shown(on_stderr):  # each case builds again and reports it
                build_all(pairs, builder, chip=chip)


def _results(
    made: Plan,
    pools: Targets,
    checks: CrossChecks,
    calibrate: Calibrate | None,
    options: RunOptions,
) -> Iterator[CaseResult]:
    """Runs the cases in order, with progress; the error of a single case is raised."""
    count = len(made.items)
    ticker = Ticker("", stream=sys.stderr)

    def begin(number: int, case: Case) -> Echo | None:
        title = f"[{number}/{count}] {case.name} on {case.target}"
        if options.show_console:
            click.echo(f"--- {title}", err=True)
            return Echo(sys.stderr)
        ticker.line(f"{title} ...")
        return None

    results = execute(
        made,
        lambda case: options.output / case.target,
        pools,
        look=checks.look,
        echo=begin,
        calibrate=calibrate,
        trace=bool(options.coverage or options.profile),
        on_error="raise" if count == 1 else "record",
    )
    try:
        for number, result in enumerate(results, 1):
            ticker.done()
            yield result
            if count > 1 and options.json_file != STDOUT:
                seconds = f"{result.measures.wall_seconds:.1f} s"
                verdict = f"{result.setup}: {result.judgement.verdict} ({seconds})"
                click.echo(f"[{number}/{count}] {verdict}", err=True)
    finally:
        ticker.done()
