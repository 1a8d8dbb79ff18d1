"""A sweep as a study: each unit builds, runs and judges one point."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base import files, paths
from harness.base.errors import BuildFailed, CheckFailed, EnvironmentMissing, UsageError
from harness.build.builders import runtime_of
from harness.build.options import BuildOptions
from harness.case.accuracy import accuracy
from harness.case.case import Case
from harness.case.columns import MEASURES
from harness.case.overlay import LayerKind, door_layer
from harness.case.plan import one_case
from harness.case.result import CaseResult, Verdict
from harness.case.run import run_case
from harness.case.samples import elf_of
from harness.case.subject import Subject, find_model
from harness.studies.study import Perform, Study, WorkUnit
from harness.studies.sweep.axes import SweepPoint

#: Characters of a compiler's message in a row.
_LONGEST = 400
#: Figures of a row, None if not measured. None of them depends on the host.
FIGURES = tuple(one.field for one in MEASURES if one.sweep)


def study_of(points: Sequence[SweepPoint]) -> Study:
    """The study of ``points``; sources of samples and runtime, and models, identify it."""
    parameters = {
        "points": [point.to_json() for point in points],
        "sources": sources_digest([paths.samples(), paths.platforms()]),
        "models": {name: _digest(name) for name in sorted({point.model for point in points})},
    }
    return Study(_performing, parameters, {}, len(points), 1)


def sources_digest(folders: Iterable[Path]) -> str:
    """A hash of all files in ``folders``, except temporary files of editors and Python."""
    sha = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            leftover = path.name.startswith(".") or path.name.endswith("~")
            if files.is_file(path) and not leftover and path.parent.name != "__pycache__":
                data = path.read_bytes()
                sha.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
                sha.update(data)
    return sha.hexdigest()[:32]


def _digest(model: str) -> str:
    """Hash the content of a user's model, which may change under the same name."""
    return hashlib.sha256(files.read(find_model(model))).hexdigest() if model else ""


@contextmanager
def _performing(parameters: Any, blobs: Mapping[str, bytes]) -> Iterator[Perform]:
    """Open the study in a worker: yield the function that returns a unit's rows."""
    with tempfile.TemporaryDirectory() as folder:

        def perform(unit: WorkUnit) -> Sequence[Any]:
            chosen = parameters["points"][unit.first : unit.first + unit.count]
            return [row(SweepPoint(**point), Path(folder)) for point in chosen]

        yield perform


def row(point: SweepPoint, folder: Path) -> dict[str, Any]:
    """Build, run and judge one point; return its parameters, verdict, reason and measures.

    Raises :class:`EnvironmentMissing` if this machine has no such target, or no compiler.
    """
    try:
        case = _case(point)
    except BuildFailed as error:
        blank = dict.fromkeys((*FIGURES, "accuracy"))
        reason = " ".join(error.message.split())[:_LONGEST]
        return {"parameters": point.to_json(), "verdict": "error", "reason": reason, **blank}
    result = run_case(case, folder)
    if result.judgement.verdict is Verdict.SKIPPED:  # a row would stay in a resumed sweep
        raise EnvironmentMissing(result.judgement.reason, hint=result.judgement.hint)
    values = result.to_json()
    return {
        "parameters": point.to_json(),
        "verdict": result.judgement.verdict.value,
        "reason": result.judgement.reason,
        **{name: values[name] for name in FIGURES},
        "accuracy": _accuracy(result, case),
    }


def history_case(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row to a case of ``run --json``, named after its non-default parameters."""
    parameters = row["parameters"]
    defaults = SweepPoint("").to_json()
    columns = ("sample", "resolver", "builder", "target")
    changed = [
        f"{name} {value}"
        for name, value in parameters.items()
        if name not in columns and value != defaults[name]
    ]
    name = ", ".join([f"sweep {parameters['sample']} {parameters['resolver']}", *changed])
    return {
        "name": name,
        **{column: parameters[column] for column in columns},
        "verdict": row["verdict"],
        "reason": row["reason"],
        **{figure: row[figure] for figure in FIGURES},
    }


def _case(point: SweepPoint) -> Case:
    keys = {
        "resolver": point.resolver,
        "builder": point.builder,
        "model": point.model or None,
        "target": point.target,
    }
    subject = Subject(point.sample, sample=point.sample)
    case = one_case(subject, door_layer("the sweep", keys, source=LayerKind.ENVIRONMENT))
    model = case.model if point.model else None
    options = BuildOptions(
        point.fpu, point.optimize, point.lto, point.arena or None, None, model,
        tuple(point.defines.split()), nonsecure=point.builder == "standalone-ns",
    )  # fmt: skip
    if runtime_of(point.builder) == "standalone":
        from harness.build.standalone import build_standalone  # noqa: PLC0415

        elf = build_standalone(point.sample, point.resolver, options=options).image
    else:
        elf = elf_of(case)
    return replace(case, elf=elf, built_with=options)


def _accuracy(result: CaseResult, case: Case) -> float | None:
    """The share of right answers; None unless the whole test set was answered."""
    if not result.evidence.console or not case.model or case.input_file is None:
        return None
    try:
        return accuracy(result.evidence.console, case.model, case.vectors).measured
    except (UsageError, CheckFailed):
        return None
