"""The differences of Renode from the chip, and the notes on them in results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.targets.renode.archives import Version, shown


@dataclass(frozen=True)
class RenodeDifference:
    """A row of ``differences.toml``, which explains the fields; docs/renode.md lists them."""

    what: str
    source: str
    images: tuple[str, ...] = ()
    hostile: tuple[str, ...] = ()
    done: str = "a note in each result"
    warn: str = ""
    passes: str = ""
    worlds: bool = False


_LISTS = ("images", "hostile")
DIFFERENCES = tuple(
    RenodeDifference(**{**row, **{key: tuple(row.get(key, ())) for key in _LISTS}})
    for row in files.read_toml(Path(__file__).with_suffix(".toml"))["difference"]
)


def warnings(version: Version) -> tuple[str, ...]:
    """Return the notes for every result on ``version``, the program in use."""
    name = f"Renode {shown(version)}"
    return (
        *(f"{name} has {one.warn}" for one in DIFFERENCES if one.warn),
        f"{name} is not the chip, and an image may pass wrongly: {_passes(worlds=False)}",
    )


def warnings_of_worlds(version: Version) -> str:
    """Return the note for results of images of both worlds on ``version``."""
    name = f"Renode {shown(version)}"
    return f"{name}, between the worlds, where an image may pass wrongly: {_passes(worlds=True)}"


def _passes(*, worlds: bool) -> str:
    return "; ".join(one.passes for one in DIFFERENCES if one.passes and one.worlds == worlds)
