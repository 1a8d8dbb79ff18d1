"""A fake Renode: the robot server's protocol and a real memory map, in process."""

from __future__ import annotations

import ast
import re
import struct
import threading
from pathlib import Path
from socketserver import ThreadingMixIn
from xmlrpc.server import SimpleXMLRPCServer

import pytest

from harness.elf import Firmware

FAKE_PROGRAM = """#!{python}
import os, pathlib, sys, time
if "--version" in sys.argv:
    print("Renode v{version}.1234")
    sys.exit(0)
if {mode!r} == "no_port":
    print("Could not start the HTTP server on any port")
    sys.exit(1)
if {mode!r} == "silent":
    time.sleep(600)
folder = pathlib.Path(os.environ["TMPDIR"]) / f"renode-{{os.getpid()}}"
folder.mkdir()
(folder.parent / "argv").write_text("\\n".join(sys.argv))
(folder / "robot_port").write_text("49999")
time.sleep(600)
"""


class Agent:
    """The agent's methods over a machine that prints ``script`` at its virtual times (ns)."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.now = self.resets = 0
        self.pattern: re.Pattern[bytes] | None = None
        self.pending = list(machine.script)
        self.received = b""

    def hook_faults(self, addresses: list[int]) -> str:
        self.machine.hooked = addresses
        return ""

    def until(self, pattern: str = "", symbol: int | None = None) -> str:
        self.pattern = re.compile(bytes.fromhex(pattern)) if pattern else None
        return ""

    def recycle(self) -> str:
        self.machine.recycled += 1
        self.machine.bytes.clear()
        return ""

    def run(self, budget: int, wall: int, target: int = 0) -> str:
        self.machine.before_run()
        end, lines, reason, text = self.now + budget, [], "time", b""
        if target and self.now + target * 1000 // 64 <= end:
            end, reason = target * 1000 // 64, "count"
        while self.pending and self.pending[0][0] <= end:
            moment, data = self.pending.pop(0)
            lines.append(f"console {moment} {data.hex()}")
            text += data
            if self.pattern and self.pattern.search(text):
                end, reason = moment, "match"
                break
        if self.machine.idles_at and end >= self.machine.idles_at:
            end, reason = self.machine.idles_at, "idle"
        lines += [f"fault {words}" for words in self.machine.faults]
        for address, data in self.machine.left.items():
            self.write_bytes(address, data.hex())
        self.now = max(self.now, end)
        return "\n".join(lines) + "\n" + self.answer(reason)

    def profile(self) -> str:
        return ""

    def answer(self, reason: str) -> str:
        return (
            f"stop {reason}\ntime {self.now}\nexecuted {self.now * 64 // 1000}\n"
            f"resets {self.resets}\n"
        )

    def reset(self) -> str:
        self.resets += 1
        self.pending = [(self.now + moment, data) for moment, data in self.machine.script]
        return ""

    def write(self, text: str) -> str:
        self.received += bytes.fromhex(text)
        return ""

    def read_bytes(self, address: int, size: int) -> str:
        return self.machine.at(address, size).hex()

    def write_bytes(self, address: int, text: str) -> str:
        for offset, byte in enumerate(bytes.fromhex(text)):
            self.machine.bytes[address + offset] = byte
        return ""

    def read_words(self, address: int, count: int) -> str:
        words = struct.unpack(f"<{count}I", self.machine.at(address, 4 * count))
        return "".join(f"{word:08x}" for word in words)

    def warnings(self) -> str:
        return self.machine.log


class Machine:
    """Monitor commands over a sparse memory; ``dies`` and ``hangs`` act at the next run."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}
        self.script: list[tuple[int, bytes]] = []
        self.commands: list[str] = []
        self.hooked: list[int] = []
        self.agent: Agent | None = None
        self.dies = self.hangs = False
        self.recycled = self.idles_at = 0
        self.faults: list[str] = []
        self.log = ""
        self.left: dict[int, bytes] = {}  # what a run leaves in memory
        self.refuses = ""  # a command that fails
        self.dies_on_include = False
        self.released = threading.Event()

    def at(self, address: int, size: int) -> bytes:
        return bytes(self.bytes.get(address + offset, 0) for offset in range(size))

    def before_run(self) -> None:
        if self.hangs:
            self.released.wait(30)
        if self.dies:
            raise ConnectionAbortedError("the fake dies")

    def execute(self, command: str) -> str:
        self.commands.append(command)
        if command.startswith("include @") and command.endswith(".resc"):
            if self.dies_on_include:
                raise ConnectionAbortedError("the fake dies")
            script = Path(command.removeprefix("include @"))
            return "".join(map(self.execute, script.read_text().splitlines()))
        if match := re.match(r"sysbus LoadBinary @(\S+) (0x[0-9a-f]+)", command):
            for offset, byte in enumerate(Path(match[1]).read_bytes()):
                self.bytes[int(match[2], 16) + offset] = byte
        if self.refuses and command.startswith(self.refuses):
            raise ValueError("Error E39: Exception was thrown during construction")
        if command.startswith("boom"):
            raise ValueError("No such command or device: boom")
        if not command.startswith('python "'):
            return ""
        statements = ast.parse(command.removeprefix('python "').removesuffix('"')).body
        return "".join(map(self.python, statements))

    def python(self, statement: ast.stmt) -> str:
        if isinstance(statement, ast.Assign):
            self.agent = Agent(self)
            return ""
        call = statement.value
        if isinstance(call.func, ast.Name):
            return ""  # remember()
        arguments = [ast.literal_eval(argument) for argument in call.args]
        return str(getattr(self.agent, call.func.attr)(*arguments))


