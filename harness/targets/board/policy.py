"""Failures of the bench: retries, power cycles, quarantine.

An attempt that fails with an infrastructure error (the flash tool failed, the port disappeared or
is busy) is repeated, after a power cycle if the lab file has a hook for it. A wrong output, a fault
or silence is a result and is never repeated, nor is the loss of a board that another user took
over. After the last attempt the first error is raised, because later ones are often consequences.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from harness.base import process
from harness.base.errors import (
    BoardUnavailable,
    FlashFailed,
    HilError,
    ProgramFailed,
    TargetLost,
)
from harness.targets.board.console import ConsoleOverflow
from harness.targets.board.lab import Policy, checked_name, unpadded
from harness.targets.board.lock import BoardTaken
from harness.targets.board.state import StateFolder

#: Errors of the bench, as opposed to errors of the user and the firmware.
INFRASTRUCTURE = (FlashFailed, TargetLost, BoardUnavailable)
#: Infrastructure errors after which neither another attempt nor a health check helps.
FINAL = (BoardTaken, ConsoleOverflow)

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


def attempt(
    action: Callable[[], Result],
    policy: Policy,
    *,
    recover: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """The result of ``action``, repeated as ``policy`` allows; ``recover`` runs before each retry.

    Raises the first infrastructure error after the last attempt, with the number of attempts and
    the last error in its hint; any other error immediately.
    """
    failures: list[HilError] = []
    while True:
        try:
            return action()
        except FINAL:
            raise
        except INFRASTRUCTURE as error:
            failures.append(error)
        if len(failures) > policy.retries:
            raise _first(failures)
        attempts = len(failures) + 1, policy.retries + 1
        _log.info("attempt %d of %d, after: %s", *attempts, failures[-1].message)
        sleep(policy.backoff)
        try:
            recover()
        except FINAL:
            raise
        except INFRASTRUCTURE as error:
            _log.info("recovery failed: %s", error.message)


def _first(failures: Sequence[HilError]) -> HilError:
    """The first failure, with the number of attempts and the last failure in its hint."""
    first, last = failures[0], failures[-1]
    if len(failures) > 1:
        repeated = (
            "the last one failed in the same way"
            if last.message == first.message
            else f"the last one failed with: {last.message.splitlines()[0]}"
        )
        note = f"first of {len(failures)} failed attempts, {repeated}"
        first.hint = f"{first.hint} ({note})" if first.hint else note
    return first


def power_cycle(hook: tuple[str, ...], policy: Policy, **values: str) -> None:
    """Runs the power-cycle hook of the lab file, with ``{probe}`` and ``{name}`` replaced.

    Raises :class:`BoardUnavailable` with the hook's output if it fails.
    """
    if not hook:
        return
    try:
        process.run([_fill(part, values) for part in hook], seconds=policy.power_cycle_seconds)
    except ProgramFailed as error:
        raise BoardUnavailable(f"the power-cycle hook failed: {error.message}") from error


def _fill(part: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        part = part.replace("{" + key + "}", value)
    return part


@dataclass(frozen=True)
class QuarantineNote:
    """The reason and start (ISO 8601, UTC) of a board's quarantine."""

    board: str
    probe: str
    reason: str
    since: str


class Quarantine:
    """Boards that failed their health check, with a note for each in the lab's state folder."""

    def __init__(self, state: Path | None = None) -> None:
        self._state = state

    def note(self, probe: str) -> QuarantineNote | None:
        """The note of a probe in quarantine, or None.

        Raises :class:`BoardUnavailable` if the note cannot be read.
        """
        name = self._name(probe)
        try:
            note = StateFolder(self._state).read_note(name)
            return QuarantineNote(**note) if note else None
        except (ValueError, TypeError) as error:
            raise BoardUnavailable(
                f"probe {probe} seems to be in quarantine, but the note {name} cannot be read",
                hint="check the board, then: tflm-hil boards release NAME",
            ) from error

    def check(self, board: str, probe: str) -> None:
        """Raises :class:`BoardUnavailable` for a probe in quarantine."""
        if note := self.note(probe):
            raise BoardUnavailable(
                f"board {board} (probe {probe}) has been in quarantine since {note.since}: "
                f"{note.reason}",
                hint=f"repair it, then: tflm-hil boards release {board}",
            )

    def add(self, board: str, probe: str, reason: str) -> QuarantineNote:
        """Puts a board into quarantine; returns its note."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        note = QuarantineNote(board, probe, reason, now)
        StateFolder(self._state).write_note(self._name(probe), note)
        return note

    def release(self, probe: str) -> QuarantineNote | None:
        """Ends the quarantine of a board; returns its note, or None if it was not in quarantine."""
        try:
            note = self.note(probe)
        except BoardUnavailable as error:
            note = QuarantineNote("", probe, error.message, "")
        StateFolder(self._state).remove(self._name(probe))
        return note

    @staticmethod
    def _name(probe: str) -> str:
        return f"{unpadded(checked_name(probe, 'the serial number'))}.quarantine.json"
