"""``python -m harness.targets.renode [VERSION]``: a cache key of the archive for this machine.

Prints version, system, machine and SHA-256, joined by dashes.
"""

from __future__ import annotations

import platform
import sys

from harness.targets.renode.releases import ARCHIVES, PINNED, shown


def main(arguments: list[str]) -> int:
    """Print the key of the version in ``arguments``, else the pinned one; gives the exit code."""
    version = arguments[0] if arguments else shown(PINNED)
    wanted = version, platform.system(), platform.machine()
    for archive in ARCHIVES:
        if (shown(archive.version), archive.system, archive.machine) == wanted:
            print(*wanted, archive.sha256, sep="-")
            return 0
    print(f"no pinned archive of Renode {version} for this machine", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
