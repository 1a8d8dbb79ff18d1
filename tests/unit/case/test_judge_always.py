"""Properties of every verdict, for any console and any end of a run."""

from itertools import product

from device import line
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base.expected import Expected
from harness.base.findings import NOTES
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case
from harness.case.judge import judge
from harness.case.observe import observe
from harness.case.outputs import OutputCheck
from harness.case.result import Verdict
from harness.targets import Fault, Stop

CHIP = chip_called(DEFAULT_CHIP)
LINES = [
    line(0, "boot"),
    line(1, "ready"),
    line(2, "end", inferences=1),
    line(3, "failed"),
    b"~HIL 4 output garbled *00000000\r\n",
    b"Didn't find op for builtin opcode 'CONV_2D'\r\n",
    b"AllocateTensors() failed\r\n",
    b"x_value: 1.0*2^-1, y_value: 0.5\r\n",
    b"person score: 113, no person score: -113\r\n",
    b"***** USAGE FAULT *****\r\n",
    b">>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\r\n",
    b"\xff\x00\r\n",
    b"*** Booting Zephyr OS build x ***\r\n",
]
FAULT = Fault("UsageFault", "INVSTATE", 0, 0x5875, None, "f at a.c:1", "...")

# A check that found mismatches says so; one that could not be made has a problem without any.
TOLD = ((0, ""), (2, "values differ"), (0, "nothing to compare with"))
CHECKS = [
    OutputCheck(compared, mismatches, inferences, problem)
    for (mismatches, problem), compared, inferences in product(TOLD, range(4), range(4))
]
EXPECTED = [
    Expected(outputs=outputs, findings=findings)
    for outputs in (False, True)
    for findings in ((), (("missing_operator", "CONV_2D"),))
]
BLAME = list(product(([], ["flash is over"]), ([], ["the image runs another model"])))


@settings(max_examples=300, deadline=None)
@given(
    chunks=st.lists(st.sampled_from(LINES), max_size=6),
    end=st.sampled_from(list(Stop)),
    faults=st.sampled_from([[], [FAULT]]),
    check=st.sampled_from(CHECKS),
    expected=st.sampled_from(EXPECTED),
    scraper=st.sampled_from(["", "hello_world", "unit_tests"]),
    blame=st.sampled_from(BLAME),
)
def test_every_verdict_is_one_that_its_reasons_carry(
    scripted_type, chunks, end, faults, check, expected, scraper, blame
):
    excess, wrong = blame
    session = scripted_type(chunks, end=Stop.IDLE if end is Stop.CONDITION else end)
    session.faults = faults
    case = Case("c", expect=expected, scraper=scraper)
    seen = observe(session, case)
    findings = seen.findings()
    told = judge(case, seen, findings, check, excess, wrong, chip=CHIP)
    assert told.verdict in (Verdict.PASS, Verdict.FAIL, Verdict.FIRMWARE)
    assert told.reason and "\n" not in told.reason
    if told.verdict is Verdict.PASS:
        assert not wrong and not excess and not faults
        assert not expected.unmet(findings)
        assert not expected.unexpected(findings)
        assert not (expected.outputs and not (seen.ended and check.compared))
        assert not (expected.outputs and check.problem)
        assert not (not expected.outputs and check.inferences)
        assert told.problems == ()
    else:
        assert told.problems and all(told.problems)
        assert len(set(told.problems)) == len(told.problems)
        assert not wrong or told.reason.startswith(wrong[0])
    if faults:
        assert told.verdict is Verdict.FIRMWARE
    if all(finding.kind in NOTES for finding in findings) and not seen.console.raw:
        assert told.verdict is Verdict.FIRMWARE or not expected.outputs
