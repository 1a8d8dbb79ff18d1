"""Places of a labgrid coordinator, acquired through its client.

``labgrid-client`` is called as a program, so that it can be installed in another environment
(labgrid depends on a fork of pyserial). It finds the coordinator by ``LG_COORDINATOR``. The
commands are those of labgrid 23 to 26.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from harness.base import process
from harness.base.errors import BoardUnavailable, ProgramFailed

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
    environment = {} if search_path is None else {"PATH": search_path}
    try:
        process.run(command(place, "acquire"), seconds=_SECONDS, environment=environment)
    except ProgramFailed as error:
        raise BoardUnavailable(
            f"labgrid place {place!r} could not be acquired: {error.message}",
            hint="check LG_COORDINATOR; `labgrid-client who` lists the users of places",
        ) from error
    try:
        yield
    finally:
        with suppress(ProgramFailed):
            process.run(command(place, "release"), seconds=_SECONDS, environment=environment)


def command(place: str, action: str) -> list[str]:
    """A call of the client."""
    return ["labgrid-client", "--place", place, action]
