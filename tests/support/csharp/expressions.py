"""Expressions of Python as expressions of C#."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from csharp import terms
from csharp.sources import Members, Source, defined, literal, parameters
from csharp.terms import PRIMARY, Term, camel, condition, element, head, negated, pascal, quoted

from harness.simulator.peripherals import base, texts

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
_ROUNDED = {ast.FloorDiv: "Div", ast.Mod: "Mod"}
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
#: Format of an f-string -> of C#.
_FORMATS = {
    "x": "x", "02x": "x2", "03x": "x3", "08x": "x8", "02": "D2", "": "",
}  # fmt: skip


#: Constants of base.py that the class Nordic has under another name, as it has such methods.
_INHERITED = {"Publish": "PublishAt", "Subscribe": "SubscribeAt"}


@dataclass
class Needs:
    """What a class uses of its module: functions and constants, by their names in C#."""

    functions: dict[str, tuple[Source, ast.FunctionDef]] = field(default_factory=dict)
    constants: dict[str, Term] = field(default_factory=dict)


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
        if wanted == term.type or term.type in ("null", "method") or not wanted:
            return term
        if wanted == "long" and term.type == "bool":
            return self._number(term)
        if wanted == "long" and term.type == "long?":
            return Term(f"{term.at(PRIMARY)}.Value", "long")
        if wanted == f"{term.type}?" or (wanted == "double" and term.type == "long"):
            return term
        if head(wanted) == "IEnumerable" and element(term.type):
            return term
        if self.members.knows(wanted) and self.members.knows(term.type):
            return term
        raise self.refuse(node, f"{term.type} where {wanted} is expected")

    def _number(self, term: Term) -> Term:
        """A whole number; of a bool, 0 or 1."""
        if term.type == "bool":
            return Term(f"Py.Int({term.text})", "long")
        if term.type == "long?":
            return Term(f"{term.at(PRIMARY)}.Value", "long")
        return term

    def condition(self, node: ast.expr) -> Term:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            sign, level = ("&&", terms.AND_ALSO) if isinstance(node.op, ast.And) else (
                "||", terms.OR_ELSE
            )  # fmt: skip
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
        translate: Callable[..., Term] | None = getattr(self, f"_{type(node).__name__}", None)
        if translate is None:
            raise self.refuse(node)
        if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.IfExp):
            return self.convert(translate(node, wanted), wanted, node)
        return self.convert(translate(node), wanted, node)

    # atoms

    def _Constant(self, node: ast.Constant) -> Term:
        value = node.value
        if value is None:
            return Term("null", "null")
        if isinstance(value, bool):
            return Term("true" if value else "false", "bool")
        if isinstance(value, int | float):
            text = ast.get_source_segment(self.source.text, node) or str(value)
            return Term(text, "long" if isinstance(value, int) else "double")
        if isinstance(value, str):
            return Term(quoted(value), "string")
        if isinstance(value, bytes):
            items = ", ".join(f"0x{byte:02x}" for byte in value)
            return Term(f"new byte[] {{ {items} }}" if value else "new byte[0]", "byte[]")
        raise self.refuse(node)

    def _Name(self, node: ast.Name) -> Term:
        if (local := self.local(node.id)) is not None:
            return Term(camel(node.id), local)
        if node.id == "self":
            return Term("this", self.owner)
        if node.id not in self.names:
            raise self.refuse(node, "unknown name")
        value = self.names[node.id]
        if inspect.isfunction(value):
            self._function(node, value)
            return Term(pascal(node.id), "method")
        return self._named(node, value)

    def _named(self, node: ast.Name, value: object) -> Term:
        """A constant of the module, which the class gets too."""
        text, kind = constant(value)
        if not kind:
            raise self.refuse(node, "no constant")
        if kind == "long" or kind == "double":
            text = literal(self.names["__name__"], node.id) or text
        name = pascal(node.id)
        if self.source.imported(node.id) == (base.__name__, node.id):
            return Term(_INHERITED.get(name, name), kind)
        known = self.needs.constants.setdefault(name, Term(text, kind))
        if known.text != text:
            raise self.refuse(node, f"two constants would be called {name}")
        return Term(name, kind)

    def _function(self, node: ast.AST, function: Any) -> None:
        """Notes that the class needs a function of its module."""
        if function.__module__ != self.names["__name__"]:
            raise self.refuse(node, "a function of another module")
        self.needs.functions.setdefault(pascal(function.__name__), defined(function))

    def _JoinedStr(self, node: ast.JoinedStr) -> Term:
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += quoted(part.value)[1:-1].replace("{", "{{").replace("}", "}}")
            elif isinstance(part, ast.FormattedValue):
                text += self._hole(part)
        return Term(f'$"{text}"', "string")

    def _hole(self, node: ast.FormattedValue) -> str:
        how = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
        value = self.value(node.value)
        if node.conversion != -1 or isinstance(node.value, ast.Constant):
            raise self.refuse(node)
        if value.type == "double" and how == ".1f":
            return f"{{Py.Tenths({value.text})}}"
        value = value if value.type == "string" and not how else self._number(value)
        if how not in _FORMATS or value.type not in ("long", "string"):
            raise self.refuse(node, f"no format of {value.type}")
        text = value.at(terms.CONDITIONAL + 1)
        return f"{{{text}:{_FORMATS[how]}}}" if how else f"{{{text}}}"

    # operators

    def _UnaryOp(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        signs: dict[type[ast.unaryop], str] = {ast.Invert: "~", ast.USub: "-"}
        if type(node.op) not in signs:
            raise self.refuse(node)
        operand = self._number(self.value(node.operand))
        return Term(f"{signs[type(node.op)]}{operand.at(terms.UNARY)}", operand.type, terms.UNARY)

    def _BinOp(self, node: ast.BinOp) -> Term:
        left, right = self.value(node.left), self.value(node.right)
        return self.binary(node, node.op, left, right)

    def binary(self, node: ast.AST, operator: ast.operator, left: Term, right: Term) -> Term:
        """An operation on two numbers, or on bytes or strings."""
        if left.type == "byte[]" and isinstance(operator, ast.Mult) and right.type == "long":
            return Term(f"Py.Repeat({left.text}, {right.text})", "byte[]")
        if left.type == right.type == "string" and isinstance(operator, ast.Add):
            return Term(f"{left.at(terms.SUM)} + {right.at(terms.SUM + 1)}", "string", terms.SUM)
        left, right = self._number(left), self._number(right)
        numbers = {left.type, right.type}
        if not numbers <= {"long", "double"}:
            raise self.refuse(node, f"no operation of {left.type} and {right.type}")
        result = "double" if "double" in numbers else "long"
        if isinstance(operator, ast.Div):
            text = f"(double){left.at(terms.UNARY)} / {right.at(terms.PRODUCT + 1)}"
            return Term(text, "double", terms.PRODUCT)
        if type(operator) in _ROUNDED and result == "long":
            name = _ROUNDED[type(operator)]
            return Term(f"Py.{name}({left.text}, {right.text})", "long")
        if type(operator) not in _OPERATORS:
            raise self.refuse(node)
        sign, level = _OPERATORS[type(operator)]
        if level == terms.SHIFT:
            return Term(f"{_wide(left)} {sign} {_narrow(right)}", "long", level)
        return Term(f"{left.at(level)} {sign} {right.at(level + 1)}", result, level)

    def _BoolOp(self, node: ast.BoolOp) -> Term:
        values = [self.value(one) for one in node.values]
        if all(one.type == "bool" for one in values):
            return self.condition(node)
        if isinstance(node.op, ast.Or) and all(one.type == "long" for one in values):
            return Term(f"Py.Or({', '.join(one.text for one in values)})", "long")
        raise self.refuse(node, "neither all bool nor a choice of numbers")

    def _Compare(self, node: ast.Compare) -> Term:
        operands = [node.left, *node.comparators]
        parts = [
            self._comparison(left, operator, right)
            for left, operator, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        if len(parts) == 1:
            return parts[0]
        return Term(" && ".join(one.at(terms.AND_ALSO) for one in parts), "bool", terms.AND_ALSO)

    def _comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Term:
        if isinstance(operator, ast.In | ast.NotIn):
            found = self._contained(left, right)
            return found if isinstance(operator, ast.In) else negated(found)
        if type(operator) not in _COMPARISONS:
            raise self.refuse(left)
        sign, level = _COMPARISONS[type(operator)]
        one, other = self.value(left), self.value(right)
        if isinstance(right, ast.List) and head(one.type) == "List":
            return Term(f"{one.at(PRIMARY)}.SequenceEqual({other.text})", "bool")
        if "bool" in (one.type, other.type) and one.type != other.type:
            one, other = self._number(one), self._number(other)
        return Term(f"{one.at(level + 1)} {sign} {other.at(level + 1)}", "bool", level)

    def _contained(self, item: ast.expr, where: ast.expr) -> Term:
        value = self.value(item)
        if isinstance(where, ast.Tuple):
            same, level = value.at(terms.EQUALITY + 1), terms.EQUALITY + 1
            tests = [f"{same} == {self.value(one).at(level)}" for one in where.elts]
            return Term(" || ".join(tests), "bool", terms.OR_ELSE)
        container = self.value(where)
        method = {"Dictionary": "ContainsKey", "HashSet": "Contains", "[]": "Contains"}
        name = method.get(head(container.type))
        if name is None:
            raise self.refuse(where, f"no membership in {container.type}")
        return Term(f"{container.at(PRIMARY)}.{name}({value.text})", "bool")

    def _IfExp(self, node: ast.IfExp, wanted: str = "") -> Term:
        test = self.condition(node.test).at(terms.CONDITIONAL + 1)
        one, other = self.value(node.body, wanted), self.value(node.orelse, wanted)
        kind = one.type if one.type != "null" else other.type
        types = {one.type, other.type} - {"null"}
        if kind == "long" and "null" in (one.type, other.type):
            kind = "long?"
            one = one if one.type == "null" else Term(f"(long?){one.at(terms.UNARY)}", kind)
        elif types == {"long", "long?"}:
            kind = "long?"
        elif types == {"long", "double"}:
            kind = "double"
        elif len(types) != 1:
            raise self.refuse(node, f"one of {one.type} and {other.type}")
        level = terms.CONDITIONAL + 1
        return Term(f"{test} ? {one.at(level)} : {other.at(level)}", kind, terms.CONDITIONAL)

    def _NamedExpr(self, node: ast.NamedExpr) -> Term:
        value = self.value(node.value)
        name = node.target.id
        if not self.declared(name, value.type):
            self.scopes[-1][name] = value.type
            self.before.append(f"{value.type} {camel(name)};")
        return Term(f"({camel(name)} = {value.text})", value.type)

    # collections

    def _Tuple(self, node: ast.Tuple, wanted: str = "") -> Term:
        if head(wanted) == "[]":
            return self._List(ast.List(node.elts, ast.Load()), wanted)
        items = [self.value(one) for one in node.elts]
        return Term(
            f"({', '.join(one.text for one in items)})",
            f"({', '.join(one.type for one in items)})",
        )

    def _List(self, node: ast.List, wanted: str = "") -> Term:
        items = [self.value(one) for one in node.elts]
        types = {one.type for one in items}
        if len(types) > 1 or not (types or wanted):
            raise self.refuse(node, "a list of one type is expected")
        kind = wanted or f"List<{types.pop()}>"
        inside = ", ".join(one.text for one in items)
        if head(kind) == "[]":
            return Term(f"new {kind} {{ {inside} }}", kind)
        return Term(f"new {kind}()" if not items else f"new {kind} {{ {inside} }}", kind)

    def _Dict(self, node: ast.Dict, wanted: str = "") -> Term:
        if not node.keys and wanted:
            return Term(f"new {wanted}()", wanted)
        pairs = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.refuse(node)
            pairs.append((self.value(key), self.value(value)))
        types = {(one.type, other.type) for one, other in pairs}
        if len(types) != 1:
            raise self.refuse(node, "a dict of one type is expected")
        kind = f"Dictionary<{', '.join(types.pop())}>"
        inside = ", ".join(f"[{key.text}] = {value.text}" for key, value in pairs)
        return Term(f"new {kind} {{ {inside} }}", kind)

    def _Subscript(self, node: ast.Subscript) -> Term:
        if (known := self._class_constant(node)) is not None:
            return known
        value = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, value, node.slice)
        index = self._number(self.value(node.slice))
        kind = head(value.type)
        if kind in ("Dictionary", "IDictionary"):
            result = terms.arguments(value.type)[1]
        elif value.type == "Registers":
            result = "long"
        elif kind in ("[]", "List"):
            result = element(value.type)
            index = Term(_narrow(index), "long")
        else:
            raise self.refuse(node, f"no element of {value.type}")
        return Term(f"{value.at(PRIMARY)}[{index.text}]", result)

    def _class_constant(self, node: ast.Subscript) -> Term | None:
        """``self.TASKS["STOPTX"]``: an offset."""
        model = self.members.models.get(self.owner)
        target = node.value
        if model is None or not isinstance(target, ast.Attribute) or not target.attr.isupper():
            return None
        if ast.unparse(target.value) != "self" or not isinstance(node.slice, ast.Constant):
            raise self.refuse(node)
        value = getattr(model.python, target.attr)[node.slice.value]
        assert isinstance(value, int)
        return Term(f"0x{value:03X}", "long")

    def _slice(self, node: ast.AST, value: Term, where: ast.Slice) -> Term:
        if where.step is not None or value.type not in ("string", "List<byte>", "byte[]"):
            raise self.refuse(node)
        first = self.value(where.lower).text if where.lower else "0"
        last = self.value(where.upper).text if where.upper else "long.MaxValue"
        return Term(f"Py.Slice({value.text}, {first}, {last})", value.type)

    def _ListComp(self, node: ast.ListComp) -> Term:
        found = self._generated(node, node.elt)
        return Term(f"{found.text}.ToList()", f"List<{element(found.type)}>")

    def _GeneratorExp(self, node: ast.GeneratorExp) -> Term:
        return self._generated(node, node.elt)

    def _DictComp(self, node: ast.DictComp) -> Term:
        target, filtered, kind = self._filtered(node)
        self.scopes.append({target: kind})
        key, value = self.value(node.key), self.value(node.value)
        self.scopes.pop()
        name = camel(target)
        text = f"{filtered}.ToDictionary({name} => {key.text}, {name} => {value.text})"
        return Term(text, f"Dictionary<{key.type}, {value.type}>")

    def _filtered(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
    ) -> tuple[str, str, str]:
        """Variable, text and type of elements of a comprehension's source, with its conditions."""
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise self.refuse(node, "one loop over one variable is expected")
        loop = node.generators[0]
        assert isinstance(loop.target, ast.Name)
        source = self.value(loop.iter)
        kind = element(source.type)
        if not kind:
            raise self.refuse(loop.iter, f"no iteration over {source.type}")
        text, target = source.at(PRIMARY), loop.target.id
        self.scopes.append({target: kind})
        for test in loop.ifs:
            text += f".Where({camel(target)} => {self.condition(test).text})"
        self.scopes.pop()
        return target, text, kind

    def _generated(self, node: ast.ListComp | ast.GeneratorExp, item: ast.expr) -> Term:
        target, text, kind = self._filtered(node)
        self.scopes.append({target: kind})
        value = self.value(item)
        self.scopes.pop()
        if value.text != camel(target):
            text += f".Select({camel(target)} => {value.text})"
        return Term(text, f"IEnumerable<{value.type}>")

    def _tested(self, node: ast.expr, method: str) -> Term:
        """``any`` or ``all`` of a generator of conditions."""
        if not isinstance(node, ast.GeneratorExp):
            raise self.refuse(node, "a generator is expected")
        target, text, kind = self._filtered(node)
        self.scopes.append({target: kind})
        test = self.condition(node.elt)
        self.scopes.pop()
        return Term(f"{text}.{method}({camel(target)} => {test.text})", "bool")

    # members

    def _Attribute(self, node: ast.Attribute) -> Term:
        if ast.unparse(node.value) == "Kind":
            member = self.names["Kind"][node.attr]
            assert isinstance(member, Enum)
            return Term(quoted(str(member.value)), "string")
        value = self.value(node.value)
        found = self.members.find(value.type, node.attr)
        if found is None:
            raise self.refuse(node, f"{value.type} has no {node.attr}")
        kind = found.type if found.parameters is None else "method"
        if not kind:
            raise self.refuse(node, "a member without a known type")
        name = pascal(node.attr)
        return Term(name if value.text == "this" else f"{value.at(PRIMARY)}.{name}", kind)

    def _Call(self, node: ast.Call) -> Term:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method_call(node, function)
        if not isinstance(function, ast.Name):
            raise self.refuse(node)
        if (local := self.local(function.id)) is not None:
            return self._invoked(node, Term(camel(function.id), local))
        if function.id in self.names:
            return self._function_call(node, self.names[function.id])
        builtin = getattr(self, f"_call_{function.id}", None)
        if builtin is None or node.keywords:
            raise self.refuse(node, "unknown function")
        found: Term = builtin(node, *node.args)
        return found

    def _function_call(self, node: ast.Call, function: Any) -> Term:
        """A call of a function of the module, or of texts.py."""
        source, definition = defined(function)
        given = self._given(node, parameters(definition, source))
        returned = definition.returns
        assert returned is not None
        owner = ""
        if function.__module__ == texts.__name__:
            owner = "Texts."
        else:
            self._function(node, function)
        return Term(
            f"{owner}{pascal(function.__name__)}({given})",
            terms.type_of(returned, source.assigned),
        )

    def _invoked(self, node: ast.Call, delegate: Term) -> Term:
        if head(delegate.type) not in ("Action", "Func"):
            raise self.refuse(node, f"no call of {delegate.type}")
        kinds = terms.arguments(delegate.type) if "<" in delegate.type else []
        returned = kinds.pop() if head(delegate.type) == "Func" else "void"
        given = [self.value(one, kind) for one, kind in zip(node.args, kinds, strict=True)]
        return Term(f"{delegate.at(PRIMARY)}({', '.join(one.text for one in given)})", returned)

    def _given(self, node: ast.Call, wanted: tuple[tuple[str, str], ...]) -> str:
        """The arguments of a call."""
        if len(node.args) > len(wanted):
            raise self.refuse(node, "too many arguments")
        pairs = zip(node.args, wanted, strict=False)
        given = [self.value(one, kind).text for one, (_, kind) in pairs]
        kinds = dict(wanted)
        for one in node.keywords:
            if one.arg not in kinds:
                raise self.refuse(node, "unknown argument")
            given.append(f"{camel(one.arg)}: {self.value(one.value, kinds[one.arg]).text}")
        return ", ".join(given)

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> Term:
        if ast.unparse(function.value) == "super()":
            found = self.members.find(self.owner, function.attr)
            assert found is not None
            assert found.parameters is not None
            given = self._given(node, found.parameters)
            return Term(f"base.{pascal(function.attr)}({given})", found.type)
        value = self.value(function.value)
        if (found := self.members.find(value.type, function.attr)) is not None:
            name = pascal(function.attr)
            target = name if value.text == "this" else f"{value.at(PRIMARY)}.{name}"
            if found.parameters is None:
                return self._invoked(node, Term(target, found.type))
            return Term(f"{target}({self._given(node, found.parameters)})", found.type)
        kind = {"IDictionary": "Dictionary", "[]": "array"}.get(head(value.type), head(value.type))
        own = getattr(self, f"_{kind}_{function.attr}", None)
        if own is None or node.keywords:
            raise self.refuse(node, f"unknown method of {value.type}")
        result: Term = own(node, value, *node.args)
        return result

    # functions of Python

    def _call_abs(self, _node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        return Term(f"Math.Abs({value.text})", value.type)

    def _call_all(self, _node: ast.Call, one: ast.expr) -> Term:
        return self._tested(one, "All")

    def _call_any(self, _node: ast.Call, one: ast.expr) -> Term:
        return self._tested(one, "Any")

    def _call_bool(self, _node: ast.Call, one: ast.expr) -> Term:
        return self.condition(one)

    def _call_bytearray(self, _node: ast.Call) -> Term:
        return Term("new List<byte>()", "List<byte>")

    def _call_bytes(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        if value.type == "List<byte>":
            return Term(f"{value.at(PRIMARY)}.ToArray()", "byte[]")
        raise self.refuse(node)

    def _call_int(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        if value.type not in ("bool", "string"):
            raise self.refuse(node)
        return Term(f"Py.Int({value.text})", "long")

    def _call_len(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        sizes = {"[]": "Length", "string": "Length", "List": "Count", "Dictionary": "Count"}
        if head(value.type) not in sizes:
            raise self.refuse(node)
        return Term(f"{value.at(PRIMARY)}.{sizes[head(value.type)]}", "long")

    def _extreme(self, name: str, node: ast.Call, given: tuple[ast.expr, ...]) -> Term:
        values = [self._number(self.value(one)) for one in given]
        if len(values) != 2 or any(one.type != "long" for one in values):
            raise self.refuse(node, "two numbers are expected")
        return Term(f"Math.{name}({values[0].text}, {values[1].text})", "long")

    def _call_max(self, node: ast.Call, *given: ast.expr) -> Term:
        return self._extreme("Max", node, given)

    def _call_min(self, node: ast.Call, *given: ast.expr) -> Term:
        return self._extreme("Min", node, given)

    def _call_range(self, _node: ast.Call, *given: ast.expr) -> Term:
        limits = ", ".join(self.value(one, "long").text for one in given)
        return Term(f"Py.Range({limits})", "long[]")

    def _call_round(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        if value.type != "double":
            raise self.refuse(node)
        return Term(f"(long)Math.Round({value.text})", "long", terms.UNARY)

    def _call_sum(self, node: ast.Call, one: ast.expr) -> Term:
        values = self.value(one)
        if values.type != "IEnumerable<long>":
            raise self.refuse(node)
        return Term(f"{values.at(PRIMARY)}.Sum()", "long")

    def _call_tuple(self, node: ast.Call, one: ast.expr) -> Term:
        values = self.value(one)
        if head(values.type) == "Dictionary":
            return Term(f"{values.at(PRIMARY)}.Keys.ToArray()", f"{element(values.type)}[]")
        if head(values.type) in ("List", "IEnumerable"):
            return Term(f"{values.at(PRIMARY)}.ToArray()", f"{element(values.type)}[]")
        raise self.refuse(node)

    # methods of Python's types

    def _string_endswith(self, _node: ast.Call, value: Term, end: ast.expr) -> Term:
        given = self.value(end, "string").text
        return Term(f"{value.at(PRIMARY)}.EndsWith({given}, StringComparison.Ordinal)", "bool")

    def _string_join(self, _node: ast.Call, value: Term, parts: ast.expr) -> Term:
        given = self.value(parts, "IEnumerable<string>").text
        return Term(f"string.Join({value.text}, {given})", "string")

    def _long_to_bytes(self, node: ast.Call, value: Term, size: ast.expr, order: ast.expr) -> Term:
        if ast.unparse(order) != "'little'":
            raise self.refuse(node)
        return Term(f"Py.ToBytes({value.text}, {self.value(size).text})", "byte[]")

    def _array_index(self, _node: ast.Call, value: Term, item: ast.expr) -> Term:
        return Term(f"Array.IndexOf({value.text}, {self.value(item).text})", "long")

    def _List_append(self, _node: ast.Call, value: Term, item: ast.expr) -> Term:
        if value.type == "List<byte>":
            given = f"(byte){self.value(item, 'long').at(terms.UNARY)}"
        else:
            given = self.value(item, terms.arguments(value.type)[0]).text
        return Term(f"{value.at(PRIMARY)}.Add({given})", "void")

    def _List_clear(self, _node: ast.Call, value: Term) -> Term:
        return Term(f"{value.at(PRIMARY)}.Clear()", "void")

    _Dictionary_clear = _List_clear

    def _Dictionary_items(self, _node: ast.Call, value: Term) -> Term:
        kinds = terms.arguments(value.type)
        return Term(value.text, f"IEnumerable<({', '.join(kinds)})>", value.level)

    def _Dictionary_get(self, _node: ast.Call, value: Term, key: ast.expr, other: ast.expr) -> Term:
        wanted, kind = terms.arguments(value.type)
        given = f"{self.value(key, wanted).text}, {self.value(other, kind).text}"
        return Term(f"Py.Get({value.text}, {given})", kind)

    def _Dictionary_pop(self, node: ast.Call, value: Term, key: ast.expr, other: ast.expr) -> Term:
        wanted, kind = terms.arguments(value.type)
        given = self.value(key, wanted).text
        default = self.value(other)
        if default.type == "null":  # its value is not used
            return Term(f"{value.at(PRIMARY)}.Remove({given})", "void")
        return Term(f"Py.Pop({value.text}, {given}, {default.text})", kind)


def _wide(term: Term) -> str:
    """The left operand of a shift, as a long."""
    return f"{term.text}L" if _is_literal(term.text) else term.at(terms.SHIFT)


def _narrow(term: Term) -> str:
    """A number that C# wants as an int."""
    return term.text if _is_literal(term.text) else f"(int){term.at(terms.UNARY)}"


def _is_literal(text: str) -> bool:
    return text[:1].isdigit()


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
        return f"Py.Range({value.start}, {number(value.stop)}, {value.step})", "long[]"
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, tuple | list | frozenset):
        items = [
            constant(one) for one in (sorted(value) if isinstance(value, frozenset) else value)
        ]
        kinds = {kind for _, kind in items}
        if len(kinds) == 1:
            kind = kinds.pop()
            kind = f"HashSet<{kind}>" if isinstance(value, frozenset) else f"{kind}[]"
            return f"new {kind} {{ {', '.join(text for text, _ in items)} }}", kind
    return "", ""


def _mapping(value: dict[Any, Any]) -> tuple[str, str]:
    pairs = [(constant(key), constant(one)) for key, one in value.items()]
    kinds = {(key[1], one[1]) for key, one in pairs}
    if len(kinds) != 1:
        return "", ""
    kind = f"Dictionary<{', '.join(kinds.pop())}>"
    inside = ", ".join(f"[{key[0]}] = {one[0]}" for key, one in pairs)
    return f"new {kind} {{ {inside} }}", kind
