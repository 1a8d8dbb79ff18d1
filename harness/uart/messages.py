"""Known messages of TFLM and Zephyr -> findings.

The rules are data: a pattern, the kind it means, the group that names its subject, the groups that
hold numbers. TFLM prints several of its messages in two calls, each ending its own line, and other
threads may print in between; such a rule has a ``then``, which is looked for in the rest of the
line and in the few lines that follow. Wordings of older revisions stand beside the current ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.findings import Finding, Kind
from harness.uart.lines import Line

#: How many lines may come between the two halves of a message.
_REACH = 6

_GROUP_SUBJECTS = ("operator", "custom", "stage", "what")


@dataclass(frozen=True)
class Rule:
    """One message. Named groups of the patterns: see _GROUP_SUBJECTS; all others are numbers."""

    kind: Kind
    pattern: re.Pattern[str]
    then: re.Pattern[str] | None = None


def _rule(kind: Kind, pattern: str, then: str | None = None) -> Rule:
    return Rule(kind, re.compile(pattern), re.compile(then) if then else None)


RULES: tuple[Rule, ...] = (
    # resolver
    _rule(Kind.MISSING_OPERATOR, r"Didn't find op for builtin opcode '(?P<operator>\w+)'"),
    _rule(
        Kind.MISSING_CUSTOM_OPERATOR,
        r"Failed to get registration from op code (?:CUSTOM\b|(?=\s*$))",
    ),
    _rule(Kind.MISSING_OPERATOR, r"Failed to get registration from op code (?P<operator>[A-Z]\w+)"),
    _rule(Kind.MISSING_CUSTOM_OPERATOR, r"Encountered unresolved custom op: (?P<custom>\w+)"),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        r"Couldn't register builtin op #(?P<number>\d+), resolver size",
        r"is too small \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        r"Couldn't register custom op '(?P<custom>[^']*)', resolver size is too\s?small"
        r" \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        r"Calling AddBuiltin with the same op more than",
        r"once is not supported \(Op: #(?P<number>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        r"Calling AddCustom for the same op more than once",
        r"is not supported \(Op: (?P<custom>[^)]*)\)",
    ),
    # arena and interpreter
    _rule(
        Kind.ARENA_TOO_SMALL,
        r"Failed to (?:allocate (?:tail |temp |non-persistent )?memory|resize buffer)\."
        r" Requested: (?P<requested>\d+), available:? (?P<available>\d+),"
        r" missing: (?P<missing>\d+)",
    ),
    _rule(Kind.ARENA_TOO_SMALL, r"Arena size is too small for all buffers"),
    _rule(Kind.ARENA_TOO_SMALL, r"Too many buffers \(max is (?P<max>\d+)\)"),
    _rule(Kind.ALLOCATION_FAILED, r"AllocateTensors\(\) failed"),
    _rule(Kind.ALLOCATION_FAILED, r"Failed starting model allocation"),
    _rule(
        Kind.PREPARE_FAILED,
        r"Node (?P<operator>\S+) \(number (?P<node>\d+)f?\) failed to prepare with status"
        r" (?P<status>\d+)",
    ),
    _rule(
        Kind.INVOKE_FAILED,
        r"Node (?P<operator>\S+) \(number (?P<node>\d+)f?\) failed to invoke with status"
        r" (?P<status>\d+)",
    ),
    _rule(Kind.INVOKE_FAILED, r"Invoke(?:\(\))? failed"),
    _rule(
        Kind.SCHEMA_MISMATCH,
        r"Model provided is schema version (?P<version>\d+),? (?:which is )?not equal to supported"
        r"(?: version)? (?P<supported>\d+)",
    ),
    # Zephyr
    _rule(Kind.ASSERTION, r"ASSERTION FAIL \[(?P<what>.*)\] @ \S+"),
    _rule(Kind.STACK_OVERFLOW, r">>> ZEPHYR FATAL ERROR 2: Stack overflow"),
    _rule(Kind.KERNEL_PANIC, r">>> ZEPHYR FATAL ERROR (?P<reason>\d+): (?P<what>.*?) on CPU"),
    _rule(Kind.LOG_ERROR, r"<err> (?!os:)(?P<what>\w+): .*"),
)


@dataclass
class _Half:
    """The first half of a two-part message, waiting for its second."""

    rule: Rule
    text: str
    line: int
    groups: dict[str, str | None]
    patience: int = field(default=_REACH)


class MessageReader:
    """Finds known messages, joins the split ones, and drops repetitions of one finding."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._half: _Half | None = None

    def feed(self, line: Line) -> None:
        """Look at one line."""
        text = line.text
        if self._half is not None and self._second_half(text):
            return
        for rule in RULES:
            match = rule.pattern.search(text)
            if match is None:
                continue
            half = _Half(rule, match.group().strip(), line.number, match.groupdict())
            if rule.then is None:
                self._emit(half)
            else:
                self.finish()
                self._half = half
                self._second_half(text[match.end() :])
            return

    def _second_half(self, text: str) -> bool:
        half = self._half
        if half is None or half.rule.then is None:
            return False
        match = half.rule.then.search(text)
        if match is not None:
            half.groups |= match.groupdict()
            half.text = f"{half.text} {match.group().strip()}"
            self.finish()
            return True
        half.patience -= 1
        if half.patience < 0:
            self.finish()
        return False

    def finish(self) -> None:
        """No more lines: a first half whose second never came is a finding all the same."""
        half, self._half = self._half, None
        if half is not None:
            self._emit(half)

    def _emit(self, half: _Half) -> None:
        groups = {name: text for name, text in half.groups.items() if text is not None}
        subject = next((groups[name] for name in _GROUP_SUBJECTS if name in groups), "")
        numbers = {name: int(v) for name, v in groups.items() if name not in _GROUP_SUBJECTS}
        if not subject and "number" in numbers:
            subject = builtin_operator_name(numbers["number"])
        finding = Finding(half.rule.kind, half.text, subject, half.line, tuple(numbers.items()))
        if not any((f.kind, f.subject) == (finding.kind, subject) for f in self.findings):
            self.findings.append(finding)


def builtin_operator_name(code: int) -> str:
    """The schema's name of a builtin operator code (``9`` -> ``FULLY_CONNECTED``), or ``#code``."""
    from tflite.BuiltinOperator import BuiltinOperator  # noqa: PLC0415  20 ms, rarely needed

    names: dict[int, str] = {v: k for k, v in vars(BuiltinOperator).items() if k.isupper()}
    return names.get(code, f"#{code}")
