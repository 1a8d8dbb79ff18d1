"""Names, types and expressions of C#, as text."""

from __future__ import annotations

import ast
from dataclasses import dataclass

#: How tightly an operator binds, from loose to tight.
(
    CONDITIONAL, OR_ELSE, AND_ALSO, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM,
    PRODUCT, UNARY, PRIMARY,
) = range(13)  # fmt: skip
_KEYWORDS = frozenset((
    "as", "base", "bool", "byte", "case", "char", "checked", "class", "const", "decimal", "default",
    "delegate", "do", "double", "enum", "event", "explicit", "extern", "false", "fixed", "float",
    "foreach", "goto", "implicit", "in", "int", "interface", "internal", "is", "lock", "long",
    "namespace", "new", "null", "object", "operator", "out", "override", "params", "private",
    "protected", "public", "readonly", "ref", "sbyte", "sealed", "short", "sizeof", "static",
    "string", "struct", "switch", "this", "throw", "true", "typeof", "uint", "ulong", "unchecked",
    "unsafe", "ushort", "using", "virtual", "void", "volatile",
))  # fmt: skip
#: Types of Python that have another name in C#.
_TYPES = {
    "int": "long",
    "str": "string",
    "bytes": "byte[]",
    "bytearray": "List<byte>",
    "float": "double",
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


# -- names ----------------------------------------------------------------------------------------


def pascal(name: str) -> str:
    """``_start_arrival``, ``PSEL_TXD`` -> ``StartArrival``, ``PselTxd``."""
    words = [word for word in name.split("_") if word]
    whole = "".join(w.capitalize() if w.isupper() else w[:1].upper() + w[1:] for w in words)
    return whole or name


def camel(name: str) -> str:
    """``open_buffer`` -> ``openBuffer``; a keyword of C# gets an ``@``."""
    whole = pascal(name)
    whole = whole[:1].lower() + whole[1:]
    return f"@{whole}" if whole in _KEYWORDS else whole


def class_name(name: str) -> str:
    """The name of a class."""
    return _TYPES.get(name, name)


def quoted(text: str) -> str:
    """A string literal; all texts are printable ASCII."""
    assert text.isascii(), text
    assert text.isprintable(), text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- types ----------------------------------------------------------------------------------------


def arguments(kind: str) -> list[str]:
    """The type arguments of ``Dictionary<long, (long, string)>``, or the items of a tuple."""
    inside = kind[kind.index("<") + 1 : -1] if kind.endswith(">") else kind[1:-1]
    found, depth = [""], 0
    for char in inside:
        depth += (char in "<(") - (char in ">)")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [one.strip() for one in found]


def is_tuple(kind: str) -> bool:
    """True of ``(long, string)``."""
    return kind.startswith("(") and kind.endswith(")")


def head(kind: str) -> str:
    """``Dictionary`` of ``Dictionary<long, long>``, and ``[]`` of an array."""
    return "[]" if kind.endswith("[]") else kind.partition("<")[0]


def element(kind: str) -> str:
    """The type of what an iteration gives, "" if the type is not iterable."""
    if kind in ("byte[]", "List<byte>"):
        return "long"
    if kind.endswith("[]"):
        return kind[:-2]
    known = ("List", "HashSet", "IEnumerable", "Dictionary", "IDictionary")
    return arguments(kind)[0] if head(kind) in known else ""


def type_of(annotation: ast.expr | None, aliases: dict[str, ast.expr]) -> str:
    """The type of C# of an annotation; "" if it has none.

    ``aliases`` are assignments of the module, which may name types.
    """
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return "void"
    if isinstance(annotation, ast.Name):
        alias = aliases.get(annotation.id)
        return type_of(alias, aliases) if alias else class_name(annotation.id)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        one, other = (type_of(side, aliases) for side in (annotation.left, annotation.right))
        if other != "void":
            return ""
        return f"{one}?" if one in _VALUES else one
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inside = annotation.slice
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        return _generic(annotation.value.id, parts, aliases)
    return ""


def _generic(name: str, parts: list[ast.expr], aliases: dict[str, ast.expr]) -> str:
    if name == "Annotated":
        return type_of(parts[0], aliases)
    if name == "Callable":
        return _delegate(parts, aliases)
    if name == "tuple" and isinstance(parts[-1], ast.Constant) and parts[-1].value is ...:
        return f"{type_of(parts[0], aliases)}[]"
    inside = ", ".join(type_of(one, aliases) for one in parts)
    if name == "tuple":
        return f"({inside})"
    return f"{_GENERIC[name]}<{inside}>" if name in _GENERIC else ""


def _delegate(parts: list[ast.expr], aliases: dict[str, ast.expr]) -> str:
    given, returned = parts
    assert isinstance(given, ast.List)
    types = [type_of(one, aliases) for one in given.elts]
    result = type_of(returned, aliases)
    if result == "void":
        return f"Action<{', '.join(types)}>" if types else "Action"
    return f"Func<{', '.join((*types, result))}>"


# -- conditions -----------------------------------------------------------------------------------


def condition(term: Term) -> Term | None:
    """Python's truth of a value; None if its type has none here."""
    if term.type == "bool":
        return term
    at, size = term.at(EQUALITY + 1), term.at(PRIMARY)
    text = {
        "long": f"{at} != 0",
        "string": f'{at} != ""',
        "bool?": f"{at} == true",
        "[]": f"{size}.Length != 0",
        "List": f"{size}.Count != 0",
        "Dictionary": f"{size}.Count != 0",
    }.get(head(term.type))
    return None if text is None else Term(text, "bool", EQUALITY)


def negated(term: Term) -> Term:
    """The opposite of a condition."""
    for sign, opposite in ((" != ", " == "), (" == ", " != ")):
        left, found, right = term.text.partition(sign)
        if term.level == EQUALITY and found and sign not in right and opposite not in term.text:
            return Term(f"{left}{opposite}{right}", "bool", EQUALITY)
    return Term(f"!{term.at(UNARY)}", "bool", UNARY)
