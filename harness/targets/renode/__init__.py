"""Target ``renode``: the image on Renode 1.16.1 or later with ``platforms/nrf9160dk.repl``."""

from __future__ import annotations

from pathlib import Path

from harness.elf import Image
from harness.targets.renode.server import RenodePool, RenodeServer
from harness.targets.renode.session import RenodeSession


def open(  # noqa: A001 - the name that harness.targets calls
    image: Image,
    *,
    renode: str | Path | None = None,
    server: RenodeServer | None = None,
    pool: RenodePool | None = None,
) -> RenodeSession:
    """A session on ``server``, on one of ``pool``, or on a Renode that ends with the session.

    ``renode`` names the program (else RENODE, PATH, the usual places). Raises
    :class:`EnvironmentMissing` if there is none or it is too old.
    """
    if server is None and pool is not None:
        server = pool.server(renode)
    if server is not None:
        return RenodeSession(image, server, owns_server=False)
    return RenodeSession(image, RenodeServer(renode), owns_server=True)


__all__ = ["RenodePool", "RenodeServer", "RenodeSession", "open"]
