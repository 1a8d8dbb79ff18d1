"""``hil.toml``: cases of a user's own firmware."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import files, limits, paths
from harness.arithmetic import Arithmetic
from harness.build.variants import Expectation
from harness.case.artifacts import folder_name
from harness.case.samples import sample_case
from harness.case.spec import Budgets, Case
from harness.errors import UsageError
from harness.findings import Kind
from harness.footprint.budget import FIGURES, from_table, parse_limit
from harness.targets import TARGETS
from harness.targets.pins import Press, parse_press
from harness.targets.registry import DEFAULT
from harness.uart import scraper
from harness.uart.scrapers import EndLine

_CASE_KEYS = {
    "name": str,
    "elf": str,
    "sample": str,
    "resolver": str,
    "builder": str,
    "targets": list,
    "model": str,
    "scraper": str,
    "inputs": str,
    "inferences": int,
    "rows": int,
    "reference": str,
    "rounding": str,
    "multipliers": str,
    "tolerance": float,
    "timeout": float,
    "guard": float,
    "press": list,
    "ends": bool,
    "ends_at": str,
    "watch": float,
    "expect": dict,
    "budgets": dict,
    "baseline": str,
}
_NUMBERS: Mapping[str, Callable[[object], float]] = {
    "timeout": limits.seconds,
    "guard": limits.seconds,
    "watch": limits.seconds,
    "tolerance": limits.tolerance,
    "inferences": limits.count,
    "rows": limits.count,
}
_EXPECT_KEYS = {"outputs": bool, "findings": list, "values": list, "tests": dict}
_STATES = ("pass", "fail", "skip")
_BUDGET_KEYS = ("flash", "ram", *FIGURES, "operators", "files")
_LONGEST_NAME = 200


def load_cases(path: Path) -> list[Case]:
    """Read a case file: one case a ``[[case]]`` table and target, defaults from ``[defaults]``.

    Paths are relative to the file. Raises :class:`UsageError` naming the case and the key.
    """
    document = files.read_toml(path)
    _only(document, ("defaults", "case"), f"{path}")
    rows = document.get("case")
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path} has no [[case]]", hint="see docs/cases.md for an example")
    defaults = document.get("defaults", {})
    if not isinstance(defaults, dict) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path}: [defaults] and each [[case]] are tables")
    cases = [case for row in rows for case in _cases({**defaults, **row}, path)]
    names = [(case.name, case.target) for case in cases]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{path}: two cases are called {twice[0]!r}")
    _one_folder_each(cases, path)
    return cases


def _one_folder_each(cases: Iterable[Case], path: Path) -> None:
    """Two names that differ only in what a path cannot hold would overwrite each other's files."""
    taken: dict[str, str] = {}
    for case in cases:
        folder = folder_name(case.name).casefold()
        if len(folder.encode()) > _LONGEST_NAME:
            raise UsageError(f"{path}: the name of case {case.name[:40]!r}... is too long")
        other = taken.setdefault(folder, case.name)
        if other != case.name:
            raise UsageError(
                f"{path}: the files of cases {other!r} and {case.name!r} would lie in one folder",
                hint="let their names differ in letters or digits",
            )


def _cases(row: Mapping[str, object], path: Path) -> Iterable[Case]:
    name = row.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{path}: a [[case]] has no name")
    where = f"{path}, case {name!r}"
    _only(row, _CASE_KEYS, where)
    for key, kind in _CASE_KEYS.items():
        _typed(row, key, kind, where)
    case = _base(row, name, path.parent, where)
    targets = row.get("targets", [DEFAULT])
    assert isinstance(targets, list)
    if not targets:
        raise UsageError(f"{where}: targets is empty, so nothing would run")
    for target in targets:
        if not isinstance(target, str) or target not in TARGETS:
            raise UsageError(f"{where}: no target {target!r}", hint=f"one of {', '.join(TARGETS)}")
        yield case.on(target)


def _base(row: Mapping[str, object], name: str, here: Path, where: str) -> Case:
    if ("elf" in row) == ("sample" in row):
        raise UsageError(f"{where}: give either elf or sample")
    if "sample" in row:
        builder = str(row.get("builder", "standalone"))
        case = sample_case(str(row["sample"]), str(row.get("resolver", "exact")), builder=builder)
        case = replace(case, name=name)
    else:
        case = Case(name=name, elf=_path(row, "elf", here, where))
    if "model" in row:
        case = replace(case, model=find_model(str(row["model"]), here))
    if "inputs" in row:
        case = replace(case, inputs=_path(row, "inputs", here, where))
    if "scraper" in row:
        scraper(str(row["scraper"]))  # refuses one that does not exist
        case = replace(case, scraper=str(row["scraper"]))
    if row.get("reference", "numpy") not in ("numpy", "none"):
        raise UsageError(f"{where}: reference is 'numpy' or 'none', not {row['reference']!r}")
    numbers = {}
    for key, check in _NUMBERS.items():
        if key in row:
            numbers[key] = limits.given(check, row[key], f"{where}: {key}")
    case = replace(
        case,
        **numbers,  # type: ignore[arg-type]
        reference=row.get("reference", "numpy") == "numpy",
        arithmetic=_arithmetic(row, where),
        budgets=_budgets(row, here, where),
    )
    case = replace(_ending(case, row, where), presses=_presses(row, where))
    return _expect(case, row.get("expect", {}), where) if "expect" in row else case


