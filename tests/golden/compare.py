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
_WIDTH = 160  # of a value

#: What legitimately varies between two runs of one commit; nothing else is left out. In texts, also
#: those of JSON documents: a pattern, what stands for it, and why.
TEXT_RULES: tuple[tuple[str, str, str], ...] = (
    (r"<cache>/build/\w\w/[\w-]+/", "<cache>/", "a digest of the path of the sources"),
    (r"(?m)^(\[\d+/\d+\] .+: \w+) \(\d+\.\d s\)$", r"\1", "time of the wall clock"),
)
#: In JSON documents: a field, and why it is left out.
FIELD_RULES: tuple[tuple[str, str], ...] = (
    ("run.started", "the time of day"),
    ("run.machine", "the name of the machine"),
    ("cases[].wall_seconds", "time of the wall clock"),
)


@dataclass(frozen=True)
class Difference:
    """A field of an entry that differs; ``field`` is ``path`` without the names of list items."""

    entry: str
    path: str
    field: str
    before: str
    after: str


# ------------------------------------------------------------------------------------- one entry


def differences(entry: str, before: Result, after: Result) -> Iterator[Difference]:
    """How what one entry gave twice differs."""
    ours, theirs = _fields(before), _fields(after)
    for path in dict.fromkeys([*ours, *theirs]):
        old, new = ours.get(path, _ABSENT), theirs.get(path, _ABSENT)
        if old != new:
            field = "".join(part if part.startswith(".") else "[]" for part in path)
            yield Difference(
                entry, "".join(path).lstrip("."), field.lstrip("."), *_changed(old, new)
            )


#: A path in a document: ".name" for the value of a key, "[name]" for an item of a list.
_Path = tuple[str, ...]


def _fields(result: Result) -> dict[_Path, str]:
    """All that is compared of a result."""
    fields = {(".exit code",): str(result.exit_code)}
    texts = {"stdout": result.stdout, "stderr": result.stderr, **result.files}
    for name, text in texts.items():
        shown = _normal(text, result.places)
        document = _document(text)
        if document is None:
            fields[(f".{name}",)] = shown
        else:
            fields |= _flat(document, (), result.places)
    return fields


def _document(text: str) -> Any:
    """The JSON document that a text is; None if it is none."""
    try:
        return json.loads(text) if text.startswith(("{", "[")) else None
    except ValueError:
        return None


def _flat(value: Any, path: _Path, places: Mapping[str, str]) -> dict[_Path, str]:
    """The leaves of a document."""
    if isinstance(value, dict) and value:
        items = [(f".{key}", item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        items = list(zip(_item_names(value), value, strict=True))
    elif _left_out(path):
        return {}
    else:
        return {path: _normal(value if isinstance(value, str) else json.dumps(value), places)}
    return {
        key: leaf
        for part, item in items
        for key, leaf in _flat(item, (*path, part), places).items()
    }


def _item_names(items: Sequence[Any]) -> Iterator[str]:
    """What tells the items of a list apart: their names if they have any, else their positions."""
    seen: Counter[str] = Counter()
    for position, item in enumerate(items):
        name = str(item.get("name", position) if isinstance(item, dict) else position)
        seen[name] += 1
        yield f"[{name}]" if seen[name] == 1 else f"[{name} #{seen[name]}]"


def _left_out(path: _Path) -> bool:
    field = "".join(part if part.startswith(".") else "[]" for part in path)
    return field.lstrip(".") in {name for name, _ in FIELD_RULES}


def _normal(text: str, places: Mapping[str, str]) -> str:
    """A text without what varies from run to run."""
    for name, place in places.items():
        text = text.replace(place, f"<{name}>")
    for pattern, replacement, _ in TEXT_RULES:
        text = re.sub(pattern, replacement, text)
    return text


def _changed(before: str, after: str) -> tuple[str, str]:
    """Two values as they are shown: of texts of several lines the lines that differ."""
    if "\n" not in before + after or _ABSENT in (before, after):
        return _short(before), _short(after)
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    lines = [line for line in list(diff)[2:] if not line.startswith("@@")]
    shown = [_short(line) for line in lines[:_LINES]]
    more = [f"... {len(lines) - _LINES} lines more"] if len(lines) > _LINES else []
    return "", "\n".join(f"    {line}" for line in [*shown, *more])


def _short(text: str) -> str:
    line = text if text.isprintable() else repr(text)[1:-1]
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


# ------------------------------------------------------------------------------------- all entries


def report(found: Sequence[Difference], *, everything: bool = False) -> Iterator[str]:
    """The differences as text: equal ones, and many of one field, are one."""
    fields: dict[str, dict[tuple[str, str], list[Difference]]] = {}
    for one in found:
        fields.setdefault(one.field, {}).setdefault((one.before, one.after), []).append(one)
    for field, changes in fields.items():
        if len(changes) <= _FEW or everything:
            yield from (_line(field, same) for same in changes.values())
            continue
        largest = sorted(changes.values(), key=len, reverse=True)
        entries = {one.entry for same in changes.values() for one in same}
        yield f"{field}: {len(changes)} different changes in {_count(len(entries))}, such as"
        yield from (f"  {_line(field, same)}" for same in largest[:_NAMES])


def _line(field: str, same: Sequence[Difference]) -> str:
    """One change, and where it was seen."""
    first, names = same[0], list(dict.fromkeys(one.entry for one in same))
    change = f"{first.before} -> {first.after}" if first.before else f"\n{first.after}"
    if len(same) == 1:
        return f"{first.entry}: {first.path}: {change}"
    more = ", ..." if len(names) > _NAMES else ""
    return f"{_count(len(names))} ({', '.join(names[:_NAMES])}{more}): {field}: {change}"


def _count(number: int) -> str:
    return f"{number} {'entry' if number == 1 else 'entries'}"
