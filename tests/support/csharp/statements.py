"""Statements of Python as lines of C#."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from csharp import terms
from csharp.calls import Calls
from csharp.layout import block, remark
from csharp.terms import Term, camel, element

_AUGMENTED: dict[type[ast.operator], str] = {
    ast.Add: "+=", ast.Sub: "-=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=",
}  # fmt: skip
_COMPOUND = ast.If | ast.For | ast.While
#: Calls that only the simulator needs.
_DROPPED = frozenset(("self.regs.serve",))
#: ``var`` would be an int, or needs a look at the right-hand side.
_NUMBERS = frozenset(("long", "long?", "double"))


def _names(nodes: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    every = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in every if isinstance(one.ctx, context)}


class Statements(Calls):
    """Translates the statements of one function, which returns the type ``returned``."""

    returned = ""

    def body(self, nodes: list[ast.stmt]) -> list[str]:
        """The lines of a block, in a scope of its own."""
        self.scopes.append({})
        lines: list[str] = []
        for at, node in enumerate(nodes):
            kept, self.before = self.before, []
            shared = self._shared(node, nodes[at + 1 :])
            self.scopes[-1].update(dict.fromkeys(shared, ""))
            told = self._told_class(nodes[at + 1]) if nodes[at + 1 :] else None
            found = list(self._statement(node) if told is None else self._cast(node, told))
            lines += [f"{self.scopes[-1][name]} {camel(name)};" for name in shared]
            lines += [*self.before, *self._remarked(node, found)]
            self.before = kept
        self.scopes.pop()
        return lines

    def _remarked(self, node: ast.stmt, lines: list[str]) -> list[str]:
        """The lines of a statement with its comments."""
        last = node.lineno if isinstance(node, _COMPOUND) else node.end_lineno
        if lines and last and (beside := self.source.beside(last)):
            at = 0 if isinstance(node, _COMPOUND) else -1
            lines[at] += f"  // {beside}"
        return [*remark(self.source.above(node.lineno)), *lines]

    def _shared(self, node: ast.stmt, later: list[ast.stmt]) -> list[str]:
        """The variables that a compound statement sets first and a later one reads."""
        if not isinstance(node, _COMPOUND):
            return []
        loops = (one for one in ast.walk(node) if isinstance(one, ast.For | ast.comprehension))
        own = {name.id for one in loops for name in ast.walk(one.target) if _is_name(name)}
        both = _names([node], ast.Store) & _names(later, ast.Load)
        return sorted(name for name in both - own if self.local(name) is None)

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        translate = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if translate is None:
            raise self.refuse(node)
        yield from translate(node)

    def _do_pass(self, _node: ast.Pass) -> Iterator[str]:
        yield from ()

    def _do_expr(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node)
        if ast.unparse(node.value.func) not in _DROPPED:
            yield f"{self.value(node.value).text};"

    def _do_return(self, node: ast.Return) -> Iterator[str]:
        yield f"return {self.value(node.value, self.returned).text};" if node.value else "return;"

    def _do_continue(self, _node: ast.Continue) -> Iterator[str]:
        yield "continue;"

    # types that assertions tell

    def _do_assert(self, node: ast.Assert) -> Iterator[str]:
        """Only ``is not None``, and the class of a device."""
        known = isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.IsNot)
        if not known and self._told_class(node) is None:
            raise self.refuse(node)
        yield from ()

    @staticmethod
    def _told_class(node: ast.stmt) -> str | None:
        """The class of ``assert isinstance(name, Class)``."""
        if not isinstance(node, ast.Assert) or not isinstance(node.test, ast.Call):
            return None
        call = node.test
        return ast.unparse(call.args[1]) if ast.unparse(call.func) == "isinstance" else None

    def _cast(self, node: ast.stmt, kind: str) -> Iterator[str]:
        """A variable of which the next statement tells the class."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            raise self.refuse(node)
        value = self.value(node.value)
        yield self._local(node.targets[0].id, Term(f"({kind}){value.text}", kind, terms.UNARY))

    # assignments

    def _do_assign(self, node: ast.Assign) -> Iterator[str]:
        target, value = node.targets[0], node.value
        if len(node.targets) > 1:
            if not isinstance(value, ast.Constant | ast.Name):
                raise self.refuse(node, "neither one target nor a simple value")
            yield from (self._assigned(one, value) for one in node.targets)
        elif not isinstance(target, ast.Tuple):
            yield self._assigned(target, value)
        elif isinstance(value, ast.Tuple):
            parts = {ast.unparse(one) for one in ast.walk(value) if isinstance(one, ast.expr)}
            if parts & {ast.unparse(one) for one in target.elts}:
                raise self.refuse(node, "a value that is assigned as well")
            for one, part in zip(target.elts, value.elts, strict=True):
                yield self._assigned(one, part)
        else:
            found = self.value(value)
            if not terms.is_tuple(found.type):
                raise self.refuse(node, "no tuple")
            yield f"var {self._pattern(target, found.type)} = {found.text};"

    def _assigned(self, target: ast.expr, node: ast.expr) -> str:
        if isinstance(target, ast.Name):
            return self._local(target.id, self.value(node, self.local(target.id) or ""))
        self._learn(target, lambda: self.value(node).type)
        found = self.value(target)
        return f"{found.text} = {self.value(node, found.type).text};"

    def _learn(self, target: ast.expr, kind: Callable[[], str]) -> None:
        """Notes the type of an attribute of ``self`` that no annotation declares."""
        model = self.members.models.get(self.owner)
        if model is None or not isinstance(target, ast.Attribute):
            return
        if ast.unparse(target.value) == "self" and not self.members.find(self.owner, target.attr):
            model.fields[target.attr] = kind(), target.lineno

    def _local(self, name: str, value: Term) -> str:
        if self.declared(name, value.type):
            return f"{camel(name)} = {value.text};"
        self.scopes[-1][name] = value.type
        return f"{value.type if value.type in _NUMBERS else 'var'} {camel(name)} = {value.text};"

    def _pattern(self, target: ast.expr, kind: str) -> str:
        """The variables of a loop or an unpacked tuple, which are new ones."""
        if isinstance(target, ast.Name):
            self.scopes[-1][target.id] = kind
            return camel(target.id)
        if not isinstance(target, ast.Tuple) or not terms.is_tuple(kind):
            raise self.refuse(target, f"no variables of {kind}")
        pairs = zip(target.elts, terms.arguments(kind), strict=True)
        return f"({', '.join(self._pattern(*one) for one in pairs)})"

    def _do_annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        kind = terms.type_of(node.annotation, self.source.aliases)
        if node.value is None or not kind:
            raise self.refuse(node, "no value or no known type")
        if isinstance(node.target, ast.Name):
            yield self._local(node.target.id, self.value(node.value, kind))
            return
        self._learn(node.target, lambda: kind)
        yield f"{self.value(node.target).text} = {self.value(node.value, kind).text};"

    def _do_augassign(self, node: ast.AugAssign) -> Iterator[str]:
        target, value = self.value(node.target), self.value(node.value)
        if target.type == "List<byte>" and isinstance(node.op, ast.Add):
            yield f"{target.text}.AddRange({value.text});"
        elif type(node.op) in _AUGMENTED and target.type == "long":
            given = self.convert(value, "long", node).text
            yield f"{target.text} {_AUGMENTED[type(node.op)]} {given};"
        else:
            raise self.refuse(node)

    def _do_delete(self, node: ast.Delete) -> Iterator[str]:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            raise self.refuse(node)
        value, part = self.value(target.value), target.slice
        if not isinstance(part, ast.Slice) and terms.head(value.type) == "Dictionary":
            yield f"{value.text}.Remove({self.value(part).text});"
        elif (
            isinstance(part, ast.Slice)
            and part.upper
            and not (part.lower or part.step)
            and value.type == "List<byte>"
        ):
            yield f"{value.text}.RemoveRange(0, (int){self.value(part.upper).at(terms.UNARY)});"
        else:
            raise self.refuse(node)

    # compound statements

    def _do_if(self, node: ast.If) -> Iterator[str]:
        yield f"if({self.condition(node.test).text})"
        yield from block(self.body(node.body))
        other = node.orelse
        if len(other) == 1 and isinstance(other[0], ast.If):
            first, *rest = self._do_if(other[0])
            yield f"else {first}"
            yield from rest
        elif other:
            yield "else"
            yield from block(self.body(other))

    def _do_while(self, node: ast.While) -> Iterator[str]:
        if node.orelse:
            raise self.refuse(node)
        yield f"while({self.condition(node.test).text})"
        yield from block(self.body(node.body))

    def _do_for(self, node: ast.For) -> Iterator[str]:
        if node.orelse:
            raise self.refuse(node)
        self.scopes.append({})
        yield self._loop(node.target, node.iter)
        yield from block(self.body(node.body))
        self.scopes.pop()

    def _loop(self, target: ast.expr, source: ast.expr) -> str:
        if isinstance(source, ast.Call) and ast.unparse(source.func) == "range":
            return self._counted(target, source)
        values = self._rows(source) if isinstance(source, ast.Tuple) else self.value(source)
        kind = element(values.type)
        if not kind:
            raise self.refuse(source, f"no iteration over {values.type}")
        return f"foreach(var {self._pattern(target, kind)} in {values.text})"

    def _rows(self, node: ast.Tuple) -> Term:
        rows = [self.value(one) for one in node.elts]
        if len({row.type for row in rows}) != 1:
            raise self.refuse(node, "no rows of one type")
        inside = ", ".join(row.text for row in rows)
        return Term(f"new {rows[0].type}[] {{ {inside} }}", f"{rows[0].type}[]")

    def _counted(self, target: ast.expr, source: ast.Call) -> str:
        limits = [self.value(one, "long").at(terms.RELATION + 1) for one in source.args]
        first = "0" if len(limits) == 1 else limits.pop(0)
        last, step = limits[0], limits[1] if len(limits) > 1 else "1"
        if not isinstance(target, ast.Name) or not step.isdigit():
            raise self.refuse(source, "no variable that counts up by a number")
        self.scopes[-1][target.id] = "long"
        name = camel(target.id)
        more = f"{name}++" if step == "1" else f"{name} += {step}"
        return f"for(long {name} = {first}; {name} < {last}; {more})"


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)
