"""Runs without the image's own end, which never pass: reasons and hints.

The image hung, a limit stopped it, or no scraper reads its text.
"""

from __future__ import annotations

from harness.base.text import count_of
from harness.case.case import NEVER, Case
from harness.case.endings import HOW_IT_ENDED, how_it_ended
from harness.case.observation import Observation
from harness.case.outputs import OutputCheck
from harness.targets.base import Stop
from harness.uart.scrapers import SCRAPERS, scrapers_that_fit


def why_unfinished(case: Case, seen: Observation, outputs: OutputCheck) -> str:
    """The reason: how far the image came, what stopped it, and where the core was."""
    where = f"; pc is in {seen.where}" if seen.where else ""
    end = seen.complaint or how_it_ended(seen.stop, seen.at_rest, stuck=seen.stuck)
    if seen.stop in (Stop.GUARD, Stop.DEADLINE) and not seen.stuck:
        limit = f" of {case.timeout:g} s"
        if seen.stop is Stop.GUARD:
            clock = seen.counters.virtual_seconds
            reached = f" at {clock:.3f} s of the {case.timeout:g} s it has" if clock else ""
            limit = f" after {case.guard:g} s{reached}"
        end = f"{HOW_IT_ENDED[seen.stop]}{limit} {seen.complaint}".rstrip()
    if not seen.console.size:
        return f"the console stayed silent: {end}{where}"
    lines, results = seen.console.line_count, count_of(outputs.inferences, "result")
    if not case.reads_text and not seen.console.records:
        results = "no record"
    if seen.console.flooded:
        end = "the run was stopped: the console never rests"
    return f"{count_of(lines, 'line')} and {results} came, then {end}{where}"


def unread(case: Case, seen: Observation) -> tuple[str, str]:
    """A problem and a hint for text that the case does not read but a scraper would.

    The problem is "" if no other scraper reads anything.
    """
    scraped = seen.console.scrapers
    if seen.console.records or not seen.console.size or (scraped and scraped[0].results):
        return "", ""
    fitting = scrapers_that_fit(seen.console.read_lines())
    fitting.pop(case.scraper, None)
    if fitting:
        name, count = max(fitting.items(), key=lambda item: item[1])
        problem = f"scraper {case.scraper} reads nothing from its text"
        if case.outputs:
            problem = "the regexes of inputs and outputs read nothing from its text"
        elif not case.scraper:
            problem = "the image prints no records, and no scraper is given to read its text"
        return problem, f"--scraper {name} reads {count_of(count, 'result')} from it"
    if case.reads_text:
        return "", ""
    known = ", ".join(SCRAPERS)
    reader = f"an image that prints no records is read by a scraper: {known}, or a /regex/"
    return "", f"{reader}; `tflm-hil init` writes a case file for its text"


def time_hint(case: Case, seen: Observation) -> str:
    """A hint on what the image lacks, such as time or input; "" if none is known.

    An image that was silent for most of its time has hung: more time does not help.
    """
    records = seen.console.records
    if seen.stop is Stop.GUARD:
        return "a slow machine or target needs a larger guard (--guard, or `guard` in a case file)"
    if records and records[-1].kind == "ready" and case.input_file is None and case.vectors is None:
        return "the image waits for input: give --inputs, or `inputs` in a case file"
    if seen.stop is Stop.DEADLINE and case.reads_text and seen.console.scrapers[0].results:
        declares = any(scraper.end is not None for scraper in seen.console.scrapers)
        return "" if declares and _quiet(case, seen) else _scraped_hint(case, declares=declares)
    if seen.stop is Stop.DEADLINE and seen.complaint and not _quiet(case, seen):
        return "more inferences need more time (--timeout, or `timeout` in a case file)"
    return ""


def _quiet(case: Case, seen: Observation) -> bool:
    return seen.quiet is not None and seen.quiet > case.timeout / 2


def _scraped_hint(case: Case, *, declares: bool) -> str:
    """The hint for an image that gives results and does not end."""
    if declares or case.last_line:
        return "what takes longer needs more time (--timeout, or `timeout` in a case file)"
    if case.end == NEVER:
        return "more results need more time (--timeout, or `timeout` in a case file)"
    return (
        'firmware that never ends, or sleeps for good: --end never, or `end = "never"` in a case '
        'file; firmware with a last line: --end /REGEX/, or `end = { line = "REGEX" }`'
    )
