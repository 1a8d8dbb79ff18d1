"""The kinds of runs whose consoles are spoilt: a case, and a recording of it that passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from replay import Recording, record_session, record_text
from spoil import Mutant, spoil, spoil_text
from ztest_log import Image, Suite, UnitTest

from harness.base import paths
from harness.base.expected import Expected
from harness.build.builders import build_one
from harness.case import Case, CaseResult, run_case
from harness.case.samples import elf_of, sample_case
from harness.targets import Counters

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"
FIRMWARE = Path(__file__).parents[1] / "firmware"
_COUNTERS = Counters("simulator", 10_000_000, None, 1.0, 1.0)


@dataclass(frozen=True)
class Kind:
    """One kind of run; ``read`` matches the lines of a text that say something."""

    name: str
    case: Callable[[], Case]
    recording: Callable[[Case], Recording]
    read: re.Pattern[str] | None = None


def _ran(case: Case) -> Recording:
    """A recording of ``case`` on the simulator, where it must pass."""
    seen: list[Recording] = []

    def look(session, image, stop) -> None:
        seen.append(record_session(session.console, session.counters))

    with TemporaryDirectory() as folder:
        result = run_case(case, Path(folder), look=look)
    assert result.passed, f"{case.name}: {result.reason}"
    return seen[0]


def _sample(name: str, resolver: str, **changes) -> Kind:
    label = f"{name}, {resolver}"
    return Kind(label, lambda: replace(sample_case(name, resolver), **changes), _ran)


def _own_elf(name: str, resolver: str = "exact") -> Kind:
    """The image of a sample, run as an ELF of one's own with ``--model``."""

    def case() -> Case:
        made = sample_case(name, resolver)
        return Case(f"own-{name}", elf=build_one(name, resolver), model=made.model)

    return Kind(f"ELF of {name} with --model", case, _ran)


def _text(name: str, read: str, text: Callable[[], str], **changes) -> Kind:
    """Text without records, as if the image of hello_world had printed it."""

    def case() -> Case:
        return Case(name, elf=build_one("hello_world", "exact"), **changes)

    return Kind(name, case, lambda made: record_text(text(), _COUNTERS), re.compile(read))


def _capture(name: str) -> Callable[[], str]:
    return lambda: (TRANSCRIPTS / f"{name}.log").read_text(encoding="utf-8")


def _sine() -> str:
    """What the image of tests/firmware/sine.c prints."""
    source = (FIRMWARE / "sine.c").read_text(encoding="utf-8")
    return "\n".join(re.findall(r'"(x_value.*?)\\r', source))


_UNITY_LINES = (
    r"(?P<result>:(PASS|FAIL|IGNORE)\b|TEST\()|(?P<count>\d Tests \d)|(?P<closing>^(OK|FAIL)$)"
)
_UNITY_END = "\n-----------------------\n3 Tests 0 Failures 0 Ignored \nOK\n"
_PEOPLE = [{"person": 113, "no_person": -113}, {"person": -57, "no_person": 57}]
_TEST_LINES = (
    r"(?P<begin>^\[ RUN|^Testing )|(?P<end>^\[ +(OK|FAILED) )|(?P<count>^\[=+\] \d|^\d+/\d+ tests)"
    r"|(?P<tally>^\[ +PASSED )|(?P<closing>^~~~?ALL)"
)
_ZTEST_LINES = (
    r"(?P<suite>^Running TESTSUITE|^TESTSUITE )|(?P<begin>^START - )|(?P<end>^ (PASS|FAIL|SKIP) - )"
    r"|(?P<total>^SUITE )|(?P<row>^ - (PASS|FAIL|SKIP|FLAKY) - )|(?P<closing>^PROJECT EXECUTION)"
)
_TIMER_FAILURES = {
    f"timer_api.test_timer_{name}": "fail"
    for name in ("duration_period", "k_define", "remaining", "status_get_anytime")
}

_FIFO = Suite("fifo", (UnitTest("test_get"), UnitTest("test_put", ("skip",)), UnitTest("test_len")))
_RING = Suite("ring", (UnitTest("test_wrap"), UnitTest("test_full")))


