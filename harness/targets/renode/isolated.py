"""Becomes a Renode in a network namespace of its own, with one port forwarded to it; a script.

Renode's gdb server listens on every interface without a password. ``python isolated.py LISTENER
PORT REQUESTS ANSWERS COMMAND...`` enters a network with loopback only and executes COMMAND in it.
A child process forwards each connection to the socket LISTENER, which the harness opened on the
host's 127.0.0.1, to PORT of the new network; it ends with the group of the command. COMMAND keeps
the descriptors REQUESTS and ANSWERS. Without arguments the script only tries whether that is
allowed. It imports the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

_NEW_USER, _NEW_NET = 0x1000_0000, 0x4000_0000  # linux/sched.h, CLONE_NEWUSER and CLONE_NEWNET
_SET_FLAGS, _UP = 0x8914, 0x1  # linux/sockios.h, SIOCSIFFLAGS; linux/if.h, IFF_UP
_CHUNK = 1 << 16  # bytes of one read
_PATIENCE = 10.0  # seconds within which the server must listen


def enter() -> None:
    """Move this process to a new network with loopback; raise :class:`OSError` if not allowed."""
    if sys.platform != "linux":
        raise OSError("only Linux has networks of a process's own")
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    here = Path("/proc/self")
    (here / "setgroups").write_text("deny")
    (here / "uid_map").write_text(f"{user} {user} 1")
    (here / "gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))


def forward(listener: socket.socket, port: int) -> None:
    """Serve one connection after another, forever."""
    while True:
        outside, _ = listener.accept()
        with outside, contextlib.suppress(OSError), _connected(port) as inside:
            _pump(outside, inside)


def _connected(port: int) -> socket.socket:
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)


def _pump(outside: socket.socket, inside: socket.socket) -> None:
    other = {outside: inside, inside: outside}
    while True:
        for one in select.select([outside, inside], [], [])[0]:
            data = one.recv(_CHUNK)
            if not data:
                return
            other[one].sendall(data)


def main(arguments: list[str]) -> None:
    """Enter the network, and execute the command if there is one."""
    try:
        enter()
    except OSError as error:
        sys.exit(str(error))
    if not arguments:
        return
    listener, port, *link = map(int, arguments[:4])
    command = arguments[4:]
    if os.fork() == 0:
        for descriptor in link:  # so that the harness sees the end of Renode
            os.close(descriptor)
        forward(socket.socket(fileno=listener), port)
    os.close(listener)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
