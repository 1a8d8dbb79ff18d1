"""Values of Python as constants of C#."""

from __future__ import annotations

from csharp.terms import quoted

EMPTY_SET = "new HashSet<long>()"


def number(value: int) -> str:
    """A number as it is written in tables: small ones in decimal."""
    return str(value) if abs(value) < 10 else f"0x{value:X}"


def constant(value: object) -> tuple[str, str]:
    """Text and type of a value; "" and "" if it has none in C#."""
    if isinstance(value, bool):
        return ("true" if value else "false"), "bool"
    if isinstance(value, int):
        return number(value), "long"
    if isinstance(value, float):
        return repr(value), "double"
    if isinstance(value, str):
        return quoted(value), "string"
    if isinstance(value, range):
        limits = ", ".join(map(number, (value.start, value.stop, value.step)))
        return f"Py.Range({limits})", "long[]"
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, frozenset):
        text, kind = _sequence(sorted(value), "HashSet<{}>")
        return (text, kind) if value else (EMPTY_SET, "HashSet<long>")
    if isinstance(value, tuple):
        return _sequence(value, "{}[]")
    return "", ""


def _sequence(values: list[object] | tuple[object, ...], form: str) -> tuple[str, str]:
    items = [constant(one) for one in values]
    kinds = {kind for _, kind in items}
    if len(kinds) != 1:
        return "", ""
    kind = form.format(kinds.pop())
    return f"new {kind} {{ {', '.join(text for text, _ in items)} }}", kind


def _mapping(value: dict[object, object]) -> tuple[str, str]:
    pairs = [(constant(key), constant(one)) for key, one in value.items()]
    kinds = {(key[1], one[1]) for key, one in pairs}
    if len(kinds) != 1:
        return "", ""
    kind = f"Dictionary<{', '.join(kinds.pop())}>"
    inside = ", ".join(f"[{key[0]}] = {one[0]}" for key, one in pairs)
    return f"new {kind} {{ {inside} }}", kind
