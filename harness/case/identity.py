"""The identity of a case: a hash of all that decides its result, as key of stored results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path

from harness.base import files
from harness.case.case import Case
from harness.case.samples import elf_of
from harness.elf import combined


def identity(case: Case) -> str:
    """The hash of every field of ``case`` and of the content of every file that it names.

    A sample is built (or taken from the build cache), and its image is hashed. Raises
    :class:`TypeError` for a field whose type has no content to hash, such as a pool of targets:
    such a case has no identity. Raises whatever building and reading raise.
    """
    if case.elf is None and case.sample:
        case = replace(case, elf=elf_of(case))
    digest = hashlib.sha256()
    for part in _parts(case):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """Yield ``value`` in an unambiguous form: type names, lengths, content."""
    yield type(value).__name__.encode()
    match value:
        case str() | Path():  # a target's options name files as text
            yield repr(str(value)).encode()
            yield _content(Path(value))
        case None | bool() | int() | float() | bytes() | Enum():
            yield repr(value).encode()
        case Mapping():
            yield str(len(value)).encode()
            for key in sorted(value, key=repr):
                yield from _parts(key)
                yield from _parts(value[key])
        case tuple() | list() | frozenset() | set():
            yield str(len(value)).encode()
            for item in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
                yield from _parts(item)
        case _ if is_dataclass(value):
            for field in (one for one in fields(value) if one.compare):
                yield field.name.encode()
                yield from _parts(getattr(value, field.name))
        case _:
            raise TypeError(f"a {type(value).__name__} has no content to be compared")


def _content(path: Path) -> bytes:
    """A hash of the file, or of the image of several files, that ``path`` names."""
    if files.is_file(path):
        return hashlib.sha256(path.read_bytes()).digest()
    if not combined.is_image(path):
        return b"nothing"
    image = combined.read(path)
    hashes = [each.sha256 for each in (image, *image.beside)]
    placed = [(s.address, hashlib.sha256(s.data).hexdigest()) for s in image.composed]
    return repr((hashes, placed)).encode()
