"""Runs without the image's own end, which never pass: reasons and hints.

The image hung, a limit stopped it, or no scraper reads its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.exceptions import exception_name
from harness.base.hints import NO_HINT, Hint, HintText
from harness.base.platforms import ChipTable
from harness.base.text import count_of
from harness.case.case import NEVER, Case
from harness.targets.base import Stop
from harness.uart.scrapers import SCRAPERS, scrapers_that_fit

if TYPE_CHECKING:
    from harness.case.observation import AtRest, Observation
    from harness.case.outputs import OutputCheck
    from harness.uart.lines import Line

#: A number on a line: a word, or behind an equals sign, a colon or a bracket.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?([eE][-+]?\d+)?(?![\w.])")
#: A time of day, or of a log: ``[00:00:01.250,000]``.
_CLOCK = re.compile(r"\S*\d:\d\S*")
HOW_IT_ENDED = {
    Stop.CONDITION: "it had printed its end",
    Stop.DEADLINE: "it ran on to the deadline",
    Stop.GUARD: "the wall-clock guard stopped it",
    Stop.IDLE: "it sleeps and nothing can wake it",
    Stop.LOCKUP: "the core locked up",
    Stop.RESET_LOOP: "it resets itself again and again",
    Stop.SYSTEM_OFF: "it switched the chip off (System OFF)",
}
#: Characters shown of text that was not written.
_SHOWN = 40


@dataclass(frozen=True)
class Hang:
    """What there is to say about a run without an end.

    ``causes`` are what core and memory show, ``reason`` is how far the image came, ``others`` are
    facts that need not have to do with it. ``unread`` is the problem of text that another scraper
    would read, "" without one; ``read_hint`` says how to read it, ``time_hint`` what the image
    lacks, such as time or input.
    """

    causes: tuple[str, ...]
    reason: str
    others: tuple[str, ...]
    unread: str
    read_hint: HintText
    time_hint: HintText


def explain_hang(case: Case, seen: Observation, outputs: OutputCheck, chip: ChipTable) -> Hang:
    """The reason, the problem and the hints of a run that did not end."""
    problem, hint = unread(case, seen)
    reason = why_unfinished(case, seen, outputs, chip)
    held = unwritten(seen)
    lacks = bool(held) and (seen.main_returned or seen.awaited)
    causes = tuple(filter(None, (held if lacks else "", seen.cause)))
    others = (held,) if held and not lacks else ()
    return Hang(causes, reason, others, problem, hint, time_hint(case, seen))


def unwritten(seen: Observation) -> str:
    """That stdout holds text, and how to have it written; "" if it holds none."""
    if not seen.unwritten:
        return ""
    text = ascii(seen.unwritten)[1:-1]
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    remedy = "" if "\n" in seen.unwritten else "print a line feed, or "
    return f'stdout holds "{shown}": {remedy}call fflush(stdout)'


def why_unfinished(case: Case, seen: Observation, outputs: OutputCheck, chip: ChipTable) -> str:
    """The reason: how far the image came, what stopped it, and where the core was."""
    where = f"; pc is in {seen.where}" if seen.where else ""
    end = seen.complaint or how_it_ended(seen.stop, seen.at_rest, chip, stuck=seen.stuck)
    if seen.main_returned and seen.stop is Stop.IDLE and not seen.complaint:
        end = "main() returned"
    if seen.stop in (Stop.GUARD, Stop.DEADLINE) and not seen.stuck:
        limit = f" of {case.timeout:g} s"
        if seen.stop is Stop.GUARD:
            clock = seen.counters.virtual_seconds
            reached = f" at {clock:.3f} s of the {case.timeout:g} s it has" if clock else ""
            limit = f" after {case.guard:g} s{reached}"
        end = f"{HOW_IT_ENDED[seen.stop]}{limit} {seen.complaint}".rstrip()
        if not seen.cause and (pace := seen.invocations.pace):
            slow = "slow rather than hung, " if _computes(seen) else ""
            end += f": {slow}{pace}"
    if not seen.console.size:
        return f"the console stayed silent: {end}{where}"
    lines, results = seen.console.line_count, _came(case, outputs.inferences)
    if not case.reads_text and not seen.console.records:
        results = "no record"
    if seen.console.flooded:
        end = "the run was stopped: the console never rests"
    return f"{count_of(lines, 'line')} and {results} came, then {end}{where}"


def _came(case: Case, results: int) -> str:
    """How many results came, and of how many if the case asks for more."""
    asked = case.least_results if case.wants_outputs else 0
    if asked > max(results, 1):
        return f"{results:,} of {count_of(asked, 'result')}"
    return count_of(results, "result")


def how_it_ended(stop: Stop, rest: AtRest | None, chip: ChipTable, *, stuck: bool = False) -> str:
    """Describe why a run came to no further."""
    if stuck:
        return "a handler executes for ever"
    if rest is None or stop not in (Stop.IDLE, Stop.SYSTEM_OFF):
        return HOW_IT_ENDED[stop]
    what = HOW_IT_ENDED[Stop.SYSTEM_OFF if rest.off else Stop.IDLE]
    if rest.branches:
        what = "it branches to itself and nothing can interrupt it"
    if rest.spins:
        what = "it spins around a WFI that does not sleep: an interrupt is pending and masked"
    if not rest.exception:
        return what
    return f"{what}, in the handler of {exception_name(rest.exception, chip)}"


def unread(case: Case, seen: Observation) -> tuple[str, HintText]:
    """A problem and a hint for text that the case does not read but a scraper would.

    The problem is "" if no other scraper reads anything.
    """
    scraped = seen.console.scrapers
    if seen.console.records or not seen.console.size or (scraped and scraped[0].results):
        return "", NO_HINT
    fitting = scrapers_that_fit(seen.console.read_lines())
    fitting.pop(case.scraper_text, None)
    if fitting:
        name, count = max(fitting.items(), key=lambda item: item[1])
        problem = f"scraper {case.scraper_text} reads nothing from its text"
        if case.outputs:
            problem = "the regexes of inputs and outputs read nothing from its text"
        elif not case.scraper:
            problem = "the image prints no records, and no scraper is given to read its text"
        return problem, Hint.OTHER_SCRAPER.told(name=name, results=count_of(count, "result"))
    if case.reads_text or not any(map(_has_number, seen.console.read_lines())):
        return "", NO_HINT
    return "", Hint.NEEDS_SCRAPER.told(known=", ".join(SCRAPERS))


def _has_number(line: Line) -> bool:
    """Whether ``line`` prints a number: not a time, a version, or a part of a name."""
    return _NUMBER.search(_CLOCK.sub("", line.text)) is not None


def time_hint(case: Case, seen: Observation) -> HintText:
    """A hint on what the image lacks, such as time or input."""
    records = seen.console.records
    if seen.stuck:
        return NO_HINT
    if records and records[-1].kind == "ready" and case.input_file is None and case.vectors is None:
        return Hint.SEND_INPUT.told()
    if seen.cause:
        return NO_HINT
    if seen.stop is Stop.GUARD:
        return _guard_hint(case, seen)
    if seen.stop is not Stop.DEADLINE:
        return NO_HINT
    if _only_the_end_is_missing(case, seen):
        return Hint.NEVER_ENDS.told()
    if (_results(case, seen) and _prints(seen)) or _computes(seen):
        return Hint.MORE_TIME.told()
    return NO_HINT


def _guard_hint(case: Case, seen: Observation) -> HintText:
    """The hint for an image that was getting on: it printed lately, or Invoke() is running."""
    clock = seen.counters.virtual_seconds
    if not clock or clock >= case.timeout:
        return NO_HINT
    if seen.invocations.running is None and not _prints(seen) and not _computes(seen):
        return NO_HINT
    needed = seen.counters.wall_seconds * case.timeout / clock
    return Hint.LARGER_GUARD.told(timeout=case.timeout, needed=needed)


def _only_the_end_is_missing(case: Case, seen: Observation) -> bool:
    """Whether all results have come as text, and nothing says how the image ends."""
    declares = any(scraper.end is not None for scraper in seen.console.scrapers)
    open_end = case.reads_text and not (declares or case.last_line or case.end == NEVER)
    return open_end and _results(case, seen) >= case.least_results


def _results(case: Case, seen: Observation) -> int:
    if case.reads_text:
        return len(seen.console.scrapers[0].results)
    return len(seen.console.of_kind("inference"))


def _prints(seen: Observation) -> bool:
    """Whether the image printed in the second half of its time."""
    return seen.quiet is not None and seen.quiet <= seen.counters.seconds / 2


def _computes(seen: Observation) -> bool:
    """Whether an inference returned in the second half of the image's time."""
    return seen.invocations.go_on(seen.counters.seconds)
