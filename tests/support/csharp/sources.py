"""What is translated: files of Python, their classes, the members of these."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from csharp.terms import UntranslatableError, class_name, type_of
from harness import simulator
from harness.base import platforms
from harness.simulator.peripherals import base

#: Classes of C# that are written by hand, or stand in tables.cs -> the class that declares them.
_DECLARED = {
    "Chip": base.Chip,
    "Device": base.Device,
    "Nordic": base.Nordic,
    "Table": platforms.ChipTable,
    "Block": platforms.Peripheral,
    "Area": platforms.Area,
    "FlashGeometry": platforms.FlashGeometry,
    "RamGeometry": platforms.RamGeometry,
    "ResetReasons": platforms.ResetReasons,
    "PortPins": platforms.PortPins,
    "ConsoleWiring": platforms.ConsoleWiring,
    "UartPins": platforms.UartPins,
}
#: Attributes that no annotation declares, or that are of another type in Renode.
_FIELDS = {
    "Device": {
        "chip": "Chip",
        "block": "Block",
        "name": "string",
        "irq": "long?",
        "regs": "Registers",
    },
    "Nordic": {"subscriptions": "Dictionary<long, List<long>>"},
    "Registers": {"sending": "bool", "stopping": "bool", "waits": "bool"},
}


# -- files ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remark:
    """A comment: its text, and whether it has a line of its own."""

    text: str
    alone: bool


@dataclass(frozen=True)
class Source:
    """A file of Python: its name and text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def assignments(self) -> dict[str, tuple[ast.Assign, ast.expr]]:
        """Name -> statement and expression of each constant of the module."""
        found: dict[str, tuple[ast.Assign, ast.expr]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                if isinstance(target, ast.Name):
                    found[target.id] = node, value
                elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    names = [ast.unparse(one) for one in target.elts]
                    found |= {n: (node, one) for n, one in zip(names, value.elts, strict=True)}
        return found

    @cached_property
    def aliases(self) -> dict[str, ast.expr]:
        """Name -> expression of each constant, which may be a type."""
        return {name: value for name, (_, value) in self.assignments.items()}

    @cached_property
    def remarks(self) -> dict[int, Remark]:
        """Line -> comment, without the marks of tools."""
        found = {}
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            text = token.string.lstrip("#: ").strip()
            if token.type == tokenize.COMMENT and not text.startswith(("type:", "fmt:", "noqa")):
                found[token.start[0]] = Remark(text, not token.line[: token.start[1]].strip())
        return found

    def above(self, line: int) -> str:
        """The comment that ends above a line."""
        found: list[str] = []
        while (one := self.remarks.get(line - 1 - len(found))) and one.alone:
            found.insert(0, one.text)
        return " ".join(found)

    def beside(self, line: int) -> str:
        """The comment at the end of a line."""
        one = self.remarks.get(line)
        return one.text if one and not one.alone else ""

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """Name that is imported -> the module that has it, and its name there."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return {
            one.asname or one.name: (node.module or "", one.name)
            for node in imports
            for one in node.names
        }

    def definition(self, name: str) -> ast.ClassDef | ast.FunctionDef:
        """The class or function of this name."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                return node
        raise LookupError(f"{self.name} defines no {name}")

    def refuse(self, node: ast.AST, why: str) -> UntranslatableError:
        """An error that names file and line."""
        text = ast.unparse(node).partition("\n")[0]
        return UntranslatableError(f"{self.name}:{getattr(node, 'lineno', 0)}: {why}: {text}")


def read(path: str | None) -> Source:
    """A file."""
    assert path is not None
    return Source(Path(path).name, Path(path).read_text(encoding="utf-8"))


@cache
def source_of(module: str) -> Source:
    """The file of a module that has been imported."""
    return read(sys.modules[module].__file__)


@cache
def _stub() -> Source:
    return read(str(Path(simulator.__file__).with_name("_native.pyi")))


def module_of(thing: Any) -> ModuleType:
    """The module that defines a class or function."""
    return sys.modules[thing.__module__]


def defined(function: Any) -> tuple[Source, ast.FunctionDef]:
    """Where a function is defined."""
    source = source_of(function.__module__)
    node = source.definition(function.__name__)
    assert isinstance(node, ast.FunctionDef)
    return source, node


def constant_of(source: Source, name: str) -> tuple[Source, str]:
    """The file that assigns a constant, and its name there."""
    while name not in source.assignments and name in source.origins:
        module, name = source.origins[name]
        source = source_of(module)
    return source, name


# -- classes --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Model:
    """A class of Python that becomes one of C#; ``fields`` are the attributes that it assigns.

    ``fields`` has the type and the line of each, as far as it is known.
    """

    python: type
    source: Source
    node: ast.ClassDef
    fields: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in C#."""
        return class_name(self.python.__name__)

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """Its methods and properties."""
        return [one for one in self.node.body if isinstance(one, ast.FunctionDef)]

    @property
    def declared(self) -> dict[str, ast.AnnAssign]:
        """Attributes that the body annotates, and that are no constants of the class."""
        return {
            one.target.id: one
            for one in self.node.body
            if isinstance(one, ast.AnnAssign)
            and isinstance(one.target, ast.Name)
            and not ast.unparse(one.annotation).startswith("ClassVar")
        }


def model_of(python: type) -> Model:
    """The class, with its syntax tree."""
    source = source_of(python.__module__)
    node = source.definition(python.__name__)
    assert isinstance(node, ast.ClassDef)
    return Model(python, source, node)


def decorators(node: ast.FunctionDef) -> set[str]:
    """The decorators of a function."""
    return {ast.unparse(one) for one in node.decorator_list}


def is_property(node: ast.FunctionDef) -> bool:
    """True of the getter of a property."""
    return bool({"property", "cached_property"} & decorators(node))


def parameters(node: ast.FunctionDef, source: Source) -> tuple[tuple[str, str], ...]:
    """Names and types of the parameters, without ``self``."""
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    given = [one for one in every if one.arg != "self"]
    return tuple((one.arg, type_of(one.annotation, source.aliases)) for one in given)


@dataclass(frozen=True)
class Member:
    """A member of a class; ``parameters`` are names and types of a method's, or None."""

    type: str
    parameters: tuple[tuple[str, str], ...] | None = None


def _member(node: ast.ClassDef, source: Source, name: str) -> Member | None:
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == name:
            return Member(type_of(one.annotation, source.aliases))
        if isinstance(one, ast.FunctionDef) and one.name == name:
            returned = type_of(one.returns, source.aliases)
            return Member(returned, None if is_property(one) else parameters(one, source))
    return None


class Members:
    """Finds the members of the classes that a translation knows."""

    def __init__(self, models: list[Model]) -> None:
        self.models = {model.name: model for model in models}
        self._found: dict[str, list[tuple[str, ast.ClassDef, Source]]] = {}

    def _bases(self, name: str) -> list[tuple[str, ast.ClassDef, Source]]:
        if name not in self._found:
            self._found[name] = self._looked_up(name)
        return self._found[name]

    def _looked_up(self, name: str) -> list[tuple[str, ast.ClassDef, Source]]:
        if name == "Registers":
            node = _stub().definition(name)
            assert isinstance(node, ast.ClassDef)
            return [(name, node, _stub())]
        model = self.models.get(name)
        python = model.python if model else _DECLARED.get(name)
        ours = [one for one in inspect.getmro(python) if _is_ours(one)] if python else []
        return [(one.name, one.node, one.source) for one in map(model_of, ours)]

    def knows(self, name: str) -> bool:
        """True if there is a class of this name."""
        return bool(self._bases(name))

    def find(self, name: str, member: str) -> Member | None:
        """A member of a class of C#, by its name in Python; None if there is none."""
        for one, node, source in self._bases(name):
            if member in _FIELDS.get(one, {}):
                return Member(_FIELDS[one][member])
            if one in self.models and member in self.models[one].fields:
                return Member(self.models[one].fields[member][0])
            if (found := _member(node, source, member)) is not None:
                return found
        return None


def _is_ours(python: type) -> bool:
    return python.__module__.startswith("harness.")
