"""What ztest prints: a model of it, from its releases and options to the console's text.

It counts and words as ztest does, and shares nothing with the scraper, which must find the results
of :attr:`Image.results` again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_BAR = "=" * 67
_BANNER = "*** Booting Zephyr OS build v4.2.0 ***"


@dataclass(frozen=True)
class UnitTest:
    """A test; ``ends`` are the states of its runs in turn, the last one repeats."""

    name: str
    ends: tuple[str, ...] = ("pass",)
    values: tuple[str, ...] = ()  # names of parameters
    printed: str = ""  # before its end, without a line feed
    failure: str = ""  # a line before its end


@dataclass(frozen=True)
class Suite:
    """A suite; ``runs`` is False if its predicate skips it."""

    name: str
    tests: tuple[UnitTest, ...]
    runs: bool = True


@dataclass(frozen=True)
class Image:
    """An image of suites, built with ztest's options; ``release`` is Zephyr's, 3.1 to 4.4."""

    suites: tuple[Suite, ...]
    release: float = 4.4
    verbose_output: bool = True
    summary: bool = True
    verbose_summary: bool = True
    fail_fast: bool = False
    fail_on_assume: bool = False
    verify_run_all: bool = False
    suite_repeat: int = 1
    test_repeat: int = 1
    resets: int = 0  # boots that end in the midst of the first test
    prefix: str = ""  # of each line, for output by way of the log

    @property
    def text(self) -> str:
        """What the image prints."""
        boots = [_Boot(self).cut() for _ in range(self.resets)]
        lines = [line for boot in [*boots, _Boot(self).whole()] for line in boot]
        return "".join(f"{self.prefix}{line}\n" for line in lines)

    @property
    def results(self) -> dict[str, str]:
        """The state of each test: as its lines make it, or as its row says without lines."""
        boot = _Boot(self)
        list(boot.whole())
        results: dict[str, str] = {}
        for suite, test in ((one, test) for one in self.suites for test in one.tests):
            name = f"{suite.name}.{test.name}"
            runs = {value: boot.runs[suite.name, test.name + value] for value in _values(test)}
            if self.verbose_output and any(runs.values()):
                results |= {
                    name + value: _result(states) for value, states in runs.items() if states
                }
            elif self.has_rows:
                results[name] = boot.row(suite.name, test)[0].lower()
        return results

    @property
    def has_rows(self) -> bool:
        """Whether the summary has a row for each test."""
        return self.summary and self.verbose_summary and self.release > 3.1


def _values(test: UnitTest) -> list[str]:
    return [f"[all/{value}]" for value in test.values] or [""]


def _result(states: list[str]) -> str:
    if "fail" in states:
        return "flaky" if "pass" in states else "fail"
    return "pass" if "pass" in states else "skip"


@dataclass
class _Boot:
    image: Image
    runs: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # of all repetitions
    counted: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by the summary
    failed: bool = False

    def __post_init__(self) -> None:
        for suite in self.image.suites:
            for test in suite.tests:
                self.counted[suite.name, test.name] = []
                for value in _values(test):
                    self.runs[suite.name, test.name + value] = []

    def cut(self) -> Iterator[str]:
        """A boot that ends in the first test."""
        for line in self.whole():
            yield line
            if line.startswith("START"):
                return

    def whole(self) -> Iterator[str]:
        image = self.image
        yield _BANNER
        for suite in image.suites:
            for _ in range(image.suite_repeat if suite.runs else 0):
                if image.fail_fast and self.failed:
                    break
                yield from self._suite(suite)
        for suite in image.suites:
            if image.verify_run_all and not suite.runs:
                yield f"ERROR: Test suite '{suite.name}' did not run."
                self.failed = True
        if image.summary and image.release > 3.1:
            yield from self._summary()
        yield _BAR
        yield f"PROJECT EXECUTION {'FAILED' if self.failed else 'SUCCESSFUL'}"

    def _suite(self, suite: Suite) -> Iterator[str]:
        image, fails = self.image, 0
        old = image.release < 3.5
        yield f"Running TESTSUITE {suite.name}"
        yield _BAR
        if old:
            self.counted |= {(suite.name, test.name): [] for test in suite.tests}
        for _ in range(image.test_repeat):
            fails = 0 if old else fails
            for test in suite.tests:
                for value in _values(test):
                    state = yield from self._run(suite.name, test, value)
                    fails += state == "fail"
                    if image.fail_fast and fails:
                        break
                if image.fail_fast and fails:
                    break
            self.failed |= bool(fails)
        yield f"TESTSUITE {suite.name} {'failed.' if fails else 'succeeded'}"

    def _run(self, suite: str, test: UnitTest, value: str) -> Iterator[str]:
        image, runs = self.image, self.runs[suite, test.name + value]
        state = test.ends[min(len(runs), len(test.ends) - 1)]
        runs.append(state)
        self.counted[suite, test.name].append(state)
        told = image.verbose_output
        if told:
            yield f"START - {test.name}{value}"
        if test.failure and state != "pass":
            yield ""
            yield f"    {test.failure}"
            self.failed |= image.fail_on_assume and test.failure.startswith("Assumption")
        if told:
            seconds = "0.1" if image.release < 3.2 else "0.001"
            yield f"{test.printed} {state.upper()} - {test.name}{value} in {seconds} seconds"
            yield _BAR
        return state

    def _summary(self) -> Iterator[str]:
        yield from ("", "------ TESTSUITE SUMMARY START ------", "")
        for suite in self.image.suites:
            rows = [self.row(suite.name, test) for test in suite.tests]
            words = [word for word, _ in rows]
            passed, skipped, total = words.count("PASS"), words.count("SKIP"), len(words)
            failed = total - passed - skipped
            word = "SKIP" if skipped == total else "FAIL" if failed else "PASS"
            rate = 100 * passed / (total - skipped) if total > skipped else 0
            yield (
                f"SUITE {word} - {rate:6.2f}% [{suite.name}]: pass = {passed}, fail = {failed}, "
                f"skip = {skipped}, total = {total} duration = 0.001 seconds"
            )
            if self.image.verbose_summary:
                yield from (row for _, row in rows)
                yield ""
        yield from ("------ TESTSUITE SUMMARY END ------", "")

    def row(self, suite: str, test: UnitTest) -> tuple[str, str]:
        """The word of a test's row, and the row."""
        states, release = self.counted[suite, test.name], self.image.release
        runs, passed, skipped = len(states), states.count("pass"), states.count("skip")
        name, attempts = f"[{suite}.{test.name}]", ""
        if skipped == runs:
            word = "SKIP"
        elif passed == runs or (release >= 4.4 and passed + skipped == runs):
            word = "PASS"
        elif passed == 0 or release < 3.5:
            word = "FAIL"
        else:
            word, attempts = "FLAKY", f" - (Failed {runs - passed} of {runs} attempts) -"
        return word, f" - {word} - {name}{attempts} duration = 0.001 seconds"