class Dead(BaseException):
    """Passes through the XML-RPC server's own handling, so that the connection just breaks."""


class Server(ThreadingMixIn, SimpleXMLRPCServer):
    daemon_threads = True
    dying = False

    def _marshaled_dispatch(self, data, dispatch_method=None, path=None):
        answer = super()._marshaled_dispatch(data, dispatch_method, path)
        if self.dying:
            self.dying = False
            raise Dead
        return answer

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        except Dead:
            self.shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A fake that dies closes the connection and says nothing."""


class FakeRenode:
    def __init__(self) -> None:
        self.machine = Machine()
        self.server = Server(("127.0.0.1", 0), logRequests=False, allow_none=True)
        self.server.register_function(self.run_keyword)
        self.server._dispatch = self._dispatch  # type: ignore[method-assign]
        self.resets = 0
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        return ("127.0.0.1", self.server.server_address[1])

    def _dispatch(self, method: str, params: tuple[object, ...]) -> object:
        if method != "run_keyword":
            raise ValueError(method)
        return self.run_keyword(*params)

    def run_keyword(self, name: str, arguments: list[str]) -> dict[str, object]:
        if name == "ResetEmulation":
            self.resets += 1
            self.machine.bytes.clear()
            return {"status": "PASS"}
        try:
            text = self.machine.execute(arguments[0].removeprefix("command="))
        except ConnectionAbortedError:
            self.server.dying = True
            raise Dead from None
        except ValueError as error:
            return {"status": "FAIL", "error": f"KeywordException: {error}\n"}
        return {"status": "PASS", "return": text}

    def close(self) -> None:
        self.machine.released.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def fake():
    renode = FakeRenode()
    yield renode
    renode.close()


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    """An ELF of one segment at 0: a vector table with a stack and five handlers at 0x41."""
    data = struct.pack("<16I", 0x20001000, *[0x41] * 15) + bytes.fromhex("fee7")
    header = b"\x7fELF" + bytes((1, 1, 1)) + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0x41, 52, 0, 0x05000200, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 84, 0, 0, len(data), len(data), 5, 4)
    path = tmp_path / "image.elf"
    path.write_bytes(header + segment + data)
    return Firmware.from_elf(path)


@pytest.fixture
def program(tmp_path: Path):
    """Writes an executable that behaves as a Renode of ``version`` in ``mode`` does at start."""
    import sys

    def write(version: str = "1.16.1", mode: str = "") -> Path:
        path = tmp_path / "renode"
        path.write_text(FAKE_PROGRAM.format(python=sys.executable, version=version, mode=mode))
        path.chmod(0o755)
        return path

    return write
