"""Messages about failure -> findings, separately for running tests.

The messages are rows of :mod:`harness.uart.message_table`. TFLM prints several of its messages in
two calls, each with its own line end, and other threads may print in between: the second half is
searched in the rest of the line and in the next few lines. In as many lines, a program may say that
it goes on after a failure in general words, which is then none.

A test may cause errors and faults on purpose. While a test is running, its lines go to a reader of
their own, whose findings are dropped when the test ends. Those of a test that never ends are kept:
they explain why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.base.findings import NOTES, Finding, Findings, Kind
from harness.model.schema import OPERATOR_NAMES
from harness.uart.faults import TRIGGERS as FAULT_TRIGGERS
from harness.uart.faults import FaultReader, arm_reason
from harness.uart.lines import Line, integer
from harness.uart.message_table import (
    GENERAL_RULES,
    HARMLESS,
    IMPULSE_ERRORS,
    LONGEST,
    RECOVERED,
    RULES,
    STEPS,
    SUBJECTS,
    THREAD,
    TRIGGERS,
    WORDS,
    Rule,
)

#: Most lines between the two halves of a message.
_REACH = 6
#: Most messages that are remembered to drop repetitions; later ones are limited by
#: :class:`Findings` alone.
_MOST_KNOWN = 1000
#: Most characters of a message that are kept.
_WIDTH = 600


@dataclass
class _PartialMessage:
    """A message, or the first half of one."""

    rule: Rule
    text: str
    line: int
    groups: dict[str, str | None]
    registers: tuple[tuple[str, int], ...] = ()  # lr and pc, of a fatal error
    lines_left: int = _REACH  # that may contain the second half


class MessageReader:
    """Finds known messages, joins those in two parts, and drops repetitions."""

    def __init__(self) -> None:
        self._findings = Findings()
        self._half: _PartialMessage | None = None
        self._known: set[tuple[Kind, str]] = set()

    def __iter__(self) -> Iterator[Finding]:
        """The findings so far, with one that may still be taken back."""
        yield from self._findings
        if self._half is not None and self._half.rule.general:
            finding = _finding(self._half)
            if (finding.kind, finding.subject) not in self._known:
                yield finding

    @property
    def waiting(self) -> bool:
        """True while the second half of a message is missing, or one may be taken back."""
        return self._half is not None

    def feed(
        self, line: Line, registers: tuple[tuple[str, int], ...] = (), *, in_dump: bool = False
    ) -> None:
        """Read one line; ``registers`` were printed shortly before it.

        General words in a fault dump are part of it.
        """
        if self._second_half(line.text):
            return
        for rule in RULES:
            if match := rule.match(line.text):
                self._take(rule, match, line, registers)
                return
        if not in_dump and (rule_of_words := _in_general_words(line.text)):
            self.finish()
            text = line.text.strip()[:_WIDTH]
            self._half = _PartialMessage(rule_of_words, text, line.number, {})

    def _take(
        self, rule: Rule, match: re.Match[str], line: Line, registers: tuple[tuple[str, int], ...]
    ) -> None:
        text = line.text if rule.line else match.group()
        half = _PartialMessage(rule, text.strip()[:_WIDTH], line.number, match.groupdict())
        if rule.then is not None and rule.then.pattern == THREAD:
            half.registers = registers
        if self._half is not None and self._half.rule.general:
            self.finish()  # it came first
        if rule.then is None:
            self._emit(half)
            return
        self.finish()
        self._half = half
        if not rule.line:
            self._second_half(line.text[match.end() :])

    def _second_half(self, text: str) -> bool:
        """True if ``text`` has the missing second half."""
        half = self._half
        if half is None:
            return False
        if half.rule.then is None:
            if RECOVERED.search(text[:LONGEST].lower()):
                self._half = None
                return False
        elif match := half.rule.then.search(text):
            half.groups |= match.groupdict()
            half.text = f"{half.text} {match.group().strip()[:_WIDTH]}"
            self._half = None
            self._emit(half)
            return True
        half.lines_left -= 1
        if half.lines_left < 0:
            self.finish()
        return False

    def finish(self) -> None:
        """Handle the end of the text: most first halves without the second are findings, too."""
        half, self._half = self._half, None
        if half is not None and half.rule.alone:
            self._emit(half)

    def _emit(self, half: _PartialMessage) -> None:
        finding = _finding(half)
        if (finding.kind, finding.subject) in self._known:
            return
        if len(self._known) < _MOST_KNOWN:
            self._known.add((finding.kind, finding.subject))
        self._findings.add(finding)


def names_failure(text: str) -> bool:
    """Whether a line has words of failure; ``0 errors`` does not."""
    return bool(WORDS.search(_wrong(text))) or _in_general_words(text) is not None


def _in_general_words(text: str) -> Rule | None:
    """The general rule that a line matches, if there is one."""
    low = _wrong(text)
    return next((rule for rule in GENERAL_RULES if rule.match(low)), None)


def _wrong(text: str) -> str:
    """A line in lower case, without what says that nothing is wrong."""
    low = text[:LONGEST].lower()
    return "" if RECOVERED.search(low) else HARMLESS.sub("", low)


def _finding(half: _PartialMessage) -> Finding:
    groups = {name: text for name, text in half.groups.items() if text is not None}
    subject = next((groups[name] for name in SUBJECTS if name in groups), "")
    read = {name: integer(text) for name, text in groups.items() if name not in SUBJECTS}
    numbers = {name: number for name, number in read.items() if number is not None}
    if not subject and "number" in numbers:
        subject = builtin_operator_name(numbers["number"])
    meanings = (arm_reason(numbers.get("reason", 0)), IMPULSE_ERRORS.get(numbers.get("impulse", 0)))
    shown = "".join(f" ({meaning})" for meaning in meanings if meaning)
    shown += "".join(f", {name} 0x{value:08x}" for name, value in half.registers)
    values = (*numbers.items(), *half.registers)
    kind = STEPS.get(groups.get("step", ""), half.rule.kind)
    return Finding(kind, half.text + shown, subject, half.line, values)


def builtin_operator_name(code: int) -> str:
    """The schema's name of a builtin operator code (``9`` -> ``FULLY_CONNECTED``), or ``#code``."""
    return OPERATOR_NAMES[code] if 0 <= code < len(OPERATOR_NAMES) else f"#{code}"


