"""Results for Allure, in the format of its adapters (Allure 2 and 3, "Test result file").

Each case has a file ``UUID-result.json``, with the files of the case and its report page as
attachments.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from harness import __version__
from harness.base import files
from harness.base.errors import CannotWrite
from harness.case.columns import properties
from harness.case.result import CaseResult, Verdict
from harness.report.html import html
from harness.report.problems import console_lines, problem_lines, result_files

_STATUS = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.FIRMWARE: "failed",
    Verdict.ERROR: "broken",
    Verdict.SKIPPED: "skipped",
}
_STEP = {"pass": "passed", "skip": "skipped"}
_TYPES = {".txt": "text/plain", ".json": "application/json", ".info": "text/plain",
          ".bin": "application/octet-stream", ".html": "text/html"}  # fmt: skip


def write_allure(results: Sequence[CaseResult], folder: Path) -> None:
    """Writes the results of a run that has just ended into ``folder``; other files are kept.

    Raises :class:`CannotWrite` if this fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"cannot create the folder {folder}: {error.strerror}") from error
    end = datetime.now(UTC).timestamp()
    begin = end - sum(result.measures.wall_seconds for result in results)
    for result in results:
        finish = begin + result.measures.wall_seconds
        document = _document(result, begin, finish, list(_attached(result, folder)))
        files.write(folder / f"{document['uuid']}-result.json", json.dumps(document, indent=1))
        begin = finish
    files.write(folder / "environment.properties", _environment(results))


def _document(
    result: CaseResult, begin: float, end: float, attachments: Sequence[dict[str, str]]
) -> dict[str, Any]:
    setup = result.setup
    name = f"{setup.sample or 'firmware'}.{setup.name}"
    labels = {"framework": "tflm-hil", "parentSuite": "firmware", "suite": setup.target}
    given = {"target": setup.target, "builder": setup.builder, "resolver": setup.resolver,
             "chip": setup.chip}  # fmt: skip
    identity = hashlib.sha256(json.dumps([name, given]).encode()).hexdigest()[:32]
    return {
        "uuid": str(uuid4()),
        "historyId": identity,
        "testCaseId": identity,
        "name": setup.name,
        "fullName": name,
        "status": _STATUS[result.judgement.verdict],
        "statusDetails": {"message": result.judgement.reason, "trace": _trace(result)},
        "stage": "finished",
        "start": round(begin * 1000),
        "stop": round(end * 1000),
        "labels": [
            *({"name": key, "value": value} for key, value in labels.items()),
            *({"name": "tag", "value": kind} for kind in _kinds(result)),
        ],
        "parameters": [
            *({"name": key, "value": value} for key, value in given.items() if value),
            *({"name": key, "value": str(value), "excluded": True}
              for key, value in properties(result).items()),
        ],
        "steps": [
            {"name": test.name, "status": _STEP.get(test.state, "failed"),
             "statusDetails": {"message": "\n".join(test.messages)}}
            for test in result.evidence.tests
        ],
        "attachments": list(attachments),
    }  # fmt: skip


def _trace(result: CaseResult) -> str:
    if result.passed:
        return ""
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    return "\n".join([*problem_lines(result), *hint, result.evidence.details,
                      *console_lines(result)])  # fmt: skip


def _kinds(result: CaseResult) -> list[str]:
    return list(dict.fromkeys(finding.kind.value for finding in result.evidence.findings))


def _attached(result: CaseResult, folder: Path) -> Iterator[dict[str, str]]:
    """Copies the files of a case and its report page into ``folder``; yields their entries."""
    for path in result_files(result):
        source = f"{uuid4()}-attachment{path.suffix}"
        try:
            shutil.copyfile(path, folder / source)
        except OSError as error:
            raise CannotWrite(f"cannot write {folder / source}: {error.strerror}") from error
        yield {"name": path.name, "source": source, "type": _TYPES[path.suffix]}
    source = f"{uuid4()}-attachment.html"
    files.write(folder / source, html([result]))
    yield {"name": "report", "source": source, "type": _TYPES[".html"]}


def _environment(results: Sequence[CaseResult]) -> str:
    compilers = dict.fromkeys(one.setup.compiler for one in results if one.setup.compiler)
    values = {"tflm-hil": __version__, "compiler": "; ".join(compilers)}
    return "".join(f"{key} = {' '.join(value.split())}\n" for key, value in values.items())
