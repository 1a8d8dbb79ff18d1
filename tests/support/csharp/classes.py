"""The models of the simulator's peripherals as classes of Renode."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from itertools import groupby
from typing import Any

from csharp import terms
from csharp.expressions import Needs, constant
from csharp.sources import (
    Members,
    Model,
    Source,
    decorators,
    is_property,
    model_of,
    module_of,
    parameters,
    source_of,
)
from csharp.statements import Statements, block
from csharp.terms import camel, pascal

from harness.simulator.peripherals import MODELS, split, texts
from harness.simulator.peripherals.base import Device, Nordic, Register

#: What only the simulator asks of a model, and what only these methods use.
OMITTED = frozenset((
    "__init__", "serve", "state", "holds", "restore", "polled", "missing", "listens",
    "first_interrupt", "register_name", "set_channels", "enabled_channels", "_unreachable",
    "transfer", "schedule", "channels",
))  # fmt: skip
#: Classes that are written by hand.
_BY_HAND = (Device, Nordic)
_WIDTH = 110
_FIELDS_FROM = ("__init__", "reset", "connect")


def models() -> list[Model]:
    """The classes to translate, bases before those that are derived from them."""
    found = dict.fromkeys(
        base
        for one in (*MODELS.values(), split.SplitRegisters, split.NonSecureView)
        for base in reversed(inspect.getmro(one))
        if base.__module__.startswith("harness.") and base not in _BY_HAND
    )
    return [model_of(one) for one in found]


def comment(text: str | None) -> list[str]:
    """The first sentence of a docstring as a comment."""
    if not text:
        return []
    first = re.split(r"(?<=[.:])\s*\n\n|(?<=[^.]\.)\s+(?=[A-Z])", " \n\n".join(text.split("\n\n")))[
        0
    ]
    plain = re.sub(r":\w+:`[.~]*([^`]+)`|``([^`]+)``", r"\1\2", " ".join(first.split()))
    return [f"// {line}" for line in textwrap.wrap(plain, _WIDTH - 16)]


class Writer:
    """Writes one class, or those of its members whose names are in ``only``."""

    def __init__(self, model: Model, members: Members, only: frozenset[str] | None = None) -> None:
        self.model, self.members, self.needs = model, members, Needs()
        self.only = only

    def _kept(self, name: str) -> bool:
        return name not in OMITTED if self.only is None else name in self.only

    @property
    def _device(self) -> bool:
        return issubclass(self.model.python, Device)

    def _statements(self, source: Source) -> Statements:
        names = vars(module_of(self.model.python))
        return Statements(self.members, source, names, self.model.name, self.needs)

    # fields

    def learn(self) -> None:
        """Finds the types of the attributes that the class assigns."""
        for node in self.model.functions:
            if node.name in _FIELDS_FROM:
                self._body(node, self.model.source)

    def _body(self, node: ast.FunctionDef, source: Source) -> list[str]:
        """The lines of a function, without the call of ``super().__init__``."""
        statements = self._statements(source)
        given = parameters(node, source)
        if not all(kind for _, kind in given):
            raise source.refuse(node, "a parameter without a known type")
        statements.scopes = [dict(given)]
        returned = node.returns or ast.Constant(None)
        statements.returned = terms.type_of(returned, source.assigned)
        kept = [one for one in node.body if not ast.unparse(one).startswith("super().__init__")]
        return statements.body(kept)

    def _initial(self) -> dict[str, str]:
        """Attribute -> value that ``__init__`` gives it."""
        found: dict[str, str] = {}
        for node in self.model.functions:
            if node.name == "__init__" and self._device:
                for line in self._body(node, self.model.source):
                    name, sign, value = line.rstrip(";").partition(" = ")
                    assert sign, line
                    found[name] = value
        return found

    def _fields(self) -> Iterator[list[str]]:
        if is_dataclass(self.model.python):
            yield from self._facts(self.model.python)
            return
        initial = self._initial()
        for name, annotation in self.model.declared.items():
            kind = terms.type_of(annotation, self.model.source.assigned)
            yield [f"public virtual {kind} {pascal(name)} {{ get; set; }}"]
        for name, kind in self.model.fields.items():
            value = initial.get(pascal(name), "")
            given = f" = {value}" if value else ""
            yield [f"{_access(name)} {kind} {pascal(name)}{given};"]

    def _facts(self, python: type) -> Iterator[list[str]]:
        """The fields of a dataclass, with their defaults."""
        for one in fields(python):  # type: ignore[arg-type]
            if not self._kept(one.name):
                continue
            kind = terms.type_of(
                ast.parse(str(one.type), mode="eval").body, self.model.source.assigned
            )
            default = constant(one.default)[0] if one.default is not None else ""
            if one.default_factory is dict:
                kind = kind.removeprefix("I")
                default = f"new {kind}()"
            given = f" = {default}" if default else ""
            yield [f"public {kind} {pascal(one.name)}{given};"]

    # members

    def _modifier(self, name: str) -> str:
        """``override`` or ``virtual``."""
        bases = inspect.getmro(self.model.python)[1:]
        if any(name in {**vars(one), **inspect.get_annotations(one)} for one in bases):
            return "override "
        others = (one.python for one in self.members.models.values())
        derived = (one for one in others if issubclass(one, self.model.python))
        if any(name in vars(one) for one in derived if one is not self.model.python):
            return "virtual "
        return ""

    def _members(self) -> Iterator[list[str]]:
        setters = {
            node.name: node
            for node in self.model.functions
            if f"{node.name}.setter" in decorators(node)
        }
        for node in self.model.functions:
            if not self._kept(node.name) or f"{node.name}.setter" in decorators(node):
                continue
            lines = comment(ast.get_docstring(node))
            if is_property(node):
                yield lines + self._property(node, setters.get(node.name))
            else:
                yield lines + self._method(node)

    def _property(self, node: ast.FunctionDef, setter: ast.FunctionDef | None) -> list[str]:
        source = self.model.source
        kind = terms.type_of(node.returns or node, source.assigned)
        first = f"{_access(node.name)} {self._modifier(node.name)}{kind} {pascal(node.name)}"
        body = self._body(node, source)
        short = len(body) == 1 and body[0].startswith("return ")
        if short and setter is None:
            line = f"{first} => {body[0][7:]}"
            if len(line) < _WIDTH - 8:
                return [line]
        lines = ["get", *block(body)]
        if setter is not None:
            lines += ["set", *block(self._body(setter, source))]
        return [first, *block(lines)]

    def _method(self, node: ast.FunctionDef) -> list[str]:
        first = self._signature(node, self.model.source)
        if "abstractmethod" in decorators(node):
            return [f"{_access(node.name)} abstract {first};"]
        head = f"{_access(node.name)} {self._modifier(node.name)}{first}"
        return [head, *block(self._body(node, self.model.source))]

    def _signature(self, node: ast.FunctionDef, source: Source) -> str:
        if node.args.vararg or node.args.kwarg or node.args.posonlyargs or node.returns is None:
            raise source.refuse(node, "unknown form of a function")
        every = [*node.args.args, *node.args.kwonlyargs]
        defaults: list[ast.expr | None] = [None] * (len(node.args.args) - len(node.args.defaults))
        defaults += [*node.args.defaults, *node.args.kw_defaults]
        values = {one.arg: value for one, value in zip(every, defaults, strict=True)}
        statements = self._statements(source)
        given = []
        for name, kind in parameters(node, source):
            default = values[name]
            value = f" = {statements.value(default).text}" if default is not None else ""
            given.append(f"{kind} {camel(name)}{value}")
        returned = terms.type_of(node.returns, source.assigned)
        if not returned:
            raise source.refuse(node, "unknown type of a result")
        return f"{returned} {pascal(node.name)}({', '.join(given)})"

    def _functions(self) -> Iterator[list[str]]:
        """The functions of the module that the class needs."""
        done: set[str] = set()
        while waiting := self.needs.functions.keys() - done:
            for name in sorted(waiting):
                source, node = self.needs.functions[name]
                lines = comment(ast.get_docstring(node))
                first = f"private static {self._signature(node, source)}"
                yield [*lines, first, *block(self._body(node, source))]
            done |= waiting

    def _constants(self) -> Iterator[str]:
        for name, term in self.needs.constants.items():
            plain = term.type in ("long", "string", "double", "bool")
            yield f"private {'const' if plain else 'static readonly'} {term.type} {name} = {term.text};"

    # the class

    def _constructor(self) -> list[str]:
        name = self.model.name
        if self._device:
            access = "protected" if inspect.isabstract(self.model.python) else "public"
            return [f"{access} {name}(Chip chip, string block) : base(chip, block)", *block([])]
        for node in self.model.functions:
            if node.name == "__init__":
                given = ", ".join(
                    f"{kind} {camel(one)}" for one, kind in parameters(node, self.model.source)
                )
                return [f"public {name}({given})", *block(self._body(node, self.model.source))]
        return []

    def _settings(self) -> Iterator[list[str]]:
        python = self.model.python
        if not self._device or inspect.isabstract(python):
            return
        if "AWAITED" in vars(python):
            tests = " || ".join(f"tag == {terms.quoted(one)}" for one in python.AWAITED)  # type: ignore[attr-defined]
            yield ["public override bool Awaits(string tag)", *block([f"return {tests};"])]
        if "INTERRUPTS" in vars(python):
            yield [f"protected override bool Interrupts => {str(python.INTERRUPTS).lower()};"]  # type: ignore[attr-defined]
        if lines := declaration(python):
            yield ["protected override void Declare()", *block(lines)]

    def lines(self) -> list[str]:
        """The whole class."""
        python = self.model.python
        base = inspect.getmro(python)[1]
        kind = "abstract partial" if inspect.isabstract(python) else "partial"
        of = f" : {base.__name__}" if self._device else ""
        kept = [line for one in self._fields() for line in one]
        members = [self._constructor(), *self._members(), *self._settings(), *self._functions()]
        members += [kept + _instances(python), list(self._constants())]
        self._check_names()
        first = f"public {kind} class {self.model.name}{of}"
        return [*comment(python.__doc__), first, *block(_spaced(one for one in members if one))]

    def _check_names(self) -> None:
        """No constant has the name of another member."""
        node = self.model.node
        for name in self.needs.constants:
            others = {*_attributes(self.model.python), *self.model.fields, *self.needs.functions}
            others.add(self.model.name)
            for member in sorted(others):
                if pascal(member) == name:
                    raise self.model.source.refuse(node, f"{member} and a constant are both {name}")


def _attributes(python: type) -> set[str]:
    """The names of its members, without constants and what is not translated."""
    found = {name for one in inspect.getmro(python) for name in vars(one)}
    return {name for name in found - OMITTED if not name.startswith("__") and not name.isupper()}


def _access(name: str) -> str:
    return "protected" if name.startswith("_") else "public"


def _instances(python: type) -> list[str]:
    """The tables of a module that are of the class, as its static members."""
    if not is_dataclass(python):
        return []
    lines = []
    for name, value in vars(module_of(python)).items():
        if isinstance(value, python):
            kind = python.__name__
            lines += ["", f"public static readonly {kind} {pascal(name)} = new {kind}"]
            given = [
                f"{pascal(one.name)} = {_set(getattr(value, one.name))}," for one in fields(python)
            ]
            lines += [*block(given)[:-1], "};"]
    return lines


def _set(value: object) -> str:
    return constant(value)[0] or "new HashSet<long>()"


def _spaced(members: Any) -> list[str]:
    """Members with a blank line between them."""
    lines: list[str] = []
    for one in members:
        lines += [*([""] if lines else []), *one]
    return lines


# -- declarations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbered:
    """A name, which may have an index, with its offset."""

    stem: str
    index: int | None
    offset: int


def _numbered(name: str, offset: int) -> _Numbered:
    stem, bracket, index = name.rstrip("]").partition("[")
    return _Numbered(stem, int(index) if bracket else None, offset)


def _method(python: type, name: str) -> str | None:
    """The method of C# that reads or writes a register; None if there is none."""
    found = getattr(python, name.lower().replace(".", "_"), None)
    return None if found is None else pascal(found.__name__)


