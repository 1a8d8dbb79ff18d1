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
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base import platforms
from harness.base.process import RunningProgram
from harness.simulator.debug_port.port import erase_all
from harness.simulator.debug_port.remote_probe import ProbeServer
from harness.targets.board.lab import checked_name
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual import misbehaviour
from harness.targets.board.virtual.chip import TranscriptChip, VirtualChip
from harness.targets.board.virtual.line import SerialLine, Terminal, resample
from harness.targets.board.virtual.probe import BoardProbe

#: Number of unsent bytes at which the chip is suspended.
_BACKLOG = 4096
_SLICE_SECONDS = 0.0005
_HOLD_SECONDS = 30.0

#: A program that opens a serial port exclusively until its standard input is closed.
_HOLDER = (
    "import fcntl, os, sys\n"
    "port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n"
    "fcntl.flock(port, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


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
        misbehave: Iterable[str] = (),
        port: int = 0,
        fast: bool = True,
    ) -> None:
        self.serial = checked_name(serial, "the serial number")
        self.name = name or f"virtual-{serial}"
        self.folder = bench / self.serial
        self.folder.mkdir(parents=True, exist_ok=True)
        self.wrong = misbehaviour.parse(misbehave)
        self.chip = chip
        self.baud = baud or chip.kit.console.baud
        self.line = SerialLine(self.baud)
        self.terminals: list[Terminal] = []
        self.control = ""
        self.selector = selectors.DefaultSelector()
        self.sent = 0  # console bytes since the last boot
        self.generation = 0  # of port names; see misbehaviour ``rename``
        self.back_at = 0.0  # time of the return to the bus
        self.outgoing = b""  # bytes that the host's terminal has not accepted
        self.holder: RunningProgram | None = None
        self.resets = 0
        self.failing: float | None = None  # seconds for which it leaves the bus next
        self.probe = BoardProbe(self, fast=fast)
        self.server = ProbeServer(self.probe, self.selector, port)

    # -- the bus ----------------------------------------------------------------------------

    @property
    def plugged(self) -> bool:
        """True if the board is on the bus."""
        return bool(self.terminals)

    def plug(self) -> None:
        """Connects the board to the bus: opens and publishes its ports, and powers the chip."""
        ports = self.chip.kit.vcom.values()  # the console is on the first
        shift = self.generation * len(ports)
        for index, port in enumerate(ports):
            link = self.folder / f"ttyACM{shift + index}"
            self.terminals.append(Terminal(link, port.usb_interface))
        self.selector.register(self.terminals[0].master, selectors.EVENT_READ, self.receive)
        self.failing = None
        self.chip.power_on(self, self.probe.powered)
        self.lock()
        self.publish()
        self.hold()

    def lock(self) -> None:
        """Locks the chip, once, if ``locked`` is set."""
        if self.wrong.locked and self.plugged:
            self.wrong = self.wrong.without("locked")
            self.chip.lock()

    def fail(self, seconds: float) -> None:
        """Schedules :meth:`unplug` for the next turn."""
        self.failing = seconds

    def unplug(self, seconds: float) -> None:
        """Disconnects the board from bus and power for ``seconds``."""
        self.drop_holder()
        self.probe.restore_flash()
        self.chip.power_off()
        self.outgoing = b""
        self.line.clear()
        if self.terminals:
            self.selector.unregister(self.terminals[0].master)
        for terminal in self.terminals:
            terminal.close()
        self.terminals = []
        self.generation += 1 if self.wrong.rename else 0
        self.publish()
        self.back_at = time.monotonic() + seconds

    def publish(self) -> None:
        """Publishes the board and its ports for discovery."""
        ports = tuple((str(t.link), t.interface) for t in self.terminals)
        published = benches.PublishedBoard(
            self.name, self.serial, os.getpid(), self.control, self.baud, ports,
            self.server.number, self.chip.kit.key,
        )  # fmt: skip
        benches.write(self.folder, published)

    def hold(self) -> None:
        """Opens the console port in another process, if ``busy`` is set."""
        if not self.wrong.busy or not self.terminals:
            return
        command = [sys.executable, "-c", _HOLDER, str(self.terminals[0].link)]
        self.holder = RunningProgram(command, open_input=True)
        self.holder.wait_for("held", _HOLD_SECONDS)

    def drop_holder(self) -> None:
        """Ends the process that has the console port open."""
        if self.holder is not None:
            self.holder.close()
            self.holder = None

    # -- the chip ---------------------------------------------------------------------------

    def reset(self) -> None:
        """Presses the reset button."""
        if self.chip.port is not None:
            self.chip.port.pin_reset()

    def pin_reset(self) -> None:
        """Pulses the reset pin; unsent output is lost."""
        self.probe.restore_flash()
        self.begin()
        self.chip.pin_reset()

    def begin(self) -> None:
        """Clears the state of the previous boot."""
        self.resets += 1
        self.sent = 0
        self.outgoing = b""
        self.line.clear()

    def erase_all(self) -> None:
        """Erases the chip as CTRL-AP does, if it has power."""
        if self.chip.port is not None and self.probe.powered():
            erase_all(self.chip.port.machine)

    def receive(self) -> None:
        """Feeds bytes from the host to the chip."""
        if not self.terminals:
            return  # unplugged since the selector returned
        with contextlib.suppress(OSError):
            self.chip.feed(os.read(self.terminals[0].master, 65536))

    def turn(self) -> float:
        """Runs the board for a short slice; returns the seconds until the next turn is needed."""
        if self.failing is not None and self.terminals:
            self.unplug(self.failing)
        if not self.terminals:
            remaining = self.back_at - time.monotonic()
            if remaining > 0:
                return min(remaining, 0.05)
            self.plug()
            self.begin()
        if not self.chip.idle and self.line.waiting < _BACKLOG and not self.probe.held:
            self.line.push(self.chip.step(_SLICE_SECONDS), self.wrong)
        if self.transmit():
            return 0.002
        if self.chip.idle and not self.line.waiting:
            return 0.2
        return 0.002 if self.chip.idle or self.line.waiting >= _BACKLOG else 0.0

    def transmit(self) -> bool:
        """Writes the bytes due to the host; returns True if the host has to read first."""
        if not self.outgoing:
            due = self.line.due()
            if not due:
                return False
            limit = self.wrong.unplug_after or self.wrong.reset_loop  # occur after exactly N bytes
            if limit:
                due = due[: max(1, limit - self.sent)]
            self.sent += len(due)
            if self.wrong.unplug_after and self.sent >= self.wrong.unplug_after:
                self.wrong = replace(self.wrong, unplug_after=0)
                self.unplug(self.wrong.gone / 1000)
                return False
            sent = self.wrong.baud or self.baud
            self.outgoing = resample(due, sent, self.terminals[0].rate or sent)
            if self.wrong.reset_loop and self.sent >= self.wrong.reset_loop:
                rest = self.outgoing
                self.reset()
                self.outgoing = rest
        with contextlib.suppress(BlockingIOError):
            written = os.write(self.terminals[0].master, self.outgoing)
            self.outgoing = self.outgoing[written:]
        return bool(self.outgoing)

    # -- requests: power, pins, misbehaviour --------------------------------------------------

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carries out a request of the control socket; returns the reply."""
        handlers = {
            "info": self.do_info,
            "power": self.do_power,
            "misbehave": self.do_misbehave,
            "pin": self.do_pin,
            "drive": self.do_drive,
        }
        handler = handlers.get(str(request.get("do")))
        if handler is None:
            return {"error": f"no operation {request.get('do')!r}"}
        if not self.terminals and request["do"] not in ("info", "power", "misbehave"):
            return {"error": "the board is not on the bus"}
        try:
            return handler(request)
        except (KeyError, TypeError, ValueError) as error:
            return {"error": str(error)}

    def do_info(self, _: dict[str, Any]) -> dict[str, Any]:
        """The board's serial number, misbehaviours and state."""
        wrong = {name: getattr(self.wrong, name) for name in misbehaviour.NAMES}
        return {"serial": self.serial, "wrong": wrong, "resets": self.resets,
                "halted": self.chip.halted}  # fmt: skip

    def do_pin(self, request: dict[str, Any]) -> dict[str, Any]:
        """The level of a pin."""
        return {"level": self.chip.read_pin(int(request["pin"]))}

    def do_drive(self, request: dict[str, Any]) -> dict[str, Any]:
        """Drives a pin, or releases it (level None)."""
        level = request["level"]
        self.chip.drive_pin(int(request["pin"]), None if level is None else bool(level))
        return {}

    def do_power(self, _: dict[str, Any]) -> dict[str, Any]:
        """Power-cycles the board."""
        if self.terminals:
            self.unplug(0.2)
        return {}

    def do_misbehave(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sets the misbehaviours; an empty list ends all of them."""
        self.wrong = misbehaviour.parse(request["names"])
        if self.chip.port is not None:
            self.chip.port.shown = {}
        self.lock()
        self.drop_holder()
        self.hold()
        return {}

    def close(self) -> None:
        """Removes the board from the bench and closes its ports."""
        self.server.close()
        self.chip.power_off()
        self.drop_holder()
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


def main(arguments: list[str] | None = None) -> None:
    """Runs a virtual board until standard input is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True, type=Path)
    parser.add_argument("--serial", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--kit", required=True)
    parser.add_argument("--baud", type=int, default=0)
    parser.add_argument("--console", default="")
    parser.add_argument("--play", action="store_true")
    parser.add_argument("--misbehave", action="append", default=[])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--registers", action="store_true")
    options = parser.parse_args(arguments)
    kit = platforms.board_table(options.kit)
    wiring = platforms.console_wiring(options.console, kit) if options.console else None
    chip = TranscriptChip(kit) if options.play else VirtualChip(kit, wiring)
    # The path of a socket is limited to 107 bytes, which that of a bench folder may exceed.
    with tempfile.TemporaryDirectory(prefix="tflm-dk-") as name:
        board = VirtualBoard(
            options.bench, options.serial, chip,
            name=options.name, baud=options.baud, misbehave=options.misbehave,
            port=options.port, fast=not options.registers,
        )  # fmt: skip
        server = Server(board, Path(name) / "control", sys.stdin.fileno())
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        try:
            board.plug()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            server.serve()
        finally:
            board.close()


if __name__ == "__main__":
    main()
