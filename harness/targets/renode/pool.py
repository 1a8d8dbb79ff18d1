"""The Renodes of one run: started when first needed, kept from case to case, ended with the run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from harness.closing import Closing
from harness.errors import EnvironmentMissing
from harness.targets.renode.server import RenodeServer


class RenodePool(Closing):
    """Gives each session a Renode that no other session has open.

    One after another, sessions share one process; a second that is open at the same time gets a
    process of its own. Pass one pool to every ``open(..., pool=pool)`` of a run.
    """

    def __init__(self) -> None:
        self._servers: list[tuple[str, RenodeServer]] = []
        self._missing: dict[str, EnvironmentMissing] = {}

    @property
    def starts(self) -> int:
        """How often a Renode was started."""
        return sum(server.starts for _, server in self._servers)

    def server(self, renode: str | Path | None = None) -> RenodeServer:
        """A server that is not busy, of the program ``renode``.

        Raises :class:`harness.errors.EnvironmentMissing` if there is none or it is too old. Later
        calls raise the same error again, because asking Renode for its version takes a second.
        """
        program = str(renode or "")
        for name, server in self._servers:
            if name == program and not server.busy:
                return server
        if program in self._missing:
            raise self._missing[program]
        try:
            started = RenodeServer(renode)
        except EnvironmentMissing as missing:
            self._missing[program] = missing
            raise
        self._servers.append((program, started))
        return started

    def close(self) -> None:
        """End every Renode; safe to call twice."""
        with ExitStack() as stack:  # closes all, even if one raises
            for _, server in self._servers:
                stack.callback(server.close)
            self._servers = []
