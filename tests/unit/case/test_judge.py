import pytest

from harness.case.judge import findings_of, judge
from harness.case.observe import observe
from harness.case.outputs import OutputCheck
from harness.case.result import Verdict
from harness.case.spec import Case
from harness.firmware.variants import Expectation
from harness.targets import Fault, Stop
from harness.uart import encode

BOOT = encode(0, "boot", {"sample": "x"})
END = encode(1, "end", {"inferences": 3, "status": 0})
RIGHT = OutputCheck(compared=30, inferences=3)
REFUSED = b"Couldn't register builtin op #25, resolver size is too small (1).\r\n"
MISSING = b"Didn't find op for builtin opcode 'CONV_2D'\r\n"


@pytest.fixture
def verdict(scripted):
    def decide(chunks, outputs=RIGHT, end=Stop.IDLE, faults=(), budgets=(), **case):
        session = scripted(chunks, end=end)
        session.faults = list(faults)
        spec = Case("case", **case)
        seen = observe(session, spec)
        return judge(spec, seen, findings_of(seen, None), outputs, budgets)

    return decide


def test_right_outputs_and_no_findings_pass(verdict):
    assert verdict([BOOT, END])[0] is Verdict.PASS


def test_a_finding_fails_although_the_outputs_are_right(verdict):
    assert verdict([BOOT, REFUSED, END]) == (
        Verdict.FAIL,
        "Couldn't register builtin op #25, resolver size is too small (1)",
    )


def test_an_expected_finding_passes_and_its_absence_fails(verdict):
    expected = Expectation(findings=(("resolver_too_small", "SOFTMAX"),))
    assert verdict([BOOT, REFUSED, END], expected=expected)[0] is Verdict.PASS
    assert verdict([BOOT, END], expected=expected)[0] is Verdict.FAIL


def test_an_image_that_fails_as_it_should_passes_without_an_end(verdict):
    expected = Expectation(outputs=False, findings=(("missing_operator", "CONV_2D"),))
    chunks = [BOOT, MISSING, encode(1, "failed", {"stage": "allocate", "status": 1})]
    expected = Expectation(False, (*expected.findings, ("allocation_failed", "")))
    assert verdict(chunks, OutputCheck(), expected=expected)[0] is Verdict.PASS


def test_outputs_where_none_should_be_fail(verdict):
    expected = Expectation(outputs=False)
    assert verdict([BOOT, END], expected=expected)[0] is Verdict.FAIL


@pytest.mark.parametrize(
    "outputs",
    [
        OutputCheck(),
        OutputCheck(compared=0, inferences=3),
        OutputCheck(compared=10, inferences=0),
        OutputCheck(
            compared=10, mismatches=1, inferences=3, problem="1 of 10 output values differ"
        ),
    ],
)
def test_nothing_passes_in_a_vacuum(verdict, outputs):
    assert verdict([BOOT, END], outputs)[0] is Verdict.FAIL


@pytest.mark.parametrize("end", [Stop.DEADLINE, Stop.IDLE, Stop.GUARD, Stop.LOCKUP])
def test_silence_is_the_firmwares_fault_and_says_where_the_core_is(verdict, end):
    kind, reason = verdict([], OutputCheck(), end=end)
    assert kind is Verdict.FIRMWARE
    assert "silent" in reason
    assert "spin at main.c:7" in reason


def test_a_fault_is_the_firmwares_fault_even_with_right_outputs(verdict):
    fault = Fault("UsageFault", "INVSTATE", 0, 0x5875, None, "loop at main.cc:12", "...")
    kind, reason = verdict([BOOT, END], faults=[fault])
    assert kind is Verdict.FIRMWARE
    assert reason == "UsageFault (INVSTATE) at loop at main.cc:12"


def test_resetting_for_ever_is_the_firmwares_fault(verdict):
    assert verdict([BOOT] * 5, OutputCheck(), end=Stop.RESET_LOOP)[0] is Verdict.FIRMWARE


def test_a_budget_that_is_exceeded_fails(verdict):
    kind, reason = verdict([BOOT, END], budgets=["flash 70,000 B is over its budget"])
    assert (kind, reason) == (Verdict.FAIL, "flash 70,000 B is over its budget")


def test_the_resolver_record_must_say_what_the_table_says(verdict):
    said = encode(1, "resolver", {"registered": 2, "refused": 0})
    chunks = [BOOT, said, encode(2, "end", {"status": 0})]
    assert verdict(chunks, expected=Expectation(registered=2))[0] is Verdict.PASS
    assert verdict(chunks, expected=Expectation(registered=1))[0] is Verdict.FAIL