def _each(
    names: dict[str, int], line: Callable[[str, str, int | None], str]
) -> Iterator[list[str]]:
    """``line(offset, name, index)`` for each name; one loop for those that differ by the index."""
    rows = [_numbered(name, offset) for name, offset in names.items()]
    for stem, group in groupby(rows, key=lambda one: one.stem):
        items = list(group)
        if items[0].index is None:
            yield from ([line(f"0x{one.offset:03X}", stem, None)] for one in items)
            continue
        stride = items[1].offset - items[0].offset
        expected = [(n, items[0].offset + n * stride) for n in range(len(items))]
        assert [(one.index, one.offset) for one in items] == expected, stem
        first = f"0x{items[0].offset:03X} + {stride} * n"
        yield [f"foreach(var n in Py.Range({len(items)}))", *block([line(first, stem, 0)])]


def _task(python: type, offset: str, stem: str, index: int | None) -> str:
    method = _method(python, f"task_{stem}")
    if index is None:
        return f'Task({offset}, "{stem}", {method});'
    return f'Task({offset}, $"{stem}[{{n}}]", () => {method}(n));'


def _event(python: type, offset: str, stem: str, index: int | None) -> str:
    name = f'"{stem}"' if index is None else f'$"{stem}[{{n}}]"'
    return f"Event({offset}, {name}{_accessors(python, f'events_{stem}')});"


