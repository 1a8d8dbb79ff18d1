"""``tflm-hil run``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness.base import numbers, signals
from harness.base.errors import ExitCode, UsageError
from harness.case import Case, CaseResult, Verdict, run_case
from harness.case.case import target_names
from harness.case.subject import find_model
from harness.case.tally import Tally, exit_code
from harness.cli.options import (
    beside_option,
    builder_options,
    chip_option,
    history_option,
    json_option,
    number_option,
    target_options,
)
from harness.cli.parameters import (
    ALL,
    BUTTON,
    CASE,
    CONFIGURATION,
    EXISTING,
    FILE_OR_WORD,
    IMAGE_OR_CASES,
    MODEL,
    SCRAPER,
    STDOUT,
    TARGET,
    Destination,
)
from harness.cli.run.cases import Options, select, selection
from harness.cli.run.crosschecks import CrossChecks
from harness.cli.run.reports import RunReport, check_destinations, interrupted, report
from harness.report.progress import Ticker
from harness.targets.registry import TARGETS, Ability, TargetPools, who_can
from harness.uart.echo import Echo
from harness.uart.scrapers import SCRAPERS

if TYPE_CHECKING:
    from harness.case.run import Calibrate
    from harness.history.run import Occasion

_SKIPS_HINT = "--allow-skips, if this is intended"


@click.command()
@click.argument("what", metavar="IMAGE|SAMPLE|hil.toml", type=IMAGE_OR_CASES)
@click.option("--case", "names", metavar="NAME", type=CASE, multiple=True,
              help="Run only this case of a case file; repeatable.")  # fmt: skip
@click.option("--target", metavar="T[,T...]", type=TARGET,
              help=f"Targets: {', '.join(TARGETS)}.  [default: simulator, or those of the case "
              "file]")  # fmt: skip
@click.option("--resolver", metavar="CFG", type=CONFIGURATION,
              help=f"Resolver configuration of a SAMPLE, or {ALL}.  [default: exact]")  # fmt: skip
@builder_options
@chip_option
@beside_option
@click.option("--model", metavar="FILE|NAME", type=MODEL,
              help="The .tflite of the image, or the name of a model of this project; outputs must "
              "equal those of the reference.")  # fmt: skip
@click.option("--scraper", metavar="NAME|/REGEX/", type=SCRAPER,
              help="For an image that prints no records: the parser of its output, "
              f"{', '.join(SCRAPERS)}, or a regex with named groups.")  # fmt: skip
@click.option("--inputs", type=EXISTING,
              help=".npy or .npz, one row per inference, sent through the console.")  # fmt: skip
@number_option("--inferences", check=numbers.count, metavar="N",
               help="Required number of results.", default_text="1")  # fmt: skip
@number_option("--tolerance", check=numbers.tolerance, metavar="X",
               help="Largest difference of an output.",
               default_text="exact; for float sums an error bound")  # fmt: skip
@click.option("--never-ends", is_flag=True,
              help="With --scraper: the firmware runs in an endless loop; watch it for --watch "
              "seconds after the last expected result.")  # fmt: skip
@number_option("--watch", check=numbers.seconds, metavar="SECONDS",
               help="With --scraper: time after the end, on the target's clock, during which "
               "output is still checked.", default_text="1")  # fmt: skip
@click.option("--press", "presses", metavar="PIN[@S[+S]]", multiple=True, type=BUTTON,
              help="Press a button (button1, button2, P0.6) S seconds after the start, for the "
              f"given time; repeatable; on {', '.join(who_can(Ability.PINS))}.")  # fmt: skip
@number_option("--timeout", check=numbers.seconds, metavar="SECONDS",
               help="Time limit of the run, on the target's clock (virtual on simulators).",
               default_text="10 for an ELF")  # fmt: skip
@number_option("--guard", check=numbers.seconds, metavar="SECONDS",
               help="Time limit on the wall clock, for runs that hang.",
               default_text="120")  # fmt: skip
@target_options
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
def run(**options: Any) -> int:
    """Run an image, a sample or the cases of a file, and check the results.

    An IMAGE is an ELF, an Intel HEX file, FILE@ADDRESS for raw binary, or a Zephyr build folder.

    \b
    tflm-hil run hello_world
    tflm-hil run hello_world --resolver all-configurations --html report.html
    tflm-hil run zephyr.elf --scraper hello_world --never-ends --model model.tflite
    tflm-hil run zephyr.elf --scraper ztest
    tflm-hil run app.signed.hex --beside mcuboot.hex --beside zephyr.elf --scraper hello_world
    tflm-hil run . --case "my application"
    tflm-hil run build --scraper ztest --rerun      # while you edit and build
    tflm-hil run hil.toml --target simulator,renode --junit hil.xml
    tflm-hil run digits --profile digits.json --coverage digits.info

    With several targets, console, outputs and RAM of each case are compared between them.

    Exit code 0: all passed; 1: a check failed; 4: the firmware failed (a fault, a hang, no
    output); 3: environment error; 2: usage error. If cases differ, the first of 4, 1, 3 is used. A
    case that is skipped because its target is not available counts as 3, unless the case file
    lists other targets and the case ran on one of them.
    """
    check_destinations(options)
    if options["rerun"]:
        from harness.cli.run.rerun import files_of, repeat  # noqa: PLC0415 - see cli/__init__

        repeat(lambda: _run(options), lambda: files_of(options["what"], _files_given(options)))
    return _run(options)


def _files_given(options: Options) -> Iterator[Path]:
    """The files given by options."""
    yield from options["beside"]
    if options["inputs"] is not None:
        yield options["inputs"]
    if options["model"] is not None:
        yield find_model(options["model"])


def _run(options: Options) -> int:
    """Runs the cases selected by the options, once; returns the exit code."""
    occasion = _occasion(options)
    calibrate = _calibrate(options["calibration"])
    cases = select(options)
    checks = CrossChecks(cases, options["symbols"])
    if options["symbols"] and not checks.wanted:
        raise UsageError("--symbol compares targets, and no case runs on two of them")
    results: list[CaseResult] = []
    with signals.Keeping() as keeping, TargetPools() as pools:
        for result in _results(cases, pools, checks, calibrate, options):
            results.append(result)
    with signals.held_back():
        if keeping.stop is not None and occasion is not None:
            occasion = occasion.without("cases after the interrupt")
        tally = _tally(results, len(cases), options)
        report(RunReport(results, occasion, checks, tally), options)
        if keeping.stop is not None:
            click.echo(interrupted(keeping.stop, len(results), len(cases), options), err=True)
            return signals.exit_code(keeping.stop)
    verdicts = [result.judgement.verdict for result in results]
    code = exit_code([*verdicts, Verdict.FAIL] if checks.differ else verdicts, tally)
    for problem in (tally.untested, checks.untested):
        if problem and not options["allow_skips"]:
            click.echo(f"tflm-hil: {problem}\nhint: {_SKIPS_HINT}", err=True)
            code = code or ExitCode.ENVIRONMENT
    return code


def _occasion(options: Options) -> Occasion | None:
    """Time, commit and selection of this run; None if no report needs them (git is slow)."""
    if not any(options[name] for name in ("json_file", "html", "url")):
        return None
    from harness.history.run import Occasion  # noqa: PLC0415 - see above

    return Occasion.here(selection=selection(options))


def _calibrate(file: str | None) -> Calibrate | None:
    """A function that adds figures by the calibration in ``file``; None without a file."""
    if not file:
        return None
    from harness.history.timing import calibrate_with  # noqa: PLC0415 - needs a calibration

    return calibrate_with(file)


def _results(
    cases: Sequence[Case],
    pools: TargetPools,
    checks: CrossChecks,
    calibrate: Calibrate | None,
    options: Options,
) -> Iterator[CaseResult]:
    """Runs the cases in order, with progress; the error of a single case is raised."""
    on_error: Literal["raise", "record"] = "raise" if len(cases) == 1 else "record"
    ticker = Ticker("", stream=sys.stderr)
    for number, case in enumerate(cases, 1):
        position = f"[{number}/{len(cases)}]"
        if not options["show_console"]:
            ticker.line(f"{position} {case.name} on {case.target} ...")
        ready = case.on(case.target, pools.options(case.target, case.target_options))
        output = options["output"] / case.target
        try:
            result = run_case(
                ready,
                output,
                look=checks.look(case),
                calibrate=calibrate,
                echo=_echo(f"{position} {case.name} on {case.target}", options),
                on_error=on_error,
            )
        finally:
            ticker.done()
        yield result
        if len(cases) > 1 and options["json_file"] != STDOUT:
            seconds = f"{result.measures.wall_seconds:.1f} s"
            verdict = f"{result.setup}: {result.judgement.verdict} ({seconds})"
            click.echo(f"{position} {verdict}", err=True)


def _echo(title: str, options: Options) -> Echo | None:
    """Prints the title of the next case, and returns the display of its console; None if off."""
    if not options["show_console"]:
        return None
    click.echo(f"--- {title}", err=True)
    return Echo(sys.stderr)


def _tally(results: Sequence[CaseResult], asked: int, options: Options) -> Tally:
    named = target_names(options["target"]) if options["target"] is not None else ()
    return Tally.of(results).requested(asked=asked, named=named, allow_skips=options["allow_skips"])
