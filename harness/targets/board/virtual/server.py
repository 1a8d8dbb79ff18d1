"""The process of a virtual board: pseudo-terminals, a chip, a control socket, an event loop.

Run as ``python -m harness.targets.board.virtual.server``; ends when its standard input is closed,
or by SIGTERM.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from harness.base import platforms
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.port import erase_all
from harness.simulator.debug_port.remote_probe import ProbeFailure, ProbeServer, RemoteProbe
from harness.targets.board.lab import checked_name
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.chip import VirtualChip
from harness.targets.board.virtual.line import SerialLine, Terminal

#: Number of unsent bytes at which the chip is suspended.
_BACKLOG = 4096
_SLICE_SECONDS = 0.0005


class VirtualBoard:
    """A virtual board. Requests change its state, :meth:`turn` advances its time.

    ``fast``: the debug port offers pyOCD block transfers of memory.
    """

    def __init__(
        self,
        bench: Path,
        serial: str,
        chip: VirtualChip,
        *,
        name: str = "",
        baud: int = 0,
        port: int = 0,
        fast: bool = True,
    ) -> None:
        self.serial = checked_name(serial, "the serial number")
        self.name = name or f"virtual-{serial}"
        self.folder = bench / self.serial
        self.folder.mkdir(parents=True, exist_ok=True)
        self.chip = chip
        self.baud = baud or chip.kit.console.baud
        self.line = self.make_line()
        self.terminals: list[Terminal] = []
        self.control = ""  # the path of the control socket
        self.selector = selectors.DefaultSelector()
        self.outgoing = b""  # bytes that the host's terminal has not accepted
        self.probe = self.make_probe(fast=fast)
        self.server = ProbeServer(self.probe, self.selector, port)
        self.operations = {"pin": self.do_pin, "drive": self.do_drive}

    def make_line(self) -> SerialLine:
        """The line between the UART and the host."""
        return SerialLine(self.baud)

    def make_probe(self, *, fast: bool) -> RemoteProbe:
        """The debug probe on the board."""
        return RemoteProbe(self.debug_port, self.serial, fast=fast)

    def plug(self) -> None:
        """Connects the board to the bus: opens and publishes its ports, and powers the chip."""
        for index, port in enumerate(self.chip.kit.vcom.values()):  # the console is on the first
            self.terminals.append(Terminal(self.folder / self.port_name(index), port.usb_interface))
        self.selector.register(self.terminals[0].master, selectors.EVENT_READ, self.receive)
        self.chip.power_on(self)
        self.publish()

    def port_name(self, index: int) -> str:
        """The name of the serial port with this number."""
        return f"ttyACM{index}"

    def publish(self) -> None:
        """Publishes the board and its ports for discovery."""
        ports = tuple((str(t.link), t.interface) for t in self.terminals)
        published = benches.PublishedBoard(
            self.name, self.serial, os.getpid(), self.control, self.baud, ports,
            self.server.number, self.chip.kit.key,
        )  # fmt: skip
        benches.write(self.folder, published)

    # -- the chip ---------------------------------------------------------------------------

    def debug_port(self) -> DebugPort:
        """The chip's debug port, whose accesses may wake it. Raises :class:`ProbeFailure`."""
        if self.chip.port is None:
            raise ProbeFailure(f"the board {self.serial} is not on the bus")
        self.chip.wake()
        return self.chip.port

    def pin_reset(self) -> None:
        """Pulses the reset pin; unsent output is lost."""
        self.outgoing = b""
        self.line.clear()
        self.chip.pin_reset()

    def erase_all(self) -> None:
        """Erases the chip as CTRL-AP does."""
        if self.chip.port is not None:
            erase_all(self.chip.port.machine)

    def receive(self) -> None:
        """Feeds bytes from the host to the chip."""
        with contextlib.suppress(OSError):
            self.chip.feed(os.read(self.terminals[0].master, 65536))

    def turn(self) -> float:
        """Runs the board for a short slice; returns the seconds until the next turn is needed."""
        if not self.chip.idle and self.line.waiting < _BACKLOG and not self.probe.held:
            self.line.push(self.chip.step(_SLICE_SECONDS))
        if self.transmit():
            return 0.002
        if self.chip.idle and not self.line.waiting:
            return 0.2
        return 0.002 if self.chip.idle or self.line.waiting >= _BACKLOG else 0.0

    def transmit(self) -> bool:
        """Writes the bytes due to the host; returns True if the host has to read first."""
        self.outgoing = self.outgoing or self.line.due()
        if not self.outgoing:
            return False
        with contextlib.suppress(BlockingIOError):
            written = os.write(self.terminals[0].master, self.outgoing)
            self.outgoing = self.outgoing[written:]
        return bool(self.outgoing)

    # -- requests: pins ---------------------------------------------------------------------

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carries out a request of the control socket; returns the reply."""
        operation = self.operations.get(str(request.get("do")))
        if operation is None:
            return {"error": f"no operation {request.get('do')!r}"}
        try:
            return operation(request)
        except (KeyError, TypeError, ValueError) as error:
            return {"error": str(error)}

    def do_pin(self, request: dict[str, Any]) -> dict[str, Any]:
        """The level of a pin."""
        return {"level": self.chip.read_pin(int(request["pin"]))}

    def do_drive(self, request: dict[str, Any]) -> dict[str, Any]:
        """Drives a pin, or releases it (level None)."""
        level = request["level"]
        self.chip.drive_pin(int(request["pin"]), None if level is None else bool(level))
        return {}

    def close(self) -> None:
        """Removes the board from the bench and closes its ports."""
        self.server.close()
        self.chip.power_off()
        for terminal in self.terminals:
            terminal.close()
        (self.folder / benches.STATE).unlink(missing_ok=True)


class Server:
    """The event loop of a board, which listens to its terminal and its control socket.

    It ends when the other end of the file descriptor ``parent`` is closed.
    """

    def __init__(self, board: VirtualBoard, path: Path, parent: int) -> None:
        self.board = board
        self._parent = parent
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        board.control = str(path)
        board.selector.register(self._listener, selectors.EVENT_READ, self._accept)
        board.selector.register(parent, selectors.EVENT_READ, self._check_parent)
        self._running = True

    def serve(self) -> None:
        """Runs the board until the parent has ended."""
        while self._running:
            pause = self.board.turn()
            for key, _ in self.board.selector.select(pause):
                key.data()

    def _check_parent(self) -> None:
        if not os.read(self._parent, 4096):
            self._running = False

    def _accept(self) -> None:
        channel, _ = self._listener.accept()
        channel.settimeout(5.0)
        with channel:
            request = bytearray()
            # OSError: the client has disconnected.
            with contextlib.suppress(OSError):
                while chunk := channel.recv(1 << 16):
                    request += chunk
                channel.sendall(json.dumps(self._answer(bytes(request))).encode())

    def _answer(self, request: bytes) -> dict[str, Any]:
        try:
            return self.board.answer(json.loads(request))
        except ValueError:
            return {"error": "the request is not JSON"}


def option_parser() -> argparse.ArgumentParser:
    """The options of the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True, type=Path)
    parser.add_argument("--serial", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--kit", required=True)
    parser.add_argument("--baud", type=int, default=0)
    parser.add_argument("--console", default="")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--registers", action="store_true")
    return parser


def serve(board: VirtualBoard) -> None:
    """Runs ``board`` until standard input is closed; prints ``ready`` once it can be found."""
    # The path of a socket is limited to 107 bytes, which that of a bench folder may exceed.
    with tempfile.TemporaryDirectory(prefix="tflm-dk-") as name:
        server = Server(board, Path(name) / "control", sys.stdin.fileno())
        signal.signal(signal.SIGTERM, _end)
        try:
            try:
                board.plug()
                sys.stdout.write("ready\n")
                sys.stdout.flush()
                server.serve()
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
        finally:
            board.close()  # nothing interrupts it: standard input ends, and SIGTERM follows


def _end(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()


def main() -> None:
    """Runs a virtual board with the options of the command line."""
    options = option_parser().parse_args()
    kit = platforms.board_table(options.kit)
    wiring = platforms.console_wiring(options.console, kit) if options.console else None
    serve(VirtualBoard(
        options.bench, options.serial, VirtualChip(kit, wiring), name=options.name,
        baud=options.baud, port=options.port, fast=not options.registers,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
