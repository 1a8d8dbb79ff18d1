"""Classes of Python as classes of C#."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import Any

from csharp import terms
from csharp.constants import constant
from csharp.declarations import declaration
from csharp.expressions import Needs
from csharp.layout import block, comment, remark, spaced
from csharp.sources import (
    Members,
    Model,
    Source,
    decorators,
    is_property,
    module_of,
    parameters,
)
from csharp.statements import Statements
from csharp.terms import Term, camel, pascal
from harness.simulator.peripherals.base import Device

#: What only the simulator asks of a model, and what only these methods use.
OMITTED = frozenset((
    "serve", "state", "holds", "restore", "polled", "missing", "listens", "first_interrupt",
    "register_name", "note_channel", "channels", "set_channels", "enabled_channels", "_unreachable",
    "transfer", "schedule",
))  # fmt: skip
_ASSIGNS_FIELDS = ("__init__", "reset", "connect")
_CONST = frozenset(("long", "double", "bool", "string"))


class Functions:
    """Translates functions that belong to one class of C#, and notes what they need."""

    def __init__(self, members: Members, names: dict[str, Any], owner: str) -> None:
        self.members, self.names, self.owner = members, names, owner
        self.needs = Needs()

    def _statements(self, source: Source) -> Statements:
        return Statements(self.members, source, self.names, self.owner, self.needs)

    def body(self, node: ast.FunctionDef, source: Source) -> list[str]:
        """The lines of a function, without the call of ``super().__init__``."""
        statements = self._statements(source)
        given = dict(parameters(node, source))
        if not all(given.values()):
            raise source.refuse(node, "a parameter without a known type")
        statements.scopes = [given]
        statements.returned = terms.type_of(node.returns, source.aliases)
        kept = [one for one in node.body if not ast.unparse(one).startswith("super().__init__")]
        return statements.body(kept)

    def signature(self, node: ast.FunctionDef, source: Source) -> str:
        """The type of the result, the name and the parameters."""
        given = node.args
        returned = terms.type_of(node.returns, source.aliases)
        if given.vararg or given.kwarg or given.posonlyargs or not returned:
            raise source.refuse(node, "unknown parameters or result")
        names = [one.arg for one in (*given.args, *given.kwonlyargs)]
        defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
        values = dict(zip(names, [*defaults, *given.kw_defaults], strict=True))
        texts = []
        for name, kind in parameters(node, source):
            default = values[name]
            value = f" = {self._statements(source).value(default).text}" if default else ""
            texts.append(f"{kind} {camel(name)}{value}")
        return f"{returned} {pascal(node.name)}({', '.join(texts)})"

    def method(self, node: ast.FunctionDef, source: Source, modifiers: str) -> list[str]:
        """A whole method, with its comment."""
        return [
            *comment(ast.get_docstring(node)),
            f"{modifiers} {self.signature(node, source)}",
            *block(self.body(node, source)),
        ]

    def helpers(self) -> Iterator[list[str]]:
        """The functions of the module that the others need."""
        done: set[str] = set()
        while waiting := sorted(self.needs.functions.keys() - done):
            for name in waiting:
                source, node = self.needs.functions[name]
                yield self.method(node, source, "private static")
            done |= set(waiting)


