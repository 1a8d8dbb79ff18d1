"""Findings, the events noticed while firmware runs: the vocabulary of scrapers, targets and checks.

A finding is evidence, not an exception: the run goes on, and the checks decide. Findings count even
if the outputs are right (they often are after a refused ``Add*()``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self


class Severity(StrEnum):
    """What a finding that a case does not expect does to its verdict."""

    NOTE = "note"  # nothing: it informs
    FAILS = "fail"
    FATAL = "firmware"  # the firmware does not survive it


class Topic(StrEnum):
    """What a kind of finding is about: the headings of docs/findings.md."""

    RESOLVER = "The resolver"
    INTERPRETER = "Arena and interpreter"
    FIRMWARE = "The firmware"
    MISUSE = "What the chip would refuse, or lose"
    CONSOLE = "The console"
    NOTE = "Notes"


class Kind(StrEnum):
    """The kinds of findings, a row each: name, topic, meaning, severity if it is not ``FAILS``.

    JSON reports, case files and the resolver table use the names.
    """

    topic: Topic
    meaning: str
    severity: Severity

    def __new__(
        cls, name: str, topic: Topic, meaning: str, severity: Severity = Severity.FAILS
    ) -> Self:
        """A member of these facts, equal to its name."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.topic, kind.meaning, kind.severity = topic, meaning, severity
        return kind

    MISSING_OPERATOR = (
        "missing_operator", Topic.RESOLVER, "the resolver lacks a built-in operator of the model",
    )  # fmt: skip
    MISSING_CUSTOM_OPERATOR = (
        "missing_custom_operator", Topic.RESOLVER,
        "the resolver lacks a custom operator of the model",
    )  # fmt: skip
    RESOLVER_TOO_SMALL = (
        "resolver_too_small", Topic.RESOLVER, "the resolver had no slot left for an operator",
    )  # fmt: skip
    DUPLICATE_OPERATOR = ("duplicate_operator", Topic.RESOLVER, "an operator was added twice")
    ARENA_TOO_SMALL = (
        "arena_too_small", Topic.INTERPRETER, "memory that was asked for is not there",
    )  # fmt: skip
    ALLOCATION_FAILED = (
        "allocation_failed", Topic.INTERPRETER,
        "`AllocateTensors()`, or the allocation of an arena or other memory, failed",
    )  # fmt: skip
    PREPARE_FAILED = (
        "prepare_failed", Topic.INTERPRETER, "an operator's Prepare refused the model",
    )  # fmt: skip
    INVOKE_FAILED = (
        "invoke_failed", Topic.INTERPRETER, "an operator's Invoke, or the whole inference, failed",
    )  # fmt: skip
    SCHEMA_MISMATCH = (
        "schema_mismatch", Topic.INTERPRETER, "the model's schema version is not TFLM's",
    )  # fmt: skip
    MODEL_INCOMPLETE = (
        "model_incomplete",
        Topic.INTERPRETER,
        "a copy of the model in RAM has only its first bytes",
    )
    REGISTRATION_FAILED = (
        "registration_failed", Topic.INTERPRETER,
        "an image of this project could not register an operator",
    )  # fmt: skip
    INPUT_FAILED = (
        "input_failed", Topic.INTERPRETER, "an image of this project got no valid input",
    )  # fmt: skip
    INFERENCE_FAILED = (
        "inference_failed", Topic.INTERPRETER,
        "a record says that an inference ended with another status than 0",
    )  # fmt: skip
    NOT_ALLOCATED = (
        "not_allocated", Topic.INTERPRETER,
        "a tensor is asked for before `AllocateTensors()`",
    )  # fmt: skip
    ARENA_SHARED = (
        "arena_shared", Topic.INTERPRETER,
        "an interpreter is used after another one got the same arena",
    )  # fmt: skip
    ARENA_OVERSTATED = (
        "arena_overstated", Topic.INTERPRETER,
        "an interpreter is told of more bytes than the array of its arena has",
    )  # fmt: skip
    INPUT_OVERRUN = (
        "input_overrun", Topic.INTERPRETER,
        "the application wrote beyond the end of an input tensor",
    )  # fmt: skip
    FRAME_LEFT = (
        "frame_left", Topic.INTERPRETER,
        "an interpreter, its arena or its resolver is a local variable of a function "
        "that has returned",
    )  # fmt: skip
    FAULT = (
        "fault", Topic.FIRMWARE,
        "a processor fault: its kind is the subject, its place is in the text", Severity.FATAL,
    )  # fmt: skip
    ASSERTION = ("assertion", Topic.FIRMWARE, "an assertion failed", Severity.FATAL)
    ABORTED = (
        "aborted", Topic.FIRMWARE,
        "the image ended in `abort()`, `std::terminate()`, "
        "or `exit()` with another code than 0", Severity.FATAL,
    )  # fmt: skip
    KERNEL_PANIC = (
        "kernel_panic", Topic.FIRMWARE, "Zephyr's fatal error, or another kernel's", Severity.FATAL,
    )  # fmt: skip
    STACK_OVERFLOW = (
        "stack_overflow", Topic.FIRMWARE,
        "a stack overflow that hardware, kernel, compiler or simulator noticed", Severity.FATAL,
    )  # fmt: skip
    RESET_LOOP = (
        "reset_loop", Topic.FIRMWARE, "the firmware reset itself again and again", Severity.FATAL,
    )  # fmt: skip
    REBOOTED = ("rebooted", Topic.FIRMWARE, "the firmware reset itself once or a few times")
    LOG_ERROR = (
        "log_error", Topic.FIRMWARE,
        "a line of Zephyr's log at level error; the module is the subject", Severity.NOTE,
    )  # fmt: skip
    UNMODELLED_ACCESS = (
        "unmodelled_access", Topic.FIRMWARE, "a register without a model was used", Severity.NOTE,
    )  # fmt: skip
    UNMODELLED_TASK = (
        "unmodelled_task", Topic.FIRMWARE,
        "a task or an interrupt that the peripheral's model lacks",
    )  # fmt: skip
    FEED_EXHAUSTED = (
        "feed_exhausted", Topic.FIRMWARE, "a peripheral asked for more input than its feed has",
    )  # fmt: skip
    CONSOLE_UNHEARD = (
        "console_unheard", Topic.MISUSE, "bytes that the board's console cannot receive",
    )  # fmt: skip
    UART_MISUSED = ("uart_misused", Topic.MISUSE, "bytes that are lost or overwritten")
    INPUT_WAITED = (
        "input_waited", Topic.MISUSE,
        "input waited for a buffer longer than the receiver's FIFO keeps it", Severity.NOTE,
    )  # fmt: skip
    TRANSFER_STOPPED = (
        "transfer_stopped", Topic.MISUSE,
        "STOPTX ended a transfer before its last byte", Severity.NOTE,
    )  # fmt: skip
    DMA_REFUSED = ("dma_refused", Topic.MISUSE, "EasyDMA outside data RAM")
    FORBIDDEN_ACCESS = (
        "forbidden_access", Topic.MISUSE,
        "an access that has no specified effect: "
        "a byte of a register, the alias of the other world",
    )  # fmt: skip
    CLOCK_NOT_RUNNING = (
        "clock_not_running", Topic.MISUSE, "a peripheral waits for a clock that nobody started",
    )  # fmt: skip
    RTC_COMPARE_TOO_CLOSE = (
        "rtc_compare_too_close", Topic.MISUSE,
        "a compare value that COUNTER may already have passed",
    )  # fmt: skip
    FLASH_MISUSE = (
        "flash_misuse", Topic.MISUSE,
        "a word of flash was written too often, or NVMC did not allow it",
    )  # fmt: skip
    UNINITIALISED_MEMORY = (
        "uninitialised_memory", Topic.MISUSE, "two runs with different contents at power-on differ",
    )  # fmt: skip
    RECORD_GARBLED = ("record_garbled", Topic.CONSOLE, "a record whose checksum is wrong")
    RECORD_LOST = ("record_lost", Topic.CONSOLE, "a gap in the records' numbers")
    RECORD_REPEATED = ("record_repeated", Topic.CONSOLE, "a record, or a tensor, that came twice")
    RECORD_TRUNCATED = (
        "record_truncated", Topic.CONSOLE, "a tensor, or the records as a whole, without an end",
    )  # fmt: skip
    RECORD_MALFORMED = ("record_malformed", Topic.CONSOLE, "a record whose fields make no sense")
    RECORD_UNEXPECTED = (
        "record_unexpected", Topic.CONSOLE, "a record in a place where it may not be",
    )  # fmt: skip
    RECORD_MISSING = ("record_missing", Topic.CONSOLE, "a record that must be there is not")
    RECORD_CONTRADICTS = (
        "record_contradicts", Topic.CONSOLE,
        "a record against the model, the ELF or the harness's counts",
    )  # fmt: skip
    UNPARSED_VALUE = (
        "unparsed_value", Topic.CONSOLE, "a line of results that the scraper cannot read",
    )  # fmt: skip
    ZERO_TICKS = ("zero_ticks", Topic.CONSOLE, "an inference, an operator or a clock of 0 ticks")
    CONSOLE_GARBAGE = ("console_garbage", Topic.CONSOLE, "bytes that are not text")
    CONSOLE_FLOOD = ("console_flood", Topic.CONSOLE, "more output than is read")
    LINE_NOT_ABSENT = (
        "line_not_absent", Topic.CONSOLE,
        "a line that matches a regex of `expect.lines_absent`; the regex is the subject",
    )  # fmt: skip
    TESTS_FAILED = (
        "tests_failed", Topic.CONSOLE,
        "failed tests that no scraper reads; the scraper is the subject",
    )  # fmt: skip
    APPROXIMATION = (
        "approximation", Topic.NOTE,
        "something that the target does otherwise than the chip, "
        "or that the harness had to assume", Severity.NOTE,
    )  # fmt: skip
    MODEL_UNKNOWN = (
        "model_unknown", Topic.NOTE,
        "the image holds no model that can be read, or one that differs without effect "
        "on its outputs",
        Severity.NOTE,
    )  # fmt: skip
    INTERRUPT_MASKED = (
        "interrupt_masked", Topic.NOTE,
        "the core rests for good while an interrupt is pending that it masks", Severity.NOTE,
    )  # fmt: skip
    FLASH_OVERWRITTEN = (
        "flash_overwritten", Topic.NOTE, "flash holds other bits than were written", Severity.NOTE,
    )  # fmt: skip