def _ztest(name: str, image: Image, **expect) -> Kind:
    """What ztest prints of ``image``."""
    expected = Expected(**expect)
    return _text(name, _ZTEST_LINES, lambda: image.text, scraper="ztest", expect=expected)


KINDS: tuple[Kind, ...] = (
    _sample("hello_world", "exact"),
    _sample("hello_world_float", "exact"),
    _sample("digits", "exact"),
    _sample("digits_cnn", "exact"),
    _sample("residual", "exact"),
    _sample("chime", "exact"),
    _sample("atan", "exact"),
    _sample("benchmark", "exact"),
    _sample("hello_world", "too_small"),
    _sample("hello_world", "missing"),
    _sample("hello_world", "console", rows=4),
    _sample("digits", "console", rows=2),
    _sample("chime", "console", rows=12),
    _sample("atan", "console", rows=3),
    _own_elf("hello_world"),
    _own_elf("atan"),
    _text(
        "text of hello_world",
        r"(?P<result>_value)",
        _sine,
        scraper="hello_world",
        model=paths.models() / "hello_world_int8.tflite",
        inferences=20,
    ),
    _text(
        "text of person detection",
        r"(?P<result>person score)",
        lambda: (
            "arena used: 82612 bytes\nperson score: 113, no person score: -113\n"
            "invoke: 316787 cycles\nperson score: -57, no person score: 57\n"
        ),
        scraper="person_detection",
        expect=Expected(values=_PEOPLE),
        inferences=2,
    ),
    _text(
        "text read by a regex",
        r"(?P<result>score=)",
        lambda: "boot\nscore=5 class=seven\nscore=-3 class=one\nscore=12 class=two\n",
        scraper=r"/score=(?P<score>-?\d+) class=(?P<class>\w+)/",
        expect=Expected(
            values=(
                {"score": 5, "class": "seven"},
                {"score": -3, "class": "one"},
                {"score": 12, "class": "two"},
            )
        ),
        inferences=3,
    ),
    _text(
        "unit tests of tflite-micro",
        _TEST_LINES,
        _capture("unit_tests/kernel_add_n_test"),
        scraper="unit_tests",
    ),
    _text(
        "unit tests of tflite-micro, older form",
        _TEST_LINES,
        _capture("unit_tests/testing_util_test"),
        scraper="unit_tests",
    ),
    _text(
        "ztest of Zephyr 3.1", _ZTEST_LINES, _capture("ztest/context_skips_3.1"), scraper="ztest"
    ),
    _text(
        "ztest of Zephyr 3.4 with known failures",
        _ZTEST_LINES,
        _capture("ztest/timer_api_failures_3.4"),
        scraper="ztest",
        expect=Expected(tests=_TIMER_FAILURES),
    ),
    _ztest(
        "ztest with a suite that its predicate skips",
        Image((_FIFO, replace(_RING, runs=False))),
    ),
    _ztest(
        "ztest repeated with a known flaky test",
        Image(
            (_FIFO, Suite("radio", (UnitTest("test_link", ("fail", "pass")), UnitTest("test_tx")))),
            suite_repeat=2,
        ),
        tests={"radio.test_link": "flaky"},
    ),
    _ztest(
        "ztest of Zephyr 3.4 with repeated tests",
        Image((_FIFO, _RING), release=3.4, test_repeat=2),
    ),
    _ztest("ztest without lines of tests", Image((_FIFO, _RING), verbose_output=False)),
    _ztest("ztest with a summary of suites alone", Image((_FIFO, _RING), verbose_summary=False)),
    _ztest(
        "ztest with parameters",
        Image((Suite("math", (UnitTest("test_add", values=("0", "1")), UnitTest("test_sub"))),)),
    ),
    _ztest(
        "ztest with a test that resets the chip",
        Image((_RING, _FIFO), resets=1),
        findings=(("rebooted", ""),),
    ),
    _ztest(
        "ztest with an assumption that fails the run",
        Image(
            (
                Suite(
                    "net",
                    (
                        UnitTest("test_dns", ("skip",), failure="Assumption failed at n.c:23"),
                        UnitTest("test_ping"),
                    ),
                ),
            ),
            fail_on_assume=True,
        ),
        tests={"net.test_dns": "skip"},
    ),
    _text(
        "Unity repeated with a known flaky test",
        _UNITY_LINES,
        lambda: "".join(
            f"Unity test run {run} of 2\nTEST(add, s8) PASS\n{link}\n\n---\n"
            f"2 Tests {failed} Failures 0 Ignored \n{word}\n"
            for run, link, failed, word in (
                (1, "TEST(radio, link)./t.c:9::FAIL: Expected 1", 1, "FAIL"),
                (2, "TEST(radio, link) PASS", 0, "OK"),
            )
        ),
        scraper="unity",
        expect=Expected(tests={"radio.link": "flaky"}),
    ),
    _text(
        "Unity",
        _UNITY_LINES,
        lambda: "boot\n" + "".join(f"t/a.c:{n}:t{n}:PASS\n" for n in range(3)) + _UNITY_END,
        scraper="unity",
    ),
    _text(
        "Unity with fixtures, a known failure, ignored tests",
        _UNITY_LINES,
        lambda: (
            "Unity test run 1 of 1\nTEST(add, s8) PASS\nTEST(add, s16)a.c:3::FAIL: Expected 1\n"
            "IGNORE_TEST(add, s32)\n\n----\n3 Tests 1 Failures 1 Ignored \nFAIL\n"
        ),
        scraper="unity",
        expect=Expected(tests={"add.s16": "fail"}),
    ),
)


