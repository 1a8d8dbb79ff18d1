"""The rooms of the package (docs/architecture.md): who imports whom, and under which names."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import harness

PACKAGE = Path(harness.__file__).parent
#: From left to right: a room imports only rooms that stand before it. One line, one floor.
FLOORS = (
    ("base",),
    ("model",),
    ("elf",),
    ("build", "reference"),
    ("uart",),
    ("simulator",),
    ("targets",),
    ("debug",),
    ("footprint",),
    ("resolver",),
    ("case",),
    ("studies",),
    ("history",),
    ("report", "doctor"),
    ("keywords", "cli", "pytest_plugin"),
    ("__main__",),
)
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


#: Sent to Renode as text and run there: no module of this package, though its files are here.
ELSEWHERE = {name for name in modules() if name.startswith("harness.targets.renode.agent.")}


@dataclass(frozen=True)
class Source:
    """What a module imports, the attributes of names in it (``os.fork``), the methods that it calls
    without arguments, and its classes."""

    imports: frozenset[str]
    attributes: frozenset[str]
    calls: frozenset[str]
    classes: tuple[str, ...]


@cache
def source(module: str) -> Source:
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    imports: set[str] = set()
    attributes: set[str] = set()
    calls: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imports |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            calls.add(node.func.attr)
    classes = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return Source(frozenset(imports), frozenset(attributes), frozenset(calls), classes)


def imported(module: str) -> set[str]:
    """The modules of the package that ``module`` imports, wherever in the file."""
    names = source(module).imports
    return {owner(name) for name in names if name.split(".")[0] == "harness"} - {module, "harness"}


def owner(name: str) -> str:
    """The module that holds ``name``; a compiled module is nobody's."""
    if "._native" in name:
        return "harness"
    while name not in modules():
        name = name.rpartition(".")[0]
    return name


def room(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("module", [name for name in modules() if name != "harness"])
def test_a_module_imports_only_rooms_that_stand_before_its_own(module):
    wrong = [
        name
        for name in imported(module)
        if room(name) != room(module) and FLOOR[room(name)] >= FLOOR[room(module)]
    ]
    assert not wrong


def test_no_import_runs_in_a_circle():
    graph = {module: imported(module) for module in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")


def test_a_class_name_stands_once():
    owners: dict[str, list[str]] = {}
    for module in modules().keys() - ELSEWHERE:
        for name in source(module).classes:
            owners.setdefault(name, []).append(module)
    assert not {name: where for name, where in owners.items() if len(where) > 1}


def test_only_one_module_spells_a_record():
    spelt = [name for name, path in modules().items() if "~HIL" in path.read_text(encoding="utf-8")]
    assert spelt == ["harness.uart.records"]


#: What starts programs, and the modules that may. ``isolated`` is a script that becomes one, and
#: CMake runs ``generated`` with a Python that has the standard library only.
STARTS = re.compile(
    r"subprocess(\..*)?|pty(\..*)?|asyncio\.create_subprocess_\w+"
    r"|os\.(system|popen|fork\w*|exec[lv]\w*|spawn\w*|posix_spawn\w*)"
)
STARTERS = {"harness.base.process", "harness.build.generated", "harness.targets.renode.isolated"}


def starts_programs(module: str) -> bool:
    used = source(module)
    return any(map(STARTS.fullmatch, used.imports | used.attributes))


def test_only_one_module_starts_programs():
    assert {name for name in modules() if starts_programs(name)} == STARTERS


#: They raise PermissionError below a folder that may not be entered (before Python 3.14).
ASKS = {"exists", "is_dir", "is_file"}
ASKERS = {"harness.base.files", "harness.base.paths", "harness.build.generated"}


def test_only_one_module_asks_paths_whether_they_exist():
    assert {name for name in modules() if ASKS & source(name).calls} == ASKERS


def test_wheels_carry_every_file_that_is_not_a_module():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["harness"]
    carried = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    others = {path for path in PACKAGE.rglob("*.*") if path.suffix not in (".py", ".pyc", ".so")}
    assert others - carried == set()


#: Methods that a peripheral has for tasks and registers, called as the product specification does.
BY_SPECIFICATION = re.compile(r"(task|read|write)_\w+")


def undocumented(module: str) -> list[str]:
    """The module and its public classes, functions and methods, as far as they have no docstring.

    A method does what the one says that it overrides.
    """
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    bare = [] if ast.get_docstring(tree) else [module]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            bare += [] if ast.get_docstring(node) else [f"{module}.{node.name}"]
            owner = getattr(import_module(module), node.name)
            methods = undocumented_methods(owner) if inspect.isclass(owner) else []
            bare += [f"{module}.{node.name}.{name}" for name in methods]
    return bare


def undocumented_methods(owner: type) -> list[str]:
    return [
        name
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and not BY_SPECIFICATION.fullmatch(name)
        and not inspect.getdoc(getattr(owner, name))
    ]


@pytest.mark.parametrize("module", sorted(modules().keys() - ELSEWHERE - {"harness.__main__"}))
def test_every_public_name_is_documented(module):
    assert not undocumented(module)
