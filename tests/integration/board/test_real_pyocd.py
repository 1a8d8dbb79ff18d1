"""Unmodified pyOCD and gdb on a virtual board's debug port."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import needs
import pytest
from firmwares import build  # noqa: F401
from standins.common import ToolProbe
from virtual_boards import MisbehavingDk

from harness.base.debug_access import LOOPBACK
from harness.elf import hexfile
from harness.targets.board.virtual import bench as benches

pytestmark = pytest.mark.needs("pyocd")

SERIAL = "960000001"
WORDS = ("--no-config", "--no-wait", "--target", "nrf91")


@pytest.fixture(params=["memory", "registers"])
def board(request, tmp_path):
    """A board whose port offers blocks of memory, or the registers of its access ports alone."""
    with MisbehavingDk(tmp_path, SERIAL, registers=request.param == "registers") as dk:
        yield dk


def pyocd(dk, subcommand, *words, fails=False):
    number = benches.read(dk.folder).debug
    command = [sys.executable, "-m", "pyocd", subcommand, *WORDS]
    done = subprocess.run([*command, "--uid", f"remote:{LOOPBACK}:{number}", *words],
                          capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    said = done.stdout + done.stderr
    assert bool(done.returncode) == fails, said
    return said


def hex_of(image, folder):
    """The image as a HEX file."""
    path = folder / "image.hex"
    blocks = [(one.load_address, one.data) for one in image.loaded if one.data]
    path.write_text(hexfile.write(hexfile.merge(blocks, "image")))
    return path, hexfile.read(path.read_text(), "image")


def commander(dk, *commands, **options):
    words = [word for one in commands for word in ("-c", one)]
    return pyocd(dk, "commander", "--connect", "attach", *words, **options)


@pytest.mark.slow
def test_pyocd_loads_verifies_resets_and_erases(board, build, tmp_path):  # noqa: F811
    file, blocks = hex_of(build("counter"), tmp_path)
    for sectors in (1, 0):  # what is there already is not written again
        said = pyocd(board, "load", "--erase", "sector", "--format", "hex", str(file))
        assert f"Erased {4096 * sectors} bytes" in said
    assert ToolProbe(tmp_path, SERIAL).verify(blocks) is None
    results = build("counter").symbol("results").address
    time.sleep(0.2)
    assert ToolProbe(tmp_path, SERIAL).read(results, 64) != bytes(64)  # it ran
    pyocd(board, "reset", "--method", "hw")
    assert "410fd213" in commander(board, "halt", "status", "read32 0xe000ed00", "step")
    pyocd(board, "erase", "--sector", "0x0")
    assert "ffffffff ffffffff" in commander(board, "read32 0 8")
    pyocd(board, "load", "--erase", "chip", "--format", "hex", str(file))
    assert ToolProbe(tmp_path, SERIAL).verify(blocks) is None
    for how in ("--chip", "--mass"):
        pyocd(board, "erase", how)
        assert ToolProbe(tmp_path, SERIAL).verify(blocks) == 0


@pytest.mark.slow
def test_pyocd_unlocks_a_locked_chip_only_when_told_to(board, tmp_path):
    board.do("misbehave", names=["locked"])
    keep = ("-O", "auto_unlock=false")
    assert "not automatically unlocking" in pyocd(board, "commander", *keep, "-c", "read32 0 4",
                                                  fails=True)  # fmt: skip
    pyocd(board, "erase", "--mass", "-O", "auto_unlock=true")
    assert ToolProbe(tmp_path, SERIAL).read(0, 4) == b"\xff" * 4


def test_gdb_debugs_the_board_through_pyocds_server(board, build, tmp_path):  # noqa: F811
    gdb = needs.require("gdb-multiarch")
    image = build("counter")
    number = benches.read(board.folder).debug
    from harness.debug.gdb import free_port, listening

    port = free_port()
    command = [sys.executable, "-m", "pyocd", "gdbserver", *WORDS, "--port", str(port),
               "--telnet-port", "0", "--uid", f"remote:{LOOPBACK}:{number}"]  # fmt: skip
    script = Path(tmp_path / "commands")
    script.write_text("\n".join((
        f"target remote {LOOPBACK}:{port}", "load", "monitor reset halt", "tbreak Main", "continue",
        "watch results[2]", "continue", "print results[2]", "delete", "hbreak Rtc0", "continue",
        "backtrace", "stepi", "info registers pc", "info threads", "delete", "finish", "detach",
    )))  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + 60
        while not listening(port):
            assert server.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        done = subprocess.run([gdb, "-nx", "-batch", "-x", str(script), str(image.path)],
                              capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    finally:
        server.terminate()
        server.wait()
    for seen in ("Main () at", "$1 = 1", "Rtc0", "<signal handler called>", "Thread 1",
                 "detached"):  # fmt: skip
        assert seen in done.stdout, done.stdout + done.stderr
