"""Renode's robot server: XML-RPC ``run_keyword`` over a Unix socket or over TCP."""

from __future__ import annotations

import http.client
import socket
import xmlrpc.client
from pathlib import Path
from typing import Any

from harness.errors import HilError, TargetLost

#: A Unix-domain socket's path, or the host and port of a TCP server.
Address = Path | tuple[str, int]


class MonitorError(HilError):
    """Renode's Monitor refused a command; the message holds Renode's own words."""

    exit_code = 3


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _Transport(xmlrpc.client.Transport):
    """One kept connection whose time-out can change from call to call."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self._kept: http.client.HTTPConnection | None = None
        self.timeout = 10.0

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        if self._kept is None:
            if isinstance(self._address, tuple):
                name, port = self._address
                self._kept = http.client.HTTPConnection(name, port, timeout=self.timeout)
            else:
                self._kept = _UnixConnection(self._address, self.timeout)
        self._kept.timeout = self.timeout
        if self._kept.sock is not None:
            self._kept.sock.settimeout(self.timeout)
        return self._kept

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


class RobotClient:
    """Runs keywords of one Renode.

    Every call has a wall-clock limit. A Renode that does not answer in time, or whose connection
    breaks, raises :class:`TargetLost`; a keyword that fails raises :class:`MonitorError`.
    """

    def __init__(self, address: Address, *, timeout: float = 30.0) -> None:
        self.timeout = timeout
        self._transport = _Transport(address)
        self._proxy = xmlrpc.client.ServerProxy(
            "http://localhost/", transport=self._transport, allow_none=True
        )

    def keyword(self, name: str, *arguments: str, timeout: float = 0.0) -> Any:
        """Run keyword ``name``; gives what it returns."""
        self._transport.timeout = timeout or self.timeout
        try:
            answer: Any = self._proxy.run_keyword(name, list(arguments))
        except TimeoutError as error:
            raise TargetLost(
                f"Renode did not answer {name} within {self._transport.timeout:g} s",
                hint="the emulation hangs; raise the wall-clock guard if it is only slow",
            ) from error
        except xmlrpc.client.Fault as fault:
            raise MonitorError(f"Renode knows no such call: {fault.faultString}") from fault
        except (OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
            raise TargetLost(f"lost the connection to Renode: {error!r}") from error
        if answer.get("status") != "PASS":
            raise MonitorError(f"Renode: {_first_line(str(answer.get('error', '')))}")
        return answer.get("return")

    def command(self, text: str, *, timeout: float = 0.0) -> str:
        """Carry out one Monitor command and give what it printed.

        The text is sent as a named argument: a text that holds ``=`` would be taken for one.
        """
        return str(self.keyword("ExecuteCommand", f"command={text}", timeout=timeout) or "")

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._transport.close()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
