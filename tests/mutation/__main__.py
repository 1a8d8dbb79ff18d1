"""Would the unit tests notice? One small change of the package's code at a time.

``python tests/mutation [ROOM ...] [--count N] [--seed N] [--jobs N]``

Cosmic Ray's operators make the mutants: a comparison turned, a number one off, a condition
negated, a loop that never runs. A seeded sample of each room is tried, in copies of the checkout,
by the room's own unit tests alone. Printed are the share that was noticed and the diffs of those
that were not. Some of these are equivalent to the original: read them, no list excuses them.

A first run with coverage.py tells which test runs which lines. A mutant in a function is tried by
the tests that run anything of its file, those that run its line and are quick first, and by those
that run nothing of the room here: they may start processes that do. One outside functions, a
constant for instance, is tried by all tests. Hypothesis draws the same examples each time and
does not make failing ones smaller.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import Queue
from xml.etree import ElementTree

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[2]
#: Room -> the folders of the tests that must notice a change of harness/ROOM.
ROOMS = {
    "case": ("case",),
    "uart": ("uart",),
    "resolver": ("resolver",),
    "footprint": ("footprint",),
    "model": ("model",),
    "reference": ("reference",),
    "simulator": ("simulator",),
    "targets": ("targets", "board", "renode"),
}
#: A mutant that takes so many times its tests' seconds, and ten more, has been noticed.
_PATIENCE = 3.0
_LONGEST = 3600.0
#: What pytest ends with where it is asked for a test that is not there.
_NOT_FOUND = 4
#: The only two that turn `is`: that `==` becomes `is` is the same for most of what is compared.
_IDENTITY = ("_Is_IsNot", "_IsNot_Is")


@dataclass(frozen=True)
class Mutant:
    """One changed file."""

    file: str
    old: str
    new: str

    @cached_property
    def line(self) -> int:
        """The number of the first changed line, from 1 on."""
        pairs = zip(self.old.splitlines(), self.new.splitlines(), strict=False)
        return 1 + next(index for index, (was, becomes) in enumerate(pairs) if was != becomes)

    @property
    def within(self) -> bool:
        """Whether the change is in a function's body: what is not, runs at the import."""
        functions = [
            node
            for node in ast.walk(ast.parse(self.old))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ]
        bodies = [node.body if isinstance(node.body, list) else [node.body] for node in functions]
        return any(body[0].lineno <= self.line <= body[-1].end_lineno for body in bodies)

    def diff(self) -> str:
        """A unified diff with little around it."""
        old, new = self.old.splitlines(), self.new.splitlines()
        return "\n".join(difflib.unified_diff(old, new, self.file, self.file, "", "", 1, ""))


def candidates(file: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Operators and their occurrences by the place in ``file`` that they change."""
    nodes = list(ast_nodes(get_ast(file.read_text(encoding="utf-8"))))
    found: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for name in sorted(operator_names()):
        if "Variable" in name or ("_Is" in name and not name.endswith(_IDENTITY)):
            continue  # the first kind needs arguments
        operator = get_operator(name)()
        occurrence = 0
        for node in nodes:
            for start, _ in operator.mutation_positions(node):
                found[start].append((name, occurrence))
                occurrence += 1
    return found


def sample(root: Path, code: str, chance: random.Random) -> Iterator[Mutant]:
    """Mutants of a folder's modules in random order, one at a place, for as long as there are.

    ``root`` is a checkout, which the folder ``code`` is in.
    """
    places = [
        (file, place, choices)
        for file in sorted((root / code).rglob("*.py"))
        for place, choices in sorted(candidates(file).items())
    ]
    chance.shuffle(places)
    for file, _, choices in places:
        name, occurrence = chance.choice(choices)
        old = file.read_text(encoding="utf-8")
        new = _changed(old, name, occurrence)
        if new is not None and _meaning(new) not in (None, _meaning(old)):
            yield Mutant(file.relative_to(root).as_posix(), old, new)


def _changed(source: str, name: str, occurrence: int) -> str | None:
    """``source`` with one change; None where Cosmic Ray makes none.

    It stumbles over a tuple of exceptions one of which has a dotted name.
    """
    try:
        return mutate_code(source, get_operator(name)(), occurrence)
    except AttributeError:
        return None


def _meaning(source: str) -> str | None:
    """The syntax tree without what type checkers look after; None for no Python.

    Annotations and decorators of functions without code do nothing at run time, and who calls by
    place or by name where the other is asked for is told by mypy. ``strict`` of zip asserts what
    other code sees to, and NumPy takes any negative size for the one that it finds out.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            node.annotation = None if isinstance(node, ast.arg) else ast.Constant(None)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            node.keywords = []
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".reshape"):
            node.args = [ast.Constant(-1) if _negative(size) else size for size in node.args]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if all(isinstance(each, ast.Expr) for each in node.body):
                node.decorator_list = []
        if isinstance(node, ast.arguments):
            defaults = [one for one in node.kw_defaults if one is not None]
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults, node.kw_defaults = [*node.defaults, *defaults], []
            node.posonlyargs, node.kwonlyargs = [], []
    return ast.dump(tree)


