"""Target ``renode``: the image on Renode 1.17.0 or later, on the kit of its chip.

``platforms/BOARD.repl`` describes the machine.
"""

from __future__ import annotations

from pathlib import Path

from harness.base.power_on import DEFAULT_SEED, seed_of
from harness.elf import Image
from harness.targets.registry import CHIP, ELF
from harness.targets.renode.server import RenodePool, RenodeServer
from harness.targets.renode.session import RenodeSession


def open(  # noqa: A001 - the name that harness.targets calls
    image: Image,
    *,
    renode: str | Path | None = None,
    server: RenodeServer | None = None,
    pool: RenodePool | None = None,
    power_on: str | int = DEFAULT_SEED,
    start: str = CHIP,
) -> RenodeSession:
    """Open a session on ``server``, on one of ``pool``, or on a Renode that ends with the session.

    ``renode`` names the program (else RENODE, PATH, the usual places); ``power_on`` is the seed of
    RAM (:mod:`harness.base.power_on`); ``start`` is where the core starts: "chip" or "elf". Raises
    :class:`EnvironmentMissing` if there is no Renode or it is too old.
    """
    seed, anywhere = seed_of(str(power_on)), start == ELF
    if server is None and pool is not None:
        server = pool.server(renode)
    if server is not None:
        return RenodeSession(image, server, owns_server=False, power_on=seed, anywhere=anywhere)
    return RenodeSession(
        image, RenodeServer(renode), owns_server=True, power_on=seed, anywhere=anywhere
    )


__all__ = ["RenodePool", "RenodeServer", "RenodeSession", "open"]