_TRIGGERS = (*FAULT_TRIGGERS, *TRIGGERS)


def _may_tell(text: str) -> bool:
    """False for a line without any word of a message: nearly every line."""
    low = text.lower()
    for word in _TRIGGERS:  # noqa: SIM110 - any() takes twice the time
        if word in low:
            return True
    return False


class DiagnosticReader:
    """Messages and fault dumps in a part of the console."""

    def __init__(self) -> None:
        self._messages = MessageReader()
        self._faults = FaultReader()

    def feed(self, line: Line) -> None:
        """Read one line."""
        if self._messages.waiting or self._faults.waiting or _may_tell(line.text):
            registers = self._faults.registers_before(line)
            self._messages.feed(line, registers, in_dump=self._faults.waiting)
            self._faults.feed(line)

    def finish(self) -> None:
        """Handle the end of the text."""
        self._messages.finish()
        self._faults.finish()

    def __iter__(self) -> Iterator[Finding]:
        """The findings so far."""
        yield from self._messages
        yield from self._faults.findings


def messages_in(lines: Iterable[Line]) -> list[Finding]:
    """The messages and fault dumps in some lines, without notes, in the order of their lines."""
    reader = DiagnosticReader()
    for line in lines:
        reader.feed(line)
    reader.finish()
    return sorted((one for one in reader if one.kind not in NOTES), key=lambda one: one.line)


class Diagnostics:
    """Messages and fault dumps outside of tests, and those of the running test."""

    def __init__(self) -> None:
        self._common = DiagnosticReader()
        self._test: DiagnosticReader | None = None
        self._owner = 0

    def feed(self, line: Line, owner: int) -> None:
        """Read one line; ``owner`` is the number of the running test, 0 for none."""
        if owner != self._owner:
            self._owner = owner
            self._test = DiagnosticReader() if owner else None
        (self._test or self._common).feed(line)

    def finish(self) -> None:
        """Handle the end of the text."""
        self._common.finish()
        if self._test is not None:
            self._test.finish()

    def __iter__(self) -> Iterator[Finding]:
        """The findings outside of tests, and those of a test that is still running."""
        yield from self._common
        if self._test is not None:
            yield from self._test
