"""Expressions of Python as expressions of C#."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from csharp import terms
from csharp.constants import constant
from csharp.sources import Members, Source, constant_of, defined
from csharp.terms import PRIMARY, Term, camel, condition, element, head, negated, pascal, quoted
from harness.simulator.peripherals import base

_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", terms.SUM),
    ast.Sub: ("-", terms.SUM),
    ast.Mult: ("*", terms.PRODUCT),
    ast.LShift: ("<<", terms.SHIFT),
    ast.RShift: (">>", terms.SHIFT),
    ast.BitAnd: ("&", terms.BIT_AND),
    ast.BitXor: ("^", terms.BIT_XOR),
    ast.BitOr: ("|", terms.BIT_OR),
}
#: C# rounds towards zero.
_ROUNDED_DOWN: dict[type[ast.operator], str] = {ast.FloorDiv: "Div", ast.Mod: "Mod"}
_SIGNS: dict[type[ast.unaryop], str] = {ast.Invert: "~", ast.USub: "-"}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, int]] = {
    ast.Eq: ("==", terms.EQUALITY),
    ast.NotEq: ("!=", terms.EQUALITY),
    ast.Is: ("==", terms.EQUALITY),
    ast.IsNot: ("!=", terms.EQUALITY),
    ast.Lt: ("<", terms.RELATION),
    ast.LtE: ("<=", terms.RELATION),
    ast.Gt: (">", terms.RELATION),
    ast.GtE: (">=", terms.RELATION),
}
#: Formats of a number in an f-string.
_FORMATS = {"x": "x", "02x": "x2", "03x": "x3", "08x": "x8", "02": "D2"}
_CONTAINS = {
    "Dictionary": "ContainsKey", "IDictionary": "ContainsKey", "HashSet": "Contains",
    "[]": "Contains",
}  # fmt: skip
#: Expressions whose type depends on what is wanted.
_FLEXIBLE = (ast.Dict, ast.List, ast.Tuple, ast.IfExp)
#: Constants of base.py that the class Nordic has under another name.
_INHERITED = {"PUBLISH": "PublishAt", "SUBSCRIBE": "SubscribeAt"}


@dataclass
class Needs:
    """What a class uses of its module, by the names in C#.

    ``functions`` have their file and syntax tree; ``constants`` their value, and the file and the
    name in which it has a comment.
    """

    functions: dict[str, tuple[Source, ast.FunctionDef]] = field(default_factory=dict)
    constants: dict[str, tuple[Term, Source, str]] = field(default_factory=dict)


class Expressions:
    """Translates the expressions of one function.

    ``names`` are the globals of its module, ``scopes`` the types of local variables, innermost
    last; ``owner`` is the class of ``self``.
    """

    def __init__(
        self, members: Members, source: Source, names: dict[str, Any], owner: str, needs: Needs
    ) -> None:
        self.members, self.source, self.names = members, source, names
        self.owner, self.needs = owner, needs
        self.scopes: list[dict[str, str]] = [{}]
        self.before: list[str] = []  # declarations that the current statement needs

    def refuse(self, node: ast.AST, why: str = "unknown construct") -> Exception:
        """An error that names file and line."""
        return self.source.refuse(node, why)

    def local(self, name: str) -> str | None:
        """The type of a local variable; None if there is none of this name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def declared(self, name: str, kind: str) -> bool:
        """Whether a local variable is declared; one without a type as yet gets ``kind``."""
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = scope[name] or kind
                return True
        return False

    # conversions

    def convert(self, term: Term, wanted: str, node: ast.AST) -> Term:
        """``term`` as a value of another type."""
        given = term.type
        if wanted in ("", given, f"{given}?") or given in ("null", "method"):
            return term
        if wanted == "long" and given in ("bool", "long?"):
            return self.number(term)
        if wanted == "double" and given == "long":
            return term
        if head(wanted) == "IEnumerable" and element(given) == element(wanted):
            return term
        if self.members.knows(wanted) and self.members.knows(given):
            return term
        raise self.refuse(node, f"{given} where {wanted} is expected")

    @staticmethod
    def number(term: Term) -> Term:
        """A whole number; of a bool, 0 or 1."""
        if term.type == "bool":
            return Term(f"Py.Int({term.text})", "long")
        if term.type == "long?":
            return Term(f"{term.at(PRIMARY)}.Value", "long")
        return term

    def condition(self, node: ast.expr) -> Term:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            both = isinstance(node.op, ast.And)
            sign, level = ("&&", terms.AND_ALSO) if both else ("||", terms.OR_ELSE)
            parts = [self.condition(one).at(level) for one in node.values]
            return Term(f" {sign} ".join(parts), "bool", level)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negated(self.condition(node.operand))
        found = condition(self.value(node))
        if found is None:
            raise self.refuse(node, "no truth of this type")
        return found

    def value(self, node: ast.expr, wanted: str = "") -> Term:
        """An expression, converted to the type that is ``wanted``, if one is."""
        name = f"_of_{type(node).__name__.lower()}"
        translate: Callable[..., Term] | None = getattr(self, name, None)
        if translate is None:
            raise self.refuse(node)
        found = translate(node, wanted) if isinstance(node, _FLEXIBLE) else translate(node)
        return self.convert(found, wanted, node)

    # atoms

    def _of_constant(self, node: ast.Constant) -> Term:
        value = node.value
        if value is None:
            return Term("null", "null")
        if isinstance(value, bool):
            return Term("true" if value else "false", "bool")
        if isinstance(value, int | float):
            text = ast.get_source_segment(self.source.text, node)
            assert text is not None
            return Term(text, "long" if isinstance(value, int) else "double")
        if isinstance(value, str):
            return Term(quoted(value), "string")
        if isinstance(value, bytes):
            items = ", ".join(f"0x{byte:02x}" for byte in value)
            return Term(f"new byte[] {{ {items} }}" if value else "new byte[0]", "byte[]")
        raise self.refuse(node)

    def _of_name(self, node: ast.Name) -> Term:
        if (local := self.local(node.id)) is not None:
            return Term(camel(node.id), local)
        if node.id == "self":
            return Term("this", self.owner)
        if node.id not in self.names:
            raise self.refuse(node, "unknown name")
        value = self.names[node.id]
        if inspect.isfunction(value):
            self.need_function(node, value)
            return Term(pascal(node.id), "method")
        return self._global(node, value)

    def _global(self, node: ast.Name, value: object) -> Term:
        """A constant of the module, which the class gets too."""
        text, kind = constant(value)
        if not kind:
            raise self.refuse(node, "no constant")
        if self.source.origins.get(node.id) == (base.__name__, node.id):
            return Term(_INHERITED.get(node.id, pascal(node.id)), kind)
        source, name = constant_of(self.source, node.id)
        plain = source.aliases.get(name)
        if kind in ("long", "double") and isinstance(plain, ast.Constant):
            text = ast.get_source_segment(source.text, plain) or text
        known, _, _ = self.needs.constants.setdefault(
            pascal(node.id), (Term(text, kind), source, name)
        )
        if known.text != text:
            raise self.refuse(node, f"two constants would be called {pascal(node.id)}")
        return Term(pascal(node.id), kind)

    def need_function(self, node: ast.AST, function: Any) -> None:
        """Notes that the class needs a function of its module."""
        if function.__module__ != self.names["__name__"]:
            raise self.refuse(node, "a function of another module")
        self.needs.functions.setdefault(pascal(function.__name__), defined(function))

    def _of_joinedstr(self, node: ast.JoinedStr) -> Term:
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += quoted(part.value)[1:-1].replace("{", "{{").replace("}", "}}")
            elif isinstance(part, ast.FormattedValue):
                text += f"{{{self._hole(part)}}}"
        return Term(f'$"{text}"', "string")

    def _hole(self, node: ast.FormattedValue) -> str:
        how = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
        value = self.value(node.value)
        if value.type == "double" and how == ".1f":
            return f"Py.Tenths({value.text})"
        value = self.number(value) if value.type == "long?" else value
        known = not how or (how in _FORMATS and value.type == "long")
        if not known or node.conversion != -1 or value.type not in ("long", "string"):
            raise self.refuse(node, f"no such format of {value.type}")
        text = value.at(terms.CONDITIONAL + 1)
        return f"{text}:{_FORMATS[how]}" if how else text

    # operators

    def _of_unaryop(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        if type(node.op) not in _SIGNS:
            raise self.refuse(node)
        operand = self.number(self.value(node.operand))
        return Term(f"{_SIGNS[type(node.op)]}{operand.at(terms.UNARY)}", operand.type, terms.UNARY)

    def _of_binop(self, node: ast.BinOp) -> Term:
        left, right = self.value(node.left), self.value(node.right)
        if (left.type, right.type) == ("byte[]", "long") and isinstance(node.op, ast.Mult):
            return Term(f"Py.Repeat({left.text}, {right.text})", "byte[]")
        left, right = self.number(left), self.number(right)
        kinds = {left.type, right.type}
        if not kinds <= {"long", "double"}:
            raise self.refuse(node, f"no operation of {left.type} and {right.type}")
        kind = "double" if "double" in kinds else "long"
        if isinstance(node.op, ast.Div):
            text = f"(double){left.at(terms.UNARY)} / {right.at(terms.PRODUCT + 1)}"
            return Term(text, "double", terms.PRODUCT)
        if type(node.op) in _ROUNDED_DOWN and kind == "long":
            name = _ROUNDED_DOWN[type(node.op)]
            return Term(f"Py.{name}({left.text}, {right.text})", "long")
        if type(node.op) not in _OPERATORS:
            raise self.refuse(node)
        sign, level = _OPERATORS[type(node.op)]
        if level == terms.SHIFT:
            return Term(f"{_wide(left)} {sign} {narrow(right)}", "long", level)
        return Term(f"{left.at(level)} {sign} {right.at(level + 1)}", kind, level)

    def _of_boolop(self, node: ast.BoolOp) -> Term:
        values = [self.value(one) for one in node.values]
        kinds = {one.type for one in values}
        if kinds == {"bool"}:
            return self.condition(node)
        if kinds == {"long"} and isinstance(node.op, ast.Or):
            return Term(f"Py.Or({', '.join(one.text for one in values)})", "long")
        raise self.refuse(node, "neither all bool nor a choice of numbers")

    def _of_compare(self, node: ast.Compare) -> Term:
        lefts = [node.left, *node.comparators[:-1]]
        pairs = zip(lefts, node.ops, node.comparators, strict=True)
        parts = [self._comparison(*one) for one in pairs]
        if len(parts) == 1:
            return parts[0]
        return Term(" && ".join(one.at(terms.AND_ALSO) for one in parts), "bool", terms.AND_ALSO)

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Term:
        if isinstance(operator, ast.In):
            return self._contained(left, right)
        if isinstance(operator, ast.NotIn):
            return negated(self._contained(left, right))
        sign, level = _COMPARISONS[type(operator)]
        one, other = self.value(left), self.value(right)
        if head(one.type) == head(other.type) == "List" and sign == "==":
            return Term(f"{one.at(PRIMARY)}.SequenceEqual({other.text})", "bool")
        kinds = {one.type.rstrip("?"), other.type.rstrip("?")}
        if kinds == {"bool", "long"}:
            one, other = self.number(one), self.number(other)
        elif not ("null" in kinds or kinds in _COMPARABLE):
            raise self.refuse(left, f"no comparison of {one.type} and {other.type}")
        return Term(f"{one.at(level + 1)} {sign} {other.at(level + 1)}", "bool", level)

    def _contained(self, item: ast.expr, where: ast.expr) -> Term:
        value = self.value(item)
        if isinstance(where, ast.Tuple):
            level = terms.EQUALITY + 1
            tests = [f"{value.at(level)} == {self.value(one).at(level)}" for one in where.elts]
            return Term(" || ".join(tests), "bool", terms.OR_ELSE)
        container = self.value(where)
        if head(container.type) not in _CONTAINS:
            raise self.refuse(where, f"no membership in {container.type}")
        method = _CONTAINS[head(container.type)]
        return Term(f"{container.at(PRIMARY)}.{method}({value.text})", "bool")

    def _of_ifexp(self, node: ast.IfExp, wanted: str = "") -> Term:
        level = terms.CONDITIONAL + 1
        test = self.condition(node.test).at(level)
        one, other = self.value(node.body, wanted), self.value(node.orelse, wanted)
        kinds = {one.type, other.type}
        if kinds == {"long", "null"}:
            kind = "long?"
            one = Term(f"({kind}){one.at(terms.UNARY)}", kind, terms.UNARY)
        elif len(kinds) == 1:
            kind = one.type
        elif kinds in ({"long", "long?"}, {"long", "double"}):
            kind = (kinds - {"long"}).pop()
        else:
            raise self.refuse(node, f"one of {one.type} and {other.type}")
        return Term(f"{test} ? {one.at(level)} : {other.at(level)}", kind, terms.CONDITIONAL)

    def _of_namedexpr(self, node: ast.NamedExpr) -> Term:
        value, name = self.value(node.value), node.target.id
        if not self.declared(name, value.type):
            self.scopes[-1][name] = value.type
            self.before.append(f"{value.type} {camel(name)};")
        return Term(f"({camel(name)} = {value.text})", value.type)

    # collections

    def _of_tuple(self, node: ast.Tuple, wanted: str = "") -> Term:
        items = [self.value(one) for one in node.elts]
        if head(wanted) == "[]":
            return Term(f"new {wanted} {{ {', '.join(one.text for one in items)} }}", wanted)
        text, kind = (", ".join(getattr(one, name) for one in items) for name in ("text", "type"))
        return Term(f"({text})", f"({kind})")

    def _of_list(self, node: ast.List, wanted: str = "") -> Term:
        items = [self.value(one) for one in node.elts]
        kinds = {one.type for one in items}
        if len(kinds) > 1 or not (kinds or wanted):
            raise self.refuse(node, "no list of one type")
        kind = wanted or f"List<{kinds.pop()}>"
        inside = ", ".join(one.text for one in items)
        return Term(f"new {kind} {{ {inside} }}" if items else f"new {kind}()", kind)

    def _of_dict(self, node: ast.Dict, wanted: str = "") -> Term:
        if not node.keys and wanted:
            return Term(f"new {wanted}()", wanted)
        if None in node.keys:
            raise self.refuse(node)
        keys = [self.value(one) for one in node.keys if one]
        values = [self.value(one) for one in node.values]
        kinds = {(key.type, one.type) for key, one in zip(keys, values, strict=True)}
        if len(kinds) != 1:
            raise self.refuse(node, "no dict of one type")
        kind = f"Dictionary<{', '.join(kinds.pop())}>"
        pairs = zip(keys, values, strict=True)
        inside = ", ".join(f"[{key.text}] = {value.text}" for key, value in pairs)
        return Term(f"new {kind} {{ {inside} }}", kind)

    def _of_subscript(self, node: ast.Subscript) -> Term:
        if (known := self._class_constant(node)) is not None:
            return known
        value = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._part(node, value, node.slice)
        index = self.number(self.value(node.slice))
        kind = head(value.type)
        if kind in ("Dictionary", "IDictionary"):
            return Term(f"{value.at(PRIMARY)}[{index.text}]", terms.arguments(value.type)[1])
        if kind == "Registers":
            return Term(f"{value.at(PRIMARY)}[{index.text}]", "long")
        if kind in ("[]", "List"):
            return Term(f"{value.at(PRIMARY)}[{narrow(index)}]", element(value.type))
        raise self.refuse(node, f"no element of {value.type}")

    def _class_constant(self, node: ast.Subscript) -> Term | None:
        """``self.TASKS["STOPTX"]``, an offset; None if the node is something else."""
        model, target = self.members.models.get(self.owner), node.value
        if model is None or not isinstance(target, ast.Attribute) or not target.attr.isupper():
            return None
        if ast.unparse(target.value) != "self" or not isinstance(node.slice, ast.Constant):
            raise self.refuse(node)
        return Term(f"0x{getattr(model.python, target.attr)[node.slice.value]:03X}", "long")

    def _part(self, node: ast.Subscript, value: Term, where: ast.Slice) -> Term:
        if where.step is not None or value.type not in ("string", "List<byte>"):
            raise self.refuse(node)
        first = self.value(where.lower, "long").text if where.lower else "0"
        end = self.value(where.upper, "long").text if where.upper else "long.MaxValue"
        return Term(f"Py.Slice({value.text}, {first}, {end})", value.type)

    # members

    def _of_attribute(self, node: ast.Attribute) -> Term:
        if ast.unparse(node.value) == "Kind":
            kind = self.names["Kind"][node.attr]
            assert isinstance(kind, Enum)
            return Term(quoted(str(kind.value)), "string")
        value = self.value(node.value)
        found = self.members.find(value.type, node.attr)
        if found is None:
            raise self.refuse(node, f"{value.type} has no {node.attr}")
        if found.parameters is None and not found.type:
            raise self.refuse(node, "a member without a known type")
        return Term(
            member_of(value, node.attr), "method" if found.parameters is not None else found.type
        )


_COMPARABLE = ({"bool"}, {"string"}, {"long"}, {"double"}, {"long", "double"})


def member_of(value: Term, name: str) -> str:
    """A member of a value."""
    return pascal(name) if value.text == "this" else f"{value.at(PRIMARY)}.{pascal(name)}"


def narrow(term: Term) -> str:
    """A number that C# wants as an int."""
    return term.text if _is_literal(term) else f"(int){term.at(terms.UNARY)}"


def _wide(term: Term) -> str:
    """The left operand of a shift, as a long."""
    return f"{term.text}L" if _is_literal(term) else term.at(terms.SHIFT)


def _is_literal(term: Term) -> bool:
    return term.text[:1].isdigit() and term.level == PRIMARY
