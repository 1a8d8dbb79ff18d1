"""The library ``harness.keywords.TflmHil``: keywords that build, run and check firmware."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from robot.api import logger
from robot.api.deco import keyword, library
from robot.errors import RobotError

from harness import __version__, targets
from harness.base import logs
from harness.base.errors import BuildFailed, CheckFailed, HilError
from harness.build.builders import build_all, build_one
from harness.build.table import load
from harness.case import CaseResult, Verdict
from harness.case.accuracy import accuracy
from harness.case.artifacts import console_of, folder_name
from harness.case.case import Case
from harness.case.identity import identity
from harness.case.parallel import run_parallel
from harness.case.plan import Plan, execute
from harness.case.run import Calibrate
from harness.case.samples import sample_case
from harness.case.subject import Subject, find_model
from harness.history.timing import calibrate_with
from harness.keywords import variables
from harness.keywords.arguments import planned, with_keys
from harness.keywords.images import ImageChecks
from harness.keywords.live import LiveSession, SessionJudge
from harness.keywords.redaction import Redaction
from harness.keywords.removed import RemovedKeywords
from harness.keywords.skips import AllSkipped, check_tested
from harness.keywords.summary import Summary
from harness.report.problems import problem_lines
from harness.report.progress import Ticker

#: Time limit of a session that names none, on the target's clock.
_SESSION_SECONDS = 20.0
_NO_FAILURE = (Verdict.PASS, Verdict.SKIPPED)


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class TflmHil(LiveSession, ImageChecks):
    """Builds, runs, measures and checks tflite-micro firmware for Nordic's nRF91 and nRF5340.

    The target is the variable ``${TARGET}`` (``simulator``, ``renode``, ``board``,
    ``virtual-board``) unless given by a keyword's argument; samples are built by ``${BUILDER}``
    (``standalone``, ``zephyr``, ``zephyr-cmsis-nn``, ...) for the chip ``${CHIP}`` (``nrf9160``;
    see ``tflm-hil list chips``). A test fails if its target is not available on this machine;
    with ``--variable ALLOW_SKIPS:true`` it is skipped. An execution in which all tests are skipped
    fails.

    Each run writes its console, transcript and ``result.json`` to ``${OUTPUT DIR}/cases``; a table
    of all runs is printed at the end of the execution.

    = Two ways to test =

    `Run Sample Case` and `Run Case` run an image from reset to its last record, and check the run.
    `Start Target`, `Wait For Inference` and the `... Should ...` keywords do so step by step.
    """

    def __init__(self) -> None:
        super().__init__()
        self._suite = variables.SuiteVariables()
        self.ROBOT_LIBRARY_LISTENER = [
            SessionJudge(self), Summary(self), AllSkipped(), RemovedKeywords(), Redaction(),
            self._suite,
        ]  # fmt: skip
        self.results: list[CaseResult] = []
        self.rows: set[tuple[str, ...]] = set()  # arguments of the running suite's tests
        self._ready: dict[str, CaseResult] = {}  # by the identity of their cases
        self._runs: Counter[tuple[str, str]] = Counter()  # by target and folder name

    @keyword
    def build_firmware(
        self, sample: str, resolver: str = "exact", builder: str | None = None
    ) -> Path:
        """Builds a sample in a resolver configuration, and returns the path of its ELF.

        Fails if the build fails. Only what has changed is built again.

        Examples:
        | ${elf} = | Build Firmware | hello_world | person_detection |
        """
        return build_one(sample, resolver, builder or variables.builder(), variables.chip())

    @keyword
    def build_all_firmware(self, builder: str | None = None) -> None:
        """Builds all samples in all applicable configurations, in parallel.

        Fails if a build fails.
        """
        pairs = [(sample.name, row.name) for sample, row in load().pairs()]
        with logs.shown(Ticker("building").line):
            build_all(pairs, builder or variables.builder(), chip=variables.chip())

    @keyword
    @with_keys()
    def run_sample_case(
        self,
        sample: str,
        resolver: str = "exact",
        target: str | None = None,
        builder: str | None = None,
        **keys: Any,
    ) -> CaseResult:
        """Runs a sample in a configuration, and checks it against the resolver table.

        ``keys`` are those of a case file (docs/cases.md), which replace what the table says.

        Fails if an output differs from the NumPy reference, if an expected finding is missing, if
        there is an unexpected finding, or if the target is not available on this machine.

        Examples:
        | Run Sample Case | hello_world | exact |
        | Run Sample Case | hello_world | missing | target=renode | timeout=5 s |
        """
        made = self._sample_plan(sample, resolver, target=target, builder=builder, **keys)
        (result,) = self._results(made)
        self._raise([result], made)
        return result

    def _sample_plan(self, sample: str, resolver: str, **keys: Any) -> Plan:
        subject = Subject(sample, sample=sample)
        return self._planned(subject, "Run Sample Case", {"resolver": resolver, **keys})

    def _planned(
        self,
        subject: Subject,
        keyword: str,
        keys: Mapping[str, Any],
        name: str | None = None,
        *,
        live: bool = False,
    ) -> Plan:
        names = () if name is None else (name,)
        of_suite = self._suite.names
        return planned(subject, keyword, keys, of_suite=of_suite, names=names, live=live)

    @keyword
    @with_keys()
    def run_case(self, file: Path, name: str | None = None, **keys: Any) -> list[CaseResult]:
        """Runs all cases of a ``hil.toml``, or those called ``name``; continues after failures.

        ``keys`` are those of a case file (docs/cases.md), which replace what the file says;
        ``tag`` selects cases, ``set`` is any other key in TOML. So do variables that you set:
        ``${TARGET}`` replaces the targets of the file.

        Fails if a case fails, with the names of the failed cases, or if a case is for another chip
        than the variable ``${CHIP}``, or if a target that you named is not available on this
        machine. Targets of the file that are not available are skipped; a case that ran on none of
        its targets fails. Equivalent to ``tflm-hil run hil.toml``.

        Examples:
        | Run Case | ${CURDIR}/hil.toml |
        | Run Case | ${CURDIR}/hil.toml | sine | target=renode | inferences=100 |
        | Run Case | ${CURDIR}/hil.toml | set=expect.values=[{x=1}] |
        """
        made = self._planned(Subject(str(file), case_file=file), "Run Case", keys, name)
        results = self._results(made)
        self._raise(results, made)
        return results

    @keyword
    @with_keys()
    def plan_of(self, file: str, name: str | None = None, **keys: Any) -> str:
        """Returns and logs what `Run Case` would run, and where each value comes from.

        ``file`` may be an image or a sample, too.

        Examples:
        | ${plan} = | Plan Of | ${CURDIR}/hil.toml |
        """
        subject = Subject.find(str(file), case_files=True)
        made = self._planned(subject, "Plan Of", keys, name)
        logger.info(str(made))
        return str(made)

    @keyword
    def run_all_sample_cases(self) -> None:
        """Builds the samples of the suite's tests and, on the simulator, runs them in parallel.

        For a suite of `Run Sample Case` rows (sample, configuration); without such rows, all
        samples in all configurations. `Run Sample Case` then reuses these results. Boards and
        Renode run each case in its test. Fails without a compiler; a failed build fails only the
        tests of its sample.
        """
        table, builder, chip = load(), variables.builder(), variables.chip()
        pairs = [(sample.name, row.name) for sample, row in table.pairs()]
        pairs = [pair for pair in pairs if pair in self.rows] or pairs
        try:
            with logs.shown(Ticker("building").line):
                build_all(pairs, builder, chip=chip)
        except BuildFailed as failed:
            logger.warn(failed.message)
        if not targets.target(variables.target()).parallel:
            return
        plans = [self._sample_plan(*pair, builder=builder) for pair in pairs]
        cases = [case for made in plans for case in made.cases]
        cases.sort(key=lambda case: case.input_file is None)  # whole test sets first: the slowest
        by_identity = {key: case for case in cases if (key := _identity(case))}
        ticker = Ticker("running", len(by_identity))
        for case in by_identity.values():
            self._folder(case)
        try:
            run_parallel(
                by_identity, self.output_folder() / variables.target(), ticker.result, self._ready,
                self._calibrate(),
            )  # fmt: skip
        except BaseException:  # an interrupt: the summary contains the completed cases
            self.results += self._ready.values()
            raise
        finally:
            ticker.done()

    def _results(self, made: Plan) -> list[CaseResult]:
        """The results of a plan, also recorded for the summary and logged."""
        ready = [
            self._ready.get(_identity(item.case)) if self._ready else None for item in made.items
        ]
        rest = [item for item, result in zip(made.items, ready, strict=True) if result is None]
        ran = self._run(replace(made, items=tuple(rest)))
        results = []
        for known in ready:
            result = known or next(ran)
            if all(earlier is not result for earlier in self.results):
                self.results.append(result)
                number = len(self.results)
                link = f'<a href="hil.html#case-{number}">this case in hil.html</a>'
                logger.info(link, html=True)
            self._log(result)
            results.append(result)
        return results

    def _run(self, made: Plan) -> Iterator[CaseResult]:
        return execute(
            made, self._folder, self.shared, calibrate=self._calibrate(), passing=(RobotError,)
        )

    @staticmethod
    def _raise(results: Sequence[CaseResult], made: Plan) -> None:
        """Fails or skips the test, unless all cases passed that could run."""
        failed = [one for one in results if one.judgement.verdict not in _NO_FAILURE]
        if len(failed) > 1:
            reasons = "\n".join(f"{one.setup}: {one.judgement.reason}" for one in failed)
            raise CheckFailed(f"{len(failed)} of {len(results)} cases failed:\n{reasons}")
        for result in failed:
            raise CheckFailed(result.judgement.reason, hint=result.judgement.hint)
        check_tested(made.tally(results))

    @staticmethod
    def _calibrate() -> Calibrate | None:
        return calibrate_with(os.environ.get("TFLM_HIL_CALIBRATION"))

    @keyword
    def accuracy_should_equal_the_card(self, result: CaseResult, model: str) -> float:
        """Fails unless the accuracy on the device equals that in the model's card.

        ``result`` is the return value of `Run Sample Case` for a sample with this model in the
        configuration ``console``. Returns the accuracy.
        """
        model_file = find_model(model)
        sample = result.setup.sample
        vectors = sample_case(sample, "console").vectors if sample else None
        answers = accuracy(console_of(result, model_file), model_file, vectors)
        logger.info(f"{answers.right} of {answers.total} correct, {answers.card} in the card")
        if not answers.equal:
            raise CheckFailed(
                f"the accuracy is {answers.measured:.4f}, and {answers.card:.4f} in the card"
            )
        return answers.measured

    @keyword
    @with_keys()
    def case_should_end_as(self, file: Path, name: str, verdict: Verdict, **keys: Any) -> None:
        """Runs a case of a ``hil.toml``, which must end with ``verdict``; keys as in `Run Case`.

        Fails if the verdict differs on any of its targets. Intended for cases that show that a
        check can fail.

        Examples:
        | Case Should End As | ${CURDIR}/hil.toml | a budget that is too tight | fail |
        """
        subject = Subject(str(file), case_file=file)
        for result in self._run(self._planned(subject, "Case Should End As", keys, name)):
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
    @with_keys(live=True)
    def start_target(
        self,
        elf: Path,
        target: str | None = None,
        checks: Literal["required", "none"] = "required",
        **keys: Any,
    ) -> None:
        """Loads an image on the target, and opens a session for the following keywords.

        ``keys`` are those of a case file that count in a session (docs/cases.md): ``model``,
        ``scraper``, ``timeout`` (20 s) and others.

        Fails if the image cannot be loaded. `Stop Target` or the next `Start Target` ends the
        session. At the end of the test it fails if the session shows a fault, a reset or another
        finding that no keyword has named (`Target Should Report`, ``expect``), or if nothing was
        waited for, compared or read; ``checks=none`` allows the latter.

        Examples:
        | Start Target | ${elf} | model=hello_world_int8.tflite |
        """
        given = {"timeout": _SESSION_SECONDS, "target": target, **keys}
        made = self._planned(Subject(str(elf), elf=elf), "Start Target", given, live=True)
        (case,) = made.cases
        self.start(replace(case, name=f"{case.name}-live"), checks)

    def _folder(self, case: Case) -> Path:
        """The folder for a run of ``case``, different for each run."""
        key = case.target, folder_name(case.name).casefold()
        self._runs[key] += 1
        run = self._runs[key]
        return self.output_folder() / (case.target if run == 1 else f"{case.target}-{run}")

    def output_folder(self) -> Path:
        """The folder for the files of the cases."""
        return Path(str(variables.value("OUTPUT DIR", "."))) / "cases"

    def log_file(self) -> str:
        """The file name of Robot's log, "" if it is not in the folder of the report."""
        log = Path(str(variables.value("LOG FILE", "NONE")))
        return log.name if log.parent == self.output_folder().parent else ""

    def history(self) -> str:
        """The history to record results in, by Robot's variable or the environment; "" for none."""
        return str(variables.value("HISTORY") or os.environ.get("TFLM_HIL_HISTORY", ""))


def _identity(case: Case) -> str:
    """The key of a result of ``case``; "" if its image cannot be built or read."""
    try:
        return identity(case)
    except HilError:  # reported by the test of the case
        return ""
