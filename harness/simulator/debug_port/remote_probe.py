"""A server of pyOCD's remote-probe protocol, version 1: JSON objects over TCP, one a line.

pyOCD connects to it as the probe ``remote:127.0.0.1:PORT`` (pyOCD's docs, "Remote probe access").
It listens on the loopback interface only. Whoever owns the selector calls what it registers there.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
from collections.abc import Callable
from typing import Any

from harness.base.closing import Closing
from harness.base.debug_access import LOOPBACK
from harness.simulator.debug_port.port import DebugPort, TransferError

_VERSION = 1
#: Status of an answer (pyOCD's docs, "Remote probe protocol").
_GENERAL_ERROR, PROBE_ERROR, _TRANSFER_FAULT = 1, 3, 12
#: A longer line is not a request.
_LONGEST = 4 << 20
_APSEL = 24


class ProbeFailure(Exception):
    """The probe cannot carry out a request; the message is what its user reads."""


class RemoteProbe:
    """Carries out requests on the port that ``port()`` gives; ``fast``: it offers whole blocks.

    ``port`` raises :class:`ProbeFailure` while there is none.
    """

    def __init__(self, port: Callable[[], DebugPort], serial: str, *, fast: bool = True) -> None:
        self._port, self._fast = port, fast
        self._properties: dict[str, Any] = {
            "vendor_name": "tflm-hil", "product_name": "simulator", "unique_id": serial,
            "supported_wire_protocols": ["SWD", "DEFAULT"], "wire_protocol": "SWD",
            "capabilities": ["SWJ_SEQUENCE"], "associated_board_info": None, "board_info": None,
        }  # fmt: skip
        #: The reset pin is held low.
        self.held = False
        self._requests: dict[str, Callable[..., Any]] = {
            "hello": self._hello, "readprop": self._property, "open": self._nothing,
            "close": self._nothing, "lock": self._nothing, "unlock": self._nothing,
            "connect": self._nothing, "disconnect": self._nothing, "set_clock": self._nothing,
            "swj_sequence": self._nothing, "flush": self._nothing,
            "reset": self._reset, "assert_reset": self._assert_reset,
            "is_reset_asserted": lambda: self.held,
            "read_dp": lambda address: self._port().read_dp(address),
            "write_dp": lambda address, value: self._port().write_dp(address, value),
            "read_ap": lambda address: self._port().read_ap(address),
            "write_ap": lambda address, value: self._port().write_ap(address, value),
            "read_ap_multiple": self._read_ap_multiple,
            "write_ap_multiple": self._write_ap_multiple,
            "get_memory_interface_for_ap": self._memory_interface,
            "read_mem": self._read_memory, "write_mem": self._write_memory,
            "read_block32": self._read_block32, "write_block32": self._write_block32,
            "read_block8": self._read_block8, "write_block8": self._write_block8,
        }  # fmt: skip

    def left(self) -> None:
        """Nobody is connected any more: the reset pin is let go."""
        self.held = False

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """The answer to one request; None if there is none."""
        number = -1
        try:
            request = json.loads(line)
            number = int(request["id"])
            carry_out = self._requests[str(request["request"])]
            result = carry_out(*request.get("arguments", ()))
        except TransferError as error:
            return {"id": number, "status": _TRANSFER_FAULT, "error": str(error)}
        except ProbeFailure as error:
            return {"id": number, "status": PROBE_ERROR, "error": str(error)}
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            message = f"cannot carry out the request: {type(error).__name__}: {error}"
            return {"id": number, "status": _GENERAL_ERROR, "error": message}
        answer: dict[str, Any] = {"id": number, "status": 0}
        return answer if result is None else {**answer, "result": result}

    def _hello(self, version: int) -> None:
        if version != _VERSION:
            raise ProbeFailure(f"protocol version {version}, not {_VERSION}")

    def _property(self, name: str) -> Any:
        return self._properties[name]

    def _nothing(self, *_: Any) -> None:
        """Of a real probe alone: wires, locks, clocks."""

    def _reset(self) -> None:
        self._port().pin_reset()

    def _assert_reset(self, held: bool) -> None:
        if self.held and not held:
            self._port().pin_reset()
        self.held = bool(held)

    def _read_ap_multiple(self, address: int, count: int) -> list[int]:
        port = self._port()
        return [port.read_ap(address) for _ in range(count)]

    def _write_ap_multiple(self, address: int, values: list[int]) -> None:
        port = self._port()
        for value in values:
            port.write_ap(address, value)

    def _memory_interface(self, version: int, address: int) -> int | None:
        """A handle is the number of an access port; None: pyOCD uses its registers."""
        return address >> (_APSEL if address >= 1 << _APSEL else 0) if self._fast else None

    def _read_memory(self, handle: int, address: int, bits: int) -> int:
        return self._port().read_memory(address, bits // 8, handle)

    def _write_memory(self, handle: int, address: int, value: int, bits: int) -> None:
        self._port().write_memory(address, bits // 8, value, handle)

    def _read_block32(self, handle: int, address: int, count: int) -> list[int]:
        return self._port().read_block(address, count, 4, handle)

    def _write_block32(self, handle: int, address: int, words: list[int]) -> None:
        self._port().write_block(address, words, 4, handle)

    def _read_block8(self, handle: int, address: int, count: int) -> list[int]:
        return self._port().read_block(address, count, 1, handle)

    def _write_block8(self, handle: int, address: int, data: list[int]) -> None:
        self._port().write_block(address, data, 1, handle)


class ProbeServer(Closing):
    """Listens for pyOCD on 127.0.0.1; its sockets' callbacks are in ``selector``.

    ``number`` is the TCP port, 0 for any free one. Raises OSError if it is in use.
    """

    def __init__(self, probe: RemoteProbe, selector: selectors.BaseSelector, number: int) -> None:
        self._probe, self._selector = probe, selector
        self._listener = socket.create_server((LOOPBACK, number))
        self._listener.setblocking(False)
        self.number: int = self._listener.getsockname()[1]
        self._clients: dict[socket.socket, bytearray] = {}
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    @property
    def connected(self) -> bool:
        """True while somebody is connected."""
        return bool(self._clients)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            client.settimeout(5.0)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients[client] = bytearray()
            self._selector.register(client, selectors.EVENT_READ, lambda: self._hear(client))

    def _hear(self, client: socket.socket) -> None:
        if client not in self._clients:
            return
        pending = self._clients[client]
        try:
            data = client.recv(1 << 16)
            pending += data
            *lines, rest = pending.split(b"\n")
            if not data or len(rest) > _LONGEST:
                raise OSError("the client has gone, or sends no requests")
            pending[:] = rest
            for line in lines:
                answer = self._probe.answer(bytes(line))
                if answer is not None:
                    client.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self._selector.unregister(client)
        if len(self._clients) == 1:  # until this is done, somebody is connected
            self._probe.left()
        del self._clients[client]
        client.close()

    def close(self) -> None:
        """Hang up; safe to call twice."""
        for client in tuple(self._clients):
            self._drop(client)
        if self._listener.fileno() >= 0:
            self._selector.unregister(self._listener)
            self._listener.close()
