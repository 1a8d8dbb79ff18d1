"""Collectors for case files, items for cases, and the reports of their results."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.base import files, tables
from harness.base.errors import HilError
from harness.base.findings import KINDS, Finding
from harness.base.form import formatted
from harness.base.text import count_of
from harness.case import Case, CaseResult, Verdict
from harness.case.columns import properties
from harness.case.overlay import CaseLayer, door_layer
from harness.case.plan import Plan, Request, execute, plan
from harness.case.run import Calibrate
from harness.case.schema import KEYS
from harness.case.subject import Subject
from harness.case.tally import Attempt, AttemptStatus, Tally
from harness.elf.vectors import is_start_note
from harness.pytest_plugin.names import ATTEMPTS, RESULTS
from harness.report.problems import console_lines, problem_lines
from harness.targets.opening import Targets
from harness.uart.echo import Echo

if TYPE_CHECKING:
    from harness.history.run import Occasion

#: The hint of a session that fails because a case did not run.
ALLOW_HINT = "--hil-allow-skips, if this is intended"
#: Seconds for which a worker of xdist waits for a board in use by another worker.
_BOARD_WAIT = 600.0


class CaseFile(pytest.File):
    """A case file; its cases are items called ``NAME[TARGET]``."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case and target."""
        tags = tuple(self.config.getoption("--hil-tag"))
        subject = Subject(str(self.path), case_file=self.path)
        try:
            made = planned(Request(subject, (options_layer(self.config),), tags=tags))
        except HilError as error:
            raise self.CollectError(str(error)) from error
        for one in made.items:
            name = f"{one.case.name}[{one.case.target}]"
            item: pytest.Item = CaseItem.from_parent(
                self, name=name, made=replace(made, items=(one,))
            )
            yield item


class CaseItem(pytest.Item):
    """A case on a target: ``made`` is its plan."""

    def __init__(self, *, made: Plan, **more: Any) -> None:
        super().__init__(**more)
        self.made = made

    def runtest(self) -> None:
        """Runs and checks the case."""
        result = run(self, self.made, prefix="")
        if not result.passed:
            raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The case's reason instead of a traceback of this package."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The case file, and the item's name."""
        return self.path, None, self.name


class CaseFailed(Exception):
    """A case did not pass; the text lists all problems."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__(failure_text(result))
        self.result = result


