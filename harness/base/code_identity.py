"""The identity of the code that computes results.

A study combines results only if the same code computed them: this package's sources and tables,
NumPy, and Unicorn.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata

from harness.base import paths

#: Sources of the package, of its counting core, and the tables of chips and boards.
_SOURCES = ("*.py", "*.c", "*.h", "*.toml")
#: Samples and platforms in a wheel; a checkout has them beside the package.
_DATA = "_data/"


@dataclass(frozen=True)
class CodeIdentity:
    """Versions of tflm-hil, NumPy and Unicorn; ``sources`` is a hash of 16 hexadecimal digits."""

    tflm_hil: str
    sources: str
    numpy: str
    unicorn: str

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.to_json().items())

    def to_json(self) -> dict[str, str]:
        """The versions and the hash by name, with dashes as packages have them."""
        return {name.replace("_", "-"): value for name, value in asdict(self).items()}

    def differences(self, other: CodeIdentity) -> str:
        """The values that differ from ``other``'s: ``numpy 2.3.1 here, 2.2.0 there; ...``."""
        pairs = zip(self.to_json().items(), other.to_json().values(), strict=True)
        return "; ".join(f"{name} {here} here, {there} there"
                         for (name, here), there in pairs if here != there)  # fmt: skip


@cache
def code_identity() -> CodeIdentity:
    """The identity of the code that runs in this process."""
    versions = (metadata.version(name) for name in ("numpy", "unicorn"))
    return CodeIdentity(metadata.version("tflm-hil"), _hash_of_sources(), *versions)


def _hash_of_sources() -> str:
    digest = hashlib.sha256()
    for folder in (paths.PACKAGE, paths.platforms() / "chips", paths.platforms() / "boards"):
        for path in sorted(path for kind in _SOURCES for path in folder.rglob(kind)):
            name = path.relative_to(folder).as_posix()
            if not name.startswith(_DATA):
                content = path.read_bytes()
                digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