class Writer:
    """Writes one class, or those of its members whose names are in ``only``."""

    def __init__(self, model: Model, members: Members, only: frozenset[str] | None = None) -> None:
        self.model, self.members, self.only = model, members, only
        self.source, self.python = model.source, model.python
        self.functions = Functions(members, vars(module_of(model.python)), model.name)

    def _kept(self, name: str) -> bool:
        return name not in OMITTED if self.only is None else name in self.only

    def lines(self) -> list[str]:
        """The whole class."""
        python = self.python
        kept = [line for one in self._fields() for line in one]
        members = [self._constructor(), *self._members(), *self._settings()]
        members += [*self.functions.helpers(), kept, *_instances(python), self._constants()]
        self._check_names()
        kind = "abstract partial" if inspect.isabstract(python) else "partial"
        base = f" : {inspect.getmro(python)[1].__name__}" if issubclass(python, Device) else ""
        first = f"public {kind} class {self.model.name}{base}"
        return [*comment(python.__doc__), first, *block(spaced(members))]

    def _check_names(self) -> None:
        """No constant has the name of another member, or of the class."""
        names = {name for one in inspect.getmro(self.python) for name in vars(one)} - OMITTED
        names = {name for name in names if not (name.startswith("__") or name.isupper())}
        taken = {*map(pascal, names), *map(pascal, self.model.fields), self.model.name}
        taken |= self.functions.needs.functions.keys()
        for name in self.functions.needs.constants.keys() & taken:
            raise self.source.refuse(self.model.node, f"{name} is a constant and something else")

    # fields and constants

    def learn(self) -> None:
        """Finds the types of the attributes that the class assigns."""
        for node in self.model.functions:
            if node.name in _ASSIGNS_FIELDS:
                self.functions.body(node, self.source)

    def _fields(self) -> Iterator[list[str]]:
        if is_dataclass(self.python):
            yield from self._facts(self.python)
            return
        for name, node in self.model.declared.items():
            kind = terms.type_of(node.annotation, self.source.aliases)
            yield [f"public virtual {kind} {pascal(name)} {{ get; set; }}"]
        initial = self._initial()
        for name, (kind, line) in self.model.fields.items():
            value = initial.get(pascal(name))
            text = f"{_access(name)} {kind} {pascal(name)}{f' = {value}' if value else ''};"
            if value:  # what Reset and Connect assign has its comment there
                beside = self.source.beside(line)
                text += f"  // {beside}" if beside else ""
                yield remark(self.source.above(line))
            yield [text]

    def _initial(self) -> dict[str, str]:
        """Field -> value that ``__init__`` gives it before it calls that of the base."""
        found: dict[str, str] = {}
        for node in self.model.functions:
            if node.name == "__init__" and issubclass(self.python, Device):
                lines = self.functions.body(node, self.source)
                code = (line.partition("  //")[0] for line in lines if not line.startswith("//"))
                found |= dict(line.rstrip(";").split(" = ", 1) for line in code)
        return found

    def _facts(self, python: type) -> Iterator[list[str]]:
        """The fields of a dataclass, with their defaults."""
        for one in fields(python):
            if not self._kept(one.name):
                continue
            annotation = ast.parse(str(one.type), mode="eval").body
            kind = terms.type_of(annotation, self.source.aliases).removeprefix("I")
            default = constant(one.default)[0]
            if one.default_factory is dict:
                default = f"new {kind}()"
            given = f" = {default}" if default else ""
            yield [f"public {kind} {pascal(one.name)}{given};"]

    def _constants(self) -> list[str]:
        """The constants in the order of their files; those of one statement together."""
        needed = self.functions.needs.constants.items()

        def key(item: tuple[str, tuple[Term, Source, str]]) -> tuple[bool, str, int, str]:
            term, source, name = item[1]
            node, _ = source.assignments[name]
            return source is not self.source, source.name, node.lineno, term.type

        lines: list[str] = []
        for _, group in groupby(sorted(needed, key=key), key=key):
            lines += self._constant([(name, *facts) for name, facts in group])
        return lines

    @staticmethod
    def _constant(group: list[tuple[str, Term, Source, str]]) -> list[str]:
        _, term, source, name = group[0]
        node, _ = source.assignments[name]
        values = ", ".join(f"{name} = {one.text}" for name, one, _, _ in group)
        kind = "const" if term.type in _CONST else "static readonly"
        beside = source.beside(node.end_lineno or 0)
        text = f"private {kind} {term.type} {values};{f'  // {beside}' if beside else ''}"
        return [*remark(source.above(node.lineno)), text]

    # members

    def _constructor(self) -> list[str]:
        name = self.model.name
        if issubclass(self.python, Device):
            access = "protected" if inspect.isabstract(self.python) else "public"
            return [f"{access} {name}(Chip chip, string block) : base(chip, block)", *block([])]
        for node in self.model.functions:
            if node.name == "__init__":
                pairs = parameters(node, self.source)
                given = ", ".join(f"{kind} {camel(one)}" for one, kind in pairs)
                body = self.functions.body(node, self.source)
                return [f"public {name}({given})", *block(body)]
        return []

    def _members(self) -> Iterator[list[str]]:
        setters = {one.name: one for one in self.model.functions if _is_setter(one)}
        for node in self.model.functions:
            if _is_setter(node) or node.name == "__init__" or not self._kept(node.name):
                continue
            modifiers = f"{_access(node.name)} {self._modifier(node.name)}"
            if is_property(node):
                yield self._property(node, setters.get(node.name), modifiers)
            elif "abstractmethod" in decorators(node):
                signature = self.functions.signature(node, self.source)
                text = f"{_access(node.name)} abstract {signature};"
                yield [*comment(ast.get_docstring(node)), text]
            else:
                yield self.functions.method(node, self.source, modifiers.strip())

    def _modifier(self, name: str) -> str:
        """``override`` or ``virtual``, if it is one of them."""
        bases = inspect.getmro(self.python)[1:]
        if any(name in {**vars(one), **inspect.get_annotations(one)} for one in bases):
            return "override "
        others = (one.python for one in self.members.models.values())
        derived = (one for one in others if issubclass(one, self.python) and one != self.python)
        return "virtual " if any(name in vars(one) for one in derived) else ""

    def _property(
        self, node: ast.FunctionDef, setter: ast.FunctionDef | None, modifiers: str
    ) -> list[str]:
        kind = terms.type_of(node.returns, self.source.aliases)
        first = f"{modifiers}{kind} {pascal(node.name)}"
        body = self.functions.body(node, self.source)
        lines = comment(ast.get_docstring(node))
        if setter is None and len(body) == 1:
            return [*lines, f"{first} => {body[0].removeprefix('return ')}"]
        accessors = _accessor("get", body)
        if setter is not None:
            accessors += _accessor("set", self.functions.body(setter, self.source))
        return [*lines, first, *block(accessors)]

    def _settings(self) -> Iterator[list[str]]:
        """What the class says of itself in its constants."""
        python = self.python
        if not issubclass(python, Device) or inspect.isabstract(python):
            return
        if "AWAITED" in vars(python):
            tests = " || ".join(f"tag == {terms.quoted(one)}" for one in python.AWAITED)
            yield [f"public override bool Awaits(string tag) => {tests};"]
        if "INTERRUPTS" in vars(python):
            enabled = constant(vars(python)["INTERRUPTS"])[0]
            yield [f"protected override bool Interrupts => {enabled};"]
        if lines := declaration(python):
            yield ["protected override void Declare()", *block(lines)]


def _is_setter(node: ast.FunctionDef) -> bool:
    return f"{node.name}.setter" in decorators(node)


def _accessor(name: str, body: list[str]) -> list[str]:
    """``get`` or ``set``; a simple one in one line."""
    if len(body) > 1:
        return [name, *block(body)]
    return [f"{name} => {body[0].removeprefix('return ')}"]


def _access(name: str) -> str:
    return "protected" if name.startswith("_") else "public"


def _instances(python: type) -> Iterator[list[str]]:
    """The tables of its module that are of a class, as its static members."""
    for name, value in vars(module_of(python)).items():
        if is_dataclass(python) and isinstance(value, python):
            kind = python.__name__
            facts = {one.name: constant(getattr(value, one.name))[0] for one in fields(python)}
            given = [f"{pascal(one)} = {text}," for one, text in facts.items()]
            first = f"public static readonly {kind} {pascal(name)} = new {kind}"
            yield [first, *block(given)[:-1], "};"]
