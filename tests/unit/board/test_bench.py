"""Virtual boards as others see them: on their bench, through their socket, in a process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import needs
import pytest
from serial_pty import SerialPty
from virtual_boards import SERIAL, ThreadDk

from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.base.platforms import chip_table
from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.targets import open_target
from harness.targets.board.console import holders
from harness.targets.board.discovery import on_bench
from harness.targets.board.probe import PyocdMemory
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.bench import PublishedBoard
from harness.targets.board.virtual.client import ControlError, VirtualDk, VirtualPins, call


def show(bench: Path, serial: str, **fields: object) -> Path:
    """A board's folder with what it shows of itself."""
    folder = bench / f"folder-of-{serial or 'none'}"
    folder.mkdir(parents=True)
    ports = ((f"/dev/{serial}-1", 2), (f"/dev/{serial}-0", 0))
    told = {"name": f"dk-{serial}", "pid": 1, "control": "", "baud": 9600, "ports": ports,
            "debug": 4711, "kit": "nrf9160dk", **fields}  # fmt: skip
    benches.write(folder, PublishedBoard(serial=serial, **told))
    return folder


def test_boards_on_a_bench_are_listed_like_real_ones(tmp_path: Path) -> None:
    folder = show(tmp_path, "960000002")
    (board,) = on_bench(tmp_path)
    assert (board.name, board.probe, board.baud) == ("dk-960000002", "960000002", 9600)
    assert board.port == "/dev/960000002-0"
    assert board.ports == ("/dev/960000002-1", "/dev/960000002-0")
    assert board.how == "VCOM0: lowest USB interface (0) of 2"
    assert (board.tags, board.kit) == (("virtual",), "virtual nRF9160 DK (PCA10090)")
    assert (board.runner, board.control) == ("pyocd", folder)
    assert (board.remote_probe, board.uid) == ("127.0.0.1:4711", "remote:127.0.0.1:4711")
    assert not list(folder.glob(".*"))  # written in one step, and nothing else left


def test_unusable_boards_are_left_out(tmp_path: Path) -> None:
    assert on_bench(tmp_path / "nowhere") == []
    show(tmp_path, "1")
    show(tmp_path, "2", ports=())  # unplugged
    show(tmp_path, "../3".replace("/", ""), name="x")
    show(tmp_path, "")
    for number, text in enumerate(['{"name": 1}', "[]", "{", '{"ports": 3}', '{"ports": [[1]]}']):
        (tmp_path / f"garbled{number}").mkdir()
        (tmp_path / f"garbled{number}" / benches.STATE).write_text(text)
    (tmp_path / "file").touch()
    assert [board.probe for board in on_bench(tmp_path)] == ["1"]


# -- the socket -------------------------------------------------------------------------------


def test_board_that_does_not_answer_differs_from_one_that_refuses(
    tmp_path: Path,
) -> None:
    gone = show(tmp_path, "1", control=str(tmp_path / "nobody"))
    with pytest.raises(ControlError, match="the virtual board 1 does not answer: "):
        call(gone, "info")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "mute"))
        listener.listen()
        listener.settimeout(5)
        mute = show(tmp_path, "2", control=str(tmp_path / "mute"))
        code = (
            "import sys; from pathlib import Path\n"
            "from harness.targets.board.virtual.client import call\n"
            "call(Path(sys.argv[1]), 'info', more=3)"
        )
        caller = subprocess.Popen([sys.executable, "-c", code, str(mute)], stderr=subprocess.PIPE)
        channel, _ = listener.accept()
        assert json.loads(channel.makefile().read()) == {"do": "info", "more": 3}
        channel.close()
        assert b"the virtual board 2 closed the connection" in caller.communicate(timeout=20)[1]


