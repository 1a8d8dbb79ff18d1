"""The selection of a run: which cases it was to run, without the destinations of its results."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.secrets import redacted

#: Options of tflm-hil, pytest and Robot that name an output. They are needed for old documents
#: only, which have a command and no selection.
_OUTPUTS = frozenset({
    "--json", "--junit", "--html", "--coverage", "--output", "--history", "--csv", "--parquet",
    "--hil-history", "--hil-output", "--junitxml", "--junit-xml", "--outputdir", "-d", "--log",
    "--report", "--xunit",
})  # fmt: skip
_FILTERS = frozenset({"--case", "-k", "-m", "--deselect", "--test", "-t", "--suite", "-s",
                      "--include", "-i", "--exclude", "-e"})  # fmt: skip
_TARGETS = frozenset({"--target", "--hil-target"})


@dataclass(frozen=True)
class Selection:
    """The cases of ``sources`` that pass ``filters``, on ``targets``; each is sorted.

    Sources are case files, samples, images and folders of tests; paths are relative to the
    repository. Without ``targets`` or ``chips`` cases run on those that the sources name.
    """

    sources: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sources: Iterable[str],
        filters: Iterable[str] = (),
        targets: Iterable[str] = (),
        chips: Iterable[str] = (),
    ) -> Selection:
        """The selection of these parts, sorted, without secrets."""
        parts = (sources, filters, targets, chips)
        return cls(*(tuple(sorted(set(map(redacted, part)))) for part in parts))

    @classmethod
    def of_command(cls, command: str) -> Selection:
        """The selection of a run whose command alone is known: its words without outputs."""
        sources: list[str] = []
        filters: list[str] = []
        targets: list[str] = []
        for option, value in _options(command):
            if option in _FILTERS:
                filters.append(f"{option} {value}")
            elif option in _TARGETS:
                targets += value.split(",")
            elif option not in _OUTPUTS:
                sources += [word for word in (option, value) if word]
        return cls.of(sources, filters, targets)

    @classmethod
    def from_json(cls, document: object) -> Selection | None:
        """Read the selection of a document of results; None if it has none."""
        if not isinstance(document, Mapping):
            return None
        known = {"chips": [], **document}  # documents of older versions have no chips
        parts = [known.get(name) for name in cls.__dataclass_fields__]
        lists = [[str(one) for one in part] for part in parts if isinstance(part, list)]
        return cls.of(*lists) if len(lists) == len(parts) else None

    @classmethod
    def from_text(cls, text: str) -> Selection | None:
        """Read the text of :meth:`to_text`; None for ""."""
        return cls.from_json(json.loads(text)) if text else None

    def to_json(self) -> dict[str, Any]:
        """The selection for a document of results."""
        return {name: list(part) for name, part in vars(self).items()}

    def to_text(self) -> str:
        """The selection for a database."""
        return json.dumps(self.to_json())

    @property
    def partial(self) -> bool:
        """Whether filters left cases out."""
        return bool(self.filters)


def _options(command: str) -> Iterator[tuple[str, str]]:
    """Yield ``(option, value)`` for each option known here, ``("", word)`` for every other word."""
    try:
        words = iter(shlex.split(command)[1:])
    except ValueError:  # the database has truncated the command
        words = iter(command.split()[1:])
    for word in words:
        option, equals, value = word.partition("=")
        if option not in _OUTPUTS | _FILTERS | _TARGETS:
            yield "", word
        else:
            yield option, value if equals else next(words, "")


def relative(path: Path | str, root: str) -> str:
    """``path`` relative to ``root``, the repository's folder, or to the current one.

    A path outside both becomes absolute. ``root`` may be "".
    """
    absolute = os.path.realpath(path)
    for base in (root, os.curdir):
        if base and Path(absolute).is_relative_to(os.path.realpath(base)):
            return Path(absolute).relative_to(os.path.realpath(base)).as_posix()
    return absolute
