"""Names, types and expressions of C#, as text."""

from __future__ import annotations

import ast
from dataclasses import dataclass

#: How tightly an expression binds, from loose to tight.
(
    ASSIGNMENT, CONDITIONAL, OR_ELSE, AND_ALSO, BIT_OR, BIT_XOR, BIT_AND,
    EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, PRIMARY,
) = range(14)  # fmt: skip
_KEYWORDS = frozenset(
    "as base bool byte case char checked class const decimal default delegate do double enum event"
    " explicit extern false fixed float foreach goto implicit in int interface internal is lock"
    " long namespace new null object operator out override params private protected public readonly"
    " ref sbyte sealed short sizeof static string struct switch this throw true typeof uint ulong"
    " unchecked unsafe ushort using virtual void volatile".split()
)
#: Python -> C#; any other name of a class stays.
_TYPES = {
    "int": "long",
    "bool": "bool",
    "str": "string",
    "bytes": "byte[]",
    "bytearray": "List<byte>",
    "float": "double",
    "None": "void",
    "range": "long[]",
    "Kind": "string",
    "ChipTable": "Table",
    "Peripheral": "Block",
}
_GENERIC = {"list": "List", "dict": "Dictionary", "Mapping": "IDictionary", "frozenset": "HashSet"}
_VALUES = frozenset(("long", "bool", "double"))


class UntranslatableError(Exception):
    """A construct of Python that the translation does not know; names file and line."""


@dataclass(frozen=True)
class Term:
    """An expression of C#: its text, its type, and how tightly it binds."""

    text: str
    type: str
    level: int = PRIMARY

    def at(self, level: int) -> str:
        """The text as an operand of an operator that binds like ``level``."""
        return self.text if self.level >= level else f"({self.text})"


def pascal(name: str) -> str:
    """``_start_arrival``, ``PSEL_TXD`` -> ``StartArrival``, ``PselTxd``."""
    words = name.strip("_").split("_")
    if not any(words):
        return name
    return "".join(w.capitalize() if w.isupper() else w[:1].upper() + w[1:] for w in words)


def class_name(name: str) -> str:
    """The name of a class in C#."""
    return _TYPES.get(name, name)


def camel(name: str) -> str:
    """``open_buffer`` -> ``openBuffer``; a keyword of C# gets an ``@``."""
    whole = pascal(name)
    whole = whole[:1].lower() + whole[1:]
    return f"@{whole}" if whole in _KEYWORDS else whole


def quoted(text: str) -> str:
    """A string literal, of which only printable ASCII is expected."""
    assert text.isascii(), text
    assert text.isprintable(), text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def arguments(type_: str) -> list[str]:
    """The type arguments of ``Dictionary<long, (long, string)>``, or the items of a tuple."""
    inside = type_[type_.index("<") + 1 : -1] if type_.endswith(">") else type_[1:-1]
    found, depth = [""], 0
    for char in inside:
        depth += (char in "<(") - (char in ">)")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [one.strip() for one in found]


def is_tuple(type_: str) -> bool:
    """True of ``(long, string)``."""
    return type_.startswith("(") and type_.endswith(")")


def head(type_: str) -> str:
    """``Dictionary`` of ``Dictionary<long, long>``, and ``[]`` of an array."""
    if type_.endswith("[]"):
        return "[]"
    return "tuple" if is_tuple(type_) else type_.partition("<")[0]


def element(type_: str) -> str:
    """The type of what an iteration gives, "" if ``type_`` is not iterable."""
    if type_ == "byte[]" or type_ == "List<byte>":
        return "long"
    kind = head(type_)
    if kind == "[]":
        return type_[:-2]
    if kind in ("List", "HashSet", "IEnumerable", "Dictionary", "IDictionary"):
        return arguments(type_)[0]
    return ""


def type_of(annotation: ast.expr, aliases: dict[str, ast.expr]) -> str:
    """The type of C# of an annotation; "" if there is none.

    ``aliases`` are assignments of the module that may name types.
    """
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return "void"
    if isinstance(annotation, ast.Name):
        if annotation.id in aliases:
            return type_of(aliases[annotation.id], aliases)
        return _TYPES.get(annotation.id, annotation.id)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        one, other = (type_of(side, aliases) for side in (annotation.left, annotation.right))
        if other != "void":
            return ""
        return f"{one}?" if one in _VALUES else one
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        return _generic(annotation.value.id, annotation.slice, aliases)
    return ""


def _generic(name: str, inside: ast.expr, aliases: dict[str, ast.expr]) -> str:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name in ("Annotated", "ClassVar"):
        return type_of(parts[0], aliases)
    if name == "Callable":
        given, result = parts
        assert isinstance(given, ast.List)
        types = [type_of(one, aliases) for one in given.elts]
        returned = type_of(result, aliases)
        types += [] if returned == "void" else [returned]
        return ("Action" if returned == "void" else "Func") + (
            f"<{', '.join(types)}>" if types else ""
        )
    if name == "tuple":
        if isinstance(parts[-1], ast.Constant) and parts[-1].value is ...:
            return f"{type_of(parts[0], aliases)}[]"
        return f"({', '.join(type_of(one, aliases) for one in parts)})"
    if name not in _GENERIC:
        return ""
    return f"{_GENERIC[name]}<{', '.join(type_of(one, aliases) for one in parts)}>"


def condition(term: Term) -> Term | None:
    """Python's truth of a value; None if its type has none here."""
    kind, at = head(term.type), term.at(EQUALITY + 1)
    if term.type == "bool":
        return term
    text = {
        "long": f"{at} != 0",
        "string": f'{at} != ""',
        "bool?": f"{at} == true",
        "[]": f"{term.at(PRIMARY)}.Length != 0",
        "List": f"{term.at(PRIMARY)}.Count != 0",
        "Dictionary": f"{term.at(PRIMARY)}.Count != 0",
    }.get(kind)
    return None if text is None else Term(text, "bool", EQUALITY)


def negated(term: Term) -> Term:
    """The opposite of a condition."""
    for sign, opposite in ((" != ", " == "), (" == ", " != ")):
        left, found, right = term.text.partition(sign)
        if term.level == EQUALITY and found and sign not in right and opposite not in term.text:
            return Term(f"{left}{opposite}{right}", "bool", EQUALITY)
    return Term(f"!{term.at(UNARY)}", "bool", UNARY)
