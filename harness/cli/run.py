"""``tflm-hil run``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness.base import signals
from harness.base.errors import CannotWrite, ExitCode, HilError, UsageError
from harness.build.builders import BUILDERS
from harness.case import CaseResult, Verdict, run_case
from harness.case.case import target_names
from harness.case.tally import Tally, exit_code
from harness.cli.crosscheck import CrossChecks
from harness.cli.names import ALL, CONFIGURATION, EXISTING, IMAGE_OR_CASES, MODEL, TARGET
from harness.cli.options import (
    COUNT,
    STDOUT,
    TOLERANCE,
    Destination,
    Seconds,
    beside_option,
    history_option,
    json_option,
    target_options,
    write_text,
)
from harness.cli.selection import Options, select, selection
from harness.report.ticker import Ticker
from harness.targets.registry import TARGETS, Ability, TargetPools, who_can
from harness.uart.scrapers import SCRAPERS

if TYPE_CHECKING:
    from harness.case.run import Calibrate
    from harness.history.run import Occasion

_REPORTS = ("json_file", "junit", "html", "coverage")
_SKIPS_HINT = "--allow-skips, if that is as it should be"


@click.command()
@click.argument("what", metavar="IMAGE|SAMPLE|hil.toml", type=IMAGE_OR_CASES)
@click.option("--case", "names", metavar="NAME", multiple=True,
              help="Of a case file, only this case; may be given again.")  # fmt: skip
@click.option("--target", metavar="T[,T...]", type=TARGET,
              help=f"Where to run it: {', '.join(TARGETS)}.  [default: simulator, or what the "
              "case file says]")  # fmt: skip
@click.option("--resolver", metavar="CFG", type=CONFIGURATION,
              help=f"Resolver configuration of a SAMPLE, or {ALL}.  [default: exact]")  # fmt: skip
@click.option("--builder", type=click.Choice(BUILDERS),
              help="Who builds a SAMPLE.  [default: standalone]")  # fmt: skip
@beside_option
@click.option("--model", metavar="FILE|NAME", type=MODEL,
              help="The .tflite that the image runs, or the name of one of this project's: outputs "
              "must be what the reference makes of it.")  # fmt: skip
@click.option("--scraper", metavar="NAME|/REGEX/",
              help="For an image that prints no records: what reads values from its text: "
              f"{', '.join(SCRAPERS)}, or a regex with named groups.")  # fmt: skip
@click.option("--inputs", type=EXISTING,
              help=".npy or .npz, one row per inference, to feed through the console.")  # fmt: skip
@click.option("--inferences", type=COUNT, metavar="N",
              help="How many results must come, at least.  [default: 1]")  # fmt: skip
@click.option("--tolerance", type=TOLERANCE, metavar="X",
              help="Largest difference of an output.  [default: to the bit; float sums 32 ulp]",
              )  # fmt: skip
@click.option("--never-ends", is_flag=True,
              help="With --scraper: the firmware never ends on purpose (a stock sample's loop), so "
              "watch it for --watch seconds after the results asked for.")  # fmt: skip
@click.option("--watch", type=Seconds(), metavar="SECONDS",
              help="With --scraper: how long, on the target's clock, what comes after the end "
              "still counts.  [default: 1]")  # fmt: skip
@click.option("--press", "presses", metavar="PIN[@S[+S]]", multiple=True,
              help="Press a button (button1, button2, P0.6) so many seconds after the start, for "
              f"so long; may be given again; on {', '.join(who_can(Ability.PINS))}.")  # fmt: skip
@click.option("--timeout", type=Seconds(), metavar="SECONDS",
              help="For the whole run, on the target's clock (virtual on simulators).  "
              "[default: 10 for an ELF]")  # fmt: skip
@click.option("--guard", type=Seconds(), metavar="SECONDS",
              help="Limit on the wall clock, for runs that hang.  [default: 120]")  # fmt: skip
@target_options
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              default="hil-results", show_default=True,
              help="Where console, transcript and result.json of each case go.")  # fmt: skip
@json_option("the results")
@click.option("--junit", type=Destination(), help="Write a JUnit XML file.")
@click.option("--html", type=Destination(), help="Write an HTML report.")
@click.option("--coverage", type=Destination(),
              help="Write which lines of the firmware ran, as LCOV (for genhtml); on "
              f"{' and '.join(who_can(Ability.TRACE))}.")  # fmt: skip
@click.option("--profile", is_flag=True,
              help="Show the instructions of each function, boot to end; on "
              f"{' and '.join(who_can(Ability.TRACE))}.")  # fmt: skip
@click.option(
    "--allow-skips",
    is_flag=True,
    help="Exit code 0 although a case ran nowhere, or not on a target of --target.",
)
@history_option("Keep the results in this history: an SQLite file, or a database URL.")
@click.option("--calibration", metavar="FILE",
              default=lambda: os.environ.get("TFLM_HIL_CALIBRATION") or None,
              help="What `tflm-hil calibrate` wrote: gives milliseconds.  "
              "[default: $TFLM_HIL_CALIBRATION]")  # fmt: skip
@click.option("--symbol", "symbols", metavar="NAME", multiple=True,
              help="With several targets: an object in RAM that must be the same on all of them at "
              "the end; may be given again.  [default: the tensor arena]")  # fmt: skip
def run(**options: Any) -> int:
    """Run an image, a sample or the cases of a file, and judge the result.

    An IMAGE is an ELF, an Intel HEX file, FILE@ADDRESS for plain bytes, or a Zephyr build folder.

    \b
    tflm-hil run hello_world
    tflm-hil run hello_world --resolver all-configurations --html report.html
    tflm-hil run zephyr.elf --scraper hello_world --never-ends --model model.tflite
    tflm-hil run zephyr.elf --scraper ztest
    tflm-hil run app.signed.hex --beside mcuboot.hex --beside zephyr.elf --scraper hello_world
    tflm-hil run . --case "my application"
    tflm-hil run hil.toml --target simulator,renode --junit hil.xml
    tflm-hil run digits --profile --coverage digits.info

    With several targets each case is also compared between them: console, outputs, RAM.

    Exit code 0: all passed; 1: a check failed; 4: the firmware failed (a fault, a hang,
    silence); 3: the environment; 2: usage. If cases end differently, the first of 4, 1, 3 counts.
    A case that is skipped because its target is not here counts as 3, unless the case file lists
    other targets and the case ran on one of them.
    """
    _check_destinations(options)
    occasion = _occasion(options)
    calibrate = _calibrate(options["calibration"])
    cases = select(options)
    quiet = options["json_file"] == STDOUT
    ticker = Ticker("", stream=sys.stderr)
    checks = CrossChecks(cases, options["symbols"])
    if options["symbols"] and not checks.wanted:
        raise UsageError("--symbol compares targets, and no case runs on two of them")
    results: list[CaseResult] = []
    on_error: Literal["raise", "record"] = "raise" if len(cases) == 1 else "record"
    with signals.Keeping() as keeping, TargetPools() as shared:
        for number, case in enumerate(cases, 1):
            position = f"[{number}/{len(cases)}]"
            ticker.line(f"{position} {case.name} on {case.target} ...")
            ready = case.on(case.target, shared.options(case.target, case.target_options))
            try:
                look = checks.look(case)
                output = options["output"] / case.target
                results.append(
                    run_case(ready, output, look=look, calibrate=calibrate, on_error=on_error)
                )
            finally:
                ticker.done()
            if len(cases) > 1 and not quiet:
                seconds = f"{results[-1].measures.wall_seconds:.1f} s"
                outcome = f"{results[-1].setup}: {results[-1].judgement.verdict} ({seconds})"
                click.echo(f"{position} {outcome}", err=True)
    with signals.held_back():
        if keeping.stop is not None and occasion is not None:
            occasion = occasion.without("cases after the interrupt")
        tally = _tally(results, len(cases), options)
        _report(Outcome(results, occasion, checks, tally), options, quiet=quiet)
        if keeping.stop is not None:
            click.echo(_interrupted(keeping.stop, len(results), len(cases), options), err=True)
            return signals.exit_code(keeping.stop)
    verdicts = [result.judgement.verdict for result in results]
    code = exit_code([*verdicts, Verdict.FAIL] if checks.differ else verdicts, tally)
    for problem in (tally.untested, checks.untested):
        if problem and not options["allow_skips"]:
            click.echo(f"tflm-hil: {problem}\nhint: {_SKIPS_HINT}", err=True)
            code = code or ExitCode.ENVIRONMENT
    return code


def _occasion(options: Options) -> Occasion | None:
    """Time, commit and selection of this run; None if no report names them (git is slow)."""
    if not any(options[name] for name in ("json_file", "html", "url")):
        return None
    from harness.history.run import Occasion  # noqa: PLC0415 - see above

    return Occasion.here(selection=selection(options))


def _calibrate(file: str | None) -> Calibrate | None:
    """What adds the figures of the calibration in ``file`` to a result; None without a file."""
    if not file:
        return None
    from harness.history.timing import calibrate_with  # noqa: PLC0415 - needs a calibration

    return calibrate_with(file)


def _tally(results: Sequence[CaseResult], asked: int, options: Options) -> Tally:
    named = target_names(options["target"]) if options["target"] is not None else ()
    return Tally.of(results).requested(asked=asked, named=named, allow_skips=options["allow_skips"])


def _interrupted(stop: KeyboardInterrupt, done: int, wanted: int, options: Options) -> str:
    """One line about an interrupted run: how many cases ran, and where their results are."""
    reports = [str(options[name]) for name in _REPORTS if options[name] not in (None, STDOUT)]
    where = ", ".join([*reports, f"files of each in {options['output']}"] if done else reports)
    return f"tflm-hil: interrupted by {signals.cause(stop)}: {done} of {wanted} cases ran" + (
        f" and are reported ({where})" if where else ""
    )


def _check_destinations(options: Options) -> None:
    """Refuse, before anything runs, destinations at which results would be lost."""
    files = [options[name] for name in _REPORTS if options[name] is not None]
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise UsageError(f"two reports would be written to {twice}")
    output: Path = options["output"]
    existing = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"cannot write results to {output}", hint="choose another --output")
    if not os.access(existing, os.W_OK):
        raise CannotWrite(
            f"cannot write results to {output}: {existing} may not be written",
            hint="choose another --output",
        )


@dataclass(frozen=True)
class Outcome:
    """What the reports show of a run."""

    results: Sequence[CaseResult]
    occasion: Occasion | None
    checks: CrossChecks
    tally: Tally

    def document(self) -> dict[str, Any]:
        """The document of ``run --json``."""
        from harness.history.keep import document  # noqa: PLC0415 - see cli/__init__

        assert self.occasion is not None
        more = {"crosschecks": self.checks.to_json()} if self.checks.wanted else {}
        return {**document(self.results, self.occasion, self.tally), **more}


def _report(outcome: Outcome, options: Options, *, quiet: bool) -> None:
    if not quiet:
        _show(outcome, profile=options["profile"])
    wanted = {name: path for name in _REPORTS if (path := options[name]) is not None}
    failures: list[HilError] = []
    for name, path in wanted.items():
        try:
            write_text(path, _content(name, path, outcome))
        except CannotWrite as error:  # the others may lie on another disk
            failures.append(error)
    try:
        _keep(outcome, options["url"])
    except HilError as error:
        failures.append(error)
    if failures:
        raise failures[0]


def _show(outcome: Outcome, *, profile: bool) -> None:
    """Tables on standard output; what prints them is imported only if something is shown."""
    from harness.report import table  # noqa: PLC0415 - rich

    table.print_table(outcome.results, sys.stdout, outcome.tally)
    table.print_images(outcome.results, sys.stdout)
    table.print_failures(outcome.results, sys.stdout)
    if profile:
        from harness.report.coverage import print_profiles  # noqa: PLC0415 - only if asked for

        print_profiles(outcome.results, sys.stdout)
    outcome.checks.show(sys.stdout)


def _keep(outcome: Outcome, url: str | None) -> None:
    if url and outcome.results:
        from harness.history.keep import keep  # noqa: PLC0415 - see cli/__init__

        assert outcome.occasion is not None

        click.echo(f"history: {keep(url, outcome.document(), outcome.occasion)}", err=True)


def _content(name: str, path: Path, outcome: Outcome) -> str:
    """The document of one of ``_REPORTS``; its writer is imported only if it is asked for."""
    if name == "json_file":
        return json.dumps(outcome.document(), indent=2)
    if name == "html":
        from harness.report.html import About, html  # noqa: PLC0415 - jinja2

        return html(outcome.results, About(outcome.occasion, path.absolute().parent))
    if name == "junit":
        from harness.report.junit import junit  # noqa: PLC0415 - see above

        return junit(outcome.results, outcome.tally)
    from harness.report.coverage import lcov  # noqa: PLC0415 - see above

    return lcov(outcome.results)
