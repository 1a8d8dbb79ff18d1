"""``python -m harness.targets.renode``: print the cache key of this machine's pinned archive.

The key is version, system, machine and SHA-256, joined by dashes.
"""

from __future__ import annotations

import sys

from harness.targets.renode.archives import PINNED, for_this_machine, shown

archive = for_this_machine()
if archive is None:
    sys.exit(f"no pinned archive of Renode {shown(PINNED)} for this machine")
print(shown(PINNED), archive.system, archive.machine, archive.sha256, sep="-")
