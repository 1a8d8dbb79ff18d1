"""The fixture ``hil``, for tests of firmware that are written in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import pytest

from harness import footprint, resolver
from harness.base.closing import Closing
from harness.base.errors import CheckFailed, EnvironmentMissing, UsageError
from harness.base.hints import Hint
from harness.build.builders import build_one
from harness.case import CaseResult
from harness.case.arguments import CaseArguments, SessionArguments
from harness.case.layers import compare_with_device
from harness.case.live import Checks, Live
from harness.case.overlay import door_layer
from harness.case.plan import Plan, Request
from harness.case.schema import arguments
from harness.case.subject import Subject, find_model
from harness.case.tally import Attempt, AttemptStatus
from harness.elf import Image, combined
from harness.footprint.analysis import Footprint
from harness.model import Model
from harness.pytest_plugin.items import (
    echo_of,
    failure_text,
    note,
    options_layer,
    planned,
    run,
    shared_of,
    skip_dry_run,
    with_wait,
)
from harness.reference import Interpreter
from harness.reference.layers import LayerReport
from harness.targets.registry import DEFAULT

#: Number of console lines of a session in the report of a failure.
_LAST_LINES = 20
#: Attributes of a result that contain the verdict.
_VERDICT = frozenset(("judgement", "passed"))


@dataclass(frozen=True, repr=False)
class Outcome(CaseResult):
    """The result of a run; true if the case passed, for ``assert hil.run(...)``.

    It records whether the test has read the verdict.
    """

    def __getattribute__(self, name: str) -> Any:
        if name in _VERDICT:
            object.__getattribute__(self, "__dict__")["was_read"] = True
        return object.__getattribute__(self, name)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return "<passed>" if self.passed else f"<{failure_text(self)}>"


class Hil(Closing):
    """Runs, watches and measures firmware in a test.

    Paths are relative to the file of the test. If the target is not available on this machine, the
    test is skipped, and the session fails unless skips are allowed. A failed run fails the test if
    the test does not read its verdict, and so does a session with findings that no assertion of the
    test has named, or without a check.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._item: pytest.Item = request.node
        self._config = request.config
        self._here = request.path.parent
        self._sessions: list[Live] = []
        self._outcomes: list[Outcome] = []

    def judge(self) -> None:
        """Ends the sessions of the test, and raises what its body did not look at.

        Raises :class:`CheckFailed` for a failed run whose verdict the test has not read, and the
        errors of :meth:`Live.judge`.
        """
        __tracebackhide__ = True
        for outcome in self._outcomes:
            if "was_read" not in vars(outcome) and not outcome.passed:
                message = f"a failure was not checked:\n{failure_text(outcome)}"
                raise CheckFailed(message, hint=Hint.CHECK_VERDICT.told())
        for session in self._sessions:
            session.judge()

    def close(self) -> None:
        """Ends the open sessions of the test, without a judgement."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.abandon()

    def consoles(self) -> Iterator[tuple[str, str]]:
        """Name and last console lines of each session that the test has started."""
        for session in self._sessions:
            lines = session.transcript().splitlines()
            yield session.case.name, "\n".join(lines[-_LAST_LINES:])

    def run(self, elf: str | Path, *, name: str = "", **keys: Unpack[CaseArguments]) -> Outcome:
        """Runs an image (or a sample, in configuration ``resolver``) to its end, and checks it.

        ``keys`` are the keys of a case file (docs/cases.md); ``target`` is one target. ``set`` has
        further ones in TOML: ``"expect.values=[{x=1}]"``. The result is true if the case passed,
        and has the fields of :class:`harness.CaseResult`: ``reason``, ``findings``, ``size``,
        ``instructions`` and others.
        """
        made = self._plan(elf, keys, "hil.run")
        (one,) = made.items
        case = replace(one.case, name=f"{self._item.name}/{name or one.case.name}")
        made = replace(made, items=(replace(one, case=case),))
        outcome = Outcome(**vars(run(self._item, made, prefix=f"{name or Path(elf).stem}.")))
        self._outcomes.append(outcome)
        return outcome

    def session(
        self, elf: str | Path, *, checks: Checks = "required", **keys: Unpack[SessionArguments]
    ) -> Live:
        """A live session of an image (or a sample), stopped at its first instruction.

        ``keys`` are the keys of a case file that count in a session. It ends with the test, or with
        its own ``with`` block, and is judged then. With ``checks="none"`` it need not check
        anything.
        """
        made = self._plan(elf, keys, "hil.session", live=True)
        skip_dry_run(self._config, made)
        (one,) = made.items
        name = f"{self._item.name}/{one.case.name}"
        try:
            shared, echo = shared_of(self._config), echo_of(self._config)
            live = Live.open(with_wait(one.case, self._config), shared, echo, checks=checks)
        except EnvironmentMissing as missing:
            note(self._item, Attempt(name, one.case.target, AttemptStatus.SKIPPED, missing.message))
            pytest.skip(f"{one.case.target}: {missing}")
        note(self._item, Attempt(name, one.case.target))
        self._sessions.append(live)
        return live

    def _plan(
        self, elf: str | Path, keys: Mapping[str, Any], call: str, *, live: bool = False
    ) -> Plan:
        """The plan of one case on one target."""
        layer = door_layer(call, arguments(keys, call, live=live), folder=self._here)
        made = planned(Request(self._find(elf), (options_layer(self._config), layer)))
        if len(made.items) > 1:
            targets = ", ".join(item.case.target for item in made.items)
            raise UsageError(
                f"a test in Python runs one case on one target, not on {targets}",
                hint="run pytest once for each target, or parametrize the test with them",
            )
        return made

    def build(self, sample: str, resolver: str = "exact", builder: str = "standalone") -> Path:
        """Builds a sample in a resolver configuration; returns the path of its ELF."""
        return build_one(sample, resolver, builder, self._chip)

    def footprint(self, elf: str | Path) -> Footprint:
        """The footprint of an image (or a sample): regions, sections, symbols, files, operators."""
        return footprint.analyse(self._image(elf))

    def check_resolver(
        self,
        elf: str | Path,
        model: str | Path,
        *,
        target: str = DEFAULT,
        timeout: float = 5.0,
    ) -> resolver.Audit:
        """The comparison of the resolver that an interpreter gets with the operators of ``model``.

        The image (or sample) runs until it allocates its tensors, at most for ``timeout`` seconds
        of the target's clock.
        """
        model_file = find_model(str(model), self._here)
        return resolver.check(
            self._image(elf), Model.from_file(model_file), target=target,
            timeout=timeout,
        )  # fmt: skip

    @property
    def _chip(self) -> str:
        return str(self._config.getoption("--hil-chip"))

    def _image(self, elf: str | Path) -> Image:
        return combined.read(self._find(elf).image(chip=self._chip), chip=self._chip)

    def layers(
        self,
        elf: str | Path,
        model: str | Path,
        *,
        inference: int = 0,
        tolerance: float | None = None,
        target: str | None = None,
        timeout: float = 30.0,
    ) -> LayerReport:
        """Runs an image (or a sample) through an inference, and compares each operator's outputs.

        ``equal`` and ``first`` of the result are the comparison with the reference and the first
        operator that differs; ``str()`` of it names this operator. ``timeout`` is in seconds on the
        target's clock.
        """
        interpreter = Interpreter.from_file(find_model(str(model), self._here))
        given: SessionArguments = {"timeout": timeout}
        if target is not None:
            given["target"] = target
        with self.session(elf, checks="none", **given) as live:
            return compare_with_device(
                live.session,
                self._image(elf),
                interpreter,
                inference=inference,
                deadline=live.session.deadline(timeout),
                tolerance=tolerance,
            )

    def _find(self, elf: str | Path) -> Subject:
        return Subject.find(str(elf), self._here)
