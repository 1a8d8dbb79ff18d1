"""``python -IS forked_client.py MODULE ARGUMENT...``: the module runs in a fork.

What a shell script runs in place of ``python -m MODULE``, inside of :func:`forked_python.lent`.
"""

import json
import os
import socket
import sys


def main() -> int:
    link = socket.socket(fileno=int(os.environ["FORKED_PYTHON"]))
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(link, [request], [0, 1, 2])
    code = int(link.recv(64))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
