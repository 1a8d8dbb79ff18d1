"""Keys of a case that contradict each other, or lack what they need."""

from __future__ import annotations

from collections.abc import Collection

from harness.base.errors import UsageError
from harness.case.case import NEVER, SYSTEM_OFF, Case
from harness.case.observe import tensor_text
from harness.case.value_rules import refuse_rules
from harness.uart import scraper
from harness.uart.coverage import ignored_patterns
from harness.uart.scrapers import AbsentLines, EndLine, is_regex
from harness.uart.scrapers.pattern import compile_regex


def refuse_contradictions(case: Case, given: Collection[str]) -> None:
    """Raise :class:`UsageError` for a case whose keys, those ``given``, do not go together."""
    if (case.elf is None) == (not case.sample):
        raise UsageError("give either elf or sample")
    if case.also_load and case.elf is None:
        raise UsageError("also_load goes with elf")
    if not case.targets:
        raise UsageError("targets is empty, so nothing would run")
    _check_steps(case)
    _ = case.presses  # raises UsageError for a pin that the kit lacks
    AbsentLines(case.expect.lines_absent)  # raises UsageError for a broken regex
    ignored_patterns(case.expect.ignored)  # likewise
    if not all(case.expect.values) and not case.expect.compare:
        raise UsageError(
            "an empty row of expect.values compares nothing",
            hint="only a value with a range of expect.compare may stand alone in a result",
        )
    refuse_rules(case)
    _check_printed(case)
    _check_end(case, given)
    refuse_nothing_expected(case)
    relative = next((budget for budget in case.budgets.limits if budget.relative), None)
    if relative and case.baseline is None:
        raise UsageError(
            f"the budget of {relative.name} is a step from a baseline, and the case names none",
            hint='baseline = "main.json" (of footprint --json or run --json), or an ELF',
        )


def refuse_nothing_expected(case: Case) -> None:
    """Raise :class:`UsageError` for a case that expects no outputs, no finding and no last line."""
    if not (case.wants_outputs or case.expect.findings or case.last_line):
        raise UsageError(
            "a case without outputs needs a last line or expect.findings",
            hint='name the image\'s last line (end = { line = "..." }) or a finding that must be '
            "there (expect.findings)",
        )


def _check_end(case: Case, given: Collection[str]) -> None:
    records = not case.reads_text and case.wants_outputs
    if "end" in given and case.end != SYSTEM_OFF and records:
        raise UsageError("end needs a scraper or outputs: an image with records ends with a record")
    if not isinstance(case.end, str):
        EndLine(case.last_line)  # raises UsageError for a broken regex
    if case.end == NEVER and case.scraper and scraper(case.scraper).end is not None:
        raise UsageError(
            f"scraper {case.scraper_text} has a last line of its own",
            hint='leave out `end = "never"` (--end never)',
        )


def _check_printed(case: Case) -> None:
    if not case.outputs:
        if isinstance(case.inputs, tuple):
            raise UsageError("inputs that are regexes need outputs", hint="outputs = ['y: (\\S+)']")
        return
    regexes = case.scraper if isinstance(case.scraper, tuple) else (case.scraper,)
    others = {
        f"scraper {case.scraper_text}": not all(not one or is_regex(one) for one in regexes),
        'reference = "none"': case.reference == "none",
        "expect.tests": case.expect.tests,
    }
    for key in (key for key, value in others.items() if value):
        raise UsageError(f"outputs compares with the model and cannot stand beside {key}")
    if bool(case.scraper) != bool(case.expect.values or case.expect.compare):
        raise UsageError(
            "beside outputs, a scraper's regex and expect.values go together",
            hint="the scraper reads lines other than the tensors, and expect.values lists them",
        )
    if case.inputs is None:
        raise UsageError(
            "outputs needs inputs to compute the right answers from",
            hint="inputs = ['x: (\\S+)'] as the image prints them, or a file of those that it has",
        )
    tensor_text(case)  # raises UsageError if they do not fit the model


def _check_steps(case: Case) -> None:
    for number, step in enumerate(case.steps):
        if (step.send is None) == (step.wait is None):
            raise UsageError(f"steps[{number}] is either send or wait")
        if step.wait is not None:
            compile_regex(step.wait, f"the regex of steps[{number}]")
        try:
            _ = step.data
        except ValueError as error:
            raise UsageError(f"steps[{number}]: hex: {error}", hint='hex = "0d 0a"') from error
    if case.steps and case.input_file is not None and not case.outputs:
        raise UsageError(
            "steps cannot stand beside a file of inputs",
            hint="the host's records are sent for it; `steps` are for an image that reads text",
        )
