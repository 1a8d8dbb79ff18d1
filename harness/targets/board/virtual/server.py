"""The process of one virtual board: pseudo-terminals, a chip, a control socket, one loop.

Run as ``python -m harness.targets.board.virtual.server``; ends when its standard input does.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.base import platforms
from harness.targets.board.lab import BAUD, checked_name
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual import misbehaviour
from harness.targets.board.virtual.chip import FlashStore, TranscriptChip, VirtualChip
from harness.targets.board.virtual.line import SerialLine, Terminal, resample

#: The chip waits while this many bytes are on the wire.
_BACKLOG = 4096
_SLICE_SECONDS = 0.0005
_BROWN_OUT_SECONDS = 0.4

#: Keeps a serial port open, exclusively, until its standard input ends.
_HOLDER = (
    "import fcntl, os, sys\n"
    "port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n"
    "fcntl.flock(port, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


class VirtualBoard:
    """A virtual board: requests change its state, :meth:`turn` lets time pass."""

    def __init__(
        self,
        bench: Path,
        serial: str,
        chip: VirtualChip,
        *,
        name: str = "",
        baud: int = BAUD,
        misbehave: Iterable[str] = (),
    ) -> None:
        self.serial = checked_name(serial, "the serial number")
        self.name = name or f"virtual-{serial}"
        self.folder = bench / self.serial
        self.folder.mkdir(parents=True, exist_ok=True)
        self.wrong = misbehaviour.parse(misbehave)
        self.chip = chip
        self.store = FlashStore()
        self.line = SerialLine(baud)
        self.baud = baud
        self.terminals: list[Terminal] = []
        self.control = ""
        self.selector = selectors.DefaultSelector()
        self.sent = 0  # console bytes since the last boot
        self.generation = 0
        self.back_at = 0.0
        self.outgoing = b""
        self.holder: subprocess.Popen[bytes] | None = None
        self.resets = 0

    # -- the bus ----------------------------------------------------------------------------

    def plug(self) -> None:
        """Appear: open the ports and publish them."""
        ports = platforms.board_table().vcom.values()  # the console is on the first
        shift = self.generation * len(ports)
        for index, port in enumerate(ports):
            link = self.folder / f"ttyACM{shift + index}"
            self.terminals.append(Terminal(link, port.usb_interface))
        self.selector.register(self.terminals[0].master, selectors.EVENT_READ, self.receive)
        self.publish()
        self.hold()

    def unplug(self, seconds: float) -> None:
        """Leave the bus for ``seconds``; the chip loses its power with it."""
        self.drop_holder()
        if self.terminals:
            self.selector.unregister(self.terminals[0].master)
        for terminal in self.terminals:
            terminal.close()
        self.terminals = []
        self.generation += 1 if self.wrong.rename else 0
        self.publish()
        self.back_at = time.monotonic() + seconds

    def publish(self) -> None:
        """Publish the board as discovery sees it."""
        ports = tuple((str(t.link), t.interface) for t in self.terminals)
        presence = benches.PublishedBoard(
            self.name, self.serial, os.getpid(), self.control, self.baud, ports
        )
        benches.write(self.folder, presence)

    def hold(self) -> None:
        """Have another process hold the console port, if ``busy`` is set."""
        if not self.wrong.busy or not self.terminals:
            return
        self.holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(self.terminals[0].link)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.holder.stdout is not None
        self.holder.stdout.readline()

    def drop_holder(self) -> None:
        """Release the console port."""
        if self.holder is not None:
            self.holder.kill()
            self.holder.communicate()
            self.holder = None

    # -- the chip ---------------------------------------------------------------------------

    def reset(self) -> None:
        """A pin reset."""
        self.resets += 1
        self.sent = 0
        self.outgoing = b""
        self.line.clear()
        self.chip.reset(self.store)

    def receive(self) -> None:
        """Bytes from the host."""
        if not self.terminals:
            return  # unplugged since the selector woke
        with contextlib.suppress(OSError):
            self.chip.feed(os.read(self.terminals[0].master, 65536))

    def turn(self) -> float:
        """Run the board for a short slice; returns the seconds until something can happen."""
        if not self.terminals:
            remaining = self.back_at - time.monotonic()
            if remaining > 0:
                return min(remaining, 0.05)
            self.plug()
            self.reset()
        if not self.chip.idle and self.line.waiting < _BACKLOG:
            self.line.push(self.chip.step(_SLICE_SECONDS), self.wrong)
        if self.transmit():
            return 0.002
        if self.chip.idle and not self.line.waiting:
            return 0.2
        return 0.002 if self.chip.idle or self.line.waiting >= _BACKLOG else 0.0

    def transmit(self) -> bool:
        """Write the bytes that left the line to the host; True if the host has to read first."""
        if not self.outgoing:
            due = self.line.due()
            if not due:
                return False
            # A misbehaviour after N bytes happens after exactly N.
            limit = self.wrong.unplug_after or self.wrong.reset_loop
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

    # -- the debug probe, and requests of tests ---------------------------------------------

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request of the control socket."""
        handlers = {
            "info": self.do_info,
            "program": self.do_program,
            "read": self.do_read,
            "write": self.do_write,
            "reset": self.do_reset,
            "power": self.do_power,
            "misbehave": self.do_misbehave,
            "spent": self.do_spent,
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
        halted = getattr(self.chip, "halted", "")
        return {"serial": self.serial, "wrong": wrong, "resets": self.resets, "halted": halted}

    def do_spent(self, request: dict[str, Any]) -> dict[str, Any]:
        """One of the counted misbehaviours has been carried out by a tool."""
        self.wrong = self.wrong.once_less(str(request["name"]))
        return {}

    def do_program(self, request: dict[str, Any]) -> dict[str, Any]:
        """Erase the pages that are touched and write; half of it, if the supply fails."""
        blocks = [(int(a), base64.b64decode(text)) for a, text in request["blocks"]]
        if self.wrong.flash_lies or self.wrong.tool_lies:
            self.wrong = self.wrong.once_less("flash_lies")
            return {}
        if request.get("erase_all"):
            self.store = FlashStore()
        self.store.erase(blocks)
        if self.wrong.brown_out:
            self.wrong = self.wrong.once_less("brown_out")
            for address, data in blocks:
                self.store.program(address, data[: len(data) // 2])
            self.unplug(_BROWN_OUT_SECONDS)
            return {"error": "the connection to the target was lost while programming"}
        for address, data in blocks:
            self.store.program(address, data)
        return {}

    def do_read(self, request: dict[str, Any]) -> dict[str, Any]:
        """Memory of the chip, or of its flash."""
        address, size = int(request["address"]), int(request["size"])
        try:
            content, offset = self.store.area(address, size)
            data = bytes(content[offset : offset + size])
        except ValueError:
            data = self.chip.read(address, size)
        return {"data": base64.b64encode(data).decode()}

    def do_write(self, request: dict[str, Any]) -> dict[str, Any]:
        """RAM and registers."""
        self.chip.write(int(request["address"]), base64.b64decode(request["data"]))
        return {}

    def do_pin(self, request: dict[str, Any]) -> dict[str, Any]:
        """The level at a pin."""
        return {"level": self.chip.read_pin(int(request["pin"]))}

    def do_drive(self, request: dict[str, Any]) -> dict[str, Any]:
        """Drive a pin, or release it."""
        level = request["level"]
        self.chip.drive_pin(int(request["pin"]), None if level is None else bool(level))
        return {}

    def do_reset(self, _: dict[str, Any]) -> dict[str, Any]:
        """The reset pin."""
        self.reset()
        return {}

    def do_power(self, _: dict[str, Any]) -> dict[str, Any]:
        """Take the power away and give it back."""
        if self.terminals:
            self.unplug(0.2)
        return {}

    def do_misbehave(self, request: dict[str, Any]) -> dict[str, Any]:
        """Misbehave in these ways from now on; an empty list ends all misbehaviour."""
        self.wrong = misbehaviour.parse(request["names"])
        self.drop_holder()
        self.hold()
        return {}

    def close(self) -> None:
        """Leave the bench."""
        self.drop_holder()
        for terminal in self.terminals:
            terminal.close()
        (self.folder / benches.STATE).unlink(missing_ok=True)


class Server:
    """The loop around a board: its terminal, its control socket, its parent.

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
        board.selector.register(parent, selectors.EVENT_READ, self._hear)
        self._running = True

    def serve(self) -> None:
        """Until the parent goes."""
        while self._running:
            pause = self.board.turn()
            for key, _ in self.board.selector.select(pause):
                key.data()

    def _hear(self) -> None:
        if not os.read(self._parent, 4096):
            self._running = False

    def _accept(self) -> None:
        channel, _ = self._listener.accept()
        channel.settimeout(5.0)
        with channel:
            request = bytearray()
            # A client that goes away in the middle is not answered.
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
    """Run one virtual board until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True, type=Path)
    parser.add_argument("--serial", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--baud", type=int, default=BAUD)
    parser.add_argument("--console", default="")
    parser.add_argument("--play", action="store_true")
    parser.add_argument("--misbehave", action="append", default=[])
    options = parser.parse_args(arguments)
    chip: VirtualChip
    if options.play:
        chip = TranscriptChip()
    else:
        from harness.targets.board.virtual.chip import SimulatorChip, simulator  # noqa: PLC0415

        chip = SimulatorChip(partial(simulator, console=options.console or None))
    # A socket's path is at most 107 bytes long, so it does not lie in the bench folder.
    with tempfile.TemporaryDirectory(prefix="tflm-dk-") as name:
        board = VirtualBoard(
            options.bench, options.serial, chip,
            name=options.name, baud=options.baud, misbehave=options.misbehave,
        )  # fmt: skip
        server = Server(board, Path(name) / "control", sys.stdin.fileno())
        board.plug()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        try:
            server.serve()
        finally:
            board.close()


if __name__ == "__main__":
    main()
