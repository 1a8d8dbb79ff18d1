"""Ports of the loopback for servers that tests start, and start again on the same port."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress
from random import SystemRandom

#: Below the ephemeral ports: no connection and no server on "any free port" gets one of these while
#: the server that is to have it is not there.
_PORTS = range(20_000, 32_000)
_reservations: list[socket.socket] = []


def free_port() -> int:
    """A TCP port that nobody listens on, and that no other process of these tests is given.

    The UDP port of the same number stays bound until this process ends: that is the reservation.
    """
    for port in SystemRandom().sample(_PORTS, len(_PORTS)):
        with suppress(OSError), ExitStack() as closing:
            reservation = closing.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            reservation.bind(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)):
                pass
            closing.pop_all()
            _reservations.append(reservation)
            return port
    raise RuntimeError(f"process {os.getpid()} finds no free port")
