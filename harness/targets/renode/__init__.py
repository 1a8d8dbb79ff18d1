"""Target ``renode``: the image on Renode 1.17.0 or later, on the kit of its chip.

``platforms/BOARD.repl`` describes the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.platforms import ConsoleWiring, board_with, console_wiring
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
    console: ConsoleWiring | str | None = None,
    peripherals: str | Mapping[str, object] = "",
) -> RenodeSession:
    """Open a session on ``server``, on one of ``pool``, or on a Renode that ends with the session.

    ``renode`` names the program (else RENODE, PATH, the usual places); ``power_on`` is the seed of
    RAM (:mod:`harness.base.power_on`); ``start`` is where the core starts: "chip" or "elf";
    ``console`` is the wiring of the UARTE whose output is the console (default: that of the chip's
    kit). Raises :class:`UsageError` for ``peripherals``, which only the simulator can have, and
    :class:`EnvironmentMissing` if there is no Renode or it is too old.
    """
    if peripherals:
        raise UsageError(
            "Renode has no models of a case's own for peripherals", hint="--target simulator has"
        )
    seed, anywhere = seed_of(str(power_on)), start == ELF
    kit = board_with(image.chip.key)
    wiring = console_wiring(console, kit) if isinstance(console, str) else console
    if server is None and pool is not None:
        server = pool.server(renode)
    return RenodeSession(
        image,
        server or RenodeServer(renode),
        owns_server=server is None,
        power_on=seed,
        anywhere=anywhere,
        console=wiring,
    )


__all__ = ["RenodePool", "RenodeServer", "RenodeSession", "open"]
