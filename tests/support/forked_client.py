"""``python -IS forked_client.py SERVER MODULE ARGUMENT...``: ``python -m MODULE`` in a fork.

A program that costs little: the fork has imported what it needs (:mod:`forked_python`). It ends
when this one is killed, gets the signals that this one gets, and this one ends as it does.
"""

import json
import os
import signal
import socket
import sys


def ask(server, arguments, cwd, env, fds, started=None):
    """The exit code of ``python -m ARGUMENTS``, negative for a signal.

    ``started`` is called with the process id of the fork.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        request = json.dumps([arguments, cwd, env]).encode()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(request))
        link.connect(f"\0{server}")
        socket.send_fds(link, [request], fds)
        pid = link.recv(64)
        if started is not None:
            started(int(pid))
        code = link.recv(64)
        assert code, "the server of Python programs has ended"
        return int(code)


def _forward(pid):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(pid, received))


def main():
    server, *arguments = sys.argv[1:]
    here = os.getcwd()  # noqa: PTH109 - pathlib takes as long to import as all of this
    code = ask(server, arguments, here, dict(os.environ), [0, 1, 2], _forward)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