def _accessors(python: type, name: str) -> str:
    text = ""
    for verb in ("read", "write"):
        if method := _method(python, f"{verb}_{name}"):
            text += f", {verb}: {method}"
    return text


def _publish(python: type) -> Iterator[list[str]]:
    for name, offset in python.EVENTS.items():  # type: ignore[attr-defined]
        if method := _method(python, f"write_publish_{name}"):
            yield [f"Publish(0x{offset:03X}, {method});"]


def _register(python: type, register: Register) -> list[str]:
    text = f'0x{register.offset:03X}, "{register.name}"'
    if register.count > 1:
        text += f", {register.count}" + (f", {register.stride}" if register.stride != 4 else "")
    if register.reset:
        text += f", reset: {constant(register.reset)[0]}"
    if register.access != "rw":
        text += f', access: "{register.access}"'
    text += _accessors(python, register.name)
    return [f"{'Registers' if register.count > 1 else 'Register'}({text});"]


def _parts(python: type) -> list[list[list[str]]]:
    """The declarations of a class: tasks, events, shortcuts, registers."""
    registers = [_register(python, one) for one in python.REGISTERS]  # type: ignore[attr-defined]
    if not issubclass(python, Nordic):
        return [registers]
    shorts = [
        [f'Short({bit}, "{event}", "{task}");'] for bit, (event, task) in python.SHORTS.items()
    ]
    return [
        list(_each(python.TASKS, partial(_task, python))),
        [*_each(python.EVENTS, partial(_event, python)), *_publish(python)],
        shorts,
        registers,
    ]