@cache
def prepared(name: str) -> tuple[Case, Recording]:
    """The case of a kind, its image built, and its recording: made once in a process."""
    kind = named(name)
    case = kind.case()
    case = replace(case, elf=elf_of(case))
    return case, kind.recording(case)


def named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


@cache
def mutants(name: str) -> list[Mutant]:
    """All mutants of a kind, in an order that never changes."""
    _, good = prepared(name)
    read = named(name).read
    if read is not None:
        return list(spoil_text(good, read, FAULT_DUMP))
    return list(spoil(good, _known(good)))


def _known(good: Recording) -> Mapping[str, list[str]]:
    """The values of each field in a recording, and a few names that a device might well say."""
    values: dict[str, dict[str, None]] = {name: dict.fromkeys(more) for name, more in NAMES.items()}
    for line in good.lines:
        for field_name, value in line.fields:
            values.setdefault(f"{line.kind}.{field_name}", {})[value] = None
    return {name: list(found) for name, found in values.items()}


#: Values that a device could say in good faith, were it another device.
NAMES = {
    "boot.sample": ["digits", "hello_world", "atan"],
    "boot.board": ["nrf9160dk/nrf9160/ns", "nrf52840dk/nrf52840"],
    "boot.runtime": ["tflm", "standalone"],
    "tensor.role": ["input", "output"],
    "tensor.type": ["float32", "int8", "uint8", "int16"],
    "resolver.name": ["exact", "all"],
    "op.operator": ["SOFTMAX", "CONV_2D", "FULLY_CONNECTED", "Atan"],
    "lifecycle.operator": ["Atan", "ADD"],
    "inference.source": ["systick", "dwt"],
    "failed.stage": ["schema", "register", "allocate", "input", "invoke"],
    "stack.name": ["main", "idle"],
    "allocation.type": ["op_data", "eval_tensor", "variable_buffer"],
}

#: What Zephyr prints of a fault.
FAULT_DUMP = (
    "[00:00:00.010,000] <err> os: ***** BUS FAULT *****",
    "[00:00:00.010,000] <err> os:   Precise data bus error",
    "[00:00:00.010,000] <err> os: r0/a1:  0x00000000  r1/a2:  0x00000000  r2/a3:  0x00000000",
    "[00:00:00.010,000] <err> os: Faulting instruction address (r15/pc): 0x00001234",
    "[00:00:00.010,000] <err> os: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0",
)


def judge(name: str, recording: Recording, folder: Path) -> CaseResult:
    """The verdict on a recording, by the way that every run goes."""
    case, _ = prepared(name)
    return run_case(replace(case, targets=("replay",), options={"recording": recording}), folder)
