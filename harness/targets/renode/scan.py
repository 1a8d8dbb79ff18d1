"""The instructions of an image that Renode's core computes wrongly, found without running it.

Only bytes that are known to be code are searched: those behind the mapping symbol ``$t``, or,
without mapping symbols, functions up to their first table branch. An image without symbols is not
searched, because nothing in it separates code from data.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from harness.base.findings import Finding, Kind
from harness.elf import Image, Section
from harness.elf.thumb import instruction_length, without_literals


@dataclass(frozen=True)
class Wrong:
    """A row of computed_wrongly.toml: instructions, what Renode does, and what a Cortex-M33 does.

    ``encodings`` are pairs of mask and value, the first halfword of 32-bit instructions high.
    """

    key: str
    name: str
    what: str
    right: str
    source: str
    encodings: tuple[tuple[int, int], ...]

    def matches(self, instruction: int) -> bool:
        """True if ``instruction``, of 16 or 32 bits, is one of these."""
        wide = instruction > 0xFFFF
        return any(
            instruction & mask == value and wide == (mask > 0xFFFF)
            for mask, value in self.encodings
        )


@dataclass(frozen=True)
class Found:
    """The instructions of one row in an image: how many, and the address of the first."""

    wrong: Wrong
    count: int
    first: int


@cache
def table() -> tuple[Wrong, ...]:
    """The rows of computed_wrongly.toml."""
    text = files(__package__).joinpath("computed_wrongly.toml").read_text(encoding="utf-8")
    return tuple(
        Wrong(key, **{**row, "encodings": tuple(map(tuple, row["encodings"]))})
        for key, row in tomllib.loads(text).items()
    )


def notes(image: Image) -> list[Finding]:
    """A note for each row of which ``image``, or one beside it, has instructions."""
    return [
        Finding(
            Kind.APPROXIMATION,
            f"Renode 1.17 computes {one.wrong.name} wrongly: {one.wrong.what}; "
            f"{one.count:,} in the image, first in {image.locate(one.first)}",
            "renode",
        )
        for one in found(image)
    ]


def found(image: Image) -> list[Found]:
    """The rows of which ``image``, or one beside it, has instructions."""
    places: dict[str, list[int]] = {}
    for part in (image.alone, *image.beside):
        for address, instruction in _suspects(part):
            for wrong in table():
                if wrong.matches(instruction):
                    places.setdefault(wrong.key, []).append(address)
    return [
        Found(wrong, len(places[wrong.key]), places[wrong.key][0])
        for wrong in table()
        if wrong.key in places
    ]


def _suspects(image: Image) -> Iterator[tuple[int, int]]:
    """Address and value of each instruction that some row may match, in order of addresses."""
    begin = _mapped if image.mapping else _in_functions
    for section in image.sections:
        if section.executable and section.loaded:
            for at in begin(image, section, _matching(section.data)):
                first, second = (_half(section.data, at + offset) for offset in (0, 2))
                wide = instruction_length(first) == 4
                yield section.address + at, first << 16 | second if wide else first


def _mapped(image: Image, section: Section, hits: list[int]) -> Iterator[int]:
    """The offsets of ``hits`` at which an instruction begins behind a mapping symbol ``$t``.

    A halfword that cannot be the first one of a long instruction ends an instruction. Those behind
    it that can be pair off from there.
    """
    starts = [start for start, _ in image.mapping]
    for at in hits:
        index = bisect_right(starts, section.address + at) - 1
        if index < 0 or image.mapping[index][1] != "thumb":
            continue
        run = max(starts[index] - section.address, 0)
        before = at
        while before > run and instruction_length(_half(section.data, before - 2)) == 4:
            before -= 2
        if (at - before) % 4 == 0:
            yield at


def _in_functions(image: Image, section: Section, hits: list[int]) -> Iterator[int]:
    """The offsets of ``hits`` at which an instruction of a function begins.

    A function's literals are no instructions, nor is what follows its first table branch: offsets.
    """
    wanted = set(hits)
    functions = {(one.address, one.size) for one in image.symbols if one.kind == "func"}
    for address, size in sorted(functions):
        start = address - section.address
        if 0 <= start < len(section.data):
            code = section.data[start : start + size]
            for at, first, second in without_literals(code, address):
                if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:  # TBB, TBH
                    break
                if start + at in wanted:
                    yield start + at


def _half(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 2], "little")


def _matching(code: bytes) -> list[int]:
    """The offsets at which some row matches, be they those of instructions or not."""
    halves = np.frombuffer(code[: len(code) & ~1], "<u2").astype(np.uint32)
    words = halves << 16
    words[:-1] |= halves[1:]
    hits: npt.NDArray[np.bool_] = np.zeros(len(halves), bool)
    for wrong in table():
        for mask, value in wrong.encodings:
            hits |= (words if mask > 0xFFFF else halves) & mask == value
    offsets: list[int] = (np.flatnonzero(hits) * 2).tolist()
    return offsets
