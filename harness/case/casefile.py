"""``hil.toml``: cases of a user's own firmware."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.base import files, numbers, tables
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.errors import UsageError
from harness.base.findings import Kind
from harness.base.platforms import chip_called, console_wiring
from harness.base.text import short
from harness.build.variants import Expectation
from harness.case.artifacts import folder_name
from harness.case.case import SYSTEM_OFF, Budgets, Case, check_ends, kit_of
from harness.case.observe import tensor_text
from harness.case.samples import sample_case
from harness.case.subject import find_model
from harness.elf import combined
from harness.footprint.budget import FIGURES, from_table, parse_limit
from harness.targets.pins import Press, parse_press
from harness.targets.registry import DEFAULT, all_options, target
from harness.uart import scraper
from harness.uart.scrapers import AbsentLines, EndLine, PrintedTensors, TensorRegex
from harness.uart.scrapers.tensors import Form

#: What to try if a file is missing.
_PATHS = "paths are relative to the case file; is the firmware built?"
#: Bytes of a folder's name: below the 255 of common file systems, with room for suffixes.
_LONGEST_NAME = 200
_BUDGET_KEYS = dict.fromkeys(("flash", "ram", *FIGURES, "adequacy", "operators", "files"))
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s?%")


@tables.check("a number that a device can print, or a text", raw=True)
def _number_or_text(value: object) -> object:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not isinstance(value, str) and not (number and abs(value) <= sys.float_info.max):  # type: ignore[arg-type]
        raise ValueError(f"{short(value)} is neither a number nor a text")
    return value


@tables.check("`kind` or `kind:subject`")
def _finding(text: str) -> tuple[str, str]:
    word, _, subject = text.partition(":")
    if word not in list(Kind):
        raise ValueError(f"no finding {short(word)}; one of {', '.join(Kind)}")
    return word, subject.strip()


@tables.check("true, false or `system_off`", raw=True)
def _ends(value: object) -> object:
    if not (isinstance(value, bool) or value == SYSTEM_OFF):
        raise ValueError(f"{short(value)} is neither true nor false nor {SYSTEM_OFF}")
    return value


@dataclass(frozen=True)
class _Expect:
    outputs: bool | None = None
    findings: tuple[Annotated[str, _finding], ...] = ()
    values: tuple[Mapping[str, Annotated[Any, _number_or_text]], ...] = ()
    tests: Mapping[str, Literal["pass", "fail", "skip"]] = field(default_factory=dict)
    lines_absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Tensor:
    """A regex of ``inputs`` or ``outputs`` and the form of its numbers."""

    regex: str
    form: Form = "quantized"


@dataclass(frozen=True)
class _Row:
    """A ``[[case]]`` as written; docs/cases.md describes its keys."""

    name: str
    elf: str | None = None
    beside: tuple[str, ...] = ()
    sample: str | None = None
    resolver: str = "exact"
    builder: str = "standalone"
    chip: str = ""
    targets: tuple[str, ...] = (DEFAULT,)
    options: Mapping[str, object] = field(default_factory=dict)
    peripherals: Mapping[str, object] = field(default_factory=dict)
    model: str | None = None
    scraper: str = ""
    inputs: str | tuple[str | _Tensor, ...] | None = None
    outputs: tuple[str | _Tensor, ...] = ()
    inferences: Annotated[int, numbers.count] | None = None
    rows: Annotated[int, numbers.count] | None = None
    vectors: str | None = None
    reference: Literal["numpy", "none"] = "numpy"
    rounding: Rounding = "double"
    multipliers: Multipliers = "double"
    tolerance: Annotated[float, numbers.tolerance] | None = None
    timeout: Annotated[float, numbers.seconds] | None = None
    guard: Annotated[float, numbers.seconds] | None = None
    watch: Annotated[float, numbers.seconds] | None = None
    ends: Annotated[Any, _ends] = None
    ends_at: str | None = None
    press: tuple[str, ...] = ()
    expect: _Expect | None = None
    budgets: Mapping[str, object] = field(default_factory=dict)
    baseline: str | None = None


@dataclass(frozen=True)
class _Board:
    """The user's board; :func:`platforms.console_wiring` reads ``console``."""

    console: str