def failure_text(result: CaseResult) -> str:
    """The reason, all problems, the hint, details, and the last lines of the transcript."""
    lines = [f"{result.setup}: {result.judgement}"]
    lines += [f"  {line}" for line in problem_lines(result) if line != result.judgement.reason]
    lines += [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    lines += [result.evidence.details] if result.evidence.details else []
    return "\n".join([*lines, *console_lines(result)])


def options_layer(config: pytest.Config) -> CaseLayer:
    """The keys that pytest's command line gives, for every case."""
    target, chip = config.getoption("--hil-target"), config.getoption("--hil-chip")
    given = {**({} if target is None else {"target": target}), **({"chip": chip} if chip else {})}
    spelled = {"targets": "--hil-target", "chip": "--hil-chip"}
    return door_layer("pytest's command line", given, spelled=spelled)


def planned(request: Request) -> Plan:
    """The plan of a request, whose notes become warnings."""
    made = plan(request)
    for text in made.notes:
        warnings.warn(pytest.PytestWarning(f"tflm-hil: {text}"), stacklevel=2)
    return made


def check_options(config: pytest.Config) -> None:
    """Raises pytest's usage error for an unknown target or chip on the command line."""
    layer = options_layer(config)
    for name, value in layer.values.items():
        key = KEYS[name]
        try:
            tables.value_of(key.annotation, value, key.argument, f"--hil-{key.argument}")
        except HilError as error:
            raise pytest.UsageError(str(error)) from error


def note(item: pytest.Item, attempt: Attempt) -> None:
    """Records an attempt of ``item``, with the file, as cases of two files may have equal names."""
    place = item.parent.nodeid if item.parent else ""
    row = [f"{place}::{attempt.case}", attempt.target, attempt.status.value, attempt.reason]
    setattr(item, ATTEMPTS, [*getattr(item, ATTEMPTS, []), row])


def tally_of(attempts: Iterable[Sequence[str]], config: pytest.Config) -> Tally:
    """The tally of the attempts recorded by :func:`note`."""
    rows = tuple(
        Attempt(case, name, AttemptStatus(status), why) for case, name, status, why in attempts
    )
    return Tally(
        rows, len(rows), named_targets(config), allow_skips=config.getoption("--hil-allow-skips")
    )


def named_targets(config: pytest.Config) -> frozenset[str]:
    """The targets of ``--hil-target``."""
    names: Any = options_layer(config).values.get("targets", ())
    return frozenset(names)


def calibrate_of(config: pytest.Config) -> Calibrate | None:
    """A function that adds figures by ``--hil-calibration``; None without it.

    The file is relative to the folder in which pytest was started. Raises pytest's usage error for
    an invalid one.
    """
    name = config.getoption("--hil-calibration")
    if not name:
        return None
    from harness.history.timing import calibrate_with  # noqa: PLC0415 - only if one is named

    try:
        return calibrate_with(str(config.invocation_params.dir / name))
    except HilError as error:
        raise pytest.UsageError(str(error)) from error


def shared_of(config: pytest.Config) -> Targets:
    """The target pools shared by the sessions of this process (one Renode for all)."""
    shared: Targets | None = getattr(config, "hil_shared", None)
    if shared is None:
        shared = Targets()
        config.hil_shared = shared  # type: ignore[attr-defined]
    return shared


def with_wait(case: Case, config: pytest.Config) -> Case:
    """``case`` with a time to wait for a board that another worker of xdist uses."""
    if not hasattr(config, "workerinput"):
        return case
    return replace(case, options={"wait": _BOARD_WAIT, **case.options})


def run(item: pytest.Item, made: Plan, *, prefix: str) -> CaseResult:
    """Runs the only case of ``made`` for ``item``.

    Its measures become properties named ``prefix`` + name. Skips the test if the target is not
    available; the tally of the session decides whether the session may pass.
    """
    skip_dry_run(item.config, made)
    (one,) = made.items
    made = replace(made, items=(replace(one, case=with_wait(one.case, item.config)),))
    results = execute(
        made,
        lambda case: folder_of(item) / case.target,
        shared_of(item.config),
        echo=lambda number, case: echo_of(item.config),
        calibrate=calibrate_of(item.config),
    )
    result = next(results)
    item.user_properties += [(prefix + name, value) for name, value in properties(result).items()]
    earlier: list[dict[str, object]] = getattr(item, RESULTS, [])
    setattr(item, RESULTS, [*earlier, result.to_json()])
    note(item, Attempt.of(result))
    if result.judgement.verdict is Verdict.SKIPPED:
        hint = f" (hint: {result.judgement.hint})" if result.judgement.hint else ""
        pytest.skip(f"{result.setup.target}: {result.judgement.reason}{hint}")
    return result


def skip_dry_run(config: pytest.Config, made: Plan) -> None:
    """With ``--hil-dry-run``, shows ``made`` and skips the test."""
    if config.getoption("--hil-dry-run"):
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line("")
            terminal.write_line(str(made))
        pytest.skip("--hil-dry-run")


def echo_of(config: pytest.Config) -> Echo | None:
    """The display of consoles during runs, with pytest's ``-s`` only."""
    return Echo(sys.stdout) if config.getoption("capture") == "no" else None


def folder_of(item: pytest.Item) -> Path:
    """The folder for an item's cases: the path of its folder, relative to the output folder."""
    config = item.config
    output = config.rootpath / str(config.getoption("--hil-output"))
    own = item.path.parent
    inside = own.is_relative_to(config.rootpath)
    return output / own.relative_to(config.rootpath) if inside else output


def _occasion(config: pytest.Config, *, stopped: bool) -> Occasion:
    """Time, commit and selection of this run; ``stopped``: it ended before its last test."""
    from harness.history.run import Occasion  # noqa: PLC0415 - a database library, only if needed
    from harness.history.selection import Selection  # noqa: PLC0415

    option = config.option
    filters = [f"-k {option.keyword}"] if option.keyword else []
    filters += [f"-m {option.markexpr}"] if option.markexpr else []
    filters += [f"--deselect {name}" for name in option.deselect or ()]
    filters += ["--lf"] if getattr(option, "lf", False) else []
    filters += ["stopped"] if stopped else []
    filters += [name for name in config.args if "::" in name]
    filters += [f"tag {name}" for name in config.getoption("--hil-tag")]
    targets = sorted(named_targets(config))
    chips = filter(None, [config.getoption("--hil-chip").lower()])
    sources = (str(config.invocation_params.dir / name.split("::")[0]) for name in config.args)
    return Occasion.here(config.rootpath, Selection.of(sources, filters, targets, chips))


def _start_notes(results: list[dict[str, Any]]) -> list[str]:
    """A line for each image that the core was not started in where the chip looks."""
    notes = (
        f"note: {result['name']}: {one['message']}"
        for result in results
        for one in result["findings"]
        if is_start_note(Finding(KINDS[one["kind"]], one["message"], one["subject"]))
    )
    return list(dict.fromkeys(notes))


def report(
    results: list[dict[str, Any]], tally: Tally, config: pytest.Config, *, stopped: bool = False
) -> list[str]:
    """Writes ``results.json`` and the history of ``--hil-history``; returns lines for the terminal.

    ``stopped``: pytest ended before its last test (``-x``), so the run is partial. Without results
    the ``results.json`` of an earlier session is removed. Raises pytest's usage error if a file
    cannot be written or removed.
    """
    from harness.history.keep import keep  # noqa: PLC0415 - a database library, only if needed

    output = config.rootpath / str(config.getoption("--hil-output"))
    path = output / "results.json"
    occasion = _occasion(config, stopped=stopped)
    document = formatted({"run": occasion.to_json(), "tally": tally.to_json(), "cases": results})
    lines = [*_start_notes(results), f"{count_of(len(results), 'result')} in {path}"]
    url = config.getoption("--hil-history")
    try:
        if not results:
            files.remove(path)
            return []
        output.mkdir(parents=True, exist_ok=True)
        files.write(path, json.dumps(document, indent=2) + "\n")
        if url:
            lines.append(keep(url, document, occasion))
    except OSError as error:
        raise pytest.UsageError(
            f"--hil-output: cannot create the folder {output}: {error.strerror}"
        ) from error
    except HilError as error:
        raise pytest.UsageError(str(error)) from error
    return lines
