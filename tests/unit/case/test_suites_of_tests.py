"""Verdicts on images that run tests: reports of ztest's users, and the same with other suites."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ztest_log import Image, Suite, UnitTest

from harness.base.expected import Expected
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case
from harness.case.judge import Judgement, judge
from harness.case.observe import observe
from harness.case.outputs import check_outputs
from harness.case.result import Verdict
from harness.targets import Stop

CHIP = chip_called(DEFAULT_CHIP)
FIFO = Suite("fifo", (UnitTest("test_get"),))
SENSOR = Suite("sensor", (UnitTest("test_fifo"), UnitTest("test_trigger")), runs=False)
RADIO = Suite("radio", (UnitTest("test_link", ("fail", "pass")), UnitTest("test_tx")))
DNS = UnitTest("test_dns", ("skip",), failure="Assumption failed at net/main.c:23: iface is down")
NET = Suite("net", (DNS, UnitTest("test_ping")))
FAULT = """\
[00:00:00.104,000] <err> os: ***** BUS FAULT *****
[00:00:00.104,000] <err> os:   Precise data bus error
[00:00:00.104,000] <err> os: Faulting instruction address (r15/pc): 0x00001234
[00:00:00.104,000] <err> os: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0
"""
RESET = Expected(findings=(("rebooted", ""),))
UNITY_LINK = (
    "Unity test run 1 of 2\nTEST(radio, link)./t.c:9::FAIL: Expected 1\n\n---\n"
    "1 Tests 1 Failures 0 Ignored \nFAIL\n"
    "Unity test run 2 of 2\nTEST(radio, link) PASS\n\n---\n1 Tests 0 Failures 0 Ignored \nOK\n"
)
UNITY_RESET = (
    "t/wdt.c:9:test_add:PASS\n{banner}t/wdt.c:9:test_add:PASS\nt/wdt.c:12:test_wdt:PASS\n\n---\n"
    "2 Tests 0 Failures 0 Ignored \nOK\n"
)
TFLM_RESET = (
    "[==========] Running tests.\n[ RUN      ] S.Wdt\n{banner}"
    "[==========] Running tests.\n[ RUN      ] S.Wdt\n[       OK ] S.Wdt\n"
    "[==========] 1 tests ran.\n[  PASSED  ] 1 tests.\n~~~ALL TESTS PASSED~~~\n"
)
BANNER = "*** Booting Zephyr OS build v4.2.0 ***\n"


@pytest.fixture
def judged(scripted):
    """The judgement of a console that ends; ``resets`` are those that the target counts."""

    def decide(text: str, name: str = "ztest", resets: int = 0, **expect) -> Judgement:
        case = Case("own", scraper=name, expect=expect.get("expect", Expected()))
        session = scripted([text.encode()], end=Stop.IDLE)
        session.resets = resets
        seen = observe(session, case)
        return judge(
            case, seen, seen.findings(), check_outputs(seen.console, case, None), chip=CHIP
        )

    return decide


@pytest.mark.parametrize(
    ("report", "image", "expect", "reason"),
    [
        ("zephyr#80706", Image((FIFO, SENSOR)), {}, "1 of 3 tests passed, 2 skipped"),
        (
            "zephyr#74396, known",
            Image((RADIO,), suite_repeat=2),
            {"tests": {"radio.test_link": "flaky"}},
            "1 of 2 tests passed, 1 flaky as known",
        ),
        (
            "zephyr#86611, known",
            Image((NET,), fail_on_assume=True),
            {"tests": {"net.test_dns": "skip"}},
            "1 of 2 tests passed, 1 skipped",
        ),
        ("zephyr#86611, no option", Image((NET,)), {}, "1 of 2 tests passed, 1 skipped"),
        (
            "zephyr#13468",
            Image((FIFO,), resets=1),
            {"findings": RESET.findings},
            "1 of 1 tests passed",
        ),
        (
            "zephyr#13468, Zephyr 3.1",
            Image((FIFO,), release=3.1, resets=2),
            {"findings": RESET.findings},
            "1 of 1 tests passed",
        ),
    ],
)
def test_a_report_passes(judged, report, image, expect, reason):
    told = judged(image.text, expect=Expected(**expect))
    assert (told.verdict, told.reason) == (Verdict.PASS, reason), report


@pytest.mark.parametrize(
    ("report", "text", "expect", "reason"),
    [
        (
            "zephyr#74396",
            Image((RADIO,), suite_repeat=2).text,
            {},
            "radio.test_link is flaky: failed 1 of 2",
        ),
        (
            "zephyr#74396, without lines",
            Image((RADIO,), suite_repeat=2, verbose_output=False).text,
            {},
            "radio.test_link is flaky: failed 1 of 2",
        ),
        (
            "zephyr#74396, Zephyr 3.4",
            Image((RADIO,), suite_repeat=2, release=3.4).text,
            {},
            "radio.test_link is flaky: failed 1 of 2",
        ),
        (
            "zephyr#86611",
            Image((NET,), fail_on_assume=True).text,
            {},
            "net.test_dns: assumption failed at net/main.c:23: test skipped",
        ),
        (
            "zephyr#86611, Zephyr 4.3",
            Image((Suite("net", (replace(DNS, ends=("fail",)), UnitTest("test_ping"))),)).text,
            {},
            "net.test_dns: assumption failed at net/main.c:23: test failed",
        ),
        (
            "zephyr#80706, with ZTEST_VERIFY_RUN_ALL",
            Image((FIFO, SENSOR), verify_run_all=True).text,
            {},
            "ERROR: Test suite 'sensor' did not run.",
        ),
        ("zephyr#13468, no reset expected", Image((FIFO,), resets=1).text, {}, "booted 2 times"),
        (
            "zephyr#13468, no reset came",
            Image((FIFO,)).text,
            {"findings": RESET.findings},
            "no finding rebooted",
        ),
        (
            "zephyr#13468, a test fails after the reset",
            Image((Suite("fifo", (UnitTest("test_get", ("fail",)),)),), resets=1).text,
            {"findings": RESET.findings},
            "1 of 1 tests failed: fifo.test_get",
        ),
        ("zephyr#116359", Image((FIFO,)).text + FAULT, {}, "Bus fault"),
    ],
)
def test_a_report_fails(judged, report, text, expect, reason):
    told = judged(text, expect=Expected(**expect))
    assert told.verdict in (Verdict.FAIL, Verdict.FIRMWARE), report
    assert reason in told.reason, report


@pytest.mark.parametrize("banner", [BANNER, ""], ids=["banner", "no banner"])
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ztest", Image((FIFO,), resets=1).text.replace(BANNER, "{banner}"), "1 of 1 tests passed"),
        ("unity", UNITY_RESET, "2 of 2 tests passed"),
        ("unit_tests", TFLM_RESET, "1 of 1 tests passed"),
    ],
)
def test_a_reset_in_the_midst_passes_if_the_case_expects_it(judged, name, text, reason, banner):
    text = text.format(banner=banner)
    told = judged(text, name, resets=1, expect=RESET)
    assert (told.verdict, told.reason) == (Verdict.PASS, reason)
    assert judged(text, name, resets=1).verdict is Verdict.FAIL
    assert judged(text, name, resets=1, expect=Expected(outputs=True)).verdict is Verdict.FAIL


def test_a_repeated_unity_test_that_failed_once_is_flaky(judged):
    told = judged(UNITY_LINK, "unity")
    assert (told.verdict, told.reason) == (Verdict.FAIL, "radio.link is flaky: failed 1 of 2")
    known = judged(UNITY_LINK, "unity", expect=Expected(tests={"radio.link": "flaky"}))
    assert (known.verdict, known.reason) == (Verdict.PASS, "0 of 1 tests passed, 1 flaky as known")


def test_a_suite_of_tests_has_outputs_though_a_finding_is_expected(judged):
    text = Image((FIFO,)).text + FAULT
    expect = Expected(findings=(("fault", ""), ("kernel_panic", "")))
    assert judged(text, expect=expect).reason == "1 of 1 tests passed"
    failing = Image((Suite("fifo", (UnitTest("test_get", ("fail",)),)),)).text + FAULT
    assert "1 of 1 tests failed: fifo.test_get" in judged(failing, expect=expect).reason
