"""``python -m harness.targets.renode [VERSION]``: print a cache key of this machine's archive.

The key is version, system, machine and SHA-256, joined by dashes.
"""

from __future__ import annotations

import platform
import sys

from harness.targets.renode.releases import ARCHIVES, PINNED, shown


def main(arguments: list[str]) -> int:
    """Print the key of the version in ``arguments``, else the pinned one; return the exit code."""
    version = arguments[0] if arguments else shown(PINNED)
    key = version, platform.system(), platform.machine()
    for archive in ARCHIVES:
        if (shown(archive.version), archive.system, archive.machine) == key:
            print(*key, archive.sha256, sep="-")
            return 0
    print(f"no pinned archive of Renode {version} for this machine", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