#: The kinds by name.
KINDS = {str(kind): kind for kind in Kind}
#: Kinds that inform and never fail a case by themselves.
NOTES = frozenset(kind for kind in Kind if kind.severity is Severity.NOTE)
#: Kinds that the firmware does not survive.
FATAL = frozenset(kind for kind in Kind if kind.severity is Severity.FATAL)


@dataclass(frozen=True)
class Finding:
    """One finding.

    ``subject`` is a name in the field's own terms (``FULLY_CONNECTED``, ``Atan``,
    ``FICR+0x140``), ``line`` the 1-based console line it was read from (0: not from the console),
    ``values`` the numbers in the message (``{"declared": 1}``, ``{"requested": 132, ...}``).
    ``time`` is when it was, in seconds since the start: virtual time on the simulator and Renode,
    the wall clock's on boards, where only the console tells of it. None for what is only known at
    the end, such as a record that never came.
    """

    kind: Kind
    message: str
    subject: str = ""
    line: int = 0
    values: tuple[tuple[str, int], ...] = ()
    time: float | None = field(default=None, compare=False)

    def value(self, name: str) -> int | None:
        """The number called ``name`` in the message, or None if it has no such number."""
        return dict(self.values).get(name)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """``findings`` in the order of time; those without one stay in their order, and come last."""
    return sorted(findings, key=lambda one: math.inf if one.time is None else one.time)


class Findings:
    """A list of findings that keeps at most ``limit`` of one kind and counts the others.

    Memory and reports stay bounded if a device repeats a mistake a million times.
    """

    def __init__(self, limit: int = 20) -> None:
        self._limit = limit
        self._kept: list[Finding] = []
        self._counts: dict[Kind, int] = {}
        self._last: dict[Kind, int] = {}  # console line of the last one that was not kept

    def add(self, finding: Finding) -> None:
        """Keep ``finding``, or count it."""
        count = self._counts[finding.kind] = self._counts.get(finding.kind, 0) + 1
        if count <= self._limit:
            self._kept.append(finding)
        else:
            self._last[finding.kind] = finding.line

    def __iter__(self) -> Iterator[Finding]:
        """The kept findings, then one for each kind over the limit that counts the rest."""
        yield from self._kept
        for kind, line in self._last.items():
            more = self._counts[kind] - self._limit
            yield Finding(kind, f"and {more:,} more {kind} findings", line=line)

    def __len__(self) -> int:
        return len(self._kept) + len(self._last)