def _arithmetic(row: Mapping[str, object], where: str) -> Arithmetic:
    given: dict[str, Any] = {key: row[key] for key in ("rounding", "multipliers") if key in row}
    try:
        return Arithmetic(**given)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}") from None


def _presses(row: Mapping[str, object], where: str) -> tuple[Press, ...]:
    found = row.get("press", [])
    assert isinstance(found, list)
    try:
        return tuple(parse_press(str(text)) for text in found)
    except UsageError as error:
        raise UsageError(f"{where}, press: {error.message}", hint=error.hint) from error


def _ending(case: Case, row: Mapping[str, object], where: str) -> Case:
    """How the image ends; one that prints records says it itself."""
    said = [key for key in ("ends", "ends_at", "watch") if key in row]
    if said and not case.scraper:
        raise UsageError(f"{where}: {said[0]} needs a scraper: records tell their own end")
    ends, ends_at = bool(row.get("ends", True)), str(row.get("ends_at", ""))
    if ends_at and not ends:
        raise UsageError(f"{where}: ends_at names an end, and ends = false says there is none")
    if "ends_at" in row:
        EndLine(ends_at)  # refuses a regex that cannot be used
    case = replace(case, ends=ends, ends_at=ends_at)
    try:
        check_ends(case)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
    return case


def check_ends(case: Case) -> None:
    """Raises :class:`UsageError` where the case calls endless what its scraper knows the end of."""
    if case.scraper and not case.ends and scraper(case.scraper).end is not None:
        raise UsageError(
            f"scraper {case.scraper} knows the last line of what it reads",
            hint="leave out `ends = false` (--never-ends)",
        )


def _expect(case: Case, expect: object, where: str) -> Case:
    assert isinstance(expect, dict)
    _only(expect, _EXPECT_KEYS, f"{where}, expect")
    for key, kind in _EXPECT_KEYS.items():
        _typed(expect, key, kind, f"{where}, expect")
    findings = []
    for text in expect.get("findings", []):
        word, _, subject = str(text).partition(":")
        if word not in list(Kind):
            known = ", ".join(Kind)
            raise UsageError(f"{where}: no finding {word!r}", hint=f"one of {known}")
        findings.append((word, subject.strip()))
    values = [_row_of_values(row, where) for row in expect.get("values", [])]
    tests = expect.get("tests", {})
    for name, state in tests.items():
        if state not in _STATES:
            raise UsageError(
                f"{where}: expect.tests gives {name} {state!r}", hint=f"one of {', '.join(_STATES)}"
            )
    # Findings that must come are mostly why no output can; what is listed must come all the same.
    outputs = expect.get("outputs", not findings or bool(values or tests))
    return replace(
        case,
        expected=Expectation(outputs, tuple(findings)),
        values=tuple(values),
        tests=tests,
        inferences=max(case.inferences, len(values)),
    )


def _row_of_values(row: object, where: str) -> Mapping[str, float | str]:
    """Numbers and texts by name."""
    if not isinstance(row, dict) or not row or not all(map(_can_be_read, row.values())):
        raise UsageError(f"{where}: each of expect.values is a table of numbers and texts")
    return row


def _can_be_read(value: object) -> bool:
    """A text, or a number that a device can print; a bool is neither."""
    if isinstance(value, str):
        return True
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= sys.float_info.max


def _budgets(row: Mapping[str, object], here: Path, where: str) -> Budgets:
    table = row.get("budgets", {})
    assert isinstance(table, dict)
    _only(table, _BUDGET_KEYS, f"{where}, budgets")
    try:
        limits = from_table(table, figures=True)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
    baseline = _path(row, "baseline", here, where) if "baseline" in row else None
    step = next((limit.name for limit in limits if limit.relative), None)
    if step and baseline is None:
        raise UsageError(
            f"{where}: the budget of {step} is a step from a baseline, and the case names none",
            hint='baseline = "main.json" (of footprint --json or run --json), or an ELF',
        )
    return Budgets(limits, baseline)


def size(value: object, where: str) -> int:
    """A number of bytes (or instructions): ``61440``, ``"60 KB"`` (1024), ``"3 M"`` (10^6)."""
    found = parse_limit("figure", where, value)
    if found.relative or not found.bytes:
        raise UsageError(f"{where}: {value!r} is no size", hint='write 61440 or "60 KB"')
    return found.bytes


def find_model(name: str, here: Path = Path()) -> Path:
    """A model by path, or by the name of one of the project's own."""
    for candidate in (here / name, paths.models() / name, paths.models() / f"{name}.tflite"):
        if files.is_file(candidate):
            return candidate
    known = ", ".join(sorted(path.name for path in paths.models().glob("*.tflite")))
    raise UsageError(
        f"no model {limits.short(name)}", hint=f"a path, or one of the project's: {known}"
    )


def _path(row: Mapping[str, object], key: str, here: Path, where: str) -> Path:
    path = here / str(row[key])
    if not files.is_file(path):
        raise UsageError(f"{where}: {key}: there is no file {path}")
    return path


def _only(row: Mapping[str, object], known: Iterable[str], where: str) -> None:
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"{where}: unknown key {key!r}", hint=hint)


def _typed(row: Mapping[str, object], key: str, kind: type, where: str) -> None:
    value = row.get(key)
    if value is None or (isinstance(value, kind) and not (kind is int and value is True)):
        return
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return
    raise UsageError(f"{where}: {key} must be {kind.__name__}, not {value!r}")
