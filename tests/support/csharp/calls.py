"""Calls and comprehensions of Python in C#."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from csharp import terms
from csharp.expressions import Expressions, member_of
from csharp.sources import defined, parameters
from csharp.terms import PRIMARY, Term, camel, element, head, pascal
from harness.simulator.peripherals import texts

_SIZES = {"[]": "Length", "string": "Length", "List": "Count", "Dictionary": "Count"}
Parameters = tuple[tuple[str, str], ...]


class Calls(Expressions):
    """Translates calls: of methods, of functions, and of what Python's own types have."""

    def _of_call(self, node: ast.Call) -> Term:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method_call(node, function)
        if not isinstance(function, ast.Name):
            raise self.refuse(node)
        if (local := self.local(function.id)) is not None:
            return self._invoked(node, Term(camel(function.id), local))
        if function.id in self.names:
            return self._function_call(node, self.names[function.id])
        return self._own(node, f"_call_{function.id}", "function")

    def _own(self, node: ast.Call, name: str, what: str, *given: Term) -> Term:
        """The translation of something of Python itself."""
        translate = getattr(self, name, None)
        if translate is None or node.keywords:
            raise self.refuse(node, f"unknown {what}")
        try:
            inspect.signature(translate).bind(node, *given, *node.args)
        except TypeError as error:
            raise self.refuse(node, f"unknown arguments of a {what}") from error
        found: Term = translate(node, *given, *node.args)
        return found

    def _function_call(self, node: ast.Call, function: Any) -> Term:
        """A call of a function of the module, or of texts.py."""
        source, definition = defined(function)
        given = self._given(node, parameters(definition, source))
        shared = function.__module__ == texts.__name__
        owner = "Texts." if shared and self.owner != "Texts" else ""
        if not shared:
            self.need_function(node, function)
        kind = terms.type_of(definition.returns, source.aliases)
        return Term(f"{owner}{pascal(function.__name__)}({given})", kind)

    def _invoked(self, node: ast.Call, delegate: Term) -> Term:
        if head(delegate.type) not in ("Action", "Func"):
            raise self.refuse(node, f"no call of {delegate.type}")
        kinds = terms.arguments(delegate.type) if "<" in delegate.type else []
        returned = kinds.pop() if head(delegate.type) == "Func" else "void"
        given = self._given(node, tuple(("", kind) for kind in kinds))
        return Term(f"{delegate.at(PRIMARY)}({given})", returned)

    def _given(self, node: ast.Call, wanted: Parameters) -> str:
        """The arguments of a call."""
        if len(node.args) > len(wanted):
            raise self.refuse(node, "too many arguments")
        pairs = zip(node.args, wanted, strict=False)
        given = [self.value(one, kind).text for one, (_, kind) in pairs]
        kinds = dict(wanted)
        for one in node.keywords:
            if one.arg is None or one.arg not in kinds:
                raise self.refuse(node, "unknown argument")
            given.append(f"{camel(one.arg)}: {self.value(one.value, kinds[one.arg]).text}")
        return ", ".join(given)

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> Term:
        inherited = ast.unparse(function.value) == "super()"
        value = Term("base", self.owner) if inherited else self.value(function.value)
        found = self.members.find(value.type, function.attr)
        if found is None:
            kind = {"IDictionary": "Dictionary", "[]": "array"}.get(head(value.type))
            name = f"_{(kind or head(value.type)).lower()}_{function.attr}"
            return self._own(node, name, f"method of {value.type}", value)
        target = member_of(value, function.attr)
        if found.parameters is None:
            return self._invoked(node, Term(target, found.type))
        return Term(f"{target}({self._given(node, found.parameters)})", found.type)

    # comprehensions

    def _of_listcomp(self, node: ast.ListComp) -> Term:
        found = self._generated(node)
        return Term(f"{found.text}.ToList()", f"List<{element(found.type)}>")

    def _of_generatorexp(self, node: ast.GeneratorExp) -> Term:
        return self._generated(node)

    def _of_dictcomp(self, node: ast.DictComp) -> Term:
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
        """A comprehension's variable, the text of what it runs through, its type."""
        loop = node.generators[0]
        if len(node.generators) != 1 or not isinstance(loop.target, ast.Name):
            raise self.refuse(node, "no loop over one variable")
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

    def _generated(self, node: ast.ListComp | ast.GeneratorExp) -> Term:
        target, text, kind = self._filtered(node)
        self.scopes.append({target: kind})
        value = self.value(node.elt)
        self.scopes.pop()
        if value.text != camel(target):
            text += f".Select({camel(target)} => {value.text})"
        return Term(text, f"IEnumerable<{value.type}>")

    def _tested(self, node: ast.expr, method: str) -> Term:
        """``any`` or ``all`` of a generator of conditions."""
        if not isinstance(node, ast.GeneratorExp):
            raise self.refuse(node, "no generator")
        target, text, kind = self._filtered(node)
        self.scopes.append({target: kind})
        test = self.condition(node.elt)
        self.scopes.pop()
        return Term(f"{text}.{method}({camel(target)} => {test.text})", "bool")

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

    def _call_bytes(self, _node: ast.Call, one: ast.expr) -> Term:
        return Term(f"{self.value(one, 'List<byte>').at(PRIMARY)}.ToArray()", "byte[]")

    def _call_int(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        if value.type not in ("bool", "string"):
            raise self.refuse(node, f"no number of {value.type}")
        return Term(f"Py.Int({value.text})", "long")

    def _call_len(self, node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one)
        if head(value.type) not in _SIZES:
            raise self.refuse(node, f"no size of {value.type}")
        return Term(f"{value.at(PRIMARY)}.{_SIZES[head(value.type)]}", "long")

    def _call_max(self, _node: ast.Call, one: ast.expr, other: ast.expr) -> Term:
        return Term(f"Math.Max({self._two(one, other)})", "long")

    def _call_min(self, _node: ast.Call, one: ast.expr, other: ast.expr) -> Term:
        return Term(f"Math.Min({self._two(one, other)})", "long")

    def _two(self, one: ast.expr, other: ast.expr) -> str:
        return f"{self.value(one, 'long').text}, {self.value(other, 'long').text}"

    def _call_range(self, _node: ast.Call, *limits: ast.expr) -> Term:
        given = ", ".join(self.value(one, "long").text for one in limits)
        return Term(f"Py.Range({given})", "long[]")

    def _call_round(self, _node: ast.Call, one: ast.expr) -> Term:
        value = self.value(one, "double")
        return Term(f"(long)Math.Round({value.text})", "long", terms.UNARY)

    def _call_sum(self, _node: ast.Call, one: ast.expr) -> Term:
        values = self.value(one, "IEnumerable<long>")
        return Term(f"{values.at(PRIMARY)}.Sum()", "long")

    def _call_tuple(self, node: ast.Call, one: ast.expr) -> Term:
        values = self.value(one)
        kind = f"{element(values.type)}[]"
        if head(values.type) == "Dictionary":
            return Term(f"{values.at(PRIMARY)}.Keys.ToArray()", kind)
        if head(values.type) in ("List", "IEnumerable"):
            return Term(f"{values.at(PRIMARY)}.ToArray()", kind)
        raise self.refuse(node, f"no tuple of {values.type}")

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
        return Term(f"Py.ToBytes({value.text}, {self.value(size, 'long').text})", "byte[]")

    def _array_index(self, _node: ast.Call, value: Term, item: ast.expr) -> Term:
        given = self.value(item, element(value.type)).text
        return Term(f"Array.IndexOf({value.text}, {given})", "long")

    def _list_append(self, _node: ast.Call, value: Term, item: ast.expr) -> Term:
        given = self.value(item, element(value.type))
        text = f"(byte){given.at(terms.UNARY)}" if value.type == "List<byte>" else given.text
        return Term(f"{value.at(PRIMARY)}.Add({text})", "void")

    def _dictionary_clear(self, _node: ast.Call, value: Term) -> Term:
        return Term(f"{value.at(PRIMARY)}.Clear()", "void")

    def _dictionary_items(self, _node: ast.Call, value: Term) -> Term:
        pair = ", ".join(terms.arguments(value.type))
        return Term(value.text, f"IEnumerable<({pair})>", value.level)

    def _dictionary_get(self, _node: ast.Call, value: Term, key: ast.expr, other: ast.expr) -> Term:
        key_kind, kind = terms.arguments(value.type)
        given = f"{self.value(key, key_kind).text}, {self.value(other, kind).text}"
        return Term(f"Py.Get({value.text}, {given})", kind)

    def _dictionary_pop(self, _node: ast.Call, value: Term, key: ast.expr, other: ast.expr) -> Term:
        key_kind, kind = terms.arguments(value.type)
        given, default = self.value(key, key_kind).text, self.value(other)
        if default.type == "null":  # what it returns is not used
            return Term(f"{value.at(PRIMARY)}.Remove({given})", "void")
        return Term(f"Py.Pop({value.text}, {given}, {default.text})", kind)