def _negative(size: ast.expr) -> bool:
    """Whether it is written as a negative number: ``-1``, ``-2``, ``~1``."""
    if not isinstance(size, ast.UnaryOp) or not isinstance(size.op, ast.USub | ast.Invert):
        return False
    return isinstance(size.operand, ast.Constant) and bool(size.operand.value)


def _checkout() -> list[str]:
    """The files that git knows of or would take, and the simulator's core, which it ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    core = (ROOT / "harness" / "simulator").glob("_native*.so")
    names = [*listed.split("\0")[:-1], *(path.relative_to(ROOT).as_posix() for path in core)]
    return [name for name in names if (ROOT / name).is_file()]


@dataclass(frozen=True)
class Witnesses:
    """A room's tests: the seconds that each takes, and which of them run which line of a file."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]

    @classmethod
    def of(cls, report: Path, copy: Path) -> Witnesses:
        """From pytest's JUnit ``report`` and coverage.py's data of a run in ``copy``."""
        seconds = {}
        for case in ElementTree.parse(report).iter("testcase"):
            test = f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"
            seconds[test] = float(case.attrib["time"])
        measured = CoverageData(str(copy / ".coverage"))
        measured.read()
        lines = {}
        for file in measured.measured_files():
            lines[Path(file).relative_to(copy).as_posix()] = {
                line: {context.rpartition("|")[0] for context in contexts} & seconds.keys()
                for line, contexts in measured.contexts_by_lineno(file).items()
            }
        if not lines:
            raise RuntimeError("coverage.py has measured nothing")
        return cls(seconds, lines)

    def of_mutant(self, mutant: Mutant) -> list[str]:
        """The tests that may notice it, those that run its line first, the quickest first."""
        lines = self.lines.get(mutant.file, {})
        line, file = lines.get(mutant.line, set()), set().union(*lines.values())
        ranked = sorted(self.seconds, key=lambda one: (one not in line, self.seconds[one]))
        if not mutant.within or not file:
            return sorted(ranked, key=lambda one: one not in file)
        return [one for one in ranked if one in file or one in self._elsewhere]

    @cached_property
    def _elsewhere(self) -> set[str]:
        here = (tests for lines in self.lines.values() for tests in lines.values())
        return self.seconds.keys() - set().union(*here)


