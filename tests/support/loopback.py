"""Servers of a lab for tests, on ports of the loopback: ser2net, and labgrid with a place."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from free_ports import free_port

_SECONDS = 60.0


@contextmanager
def running(
    command: Sequence[str | Path], folder: Path, port: int | None, env: Mapping[str, str] = {}
) -> Iterator[subprocess.Popen[bytes]]:
    """A program until the end of the block; it has begun to listen on ``port``.

    Raises RuntimeError with the end of its output if it does not begin.
    """
    log = folder / f"{Path(command[0]).name}.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        try:
            if port is not None and not _listens(port, process):
                raise RuntimeError(f"{command[0]} does not listen: {log.read_text()[-2000:]}")
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        time.sleep(0.02)
    return False


def ser2net_program() -> str | None:
    """Its path, or None; Debian keeps it out of an ordinary user's PATH."""
    return shutil.which("ser2net", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def ser2net(device: str, folder: Path, *, baud: int = 115_200) -> Iterator[str]:
    """The address (``rfc2217://...``) of a serial port or pseudo-terminal that ser2net serves."""
    program = ser2net_program()
    assert program is not None
    port = free_port()
    configuration = folder / "ser2net.yaml"
    configuration.write_text(
        "connection: &board\n"
        f"  accepter: telnet(rfc2217),tcp,127.0.0.1,{port}\n"
        f"  connector: serialdev,{device},{baud}n81,local\n"
        "  options:\n"
        "    max-connections: 2\n"
    )
    command = [program, "-d", "-u", "-c", configuration, "-P", folder / "ser2net.pid"]
    with running(command, folder, port):
        yield f"rfc2217://127.0.0.1:{port}"


@contextmanager
def labgrid(programs: Path, folder: Path, exports: str = "") -> Iterator[dict[str, str]]:
    """A coordinator, and an exporter of the resources ``exports`` (YAML) if there are any.

    ``programs`` is the folder of its programs. Yields the environment in which
    ``labgrid-client`` finds them.
    """
    port = free_port()
    environment = {
        "LG_COORDINATOR": f"127.0.0.1:{port}",
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    with running([programs / "labgrid-coordinator", "-l", f"127.0.0.1:{port}"], folder, port):
        if not exports:
            yield environment
            return
        (folder / "exports.yaml").write_text(exports)
        command = [programs / "labgrid-exporter", "--name", "bench", "exports.yaml"]
        with running(command, folder, None, environment):
            _wait_for_exporter(programs, environment)
            yield environment


def _wait_for_exporter(programs: Path, environment: Mapping[str, str]) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        listed = subprocess.run(
            [programs / "labgrid-client", "resources"], env={**os.environ, **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "bench/" in listed.stdout:
            return
    raise RuntimeError("the exporter did not register")
