"""Which C sources a counting core was built from; setup.py runs this file, so it imports nothing.

The library carries the number that it was compiled with, the loader compares it with the sources
that lie there now: a library of before a ``git pull`` does not fit the Python code around it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

#: What the library calls its number, and the macro that the compiler gets it by.
ATTRIBUTE, MACRO = "SOURCES", "CORE_SOURCES"


def fingerprint(folder: Path) -> str:
    """A number of 16 hexadecimal digits for the names and contents of a folder's C files."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.[ch]")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
