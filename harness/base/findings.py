"""Findings, the events noticed while firmware runs: the vocabulary of scrapers, targets and checks.

A finding is evidence, not an exception: the run goes on, and the checks decide. Findings count even
if the outputs are right (they often are after a refused ``Add*()``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kinds of findings; JSON reports, case files and the resolver table use their values."""

    # operator resolver
    MISSING_OPERATOR = "missing_operator"
    MISSING_CUSTOM_OPERATOR = "missing_custom_operator"
    RESOLVER_TOO_SMALL = "resolver_too_small"
    DUPLICATE_OPERATOR = "duplicate_operator"
    # arena and interpreter
    ARENA_TOO_SMALL = "arena_too_small"
    ALLOCATION_FAILED = "allocation_failed"
    PREPARE_FAILED = "prepare_failed"
    INVOKE_FAILED = "invoke_failed"
    SCHEMA_MISMATCH = "schema_mismatch"
    REGISTRATION_FAILED = "registration_failed"
    INPUT_FAILED = "input_failed"
    INFERENCE_FAILED = "inference_failed"
    # the firmware
    FAULT = "fault"
    ASSERTION = "assertion"
    ABORTED = "aborted"  # abort(), std::terminate(), an exit with a code other than 0
    KERNEL_PANIC = "kernel_panic"
    STACK_OVERFLOW = "stack_overflow"
    RESET_LOOP = "reset_loop"
    REBOOTED = "rebooted"
    LOG_ERROR = "log_error"
    UNMODELLED_ACCESS = "unmodelled_access"
    UNMODELLED_TASK = "unmodelled_task"  # a task or interrupt that the peripheral's model lacks
    FEED_EXHAUSTED = "feed_exhausted"  # a peripheral needs more input than its feed has
    # misuse that a chip would refuse, or that loses data
    CONSOLE_UNHEARD = "console_unheard"  # bytes that the board's console cannot receive
    UART_MISUSED = "uart_misused"  # bytes that are lost or overwritten
    TRANSFER_STOPPED = "transfer_stopped"  # a note: STOPTX before the last byte was sent
    DMA_REFUSED = "dma_refused"  # EasyDMA outside data RAM
    FORBIDDEN_ACCESS = "forbidden_access"  # an access size or offset that a register forbids
    CLOCK_NOT_RUNNING = "clock_not_running"  # a peripheral waits for a clock that is not started
    RTC_COMPARE_TOO_CLOSE = "rtc_compare_too_close"
    FLASH_MISUSE = "flash_misuse"
    UNINITIALISED_MEMORY = "uninitialised_memory"  # power-on values change what the image does
    # the console
    RECORD_GARBLED = "record_garbled"
    RECORD_LOST = "record_lost"
    RECORD_REPEATED = "record_repeated"
    RECORD_TRUNCATED = "record_truncated"
    RECORD_MALFORMED = "record_malformed"
    RECORD_UNEXPECTED = "record_unexpected"
    RECORD_MISSING = "record_missing"
    RECORD_CONTRADICTS = "record_contradicts"
    UNPARSED_VALUE = "unparsed_value"
    ZERO_TICKS = "zero_ticks"
    CONSOLE_GARBAGE = "console_garbage"
    CONSOLE_FLOOD = "console_flood"
    LINE_NOT_ABSENT = "line_not_absent"
    TESTS_FAILED = "tests_failed"
    # notes that fail nothing by themselves
    APPROXIMATION = "approximation"
    FLASH_OVERWRITTEN = "flash_overwritten"  # flash holds other bits than were written


#: Kinds that inform and never fail a case by themselves.
NOTES = frozenset(
    {
        Kind.APPROXIMATION,
        Kind.UNMODELLED_ACCESS,
        Kind.LOG_ERROR,
        Kind.FLASH_OVERWRITTEN,
        Kind.TRANSFER_STOPPED,
    }
)
#: Kinds that the firmware does not survive.
FATAL = frozenset(
    {Kind.FAULT, Kind.ASSERTION, Kind.ABORTED, Kind.KERNEL_PANIC, Kind.STACK_OVERFLOW,
     Kind.RESET_LOOP}
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One finding.

    ``subject`` is a name in the field's own terms (``FULLY_CONNECTED``, ``Atan``,
    ``FICR+0x140``), ``line`` the 1-based console line it was read from (0: not from the console),
    ``values`` the numbers in the message (``{"declared": 1}``, ``{"requested": 132, ...}``).
    """

    kind: Kind
    message: str
    subject: str = ""
    line: int = 0
    values: tuple[tuple[str, int], ...] = ()

    def value(self, name: str) -> int | None:
        """The number called ``name`` in the message, or None if it has no such number."""
        return dict(self.values).get(name)


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