def test_pins_are_driven_through_the_socket(tmp_path: Path) -> None:
    with ThreadDk(tmp_path) as dk:
        pins = VirtualPins(dk.board.folder)
        pins.drive(6, True)
        assert pins.read(6) is True
        dk.do("power")
        with pytest.raises(TargetLost, match=r"could not reach P0\.7: "):
            pins.drive(7, None)


def test_memory_is_accessed_by_pyocd(tmp_path: Path) -> None:
    needs.require("pyocd")
    with ThreadDk(tmp_path) as dk:
        (board,) = on_bench(tmp_path)
        memory = PyocdMemory(board.uid, chip_table())
        memory.write(0x2000_0002, b"hello")
        assert memory.read(0x2000_0001, 7)[1:-1] == b"hello"
        with pytest.raises(TargetLost, match="could not read 4 bytes at 0x70000000: "):
            memory.read(0x7000_0000, 4)
        with pytest.raises(TargetLost, match="could not write 1 bytes at 0x70000000: "):
            memory.write(0x7000_0000, b"x")
        dk.do("power")
        with pytest.raises(TargetLost, match="is not on the bus"):
            memory.read(0, 4)
        memory.close()


# -- a process --------------------------------------------------------------------------------


def test_a_board_lives_in_a_process_of_its_own(tmp_path: Path) -> None:
    dk = VirtualDk(tmp_path, SERIAL, name="mine", baud=9600)
    assert dk.alive
    board = dk.find()
    assert (board.name, board.baud, board.control) == ("mine", 9600, tmp_path / SERIAL)
    assert benches.read(dk.folder).pid != os.getpid()
    dk.close()
    dk.close()
    assert not dk.alive and benches.read(dk.folder) is None
    with pytest.raises(TargetLost, match=f"the virtual board {SERIAL} is not on the bus"):
        dk.find()


class Terminated(VirtualDk):
    """A board that gets SIGTERM in the middle of its end."""

    program = ("-P", "-c", """
import os, signal
from harness.targets.board.virtual import server

class Board(server.VirtualBoard):
    def close(self):
        os.kill(os.getpid(), signal.SIGTERM)
        super().close()

server.VirtualBoard = Board
server.main()
""")  # fmt: skip


def test_a_board_that_is_terminated_while_it_ends_leaves_the_bench(tmp_path: Path) -> None:
    dk = Terminated(tmp_path, SERIAL)
    dk.close()
    assert benches.read(dk.folder) is None


def test_error_of_a_board_that_cannot_start_has_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentMissing, match=r"did not start: NotADirectoryError: "):
        VirtualDk(tmp_path / "file", SERIAL)
    for serial, name in (("../1", ""), (SERIAL, "../x")):
        with pytest.raises(UsageError, match="cannot be used"):
            VirtualDk(tmp_path, serial, name=name)
    assert not (tmp_path / "1").exists()


def test_the_target_needs_pyocd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyocd", None)
    (tmp_path / "image.elf").write_bytes(wrap([(0, b"text")]))
    image = Image.from_elf(tmp_path / "image.elf")
    with pytest.raises(EnvironmentMissing, match="target virtual-board needs pyOCD") as missing:
        open_target("virtual-board", image)
    assert missing.value.hint == "pip install 'tflm-hil[pyocd]'"


# -- who has a port open ----------------------------------------------------------------------


def test_programs_with_the_port_open_are_named_without_the_ptys_owner() -> None:
    wire = SerialPty()
    assert holders(wire.port) == []
    code = "import sys; port = open(sys.argv[1], 'rb+', buffering=0); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, wire.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline()
        name = Path(f"/proc/{other.pid}/comm").read_text().strip()
        assert holders(wire.port) == [f"{name} (process {other.pid})"]
        other.stdin.close()
    assert holders(wire.port) == []
    wire.close()


def test_the_owner_of_a_pseudo_terminal_does_not_count_as_a_reader(tmp_path: Path) -> None:
    with VirtualDk(tmp_path, SERIAL) as dk:
        time.sleep(0.05)
        assert holders(dk.find().port) == []
