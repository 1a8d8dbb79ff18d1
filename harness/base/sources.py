"""The fingerprint of the counting core's C sources; setup.py runs this file, so it imports nothing.

The library contains the fingerprint of its sources, and the loader compares it with the current
ones: a library from before a ``git pull`` does not fit the current Python code.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

#: The library's name for its fingerprint, and the macro with which the compiler gets it.
ATTRIBUTE, MACRO = "SOURCES", "CORE_SOURCES"


def fingerprint(folder: Path) -> str:
    """A hash, 16 hexadecimal digits, of the names and contents of a folder's C files."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.[ch]")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
