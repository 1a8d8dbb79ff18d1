"""The keys of a case, as each door needs them; :class:`~harness.case.case.Case` declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from harness.base import numbers, tables
from harness.base.errors import UsageError
from harness.base.removed import RENAMED
from harness.base.text import short
from harness.case.case import Case

#: Keys that say what a case is; doors take them from their subject, never as an argument.
SUBJECT = ("name", "elf", "sample", "tags")


@dataclass(frozen=True)
class DoorKey:
    """One key. ``option`` is the metavar of its command-line option, "" for none.

    ``split``: text of several values has commas between them. ``merged``: a table whose entries
    replace one by one those of an earlier layer. ``live``: it counts in a live session, too.
    """

    name: str
    annotation: Any
    default: Any
    help: str
    group: str
    option: str = ""
    default_text: str = ""
    split: bool = False
    merged: bool = False
    live: bool = False

    @property
    def argument(self) -> str:
        """Its name as an argument of doors, where a case runs on one target."""
        return "target" if self.name == "targets" else self.name

    @property
    def spelled(self) -> str:
        """Its option on the command line."""
        return f"--{self.argument.replace('_', '-')}"

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of its values, without checks and None."""
        kind = self.annotation
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        if get_origin(kind) in (Union, UnionType):
            return tuple(one for one in get_args(kind) if one is not NoneType)
        return (kind,)

    @property
    def plain(self) -> Any:
        """The first of its kinds."""
        return self.kinds[0]

    @property
    def check(self) -> tables.ValueCheck[Any] | None:
        """The check of its value, if it has one."""
        return get_args(self.annotation)[1] if get_origin(self.annotation) is Annotated else None

    @property
    def is_list(self) -> bool:
        """Whether it holds several values."""
        return get_origin(self.plain) is tuple

    def from_text(self, text: str) -> object:
        """The value that a text means, as TOML would have it.

        Lists and tables are TOML. A text that is no list is one item of a list, or several with
        commas between them if the key is split. Raises :class:`UsageError`.
        """
        if self.is_list and not text.lstrip().startswith("["):
            return [word.strip() for word in text.split(",")] if self.split else [text]
        if self.name == "end" and len(text) > 1 and text[0] == text[-1] == "/":
            return {"line": text[1:-1]}
        if len(self.kinds) > 1 and text[:1] in ("{", "["):
            return toml(self.name, text)
        if self.merged and text[:1] != "{":
            return text  # peripherals: NAME=MODEL,NAME=MODEL
        if self.plain in (int, float):
            return numbers.whole(text) if self.plain is int else _number(text)
        if self.plain in (str, Path) or get_origin(self.plain) is Literal:
            return text
        return toml(self.name, text)


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def toml(name: str, text: str) -> object:
    """The TOML value in ``text``; raises :class:`UsageError` that begins with ``name``."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {short(text)} is not a value of TOML: {error}") from error


def assignment(text: str) -> dict[str, object]:
    """``expect.values=[{x=1}]`` -> ``{"expect.values": [{"x": 1}]}``; tables entry by entry.

    Raises :class:`UsageError`.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{short(text)} is not a key with a value of TOML: {error}",
            hint="for example 'expect.values=[{x=1}]'; texts have quotes: 'end=\"never\"'",
        ) from error
    values: dict[str, object] = {}
    for name, value in document.items():
        nested = isinstance(value, Mapping) and name in KEYS and tables.inner(KEYS[name].plain)
        values |= {f"{name}.{sub}": one for sub, one in value.items()} if nested else {name: value}
    return values


def _keys() -> dict[str, DoorKey]:
    return {
        one.name: DoorKey(
            one.name,
            tables.annotation_of(Case, one.name),
            one.default if one.default_factory is MISSING else one.default_factory(),
            **one.metadata,
        )
        for one in tables.key_fields(Case)
    }


#: Every key of a ``[[case]]``, in the order of ``--help``.
KEYS = _keys()
#: Those that doors take as arguments.
ARGUMENTS = {one.argument: one for one in KEYS.values() if one.name not in SUBJECT}


def arguments(given: Mapping[str, object], where: str, *, live: bool = False) -> dict[str, object]:
    """The keys among ``given`` by name, with those that the argument ``set`` gives in TOML.

    ``live``: of a session, in which keys about a whole run have no effect. Raises
    :class:`UsageError` for the first name that is no argument, with a suggestion.
    """
    known = [name for name, key in ARGUMENTS.items() if key.live or not live]
    tables.only(given, dict.fromkeys([*known, "set", *OLD_KEYS]), where)
    values = {name: value for name, value in given.items() if name != "set"}
    texts = given.get("set") or ()
    for text in (texts,) if isinstance(texts, str) else texts:  # type: ignore[attr-defined]
        assigned = assignment(str(text))
        tables.only(
            {name.partition(".")[0]: None for name in assigned}, dict.fromkeys(known), where
        )
        values |= assigned
    return values


#: Keys of the last release, which work for one more.
OLD_KEYS = [name.removeprefix("key ") for name in RENAMED if name.startswith("key ")]


def renewed(values: Mapping[str, object], where: str) -> dict[str, object]:
    """``values`` under today's names; raises :class:`UsageError` for ends that contradict."""
    new = {name: value for name, value in values.items() if name not in OLD_KEYS}
    old = {name: values[name] for name in OLD_KEYS if name in values}
    for name, value in old.items():
        match name:
            case "ends":
                if not (isinstance(value, bool) or value == "system_off"):
                    message = (
                        f"{where}: ends: {short(value)} is neither true nor false nor system_off"
                    )
                    raise UsageError(message)
                if "ends_at" in old and value is not True:
                    raise UsageError(f"{where}: ends_at names an end, and ends excludes it")
                new["end"] = value if isinstance(value, str) else "idle" if value else "never"
            case "ends_at":
                new["end"] = {"line": value}
            case _:
                new[RENAMED[f"key {name}"]] = value
    return new
