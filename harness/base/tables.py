"""TOML tables -> frozen dataclasses, strict about keys, types and numbers; dataclasses -> JSON.

A dataclass is the schema: its fields are the keys, their annotations the types, and fields without
a default are required. If a field is declared with :func:`key`, only such fields are keys. CMake
runs this module with a bare Python: standard library only.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from harness.base.errors import UsageError
from harness.base.removed import removed
from harness.base.text import short

T = TypeVar("T")


@dataclass(frozen=True)
class ValueCheck(Generic[T]):
    """A check of one value: a call returns the value or raises ValueError.

    ``takes`` is the noun phrase for the value in manual and ``--help``. A key's check runs after
    the check of its type; with ``raw`` it replaces that and gets a value of any type. ``pattern``
    is a regex for JSON schemas, found in each text that passes; "" if there is none.
    """

    function: Callable[[Any], T]
    takes: str
    raw: bool = False
    pattern: str = ""

    def __call__(self, value: Any) -> T:
        """``value`` as the function returns it."""
        return self.function(value)


def check(
    takes: str, *, raw: bool = False, pattern: str = ""
) -> Callable[[Callable[[Any], T]], ValueCheck[T]]:
    """Decorator: make a function a :class:`ValueCheck`."""
    return lambda function: ValueCheck(function, takes, raw, pattern)


def key(default: Any = MISSING, help: str = "", **facts: object) -> Any:  # noqa: A002 - as in argparse
    """A field of a dataclass that is a key: its default (none: required), its help, other facts.

    A dictionary is copied for each instance.
    """
    metadata = {"help": help, **facts}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


_WORDS = {
    str: "a text", bool: "true or false", int: "a whole number", float: "a number", Path: "a path",
}  # fmt: skip


def read(kind: type[T], table: object, where: str) -> T:
    """An instance of dataclass ``kind`` from ``table``, a parsed TOML document or a part of it.

    Annotations may be str, bool, int, float, ``Literal``, ``tuple[X, ...]`` (a list),
    ``Mapping[str, X]`` (a table), a dataclass (a table), ``X | None`` (may be left out) and
    ``Annotated[X, check]`` with a :class:`ValueCheck`.

    Raises :class:`UsageError` that begins with ``where`` and names the key.
    """
    if isinstance(table, kind):
        return table
    if not isinstance(table, Mapping):
        raise UsageError(f"{where}: must be a table, not {short(table)}")
    schema: Any = kind  # mypy takes type[T] for unhashable
    known = _schema(schema)
    only(table, known, where)
    values = {}
    for name, (annotation, required) in known.items():
        if name in table:
            values[name] = value_of(annotation, table[name], name, where)
        elif required:
            raise UsageError(f"{where}: {name!r} is missing")
    return kind(**values)


def only(table: Mapping[str, object], known: Mapping[str, object], where: str) -> None:
    """Raise :class:`UsageError` for the first key that is not in ``known``, with a suggestion."""
    for key in table:
        if key not in known:
            if error := removed(f"key {key}", where):
                raise error
            near = difflib.get_close_matches(key, list(known), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"{where}: unknown key {short(key)}", hint=hint)


def value_of(annotation: Any, value: object, key: str, where: str) -> Any:
    """``value`` of ``key``, checked against ``annotation``; see :func:`read`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kinds = [argument for argument in arguments if argument is not NoneType]
        return _one_of(kinds, value, key, where)
    if origin is Annotated:
        return _checked(arguments[0], arguments[1], value, key, where)
    if origin is Literal:
        if value in arguments and isinstance(value, str):
            return value
        near = difflib.get_close_matches(str(value), arguments, 1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        wanted = " or ".join(map(repr, arguments))
        raise UsageError(f"{where}: {key} is {wanted}, not {short(value)}", hint=hint)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{where}: {key} is a list, not {short(value)}")
        return tuple(
            value_of(arguments[0], item, f"{key}[{number}]", where)
            for number, item in enumerate(value)
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise UsageError(f"{where}: {key} is a table, not {short(value)}")
        return {
            name: value_of(arguments[1], item, f"{key}.{name}", where)
            for name, item in value.items()
        }
    if _is_schema(annotation):
        return read(annotation, value, f"{where}, {key}")
    return _plain(annotation, value, key, where)


def _plain(kind: type, value: object, key: str, where: str) -> object:
    if kind is object:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, kind) and not (kind in (int, float) and isinstance(value, bool)):
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise UsageError(f"{where}: {key} is {_WORDS[kind]}, not {short(value)}")


def _checked(kind: Any, rule: ValueCheck[Any], value: object, key: str, where: str) -> object:
    typed = value if rule.raw else value_of(kind, value, key, where)
    try:
        return None if typed is None else rule(typed)
    except ValueError as error:
        raise UsageError(f"{where}: {key}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error


def _one_of(kinds: list[Any], value: object, key: str, where: str) -> object:
    """``value`` as the first of ``kinds`` that fits.

    If none does, raises the error of the last one with the form of ``value``.
    """
    alike = [kind for kind in kinds if _alike(kind, value)] or kinds
    for kind in alike[:-1]:
        try:
            return value_of(kind, value, key, where)
        except UsageError:
            continue
    return value_of(alike[-1], value, key, where)


def _alike(kind: Any, value: object) -> bool:
    """Whether ``value`` has the form of ``kind``: a list, a table, or neither."""
    is_list = get_origin(kind) is tuple
    is_table = _is_schema(kind) or get_origin(kind) in (Mapping, dict)
    if isinstance(value, (list, tuple)):
        return is_list
    if isinstance(value, Mapping) or _is_schema(type(value)):
        return is_table
    return not (is_list or is_table)


@cache
def _schema(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a dataclass: name to annotation, and whether the key is required."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        one.name: (hints[one.name], one.default is MISSING and one.default_factory is MISSING)
        for one in key_fields(kind)
    }


def key_fields(kind: Any) -> tuple[Field[Any], ...]:
    """The fields of a dataclass that are keys."""
    declared = tuple(one for one in fields(kind) if "help" in one.metadata)
    return declared or fields(kind)


def annotation_of(kind: Any, name: str) -> Any:
    """The annotation of the key ``name`` of the dataclass ``kind``."""
    return _schema(kind)[name][0]


@dataclass(frozen=True)
class Key:
    """A key of a table, for documentation: the values that it takes, and its default.

    ``default`` is in TOML's form, "" if the key has none.
    """

    name: str
    takes: str
    default: str = ""
    required: bool = False


def keys(kind: Any, within: str = "") -> Iterator[Key]:
    """The keys of a table with the schema ``kind``; those of inner tables as ``outer.inner``."""
    for one in key_fields(kind):
        annotation, required = _schema(kind)[one.name]
        table = inner(annotation)
        if table is not None:
            yield from keys(table, f"{within}{one.name}.")
            continue
        none = required or one.default in (MISSING, None) or "default_text" in one.metadata
        default = "" if none or is_dataclass(one.default) else _toml(one.default)
        yield Key(within + one.name, takes(annotation), default, required)


def _is_schema(annotation: Any) -> bool:
    return isinstance(annotation, type) and is_dataclass(annotation)


def inner(annotation: Any) -> Any:
    """The dataclass in ``annotation`` (itself, an item's or a value's type), None without one.

    A choice between a table and something else has none.
    """
    if get_origin(annotation) in (Union, UnionType, Annotated):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 and _is_schema(kinds[0]) else None
    return next(filter(_is_schema, (annotation, *get_args(annotation))), None)


def takes(annotation: Any) -> str:
    """The noun phrase for the values of ``annotation``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(takes(kind) for kind in arguments if kind is not NoneType)
    if origin is Annotated:
        return str(arguments[1].takes)
    if origin is Literal:
        return " or ".join(f'"{word}"' for word in arguments)
    if origin is tuple:
        return f"a list; each {takes(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = "" if arguments[1] is object else f"; each value {takes(arguments[1])}"
        return f"a table{values}"
    if _is_schema(annotation):
        return f"a table of {', '.join(_schema(annotation))}"
    return _WORDS[annotation]


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def json_schema(kind: Any) -> dict[str, Any]:
    """JSON Schema (2020-12) of a table with the schema ``kind``, for editors.

    Checks beyond types, and keys that depend on each other, are not in it.
    """
    required = [name for name, (_, needed) in _schema(kind).items() if needed]
    return {
        "type": "object",
        "properties": {
            one.name: _described(_schema(kind)[one.name][0], one.metadata.get("help", ""))
            for one in key_fields(kind)
        },
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


_JSON_TYPES = {str: "string", Path: "string", bool: "boolean", int: "integer", float: "number"}


def _described(annotation: Any, text: str) -> dict[str, Any]:
    """The JSON Schema of one key; ``text`` says what it means, "" what values it has."""
    schema = _json(annotation)
    if not text and inner(annotation) is not None:
        return schema
    return {**schema, "description": text or takes(annotation)}


def _json(annotation: Any) -> dict[str, Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kinds = [_json(kind) for kind in arguments if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Annotated:
        if arguments[1].pattern:
            return {"type": "string", "pattern": arguments[1].pattern}
        return {} if arguments[1].raw else _json(arguments[0])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _json(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _json(arguments[1])}
    if _is_schema(annotation):
        return json_schema(annotation)
    return {"type": _JSON_TYPES[annotation]} if annotation in _JSON_TYPES else {}


def plain(value: object) -> Any:
    """``value`` as JSON types.

    A dataclass becomes an object of its fields, a path a text, a member of an enumeration its
    value. JSON types stay as they are.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value