def declaration(python: type) -> list[str]:
    """The body of Declare; empty if it is the base's."""
    own, base = _parts(python), inspect.getmro(python)[1]
    first: list[str] = []
    if base not in _BY_HAND and not inspect.isabstract(base):
        others = _parts(base)
        if all(part[: len(other)] == other for part, other in zip(own, others, strict=True)):
            own = [part[len(other) :] for part, other in zip(own, others, strict=True)]
            first = ["base.Declare();"]
            if not any(own):
                return []
    return first + [line for part in own for group in part for line in group]


# -- the file -------------------------------------------------------------------------------------

_HEAD = """\
// Models of Nordic's peripherals for Renode 1.17 or later, compiled by Renode at its start.
//
// Generated from harness/simulator/peripherals by tests/support/renode_platforms.py: a model is
// changed there, and this file is written anew.

using System;
using System.Collections.Generic;
using System.Linq;

namespace Antmicro.Renode.Peripherals.Nordic
{
"""


def _texts(members: Members) -> list[str]:
    source = source_of(texts.__name__)
    functions = [one for one in source.tree.body if isinstance(one, ast.FunctionDef)]
    writer = Writer(
        Model(type("Texts", (), {"__module__": texts.__name__}), source, ast.ClassDef()), members
    )
    methods = [
        [
            *comment(ast.get_docstring(node)),
            f"public static {writer._signature(node, source)}",
            *block(writer._body(node, source)),
        ]
        for node in functions
    ]
    return [*comment(texts.__doc__), "public static class Texts", *block(_spaced(methods))]


def text() -> str:
    """The file of C# with all models."""
    found = models()
    members = Members(found)
    for one in found:
        Writer(one, members).learn()
    classes = [Writer(one, members).lines() for one in found]
    lines = _spaced([*classes, _texts(members)])
    return _HEAD + "".join(f"    {line}\n" if line else "\n" for line in lines) + "}\n"
