"""The library ``harness.keywords.TflmHil``: keywords that build, run and judge."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from robot.api import SkipExecution, logger
from robot.api.deco import keyword, library
from robot.errors import RobotError
from robot.libraries.BuiltIn import BuiltIn, RobotNotRunningError

from harness import __version__, limits, logs, targets
from harness.build.builders import build_all, build_one
from harness.build.configurations import load
from harness.case import CaseResult, Verdict, load_cases
from harness.case.accuracy import accuracy
from harness.case.artifacts import folder_name
from harness.case.casefile import find_model
from harness.case.each import result_of
from harness.case.samples import sample_case
from harness.case.spec import Case
from harness.case.together import run_together
from harness.errors import BuildFailed, CheckFailed, UsageError
from harness.keywords.images import ImageChecks
from harness.keywords.live import LiveSession
from harness.keywords.summary import Summary
from harness.report.problems import problem_lines
from harness.report.ticker import Ticker
from harness.targets.registry import DEFAULT

_NO_FAILURE = (Verdict.PASS, Verdict.SKIPPED)


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class TflmHil(LiveSession, ImageChecks):
    """Builds, runs, measures and judges tflite-micro firmware for the nRF9160.

    The target is the variable ``${TARGET}`` (``simulator``, ``renode``, ``board``,
    ``virtual-board``) unless a keyword names another. Each run leaves its console, transcript
    and ``result.json`` under ``${OUTPUT DIR}/cases``; a table of all runs ends the execution.

    = Two ways to test =

    `Run Sample Case` and `Run Case` run an image from reset to its last record and judge the run.
    `Start Target`, `Wait For Inference` and the `... Should ...` keywords do it step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ROBOT_LIBRARY_LISTENER = Summary(self)
        self.results: list[CaseResult] = []
        self.rows: set[tuple[str, ...]] = set()  # arguments of the running suite's tests
        self._ready: dict[str, CaseResult] = {}
        self._runs: Counter[tuple[str, str]] = Counter()  # by target and folder name

    @keyword
    def build_firmware(
        self, sample: str, resolver: str = "exact", builder: str = "standalone"
    ) -> Path:
        """Builds a sample in one resolver configuration and returns the path of its ELF.

        Fails if the compiler does. What is in the cache is not built again.

        Examples:
        | ${elf} = | Build Firmware | hello_world | person_detection |
        """
        return build_one(sample, resolver, builder)

    @keyword
    def build_all_firmware(self, builder: str = "standalone") -> None:
        """Builds every sample in every configuration that makes sense, in parallel.

        Fails if one of them cannot be built.
        """
        pairs = [(sample.name, row.name) for sample, row in load().pairs()]
        with logs.shown(Ticker("building").line):
            build_all(pairs, builder)

    @keyword
    def run_sample_case(
        self,
        sample: str,
        resolver: str = "exact",
        target: str | None = None,
        builder: str = "standalone",
    ) -> CaseResult:
        """Runs a sample in one configuration and checks it against the resolver table.

        Fails if the outputs differ from the NumPy reference in one bit, if a finding that the
        table expects does not come, or if one comes that it does not expect. Skips the test if
        this machine has no such target.

        Examples:
        | Run Sample Case | hello_world | exact |
        | Run Sample Case | hello_world | missing | target=renode |
        """
        case = sample_case(sample, resolver, builder=builder)
        return self._judged(case.on(target or self._target(), self._options(target)))

    @keyword
    def run_case(self, file: Path, name: str | None = None) -> list[CaseResult]:
        """Runs the cases of a ``hil.toml``, or those called ``name``; all of them, pass or fail.

        Fails if a case fails, and names each that did. ``tflm-hil run hil.toml`` does the same.

        Examples:
        | Run Case | ${CURDIR}/hil.toml |
        """
        cases = [case for case in load_cases(file) if name in (None, case.name)]
        if not cases:
            raise UsageError(f"{file} has no case {name!r}")
        results = [self._result(case) for case in cases]
        failed = [result for result in results if result.judgement.verdict not in _NO_FAILURE]
        if len(failed) > 1:
            reasons = "\n".join(f"{one.setup}: {one.judgement.reason}" for one in failed)
            raise CheckFailed(f"{len(failed)} of {len(results)} cases failed:\n{reasons}")
        for result in (*failed, *results):
            self._raise(result)
        return results

    @keyword
    def run_all_sample_cases(self) -> None:
        """Builds what the suite's tests will run and, on the simulator, runs it in parallel.

        For a suite of `Run Sample Case` rows (sample, configuration); without such rows, every
        sample in every configuration. `Run Sample Case` then takes its result from here. On boards
        and Renode nothing runs before its test. Fails if there is no compiler; a sample that
        cannot be built fails its own tests only.
        """
        table = load()
        pairs = [(sample.name, row.name) for sample, row in table.pairs()]
        pairs = [pair for pair in pairs if pair in self.rows] or pairs
        try:
            with logs.shown(Ticker("building").line):
                build_all(pairs)
        except BuildFailed as failed:
            logger.warn(failed.message)
        if not targets.target(self._target()).parallel:
            return
        target, options = self._target(), self._options(None)
        cases = [sample_case(*pair, table=table).on(target, options) for pair in pairs]
        cases.sort(key=lambda case: case.inputs is None)  # whole test sets take longest: first
        ticker = Ticker("running", len(cases))
        for case in cases:
            self._folder(case)
        try:
            run_together(cases, self.output_folder() / target, ticker.result, self._ready)
        except BaseException:  # Robot is stopped: the summary still shows what ran
            self.results += self._ready.values()
            raise
        finally:
            ticker.done()

    def _judged(self, case: Case) -> CaseResult:
        result = self._result(case)
        self._raise(result)
        return result

    def _result(self, case: Case) -> CaseResult:
        """The result of ``case``, kept for the summary and shown in the log."""
        ready = self._ready.get(case.name) if case.sample else None
        if ready and (ready.setup.target, ready.setup.builder) == (case.target, case.builder):
            result = ready
        else:
            result = self._run(case)
        if all(earlier is not result for earlier in self.results):
            self.results.append(result)
            number = len(self.results)
            logger.info(f'<a href="hil.html#case-{number}">this case in hil.html</a>', html=True)
        self._log(result)
        return result

    @staticmethod
    def _raise(result: CaseResult) -> None:
        """Fail or skip the test, unless the case passed."""
        if result.judgement.verdict is Verdict.SKIPPED:
            hint = f"\nhint: {result.judgement.hint}" if result.judgement.hint else ""
            raise SkipExecution(f"{result.judgement.reason}{hint}")
        if not result.passed:
            raise CheckFailed(result.judgement.reason, hint=result.judgement.hint)

    def _run(self, case: Case) -> CaseResult:
        options = self.shared.options(case.target, case.target_options)
        ready = replace(case, target_options=options)
        return result_of(ready, self._folder(case), passing=(RobotError,))

    @keyword
    def accuracy_should_equal_the_card(self, result: CaseResult, model: str) -> float:
        """Fails unless the device got as much of the test set right as the model's card says.

        ``result`` is what `Run Sample Case` returned for a sample in the configuration
        ``console``. Returns the accuracy.
        """
        if result.evidence.console is None:
            raise CheckFailed(f"{result.setup.name} left no console")
        answers = accuracy(result.evidence.console, find_model(model))
        logger.info(f"{answers.right} of {answers.total} right, the card says {answers.card}")
        if not answers.equal:
            raise CheckFailed(f"accuracy {answers.measured:.4f}, the card says {answers.card:.4f}")
        return answers.measured

    @keyword
    def case_should_end_as(self, file: Path, name: str, verdict: Verdict) -> None:
        """Runs one case of a ``hil.toml`` that must end with ``verdict``.

        Fails if it ends in any other way. For cases that show that a check can fail.

        Examples:
        | Case Should End As | ${CURDIR}/hil.toml | a budget that is too tight | fail |
        """
        case = next((case for case in load_cases(file) if case.name == name), None)
        if case is None:
            raise UsageError(f"{file} has no case {name!r}")
        result = self._run(case)
        self._log(result)
        if result.judgement.verdict != verdict:
            raise CheckFailed(f"{name} ended as {result.judgement}")

    def _log(self, result: CaseResult) -> None:
        hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
        problems = [] if result.passed else problem_lines(result)
        lines = [str(result.judgement), *problems, *hint, result.evidence.details]
        logger.info("\n".join(lines).rstrip())
        if result.evidence.console:
            transcript = result.evidence.console.with_name("transcript.txt")
            logger.info(transcript.read_text(encoding="utf-8", errors="backslashreplace"))

    @keyword
    def start_target(
        self,
        elf: Path,
        target: str | None = None,
        model: str | None = None,
        scraper: str = "",
        timeout: timedelta = timedelta(seconds=20),
    ) -> None:
        """Loads an image on the target and opens the session for the keywords that follow.

        Fails if the image cannot be loaded. `Stop Target` or the next `Start Target` ends the
        session.

        Examples:
        | Start Target | ${elf} | model=hello_world_int8.tflite |
        """
        name = target or self._target()
        case = Case(
            name=elf.stem,
            elf=elf,
            target=name,
            target_options=self._options(target),
            model=find_model(model) if model else None,
            scraper=scraper,
            timeout=limits.given(limits.seconds, timeout.total_seconds(), "timeout"),
        )
        self.start(replace(case, name=f"{case.name}-live"))

    def _target(self) -> str:
        return str(self._variable("${TARGET}", DEFAULT))

    def _options(self, target: str | None) -> dict[str, object]:
        """Options of the chosen target, from variables: ``${RENODE}``, ``${BOARD}``."""
        values = {
            option.name: self._variable("${" + option.name.upper() + "}", "")
            for option in targets.target(target or self._target()).options
        }
        return {name: value for name, value in values.items() if value}

    def _folder(self, case: Case) -> Path:
        """The folder for a run of ``case``; a case that runs again gets another one."""
        key = case.target, folder_name(case.name).casefold()
        self._runs[key] += 1
        run = self._runs[key]
        return self.output_folder() / (case.target if run == 1 else f"{case.target}-{run}")

    def output_folder(self) -> Path:
        """The folder of the cases' files."""
        return Path(str(self._variable("${OUTPUT DIR}", "."))) / "cases"

    def log_file(self) -> str:
        """The name of Robot's log, if it will be in the report's folder; otherwise ""."""
        log = Path(str(self._variable("${LOG FILE}", "NONE")))
        return log.name if log.parent == self.output_folder().parent else ""

    def history(self) -> str:
        """Where results over time are kept, by Robot's variable or the environment's; "" for no."""
        return str(self._variable("${HISTORY}", "") or os.environ.get("TFLM_HIL_HISTORY", ""))

    def _variable(self, name: str, default: str) -> object:
        try:
            return BuiltIn().get_variable_value(name, default)
        except RobotNotRunningError:
            return default
