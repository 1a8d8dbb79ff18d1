"""`tflm-hil debug --target renode`: the network namespace, gdb's commands, the console."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import fake_renode
import needs
import pytest
import renode_program
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import Unsupported
from harness.debug import gdb, renode
from harness.debug.replay import Breakpoint
from harness.elf import Image
from harness.elf.combined import compose
from harness.targets.renode import find
from harness.targets.renode.server import GDB_PORT, RenodeProcess

HANDLERS = [0x40, 0x44]


@pytest.fixture
def network():
    needs.require("network namespace")


@pytest.fixture
def program(tmp_path):
    """A Renode that serves gdb, as a program."""
    path = tmp_path / "renode"
    path.write_text(f"#!{sys.executable}\n" + Path(renode_program.__file__).read_text())
    path.chmod(0o755)
    return path


@pytest.fixture
def some_gdb():
    return needs.require("gdb-multiarch")


# -- the network ------------------------------------------------------------------------------


def asks_for_registers(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"$g#67")
        said = b""
        while b"#" not in said:
            said += connection.recv(4096)
        return bytes.fromhex(said.partition(b"$")[2].partition(b"#")[0].decode())


def test_gdb_server_is_reached_through_the_socket_alone(network, program):
    with gdb.listen(0) as listener:
        process = RenodeProcess(find.find(program), gdb=listener)
        try:
            process.link.command(f"machine StartGdbServer {GDB_PORT}")
            port = listener.getsockname()[1]
            for _ in range(2):  # one debugger after another
                assert asks_for_registers(port) == renode_program.REGISTERS
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", GDB_PORT))
        finally:
            pid = int(next(process.folder.glob("renode-*")).name.removeprefix("renode-"))
            process.close()
    assert gone(pid)


def gone(pid):
    limit = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < limit:
        time.sleep(0.02)
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.needs("user namespaces")
def test_machine_that_allows_no_network_is_one_error_with_a_hint(network):
    """In a user namespace without room for others, as hardened systems have it."""
    check = "from harness.debug import renode; renode.check_network()"
    limit = "echo 0 > /proc/sys/user/max_user_namespaces"
    script = f"{limit} && exec {sys.executable} -c '{check}'"
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "does not allow it a network namespace" in done.stderr
    assert os.strerror(28) in done.stderr


# -- gdb's commands ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "commands"),
    [
        (None, []),
        (Breakpoint("main", 0x100), ["tbreak *0x100", "ignore $bpnum 0", "continue"]),
        (Breakpoint("inference 3", 0x200, hit=3), ["tbreak *0x200", "ignore $bpnum 2", "continue"]),
        (Breakpoint("fault", "fault"), ["break *0x40", "break *0x44", "continue"]),
    ],
)
def test_commands_run_up_to_the_place(place, commands):
    assert renode.first_commands(place, HANDLERS, "renode") == commands


def image_at(folder: Path, at: int, stack: int = 0x20001000) -> Image:
    """An image with a vector table at ``at``, whose faults share a handler but for UsageFault."""
    handler, usage = at + 0x40 | 1, at + 0x50 | 1
    table = struct.pack("<16I", stack, *[handler] * 5, usage, *[handler] * 9)
    path = folder / f"at{at:x}.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", at, table.ljust(0x60, b"\0"), load=at, executable=True)],
        [MadeSymbol("handler", handler, 2, "func")],
    ))  # fmt: skip
    return Image.from_elf(path)


@pytest.mark.parametrize(
    ("stack", "handlers"),
    [(0x20002000, [0x40, 0x50, 0x8040, 0x8050]), (0, [0x40, 0x50])],
    ids=["both boot", "data beside an image"],
)
def test_faults_halt_in_the_handlers_of_every_vector_table(tmp_path, stack, handlers):
    pair = compose([image_at(tmp_path, 0), image_at(tmp_path, 0x8000, stack)])
    assert renode.fault_handlers(pair) == handlers


@pytest.mark.parametrize("place", [Breakpoint("hang", "hang"), Breakpoint("fault-5", "fault", 5)])
def test_places_of_a_run_that_can_be_repeated_are_refused(place):
    with pytest.raises(Unsupported, match=f"stop at {place.text}"):
        renode.first_commands(place, HANDLERS, "renode")


def test_gdb_takes_the_description_before_it_connects(tmp_path):
    call = gdb.GdbCall("gdb", tmp_path / "x")
    command = gdb.gdb_command(call, 5, tmp_path / "elf", ["continue"], ["set tdesc filename d"])
    wanted = ["set tdesc filename d", "target remote 127.0.0.1:5", "continue"]
    assert [word for word in command if word in wanted] == wanted


def test_description_has_no_stack_pointer_that_renode_has_wrong(tmp_path, some_gdb):
    path = renode.description(tmp_path)
    commands = ["-ex", f"set tdesc filename {path}", "-ex", "maint print xml-tdesc"]
    done = subprocess.run(
        [some_gdb, "-nx", "-batch", *commands], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert 'name="xpsr"' in done.stdout
    assert "msp" not in done.stdout


# -- the command ------------------------------------------------------------------------------


def debug(program, image, *words):
    command = [sys.executable, "-m", "harness", "debug", str(image.path), "--target", "renode"]
    return subprocess.run(
        [*command, "--renode", str(program), *words], capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def test_command_starts_gdb_on_renode_and_shows_the_console(network, program, some_gdb, tmp_path):
    batch = tmp_path / "commands"
    batch.write_text("print/x $pc\nprint/x $r3\nprint/x $xpsr\n")
    done = debug(program, fake_renode.image(tmp_path), "--gdb", some_gdb, "--batch", str(batch))
    assert done.returncode == 0, done.stderr
    assert [one.partition(" = ")[2] for one in done.stdout.splitlines() if " = 0x" in one] == [
        "0x100", "0x1003", "0x1000000",
    ]  # fmt: skip
    assert "hello" in done.stderr


def test_command_refuses_a_place_before_it_starts_renode(tmp_path, some_gdb):
    done = debug("/nowhere", fake_renode.image(tmp_path), "--gdb", some_gdb, "--at", "hang")
    assert done.returncode == 2
    assert "stop at hang" in done.stderr
