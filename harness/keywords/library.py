"""The library ``harness.keywords.TflmHil``: keywords that build, run and judge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from robot.api import logger
from robot.api.deco import keyword, library
from robot.errors import RobotError

from harness import __version__, targets
from harness.base import logs, numbers
from harness.base.errors import BuildFailed, CheckFailed, HilError
from harness.build.builders import build_all, build_one
from harness.build.configurations import load
from harness.case import CaseResult, Verdict, load_cases, run_case
from harness.case.accuracy import accuracy
from harness.case.artifacts import console_of, folder_name
from harness.case.case import Case
from harness.case.identity import identity
from harness.case.parallel import run_parallel
from harness.case.run import Calibrate
from harness.case.samples import sample_case
from harness.case.subject import find_model
from harness.case.tally import Tally
from harness.history.timing import calibrate_with
from harness.keywords import variables
from harness.keywords.images import ImageChecks
from harness.keywords.live import LiveSession
from harness.keywords.skips import AllSkipped, check_tested
from harness.keywords.summary import Summary
from harness.report.problems import problem_lines
from harness.report.progress import Ticker

_NO_FAILURE = (Verdict.PASS, Verdict.SKIPPED)


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class TflmHil(LiveSession, ImageChecks):
    """Builds, runs, measures and judges tflite-micro firmware for Nordic's nRF91 and nRF5340.

    The target is the variable ``${TARGET}`` (``simulator``, ``renode``, ``board``,
    ``virtual-board``) unless a keyword names another; samples are built by
    ``${BUILDER}`` (``standalone``, ``zephyr``, ``zephyr-cmsis-nn``, ...) for the chip ``${CHIP}``
    (``nrf9160``; ``tflm-hil chips`` lists them). A test fails if this machine lacks its
    target; with ``--variable ALLOW_SKIPS:true`` it is skipped. An execution of which every test is
    skipped fails, too.

    Each run leaves its console, transcript and ``result.json`` under ``${OUTPUT DIR}/cases``; a
    table of all runs ends the execution.

    = Two ways to test =

    `Run Sample Case` and `Run Case` run an image from reset to its last record and judge the run.
    `Start Target`, `Wait For Inference` and the `... Should ...` keywords do it step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ROBOT_LIBRARY_LISTENER = [Summary(self), AllSkipped()]
        self.results: list[CaseResult] = []
        self.rows: set[tuple[str, ...]] = set()  # arguments of the running suite's tests
        self._ready: dict[str, CaseResult] = {}  # by the identity of their cases
        self._runs: Counter[tuple[str, str]] = Counter()  # by target and folder name

    @keyword
    def build_firmware(
        self, sample: str, resolver: str = "exact", builder: str | None = None
    ) -> Path:
        """Builds a sample in one resolver configuration and returns the path of its ELF.

        Fails if the compiler does. What is in the cache is not built again.

        Examples:
        | ${elf} = | Build Firmware | hello_world | person_detection |
        """
        return build_one(sample, resolver, builder or variables.builder(), variables.chip())

    @keyword
    def build_all_firmware(self, builder: str | None = None) -> None:
        """Builds every sample in every configuration that makes sense, in parallel.

        Fails if one of them cannot be built.
        """
        pairs = [(sample.name, row.name) for sample, row in load().pairs()]
        with logs.shown(Ticker("building").line):
            build_all(pairs, builder or variables.builder(), chip=variables.chip())

    @keyword
    def run_sample_case(
        self,
        sample: str,
        resolver: str = "exact",
        target: str | None = None,
        builder: str | None = None,
    ) -> CaseResult:
        """Runs a sample in one configuration and checks it against the resolver table.

        Fails if the outputs differ from the NumPy reference in one bit, if a finding that the
        table expects does not come, if one comes that it does not expect, or if this machine has
        no such target.

        Examples:
        | Run Sample Case | hello_world | exact |
        | Run Sample Case | hello_world | missing | target=renode |
        """
        case = sample_case(sample, resolver, builder=builder or variables.builder())
        result = self._result(case.on(target or variables.target(), self._options(target)))
        self._raise([result])
        return result

    @keyword
    def run_case(self, file: Path, name: str | None = None) -> list[CaseResult]:
        """Runs the cases of a ``hil.toml``, or those called ``name``; all of them, pass or fail.

        Fails if a case fails, and names each that did; also if it names another chip than the
        variable ``${CHIP}``. A target that the file lists and this machine lacks is skipped; a case
        that ran on none of its targets fails. ``tflm-hil run hil.toml`` does the same.

        Examples:
        | Run Case | ${CURDIR}/hil.toml |
        """
        cases = load_cases(file, [] if name is None else [name])
        results = [self._result(case) for case in cases]
        self._raise(results)
        return results

    @keyword
    def run_all_sample_cases(self) -> None:
        """Builds what the suite's tests will run and, on the simulator, runs it in parallel.

        For a suite of `Run Sample Case` rows (sample, configuration); without such rows, every
        sample in every configuration. `Run Sample Case` then takes its result from here. On boards
        and Renode nothing runs before its test. Fails if there is no compiler; a sample that
        cannot be built fails its own tests only.
        """
        table, builder, chip = load(), variables.builder(), variables.chip()
        pairs = [(sample.name, row.name) for sample, row in table.pairs()]
        pairs = [pair for pair in pairs if pair in self.rows] or pairs
        try:
            with logs.shown(Ticker("building").line):
                build_all(pairs, builder, chip=chip)
        except BuildFailed as failed:
            logger.warn(failed.message)
        target, options = variables.target(), self._options(None)
        if not targets.target(target).parallel:
            return
        cases = [sample_case(*pair, builder=builder, table=table) for pair in pairs]
        cases = [case.for_chip(chip).on(target, options) for case in cases]
        cases.sort(key=lambda case: case.inputs is None)  # whole test sets take longest: first
        by_identity = {key: case for case in cases if (key := _identity(case))}
        ticker = Ticker("running", len(by_identity))
        for case in by_identity.values():
            self._folder(case)
        try:
            run_parallel(
                by_identity, self.output_folder() / target, ticker.result, self._ready,
                self._calibrate(),
            )  # fmt: skip
        except BaseException:  # Robot is stopped: the summary still shows what ran
            self.results += self._ready.values()
            raise
        finally:
            ticker.done()

    def _result(self, case: Case) -> CaseResult:
        """The result of ``case``, kept for the summary and shown in the log."""
        case = case.for_chip(variables.chip())
        ready = self._ready.get(_identity(case)) if self._ready else None
        result = ready or self._run(case)
        if all(earlier is not result for earlier in self.results):
            self.results.append(result)
            number = len(self.results)
            logger.info(f'<a href="hil.html#case-{number}">this case in hil.html</a>', html=True)
        self._log(result)
        return result

    @staticmethod
    def _raise(results: Sequence[CaseResult]) -> None:
        """Fail or skip the test, unless all cases passed that could run."""
        allow = variables.allow_skips()
        failed = [one for one in results if one.judgement.verdict not in _NO_FAILURE]
        if len(failed) > 1:
            reasons = "\n".join(f"{one.setup}: {one.judgement.reason}" for one in failed)
            raise CheckFailed(f"{len(failed)} of {len(results)} cases failed:\n{reasons}")
        for result in failed:
            raise CheckFailed(result.judgement.reason, hint=result.judgement.hint)
        check_tested(Tally.of(results).requested(allow_skips=allow))

    @staticmethod
    def _calibrate() -> Calibrate | None:
        return calibrate_with(os.environ.get("TFLM_HIL_CALIBRATION"))

    def _run(self, case: Case) -> CaseResult:
        options = self.shared.options(case.target, case.target_options)
        ready = replace(case, target_options=options)
        return run_case(
            ready, self._folder(case), calibrate=self._calibrate(),
            on_error="record", passing=(RobotError,),
        )  # fmt: skip

    @keyword
    def accuracy_should_equal_the_card(self, result: CaseResult, model: str) -> float:
        """Fails unless the device got as much of the test set right as the model's card states.

        ``result`` is what `Run Sample Case` returned for a sample in the configuration
        ``console``, which must have run that model. Returns the accuracy.
        """
        model_file = find_model(model)
        sample = result.setup.sample
        vectors = sample_case(sample, "console").vectors if sample else None
        answers = accuracy(console_of(result, model_file), model_file, vectors)
        logger.info(f"{answers.right} of {answers.total} right, the card says {answers.card}")
        if not answers.equal:
            raise CheckFailed(f"accuracy {answers.measured:.4f}, the card says {answers.card:.4f}")
        return answers.measured

    @keyword
    def case_should_end_as(self, file: Path, name: str, verdict: Verdict) -> None:
        """Runs one case of a ``hil.toml`` that must end with ``verdict``.

        Fails if it ends in any other way, on any of its targets. For cases that show that a check
        can fail.

        Examples:
        | Case Should End As | ${CURDIR}/hil.toml | a budget that is too tight | fail |
        """
        for case in load_cases(file, [name]):
            result = self._run(case.for_chip(variables.chip()))
            self._log(result)
            if result.judgement.verdict != verdict:
                raise CheckFailed(f"{result.setup} ended as {result.judgement}")

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
        name = target or variables.target()
        case = Case(
            name=elf.stem,
            elf=elf,
            target=name,
            target_options=self._options(target),
            model=find_model(model) if model else None,
            scraper=scraper,
            timeout=numbers.given(numbers.seconds, timeout.total_seconds(), "timeout"),
        )
        self.start(replace(case.for_chip(variables.chip()), name=f"{case.name}-live"))

    def _options(self, target: str | None) -> dict[str, object]:
        """Options of the chosen target, from variables: ``${RENODE}``, ``${BOARD}``."""
        values = {
            option.name: variables.value(option.name.upper())
            for option in targets.target(target or variables.target()).options
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
        return Path(str(variables.value("OUTPUT DIR", "."))) / "cases"

    def log_file(self) -> str:
        """The name of Robot's log, if it will be in the report's folder; otherwise ""."""
        log = Path(str(variables.value("LOG FILE", "NONE")))
        return log.name if log.parent == self.output_folder().parent else ""

    def history(self) -> str:
        """Where results over time are kept, by Robot's variable or the environment's; "" for no."""
        return str(variables.value("HISTORY") or os.environ.get("TFLM_HIL_HISTORY", ""))


def _identity(case: Case) -> str:
    """The key of a result of ``case``; "" if its image cannot be made or read."""
    try:
        return identity(case)
    except HilError:  # the case's own test reports it
        return ""
