"""Statements of Python as lines of C#."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from csharp import terms
from csharp.expressions import Expressions
from csharp.terms import Term, camel, element

_AUGMENTED = {
    ast.Add: "+=", ast.Sub: "-=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=",
}  # fmt: skip
#: What only the simulator does: a call of one of these is left out.
_DROPPED = ("self.regs.serve",)


def block(lines: list[str]) -> list[str]:
    """Lines in braces."""
    return ["{", *(f"    {line}" if line else "" for line in lines), "}"]


def _names(nodes: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    return {
        one.id
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, context)
    }


class Statements(Expressions):
    """Translates the statements of one function; ``fields`` gets what they assign to ``self``."""

    returned = ""  # type of the function

    def body(self, nodes: list[ast.stmt]) -> list[str]:
        """The lines of a block, in a scope of its own."""
        self.scopes.append({})
        lines: list[str] = []
        for at, node in enumerate(nodes):
            before, self.before = self.before, []
            cast = self._told_class(nodes[at + 1]) if at + 1 < len(nodes) else None
            outer = self._shared(node, nodes[at + 1 :])
            self.scopes[-1].update(dict.fromkeys(outer, ""))
            found = list(self._statement(node) if cast is None else self._cast(node, cast))
            lines += [f"{self.scopes[-1][name]} {camel(name)};" for name in outer]
            lines += [*self.before, *found]
            self.before = before
        self.scopes.pop()
        return lines

    @staticmethod
    def _told_class(node: ast.stmt) -> str | None:
        """The class of ``assert isinstance(name, Class)``."""
        if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Call):
            return None
        call = node.test
        return ast.unparse(call.args[1]) if ast.unparse(call.func) == "isinstance" else None

    def _cast(self, node: ast.stmt, kind: str) -> Iterator[str]:
        """A variable whose class the next statement tells."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            raise self.refuse(node)
        value = self.value(node.value)
        yield self._local(node.targets[0].id, Term(f"({kind}){value.text}", kind, terms.UNARY))

    def _shared(self, node: ast.stmt, later: list[ast.stmt]) -> list[str]:
        """The variables that a compound statement sets first and a later one reads."""
        if not isinstance(node, ast.If | ast.For | ast.While):
            return []
        both = _names([node], ast.Store) & _names(later, ast.Load)
        first = {
            one.target.id
            for one in ast.walk(node)
            if isinstance(one, ast.For | ast.comprehension) and isinstance(one.target, ast.Name)
        }
        return sorted(name for name in both - first if self.local(name) is None)

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        translate = getattr(self, f"_do_{type(node).__name__}", None)
        if translate is None:
            raise self.refuse(node)
        yield from translate(node)

    def _do_Pass(self, _node: ast.Pass) -> Iterator[str]:
        yield from ()

    def _do_Expr(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node)
        if ast.unparse(node.value.func) not in _DROPPED:
            yield f"{self.value(node.value).text};"

    def _do_Assert(self, node: ast.Assert) -> Iterator[str]:
        """Assertions only tell types: ``is not None``, or the class of a device."""
        test = node.test
        told = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)
        if not told and self._told_class(node) is None:
            raise self.refuse(node)
        yield from ()

    def _do_Return(self, node: ast.Return) -> Iterator[str]:
        yield "return;" if node.value is None else f"return {self.result(node.value).text};"

    def result(self, node: ast.expr) -> Term:
        """The value that the function returns."""
        return self.value(node, self.returned)

    def _do_Continue(self, _node: ast.Continue) -> Iterator[str]:
        yield "continue;"

    def _do_Break(self, _node: ast.Break) -> Iterator[str]:
        yield "break;"

    # assignments

    def _do_Assign(self, node: ast.Assign) -> Iterator[str]:
        if len(node.targets) > 1:
            if not isinstance(node.value, ast.Constant):
                raise self.refuse(node, "one target or a constant is expected")
            for target in node.targets:
                yield self._assigned(target, node.value)
            return
        target = node.targets[0]
        if not isinstance(target, ast.Tuple):
            yield self._assigned(target, node.value)
        elif isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts):
            set_here = {ast.unparse(one) for one in target.elts}
            if set_here & {
                ast.unparse(one) for one in ast.walk(node.value) if isinstance(one, ast.expr)
            }:
                raise self.refuse(node, "a value that is assigned as well")
            for one, value in zip(target.elts, node.value.elts, strict=True):
                yield self._assigned(one, value)
        else:
            yield self._unpacked(target, node.value)

    def _assigned(self, target: ast.expr, node: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return self._local(target.id, self.value(node, self.local(target.id) or ""))
        self.learn(target, lambda: self.value(node).type)
        wanted = self.value(target).type
        return f"{self.value(target).text} = {self.value(node, wanted).text};"

    def learn(self, target: ast.expr, kind: Callable[[], str]) -> None:
        """Notes the type of an attribute that no annotation declares."""
        model = self.members.models.get(self.owner)
        if model is None or not isinstance(target, ast.Attribute):
            return
        if ast.unparse(target.value) == "self" and not self.members.find(self.owner, target.attr):
            model.fields[target.attr] = kind()

    def _local(self, name: str, value: Term) -> str:
        if self.declared(name, value.type):
            return f"{camel(name)} = {value.text};"
        self.scopes[-1][name] = value.type
        kind = value.type if value.type in ("long", "long?", "double") else "var"
        return f"{kind} {camel(name)} = {value.text};"

    def _unpacked(self, target: ast.Tuple, node: ast.expr) -> str:
        value = self.value(node)
        if not terms.is_tuple(value.type):
            raise self.refuse(node, "a tuple is expected")
        return f"var {self._pattern(target, value.type)} = {value.text};"

    def _pattern(self, target: ast.expr, kind: str) -> str:
        """The variables of a loop or an unpacked tuple."""
        if isinstance(target, ast.Name):
            self.scopes[-1][target.id] = kind
            return camel(target.id)
        if not isinstance(target, ast.Tuple):
            raise self.refuse(target)
        kinds = terms.arguments(kind)
        parts = [self._pattern(*one) for one in zip(target.elts, kinds, strict=True)]
        return f"({', '.join(parts)})"

    def _do_AnnAssign(self, node: ast.AnnAssign) -> Iterator[str]:
        assert node.value is not None
        kind = terms.type_of(node.annotation, self.source.assigned)
        if isinstance(node.target, ast.Attribute):
            self.learn(node.target, lambda: kind)
            yield f"{self.value(node.target).text} = {self.value(node.value, kind).text};"
            return
        assert isinstance(node.target, ast.Name)
        yield self._local(node.target.id, self.value(node.value, kind))

    def _do_AugAssign(self, node: ast.AugAssign) -> Iterator[str]:
        target, value = self.value(node.target), self.value(node.value)
        if target.type == "List<byte>" and isinstance(node.op, ast.Add):
            yield f"{target.text}.AddRange({value.text});"
            return
        if type(node.op) not in _AUGMENTED or target.type != "long":
            raise self.refuse(node)
        yield f"{target.text} {_AUGMENTED[type(node.op)]} {self.convert(value, 'long', node).text};"

    def _do_Delete(self, node: ast.Delete) -> Iterator[str]:
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise self.refuse(node)
            value = self.value(target.value)
            if isinstance(target.slice, ast.Slice) and value.type == "List<byte>":
                where = target.slice
                if where.lower or where.step or not where.upper:
                    raise self.refuse(node)
                yield f"{value.text}.RemoveRange(0, (int){self.value(where.upper).at(terms.UNARY)});"
            elif terms.head(value.type) == "Dictionary":
                yield f"{value.text}.Remove({self.value(target.slice).text});"
            else:
                raise self.refuse(node)

    # compound statements

    def _do_If(self, node: ast.If) -> Iterator[str]:
        yield f"if({self.condition(node.test).text})"
        yield from block(self.body(node.body))
        other = node.orelse
        if len(other) == 1 and isinstance(other[0], ast.If):
            kept = len(self.before)
            first, *rest = self._do_If(other[0])
            if len(self.before) > kept and any(
                isinstance(one, ast.NamedExpr) for one in ast.walk(node.test)
            ):
                raise self.refuse(node, "two named values in one chain")
            yield f"else {first}"
            yield from rest
        elif other:
            yield "else"
            yield from block(self.body(other))

    def _do_While(self, node: ast.While) -> Iterator[str]:
        if node.orelse:
            raise self.refuse(node)
        yield f"while({self.condition(node.test).text})"
        yield from block(self.body(node.body))

    def _do_For(self, node: ast.For) -> Iterator[str]:
        if node.orelse:
            raise self.refuse(node)
        self.scopes.append({})
        yield f"{self._loop(node)}"
        yield from block(self.body(node.body))
        self.scopes.pop()

    def _loop(self, node: ast.For) -> str:
        source, target = node.iter, node.target
        if isinstance(source, ast.Call) and ast.unparse(source.func) == "range":
            return self._counted(target, source)
        if isinstance(source, ast.Tuple):
            rows = [self.value(one) for one in source.elts]
            if len({row.type for row in rows}) != 1:
                raise self.refuse(source, "rows of one type are expected")
            values = Term(f"new[] {{ {', '.join(row.text for row in rows)} }}", f"{rows[0].type}[]")
        else:
            values = self.value(source)
        kind = element(values.type)
        if not kind:
            raise self.refuse(source, f"no iteration over {values.type}")
        return f"foreach(var {self._pattern(target, kind)} in {values.text})"

    def _counted(self, target: ast.expr, source: ast.Call) -> str:
        if not isinstance(target, ast.Name):
            raise self.refuse(target)
        limits = [self.value(one, "long").at(terms.RELATION + 1) for one in source.args]
        first, last, step = {1: ("0", *limits, "1"), 2: (*limits, "1")}.get(
            len(limits), tuple(limits)
        )
        self.scopes[-1][target.id] = "long"
        name = camel(target.id)
        if not step.isdigit():
            raise self.refuse(source, "a step that is a number is expected")
        more = f"{name}++" if step == "1" else f"{name} += {step}"
        return f"for(long {name} = {first}; {name} < {last}; {more})"
