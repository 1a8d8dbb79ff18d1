"""Places of a labgrid coordinator, acquired through its client.

``labgrid-client`` is called as a program, so that it can be installed in another environment
(labgrid depends on a fork of pyserial). It finds the coordinator by ``LG_COORDINATOR``. The
commands are those of labgrid 23 to 26.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.base.errors import BoardUnavailable
from harness.targets.board.command import Command, run

_SECONDS = 30.0


@contextmanager
def acquired(place: str, *, search_path: str | None = None) -> Iterator[None]:
    """Holds ``place`` during the block; does nothing if the name is empty.

    Raises :class:`BoardUnavailable` with the client's message if the place cannot be acquired, and
    :class:`EnvironmentMissing` if the client is not installed.
    """
    if not place:
        yield
        return
    output = run(command(place, "acquire"), search_path=search_path)
    if not output.ok:
        raise BoardUnavailable(
            f"labgrid place {place!r} could not be acquired: {output.problem}\n{output.tail()}",
            hint="check LG_COORDINATOR; `labgrid-client who` lists the users of places",
        )
    try:
        yield
    finally:
        run(command(place, "release"), search_path=search_path)


def command(place: str, action: str) -> Command:
    """A call of the client."""
    return Command(("labgrid-client", "--place", place, action), _SECONDS)