class Copies:
    """Copies of the checkout, one for each job, in which mutants are tried.

    The checkout itself may change meanwhile. ``pristine`` is one more copy, which does not.
    """

    def __init__(self, folder: Path, jobs: int) -> None:
        self.pristine = folder / "pristine"
        self._free: Queue[Path] = Queue()
        for name in _checkout():
            (self.pristine / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.pristine / name)
        for number in range(jobs):
            copy = folder / f"copy{number}"
            shutil.copytree(self.pristine, copy)
            self._free.put(copy)

    def witnesses(self, tests: Sequence[str], code: str) -> Witnesses:
        """Of ``tests`` and the folder ``code``; RuntimeError where they do not pass.

        The error holds the end of what pytest said.
        """
        copy = self._free.get()
        report = copy / "durations.xml"
        measured = [f"--cov={code}", "--cov-context=test", "--cov-report="]
        measured += [f"--cov-config={os.devnull}"]
        try:
            done = _run(copy, [*tests, *measured, f"--junitxml={report}"], _LONGEST)
            if done.returncode:
                raise RuntimeError(done.stdout[-2000:])
            return Witnesses.of(report, copy)
        finally:
            self._free.put(copy)

    def survives(self, mutant: Mutant, witnesses: Witnesses) -> bool:
        """Whether all tests pass that may notice ``mutant``."""
        tests = witnesses.of_mutant(mutant)
        patience = 10 + _PATIENCE * sum(witnesses.seconds[test] for test in tests)
        copy = self._free.get()
        try:
            (copy / mutant.file).write_text(mutant.new, encoding="utf-8")
            done = _run(copy, tests, patience)
            if done.returncode == _NOT_FOUND:  # its tests have other names
                files = dict.fromkeys(test.partition("::")[0] for test in tests)
                done = _run(copy, [*files], patience)
            return done.returncode == 0
        finally:
            (copy / mutant.file).write_text(mutant.old, encoding="utf-8")
            self._free.put(copy)


def _run(copy: Path, tests: Sequence[str], patience: float) -> subprocess.CompletedProcess[str]:
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    seconds = int(patience)
    return subprocess.run(
        command,
        cwd=copy,
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def try_room(name: str, count: int, seed: int, jobs: int, folder: Path) -> tuple[int, int]:
    """Try ``count`` mutants of a room; how many were noticed, and of how many."""
    code, tests = f"harness/{name}", [f"tests/unit/{folder}" for folder in ROOMS[name]]
    copies = Copies(folder, jobs)
    started = time.monotonic()
    try:
        witnesses = copies.witnesses(tests, code)
    except RuntimeError as failed:
        sys.exit(f"{name}: its unit tests fail as the code is:\n{failed}")
    broken = f"{code}/__init__.py"
    raising = Mutant(broken, (copies.pristine / broken).read_text(), "raise RuntimeError\n")
    if copies.survives(raising, witnesses):
        sys.exit(f"{name}: its tests do not run the copy's code")
    mutants = sample(copies.pristine, code, random.Random(f"{seed} {name}"))
    chosen = list(itertools.islice(mutants, count))
    killed = 0
    with ThreadPoolExecutor(jobs) as pool:
        survived = pool.map(lambda one: copies.survives(one, witnesses), chosen)
        for number, (mutant, alive) in enumerate(zip(chosen, survived, strict=True), 1):
            killed += not alive
            if alive:
                print(f"\nnot noticed by {' '.join(tests)}:\n{mutant.diff()}")
            print(f"{name}: {killed} of {number} noticed", flush=True)
    seconds = time.monotonic() - started
    print(f"\n{name}: {killed} of {len(chosen)} noticed ({seconds:.0f} s)", flush=True)
    return killed, len(chosen)


def main() -> None:
    """Try the rooms that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--count", type=int, default=50, help="mutants a room")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if unknown := set(options.rooms) - ROOMS.keys():
        parser.error(f"no room {', '.join(sorted(unknown))}; there are {', '.join(ROOMS)}")
    rows = {}
    for name in options.rooms or ROOMS:
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = try_room(name, options.count, options.seed, options.jobs, Path(folder))
    print()
    for name, (killed, count) in rows.items():
        print(f"{name:12} {killed:4} of {count:4} noticed  {killed / max(count, 1):6.1%}")


if __name__ == "__main__":
    main()
