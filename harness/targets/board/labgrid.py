"""Places of a labgrid coordinator, acquired through its client.

``labgrid-client`` is called as a program, so it may live in an environment of its own (labgrid
brings a fork of pyserial). It finds the coordinator as it always does, by ``LG_COORDINATOR``. The
commands are those of labgrid 23 to 26.
"""

from __future__ import annotations

from typing import Protocol

from harness.errors import BoardUnavailable
from harness.targets.board.process import Command, run

_SECONDS = 30.0


class Reservation(Protocol):
    """A place that is held, or nothing if the board has no place."""

    def release(self) -> None:
        """Give the place back; safe to call twice."""
        ...


class NoPlace:
    """The board is not managed by labgrid."""

    def release(self) -> None:
        """Nothing is held."""


class Place:
    """One labgrid place, acquired by the constructor.

    Raises :class:`BoardUnavailable` with the client's message if somebody else has it, and
    :class:`harness.errors.EnvironmentMissing` if the client is not installed.
    """

    def __init__(self, name: str, *, search_path: str | None = None) -> None:
        self.name = name
        self._search_path = search_path
        output = run(self.command("acquire"), search_path=search_path)
        if not output.ok:
            raise BoardUnavailable(
                f"labgrid place {name!r} could not be acquired: {output.problem}\n{output.tail()}",
                hint="`labgrid-client who` says who has it; is LG_COORDINATOR set?",
            )
        self._held = True

    def command(self, action: str) -> Command:
        """The call of the client."""
        return Command(("labgrid-client", "--place", self.name, action), _SECONDS)

    def release(self) -> None:
        """Give the place back; safe to call twice."""
        if self._held:
            self._held = False
            run(self.command("release"), search_path=self._search_path)


def acquire(name: str, *, search_path: str | None = None) -> Reservation:
    """The place called ``name``; nothing is held if the name is empty."""
    return Place(name, search_path=search_path) if name else NoPlace()