@dataclass(frozen=True)
class _CaseFile:
    case: tuple[Mapping[str, object], ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    board: _Board | None = None
    peripherals: Mapping[str, object] = field(default_factory=dict)


def keys() -> tuple[tables.Key, ...]:
    """Every key of a ``[[case]]``, and of ``[defaults]``."""
    return tuple(tables.keys(_Row))


def schema() -> dict[str, Any]:
    """The JSON Schema of a case file."""
    document, row = tables.json_schema(_CaseFile), tables.json_schema(_Row)
    document["properties"]["case"] = {"type": "array", "items": {"$ref": "#/$defs/case"}}
    document["properties"]["defaults"] = {"$ref": "#/$defs/keys"}
    defaults = {key: value for key, value in row.items() if key != "required"}
    return {**document, "$defs": {"case": row, "keys": defaults}}


def load_cases(path: Path, names: Sequence[str] = ()) -> list[Case]:
    """Read a case file: one case for each target of each ``[[case]]``, or of those in ``names``.

    ``[defaults]`` and ``[peripherals]`` fill in keys that a ``[[case]]`` leaves out. Paths are
    relative to the file. Raises :class:`UsageError` that names the case and the key.
    """
    document = tables.read(_CaseFile, files.read_toml(path), str(path))
    if not document.case:
        raise UsageError(
            f"{path} has no [[case]]",
            hint="`tflm-hil init` writes one; `tflm-hil list paths docs` has examples in cases.md",
        )
    defaults = dict(document.defaults)
    if document.peripherals:
        defaults.setdefault("peripherals", document.peripherals)
    cases = [case for row in document.case for case in _cases({**defaults, **row}, path)]
    if document.board is not None:
        cases = [_on_board(case, document.board, path) for case in cases]
    for (name, _), count in Counter((case.name, case.target) for case in cases).items():
        if count > 1:
            raise UsageError(f"{path}: two cases are called {name!r}")
    _check_folders(cases, path)
    known = list(dict.fromkeys(case.name for case in cases))
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UsageError(f"{path} has no case {unknown!r}", hint=f"it has {', '.join(known)}")
    return [case for case in cases if not names or case.name in names]


def _on_board(case: Case, board: _Board, path: Path) -> Case:
    """``case`` with the board's console, if its target has one and its options do not."""
    try:
        console_wiring(board.console)
    except UsageError as error:
        raise UsageError(f"{path}, [board]: {error.message}", hint=error.hint) from error
    if target(case.target).option("console") is None:
        return case
    return case.on(case.target, {"console": board.console, **case.target_options})


def _check_folders(cases: Iterable[Case], path: Path) -> None:
    """Refuse case names that give the same folder, in which each would overwrite the other's."""
    taken: dict[str, str] = {}
    for case in cases:
        folder = folder_name(case.name).casefold()
        if len(folder.encode()) > _LONGEST_NAME:
            raise UsageError(f"{path}: the name of case {case.name[:40]!r}... is too long")
        other = taken.setdefault(folder, case.name)
        if other != case.name:
            raise UsageError(
                f"{path}: the files of cases {other!r} and {case.name!r} would go into one folder",
                hint="let their names differ in letters or digits",
            )


def _cases(table: Mapping[str, object], path: Path) -> Iterable[Case]:
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{path}: a [[case]] has no name")
    where = f"{path}, case {short(name)}"
    row = tables.read(_Row, table, where)
    try:
        case = _case(row, path.parent)
        if not row.targets:
            raise UsageError("targets is empty, so nothing would run")
        cases = [case.on(name, _options(row, name, path.parent)) for name in row.targets]
        for name in row.options:
            if all(name not in case.target_options for case in cases):
                known = ", ".join(all_options())
                raise UsageError(
                    f"options: no option {short(name)} of {' or '.join(row.targets)}",
                    hint=f"options of targets: {known}",
                )
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
    yield from cases


def _options(row: _Row, target_name: str, here: Path) -> dict[str, object]:
    """The options of ``row`` that the target takes."""
    taker = target(target_name)  # raises UsageError for an unknown name
    options = dict(row.options)
    if row.peripherals:
        if "peripherals" in options:
            raise UsageError("peripherals stands twice: among options, too")
        options["peripherals"] = {
            name: _model(name, model, here) for name, model in row.peripherals.items()
        }
    return {key: value for key, value in options.items() if taker.option(key) is not None}


def _model(name: str, given: object, here: Path) -> str:
    """The model of a peripheral: a text or ``{ feed = FILE }``, with paths from ``here``."""
    model = given.get("feed") if isinstance(given, Mapping) and [*given] == ["feed"] else given
    if not isinstance(model, str):
        raise UsageError(
            f"peripherals.{name}: {short(given)} is not a model",
            hint='{ feed = "samples.npz" }, "mine.py:Class", or the name of an entry point',
        )
    file = model.rpartition(":")[0] or model
    return str(here / model) if file.endswith((".py", ".npy", ".npz")) else model


def _case(row: _Row, here: Path) -> Case:
    if (row.elf is None) == (row.sample is None):
        raise UsageError("give either elf or sample")
    if row.beside and row.elf is None:
        raise UsageError("beside goes with elf")
    if row.sample is not None:
        case = replace(sample_case(row.sample, row.resolver, builder=row.builder), name=row.name)
    else:
        images = [_image("elf", str(row.elf), here)]
        images += [_image("beside", name, here) for name in row.beside]
        case = Case(name=row.name, elf=images[0], beside=tuple(images[1:]))
    if row.scraper:
        scraper(row.scraper)  # raises UsageError for an unknown name
    given: dict[str, Any] = {
        key: getattr(row, key)
        for key in ("inferences", "rows", "tolerance", "timeout", "guard", "watch")
        if getattr(row, key) is not None
    }
    case = replace(
        case,
        **given,
        model=find_model(row.model, here) if row.model is not None else case.model,
        inputs=_path(row, "inputs", here) if isinstance(row.inputs, str) else case.inputs,
        vectors=_path(row, "vectors", here) if row.vectors is not None else case.vectors,
        scraper=row.scraper or case.scraper,
        reference=row.reference == "numpy",
        arithmetic=Arithmetic(row.rounding, row.multipliers),
        budgets=_budgets(row, here),
        chip=chip_called(row.chip).key if row.chip else "",
    )
    case = replace(case, presses=_presses(row, case), printed=_printed(row, case))
    case = _expect(case, row.expect) if row.expect is not None else case
    return _ending(case, row)


def _printed(row: _Row, case: Case) -> PrintedTensors | None:
    """The regexes of the model's tensors; None for a case that names no outputs."""
    inputs = row.inputs if isinstance(row.inputs, tuple) else ()
    if not row.outputs:
        if isinstance(row.inputs, tuple):
            raise UsageError("inputs that are regexes need outputs", hint="outputs = ['y: (\\S+)']")
        return None
    others = {"scraper": row.scraper, 'reference = "none"': row.reference == "none"}
    if row.expect is not None:
        others |= {"expect.values": row.expect.values, "expect.tests": row.expect.tests}
    for key in (key for key, given in others.items() if given):
        raise UsageError(f"outputs compares with the model and cannot stand beside {key}")
    if not inputs and case.inputs is None:
        raise UsageError(
            "outputs needs inputs to compute the right answers from",
            hint="inputs = ['x: (\\S+)'] as the image prints them, or a file of those that it has",
        )
    outputs, read = (tuple(map(_regex, each)) for each in (row.outputs, inputs))
    printed = PrintedTensors(outputs, read, row.inferences or 0)
    tensor_text(replace(case, printed=printed))  # raises UsageError if they do not fit the model
    return printed


def _regex(given: str | _Tensor) -> TensorRegex:
    regex = _Tensor(given) if isinstance(given, str) else given
    return TensorRegex(regex.regex, regex.form)


def _image(key: str, name: str, here: Path) -> Path:
    path = here / name
    if not combined.is_image(path):
        raise UsageError(f"{key}: there is no file {path}", hint=_PATHS)
    return path


def _presses(row: _Row, case: Case) -> tuple[Press, ...]:
    try:
        return tuple(parse_press(text, kit_of(case)) for text in row.press)
    except UsageError as error:
        raise UsageError(f"press: {error.message}", hint=error.hint) from error


def _ending(case: Case, row: _Row) -> Case:
    """``case`` with the keys that say how its image ends: a record ends one with records."""
    given = [key for key in ("ends", "ends_at", "watch") if getattr(row, key) is not None]
    given = [key for key in given if getattr(row, key) != SYSTEM_OFF]
    if given and not case.reads_text and case.expected.outputs:
        raise UsageError(
            f"{given[0]} needs a scraper or outputs: an image with records ends with a record"
        )
    if row.ends_at and row.ends is False:
        raise UsageError("ends_at names an end, and ends = false excludes one")
    if row.ends_at is not None:
        EndLine(row.ends_at)  # raises UsageError for a broken regex
    off = row.ends == SYSTEM_OFF
    case = replace(case, ends=row.ends is not False, ends_off=off, ends_at=row.ends_at or "")
    check_ends(case)
    return case


def _expect(case: Case, expect: _Expect) -> Case:
    AbsentLines(expect.lines_absent)  # raises UsageError for a broken regex
    if not all(expect.values):
        raise UsageError("each of expect.values is a table of numbers and texts")
    # An image with an expected finding usually gives no outputs, unless the case lists results.
    outputs = expect.outputs
    if outputs is None:
        outputs = not expect.findings or bool(expect.values or expect.tests)
    findings: Any = expect.findings  # pairs of kind and subject, made by _finding
    return replace(
        case,
        expected=Expectation(outputs, findings),
        values=expect.values,
        tests=expect.tests,
        lines_absent=expect.lines_absent,
        inferences=max(case.inferences, len(expect.values)),
    )


def _budgets(row: _Row, here: Path) -> Budgets:
    tables.only(row.budgets, _BUDGET_KEYS, "budgets")
    upper = {name: value for name, value in row.budgets.items() if name != "adequacy"}
    budgets = from_table(upper, figures=True)
    adequacy = row.budgets.get("adequacy")
    baseline = _path(row, "baseline", here) if row.baseline is not None else None
    relative = next((budget.name for budget in budgets if budget.relative), None)
    if relative and baseline is None:
        raise UsageError(
            f"the budget of {relative} is a step from a baseline, and the case names none",
            hint='baseline = "main.json" (of footprint --json or run --json), or an ELF',
        )
    return Budgets(budgets, baseline, None if adequacy is None else share_of(adequacy))


def share_of(value: object) -> float:
    """Convert ``"95 %"`` to 0.95; raise UsageError for anything else, and for more than 100 %."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    share = float(match[1]) / 100 if match else math.inf
    if share > 1:
        raise UsageError(
            f"the adequacy {value!r} is not a share of all mistakes", hint='adequacy = "95 %"'
        )
    return share


def size(value: object, where: str) -> int:
    """Parse a size in bytes (or instructions): ``61440``, ``"60 KB"`` (1024), ``"3 M"`` (10^6)."""
    limit = parse_limit("figure", where, value)
    if limit.relative or not limit.bytes:
        raise UsageError(f"{where}: {value!r} is not a size", hint='write 61440 or "60 KB"')
    return limit.bytes


def _path(row: _Row, key: str, here: Path) -> Path:
    path: Path = here / getattr(row, key)
    if not files.is_file(path):
        raise UsageError(f"{key}: there is no file {path}", hint=_PATHS)
    return path
