"""Known messages of TFLM and Zephyr -> findings, separately for running tests.

The rules are data: a kind of finding, and a pattern with groups for the subject and for numbers.
TFLM prints several of its messages in two calls, each with its own line end, and other threads may
print in between; such a rule has a second pattern, ``then``, which is searched in the rest of the
line and in the next few lines. Rules also cover the wordings of older revisions.

A test may cause errors and faults on purpose. While a test is running, its lines go to a reader of
their own, whose findings are dropped when the test ends. Those of a test that never ends are kept:
they explain why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.base.findings import Finding, Findings, Kind
from harness.model.schema import OPERATOR_NAMES
from harness.uart.faults import TRIGGERS as FAULT_TRIGGERS
from harness.uart.faults import FaultReader, arm_reason
from harness.uart.lines import Line, integer

#: Most lines between the two halves of a message.
_REACH = 6
#: Most messages that are remembered to drop repetitions; later ones are limited by
#: :class:`Findings` alone.
_MOST_KNOWN = 1000
#: Most characters of a message that are kept.
_WIDTH = 600

#: Groups of a pattern that name the subject.
_GROUP_SUBJECTS = ("operator", "custom", "stage", "what")


@dataclass(frozen=True)
class Rule:
    """One message. Groups of _GROUP_SUBJECTS in the patterns name the subject, others are numbers.

    ``literal`` is the beginning of the message. ``pattern`` is tried only at its first and its last
    occurrence in a line, so that a device cannot make a line expensive by repeating it.
    """

    kind: Kind
    literal: str
    pattern: re.Pattern[str]
    then: re.Pattern[str] | None = None

    def match(self, text: str) -> re.Match[str] | None:
        """The match of the message, or of its first half, in a line."""
        if self.literal not in text:
            return None
        first, last = text.find(self.literal), text.rfind(self.literal)
        return self.pattern.match(text, first) or self.pattern.match(text, last)


def _rule(kind: Kind, literal: str, rest: str = "", then: str | None = None) -> Rule:
    pattern = re.compile(re.escape(literal) + rest)
    return Rule(kind, literal, pattern, re.compile(then) if then else None)


_THREAD = r"Current thread: 0x[0-9a-fA-F]{1,8}(?: \([^)]{0,80}\))?"

RULES: tuple[Rule, ...] = (
    # resolver
    _rule(
        Kind.MISSING_OPERATOR,
        "Didn't find op for builtin opcode '",
        r"(?P<operator>\w{1,80})'",
    ),
    _rule(
        Kind.MISSING_CUSTOM_OPERATOR,
        "Failed to get registration from op code ",
        r"(?:CUSTOM\b|(?=\s{0,80}$))",
    ),
    _rule(
        Kind.MISSING_OPERATOR,
        "Failed to get registration from op code ",
        r"(?P<operator>[A-Z]\w{1,80})",
    ),
    _rule(
        Kind.MISSING_CUSTOM_OPERATOR,
        "Encountered unresolved custom op: ",
        r"(?P<custom>\w{1,80})",
    ),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        "Couldn't register builtin op #",
        r"(?P<number>\d+), resolver size",
        r"is too small \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        "Couldn't register custom op '",
        r"(?P<custom>[^']{0,80})', resolver size is too\s?small \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        "Calling AddBuiltin with the same op more than",
        then=r"once is not supported \(Op: #(?P<number>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        "Calling AddCustom for the same op more than once",
        then=r"is not supported \(Op: (?P<custom>[^)]{0,80})\)",
    ),
    # arena and interpreter
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate ",
        r"(?:tail |temp |non-persistent )?memory\."
        r" Requested: (?P<requested>\d+), available:? (?P<available>\d+),"
        r" missing: (?P<missing>\d+)",
    ),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to resize buffer.",
        r" Requested: (?P<requested>\d+), available:? (?P<available>\d+),"
        r" missing: (?P<missing>\d+)",
    ),
    _rule(Kind.ARENA_TOO_SMALL, "Arena size is too small for all buffers"),
    _rule(Kind.ARENA_TOO_SMALL, "Too many buffers (max is ", r"(?P<max>\d+)\)"),
    _rule(Kind.ALLOCATION_FAILED, "AllocateTensors() failed"),
    _rule(Kind.ALLOCATION_FAILED, "Failed starting model allocation"),
    _rule(
        Kind.PREPARE_FAILED,
        "Node ",
        r"(?P<operator>\S{1,80}) \(number (?P<node>\d+)f?\) failed to prepare with status"
        r" (?P<status>\d+)",
    ),
    _rule(
        Kind.INVOKE_FAILED,
        "Node ",
        r"(?P<operator>\S{1,80}) \(number (?P<node>\d+)f?\) failed to invoke with status"
        r" (?P<status>\d+)",
    ),
    _rule(Kind.INVOKE_FAILED, "Invoke", r"(?:\(\))? failed"),
    _rule(
        Kind.SCHEMA_MISMATCH,
        "Model provided is schema version ",
        r"(?P<version>\d+),? (?:which is )?not equal to supported"
        r"(?: version)? (?P<supported>\d+)",
    ),
    # Zephyr
    _rule(
        Kind.ASSERTION,
        "ASSERTION FAIL [",
        r"(?P<what>.{0,400}?)\] @ \S{1,300}",
        r"^\t\S.{0,400}",
    ),
    _rule(Kind.STACK_OVERFLOW, ">>> ZEPHYR FATAL ERROR 2: Stack overflow", then=_THREAD),
    _rule(
        Kind.KERNEL_PANIC,
        ">>> ZEPHYR FATAL ERROR ",
        r"(?P<reason>-?\d+): (?P<what>.{0,100}?) on CPU(?: \d{1,3})?",
        _THREAD,
    ),
    _rule(Kind.LOG_ERROR, "<err> ", r"(?!os:)(?P<what>\w{1,80}): .{0,400}"),
)

#: A line with a message, or with the first half of one, contains one of these.
TRIGGERS = tuple(dict.fromkeys(rule.literal for rule in RULES))


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
        self.findings = Findings()
        self._half: _PartialMessage | None = None
        self._known: set[tuple[Kind, str]] = set()

    @property
    def waiting(self) -> bool:
        """True while the second half of a message is missing."""
        return self._half is not None

    def feed(self, line: Line, registers: tuple[tuple[str, int], ...] = ()) -> None:
        """Read one line; ``registers`` were printed shortly before it."""
        if self._second_half(line.text):
            return
        for rule in RULES:
            if match := rule.match(line.text):
                self._take(rule, match, line, registers)
                return

    def _take(
        self, rule: Rule, match: re.Match[str], line: Line, registers: tuple[tuple[str, int], ...]
    ) -> None:
        half = _PartialMessage(rule, match.group().strip()[:_WIDTH], line.number, match.groupdict())
        if rule.then is not None and rule.then.pattern == _THREAD:
            half.registers = registers
        if rule.then is None:
            self._emit(half)
            return
        self.finish()
        self._half = half
        self._second_half(line.text[match.end() :])

    def _second_half(self, text: str) -> bool:
        """True if ``text`` has the missing second half."""
        half = self._half
        if half is None:
            return False
        assert half.rule.then is not None
        if match := half.rule.then.search(text):
            half.groups |= match.groupdict()
            half.text = f"{half.text} {match.group().strip()[:_WIDTH]}"
            self.finish()
            return True
        half.lines_left -= 1
        if half.lines_left < 0:
            self.finish()
        return False

    def finish(self) -> None:
        """Handle the end of the text: a first half without its second is a finding, too."""
        half, self._half = self._half, None
        if half is not None:
            self._emit(half)

    def _emit(self, half: _PartialMessage) -> None:
        groups = {name: text for name, text in half.groups.items() if text is not None}
        subject = next((groups[name] for name in _GROUP_SUBJECTS if name in groups), "")
        read = {name: integer(text) for name, text in groups.items() if name not in _GROUP_SUBJECTS}
        numbers = {name: number for name, number in read.items() if number is not None}
        if not subject and "number" in numbers:
            subject = builtin_operator_name(numbers["number"])
        if (half.rule.kind, subject) not in self._known:
            if len(self._known) < _MOST_KNOWN:
                self._known.add((half.rule.kind, subject))
            reason = arm_reason(numbers["reason"]) if "reason" in numbers else None
            shown = f" ({reason})" if reason else ""
            shown += "".join(f", {name} 0x{value:08x}" for name, value in half.registers)
            values = (*numbers.items(), *half.registers)
            self.findings.add(
                Finding(half.rule.kind, half.text + shown, subject, half.line, values)
            )


def builtin_operator_name(code: int) -> str:
    """The schema's name of a builtin operator code (``9`` -> ``FULLY_CONNECTED``), or ``#code``."""
    return OPERATOR_NAMES[code] if 0 <= code < len(OPERATOR_NAMES) else f"#{code}"


_TRIGGER = re.compile("|".join(map(re.escape, (*FAULT_TRIGGERS, *TRIGGERS))))


class DiagnosticReader:
    """Messages and fault dumps in a part of the console."""

    def __init__(self) -> None:
        self._messages = MessageReader()
        self._faults = FaultReader()

    def feed(self, line: Line) -> None:
        """Read one line. Most lines have no trigger and cost one search."""
        if self._messages.waiting or self._faults.waiting or _TRIGGER.search(line.text):
            self._messages.feed(line, self._faults.registers_before(line))
            self._faults.feed(line)

    def finish(self) -> None:
        """Handle the end of the text."""
        self._messages.finish()
        self._faults.finish()

    def __iter__(self) -> Iterator[Finding]:
        """The findings so far."""
        yield from self._messages.findings
        yield from self._faults.findings


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
