"""Two results of each entry, made comparable, compared, and their differences named."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sides import Result

_ABSENT = "(absent)"
#: Fields of which more different changes than this are shown as one line, unless all are asked for.
_FEW = 8
_NAMES = 3  # of entries, in one line
_LINES = 12  # of a text's difference
_WIDTH = 160  # characters of a value

#: What legitimately varies between two runs of one commit; nothing else is left out. In texts, also
#: those of JSON documents: a pattern, what stands for it, and why.
TEXT_RULES: tuple[tuple[str, str, str], ...] = (
    (
        r"<cache>/build/(?:\w\w/[\w-]+|[\w.-]+/[\w-]+/[\w-]+)/",
        "<cache>/",
        "a digest that holds the path of the checkout",
    ),
    (
        r"(?m)^(?:\[\d+/\d+\] \S+\.(?:o|a|elf|hex)|another process builds in .+)\n",
        "",
        "progress of a build, some of it every two seconds",
    ),
    (r"(?m)^(\[\d+/\d+\] .+: \w+) \(\d+\.\d s\)$", r"\1", "time of the wall clock"),
)
#: In JSON documents: a field that is left out, and why.
FIELD_RULES = {
    "run.started": "the time of day",
    "run.machine": "the name of the machine",
    "run.tool": "the version, which each release changes",
    "cases[].wall_seconds": "time of the wall clock",
}


@dataclass(frozen=True)
class Difference:
    """A value of an entry that differs.

    ``where`` is "exit code", "stdout", "stderr" or the name of a file, and the path in a JSON
    document; ``field`` is the same without the names of list items. ``change`` is one line, or the
    lines that differ of a text.
    """

    entry: str
    where: str
    field: str
    change: tuple[str, ...]


# ------------------------------------------------------------------------------------- one entry

#: A path in a document: ".name" for the value of a key, "[name]" for an item of a list.
_Path = tuple[str, ...]


def differences(entry: str, before: Result, after: Result) -> Iterator[Difference]:
    """How what one entry gave twice differs."""
    ours, theirs = _values(before), _values(after)
    for key in dict.fromkeys([*ours, *theirs]):
        old, new = ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
        if old != new:
            source, path = key
            where, field = (f"{source} {text}".strip() for text in ("".join(path), _field(path)))
            yield Difference(entry, where, field, _change(old, new))


def _values(result: Result) -> dict[tuple[str, _Path], str]:
    """All that is compared of a result: (source, path in its document) -> value."""
    values: dict[tuple[str, _Path], str] = {("exit code", ()): str(result.exit_code)}
    texts = {"stdout": result.stdout, "stderr": result.stderr, **result.files}
    for source, text in texts.items():
        for path, value in _leaves(_document(text)):
            if _field(path) not in FIELD_RULES:
                shown = value if isinstance(value, str) else json.dumps(value)
                values[source, path] = _normal(shown, result.places)
    return values


def _document(text: str) -> Any:
    """The JSON document that a text is, else the text."""
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except ValueError:
        return text


def _leaves(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """The values of a document that hold no others, with their paths."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, f".{key}" if path else key))
    elif isinstance(value, list) and value:
        for name, item in zip(_item_names(value), value, strict=True):
            yield from _leaves(item, (*path, name))
    else:
        yield path, value


def _item_names(items: Sequence[Any]) -> Iterator[str]:
    """What tells the items of a list apart: their names if they have any, else their positions."""
    seen: Counter[str] = Counter()
    for position, item in enumerate(items):
        name = str(item.get("name", position) if isinstance(item, dict) else position)
        seen[name] += 1
        yield f"[{name}]" if seen[name] == 1 else f"[{name} #{seen[name]}]"


def _field(path: _Path) -> str:
    """A path without the names of list items."""
    return "".join("[]" if part.startswith("[") else part for part in path)


def _normal(text: str, places: Mapping[str, str]) -> str:
    """A text without what varies from run to run."""
    for name, place in places.items():
        text = text.replace(place, f"<{name}>")
    for pattern, replacement, _ in TEXT_RULES:
        text = re.sub(pattern, replacement, text)
    return text


def _change(before: str, after: str) -> tuple[str, ...]:
    """How a value changed; of texts of several lines, the lines that did."""
    if "\n" in before + after and _ABSENT not in (before, after):
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        return tuple(line for line in list(diff)[2:] if not line.startswith("@@"))
    pairs = enumerate(zip(before, after, strict=False))
    start = next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
    return (f"{_part(before, start)} -> {_part(after, start)}",)


def _part(text: str, start: int) -> str:
    """A value; of a long one what is around ``start``, where the other one differs."""
    first = max(0, start - _WIDTH // 4) if len(text) > _WIDTH else 0
    shown = text[first : first + _WIDTH]
    left, right = "..." * (first > 0), "..." * (first + _WIDTH < len(text))
    return f"{left}{shown}{right}" or "(empty)"


# ------------------------------------------------------------------------------------- all entries


def report(found: Sequence[Difference], *, everything: bool = False) -> Iterator[str]:
    """The differences as text: equal ones, and many of one field, are one.

    With ``everything`` many of one field are each shown, too.
    """
    fields: dict[str, dict[tuple[str, ...], list[Difference]]] = {}
    for one in found:
        fields.setdefault(one.field, {}).setdefault(one.change, []).append(one)
    for field, changes in fields.items():
        if len(changes) <= _FEW or everything:
            yield from map(_line, changes.values())
            continue
        entries = {one.entry for same in changes.values() for one in same}
        yield f"{field}: {len(changes)} different changes in {_count(len(entries))}, such as"
        largest = sorted(changes.values(), key=len, reverse=True)
        yield from (f"  {_line(same)}" for same in largest[:_NAMES])


def _line(same: Sequence[Difference]) -> str:
    """One change, and where it was seen."""
    first, names = same[0], list(dict.fromkeys(one.entry for one in same))
    if len(same) == 1:
        return f"{first.entry}: {first.where}: {_shown(first.change)}"
    more = ", ..." if len(names) > _NAMES else ""
    shown = f"{_count(len(names))} ({', '.join(names[:_NAMES])}{more})"
    return f"{shown}: {first.field}: {_shown(first.change)}"


def _shown(change: Sequence[str]) -> str:
    """A change as it is printed."""
    lines = [line if line.isprintable() else repr(line)[1:-1] for line in change]
    if len(lines) == 1:
        return lines[0]
    more = [f"... {len(lines) - _LINES} lines more"] if len(lines) > _LINES else []
    return "".join(f"\n    {line}" for line in [*lines[:_LINES], *more])


def _count(number: int) -> str:
    return f"{number} {'entry' if number == 1 else 'entries'}"
