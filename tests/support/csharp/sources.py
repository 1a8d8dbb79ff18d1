"""What the models of the simulator consist of: their classes, members and constants."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from csharp.terms import UntranslatableError, class_name, type_of

from harness import simulator
from harness.base import platforms
from harness.simulator.peripherals import base

#: Classes of C# that are written by hand or stand in tables.cs -> the class that declares them.
_DECLARED = {
    "Chip": base.Chip,
    "Device": base.Device,
    "Nordic": base.Nordic,
    "Table": platforms.ChipTable,
    "Block": platforms.Peripheral,
    "Area": platforms.Area,
    "FlashGeometry": platforms.FlashGeometry,
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


@dataclass(frozen=True)
class Member:
    """A member of a class; ``parameters`` are names and types of a method's, or None."""

    type: str
    parameters: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Source:
    """A file of Python: its path, text and syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def assigned(self) -> dict[str, ast.expr]:
        """Name -> expression of each constant of the module."""
        found: dict[str, ast.expr] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = node.value
                    elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = zip(target.elts, node.value.elts, strict=True)
                        found |= {
                            one.id: value for one, value in pairs if isinstance(one, ast.Name)
                        }
        return found

    def imported(self, name: str) -> tuple[str, str] | None:
        """Module and name from which ``name`` is imported."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    if (one.asname or one.name) == name:
                        return node.module or "", one.name
        return None

    def definition(self, name: str) -> ast.ClassDef | ast.FunctionDef:
        """The class or function of this name."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                return node
        raise LookupError(f"{self.path} defines no {name}")

    def refuse(self, node: ast.AST, why: str) -> UntranslatableError:
        """An error that names file and line."""
        line = getattr(node, "lineno", 0)
        text = ast.unparse(node).partition("\n")[0]
        return UntranslatableError(f"{self.path}:{line}: {why}: {text}")


def source_of_text(path: str, text: str) -> Source:
    """A file of Python from its text."""
    return Source(path, text, ast.parse(text))


@cache
def source_of(module: str) -> Source:
    """The file of a module that has been imported."""
    file = sys.modules[module].__file__
    assert file is not None
    return source_of_text(Path(file).name, Path(file).read_text(encoding="utf-8"))


@cache
def _stub() -> Source:
    path = Path(simulator.__file__).with_name("_native.pyi")
    return source_of_text(path.name, path.read_text(encoding="utf-8"))


def literal(module: str, name: str) -> str | None:
    """The text of a constant that is a plain number, wherever it is defined; None if it is none."""
    source = source_of(module)
    if (value := source.assigned.get(name)) is not None:
        plain = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
        return ast.get_source_segment(source.text, value) if plain else None
    found = source.imported(name)
    return literal(*found) if found else None


def module_of(thing: Any) -> ModuleType:
    """The module that defines a class or function."""
    return sys.modules[thing.__module__]


def defined(function: Any) -> tuple[Source, ast.FunctionDef]:
    """Where a function is defined."""
    source = source_of(function.__module__)
    node = source.definition(function.__name__)
    assert isinstance(node, ast.FunctionDef)
    return source, node


@dataclass(eq=False)
class Model:
    """A class of Python that becomes one of C#."""

    python: type
    source: Source
    node: ast.ClassDef
    fields: dict[str, str] = field(default_factory=dict)  # assigned by __init__, reset or connect

    @property
    def name(self) -> str:
        """Its name in C#."""
        return class_name(self.python.__name__)

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """Its methods and properties."""
        return [one for one in self.node.body if isinstance(one, ast.FunctionDef)]

    @property
    def declared(self) -> dict[str, ast.expr]:
        """Attributes that the body annotates and that are no constants of the class."""
        return {
            one.target.id: one.annotation
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


def decorators(node: ast.FunctionDef) -> list[str]:
    """The decorators of a function, without arguments."""
    return [ast.unparse(one) for one in node.decorator_list]


def is_property(node: ast.FunctionDef) -> bool:
    """True of the getter of a property."""
    return bool({"property", "cached_property"} & set(decorators(node)))


def parameters(node: ast.FunctionDef, source: Source) -> tuple[tuple[str, str], ...]:
    """Names and types of the parameters, without ``self``."""
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    given = [one for one in every if one.arg != "self"]
    aliases = source.assigned
    return tuple(
        (one.arg, type_of(one.annotation, aliases) if one.annotation else "") for one in given
    )


def _in_class(node: ast.ClassDef, source: Source, name: str) -> Member | None:
    aliases = source.assigned
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            if one.target.id == name:
                return Member(type_of(one.annotation, aliases))
        elif isinstance(one, ast.FunctionDef) and one.name == name:
            returned = type_of(one.returns, aliases) if one.returns else ""
            return Member(returned, None if is_property(one) else parameters(one, source))
    return None


class Members:
    """Finds the members of the classes that the translation knows."""

    def __init__(self, models: list[Model]) -> None:
        self.models = {model.name: model for model in models}

    def _bases(self, name: str) -> list[tuple[str, ast.ClassDef, Source]]:
        if name == "Registers":
            node = _stub().definition(name)
            assert isinstance(node, ast.ClassDef)
            return [(name, node, _stub())]
        model = self.models.get(name)
        python = model.python if model else _DECLARED.get(name)
        if python is None:
            return []
        ours = [one for one in inspect.getmro(python) if one.__module__.startswith("harness.")]
        found = [model_of(one) for one in ours]
        return [(one.name, one.node, one.source) for one in found]

    def knows(self, name: str) -> bool:
        """True if there is a class of this name."""
        return bool(self._bases(name))

    def find(self, name: str, member: str) -> Member | None:
        """A member of a class of C#, by its name in Python; None if there is none."""
        for one, node, source in self._bases(name):
            own = _FIELDS.get(one, {}).get(member)
            own = own or (self.models[one].fields.get(member) if one in self.models else None)
            found = Member(own) if own else _in_class(node, source, member)
            if found is not None:
                return found
        return None
