"""Reports of a run: tables on the terminal, files, the history."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import files, signals
from harness.base.errors import CannotWrite, HilError, UsageError
from harness.case import CaseResult
from harness.case.tally import Tally
from harness.cli.options import HistoryOption, JsonOption
from harness.cli.output import write_text
from harness.cli.parameters import STDOUT
from harness.cli.run.crosschecks import CrossChecks

if TYPE_CHECKING:
    from harness.history.run import Occasion


@dataclass(frozen=True, kw_only=True)
class ReportOptions(JsonOption, HistoryOption):
    """The options about reports of a run."""

    junit: Path | None
    html: Path | None
    markdown: Path | None
    coverage: Path | None
    profile: Path | None
    annotate: bool
    output: Path

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by option."""
        named = {
            "json": self.json_file,
            "junit": self.junit,
            "html": self.html,
            "markdown": self.markdown,
            "coverage": self.coverage,
            "profile": self.profile,
        }
        return {name: path for name, path in named.items() if path is not None}


def check_destinations(options: ReportOptions) -> None:
    """Checks, before anything runs, that all results can be written, to different files."""
    named = [path.absolute() for path in options.files.values()]
    twice = next((file for file in named if named.count(file) > 1), None)
    if twice is not None:
        raise UsageError(f"two reports would be written to {twice}")
    output = options.output
    existing = next(path for path in (output, *output.absolute().parents) if files.exists(path))
    if not files.is_folder(existing):
        raise UsageError(f"cannot write results to {output}", hint="choose another --output")
    if not os.access(existing, os.W_OK):
        raise CannotWrite(
            f"cannot write results to {output}: {existing} is not writable",
            hint="choose another --output",
        )


@dataclass(frozen=True)
class RunReport:
    """The content of the reports of a run."""

    results: Sequence[CaseResult]
    occasion: Occasion | None  # None if no report needs it
    checks: CrossChecks
    tally: Tally

    def document(self) -> dict[str, Any]:
        """The document of ``run --json``."""
        from harness.history.keep import document  # noqa: PLC0415 - see cli/__init__

        assert self.occasion is not None
        more = {"crosschecks": self.checks.to_json()} if self.checks.wanted else {}
        return {**document(self.results, self.occasion, self.tally), **more}


def report(run: RunReport, options: ReportOptions, case_file: Path | None) -> None:
    """Shows a run on the terminal, writes the files of ``options``, and records it in the history.

    A failure of one report does not prevent the others; the first failure is raised at the end.
    """
    if options.json_file != STDOUT:
        _show(run, profile=options.profile is not None)
    if options.annotate:
        _annotate(run, case_file)
    failures: list[HilError] = []
    for name, path in options.files.items():
        try:
            write_text(path, _content(name, path, run))
        except CannotWrite as error:
            failures.append(error)
    try:
        _keep(run, options.url)
    except HilError as error:
        failures.append(error)
    if failures:
        raise failures[0]


def _show(run: RunReport, *, profile: bool) -> None:
    from harness.report import terminal  # noqa: PLC0415 - rich only if something is shown

    terminal.print_table(run.results, sys.stdout, run.tally)
    terminal.print_images(run.results, sys.stdout)
    terminal.print_failures(run.results, sys.stdout)
    if profile:
        from harness.report.coverage import print_profiles  # noqa: PLC0415

        print_profiles(run.results, sys.stdout)
    run.checks.show(sys.stdout)


def _annotate(run: RunReport, case_file: Path | None) -> None:
    from harness.report.annotations import annotated  # noqa: PLC0415 - only on GitHub

    for line in annotated(run.results, case_file, Path.cwd()):
        click.echo(line, err=True)


def _keep(run: RunReport, url: str | None) -> None:
    if url and run.results:
        from harness.history.keep import keep  # noqa: PLC0415 - see cli/__init__

        assert run.occasion is not None

        click.echo(f"history: {keep(url, run.document(), run.occasion)}", err=True)


def _content(name: str, path: Path, run: RunReport) -> str:
    if name == "json":
        return json.dumps(run.document(), indent=2)
    if name == "html":
        from harness.report.html import About, html  # noqa: PLC0415

        return html(run.results, About(run.occasion, path.absolute().parent))
    if name == "junit":
        from harness.report.junit import junit  # noqa: PLC0415

        return junit(run.results, run.tally)
    if name == "markdown":
        from harness.report.markdown import markdown  # noqa: PLC0415

        return markdown(run.results, run.tally)
    if name == "profile":
        from harness.report.coverage import profiles  # noqa: PLC0415

        return profiles(run.results, folded=path.suffix in (".folded", ".txt"))
    from harness.report.coverage import lcov  # noqa: PLC0415

    return lcov(run.results)


def interrupted(stop: KeyboardInterrupt, done: int, wanted: int, options: ReportOptions) -> str:
    """A line about an interrupted run: the number of completed cases, and their reports."""
    reports = [str(path) for path in options.files.values() if path != STDOUT]
    where = ", ".join([*reports, f"files of each in {options.output}"] if done else reports)
    return f"tflm-hil: interrupted by {signals.cause(stop)}: {done} of {wanted} cases ran" + (
        f" and are reported ({where})" if where else ""
    )
