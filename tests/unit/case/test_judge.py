from types import SimpleNamespace

import pytest
from device import line
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case, LastLine
from harness.case.judge import judge
from harness.case.observe import observe
from harness.case.outputs import OutputCheck
from harness.case.result import Verdict
from harness.elf import Image
from harness.targets import Fault, Stop
from harness.uart.scrapers import SCRAPERS

CHIP = chip_called(DEFAULT_CHIP)
BOOT = line(0, "boot")
END = line(1, "arena") + line(2, "end", inferences=3)
RIGHT = OutputCheck(compared=30, inferences=3)
REFUSED = b"Couldn't register builtin op #25, resolver size is too small (1).\r\n"
MISSING = b"Didn't find op for builtin opcode 'CONV_2D'\r\n"


@pytest.fixture
def judged(scripted):
    def decide(chunks, outputs=RIGHT, stop=Stop.IDLE, faults=(), budgets=(), models=(), **case):
        session = scripted(chunks, end=stop)
        session.faults = list(faults)
        spec = Case("case", **case)
        seen = observe(session, spec)
        return judge(spec, seen, seen.findings(), outputs, budgets, models, chip=CHIP)

    return decide


@pytest.fixture
def verdict(judged):
    def decide(*arguments, **options):
        told = judged(*arguments, **options)
        return told.verdict, told.reason

    return decide


def test_right_outputs_and_no_findings_pass(verdict):
    assert verdict([BOOT, END])[0] is Verdict.PASS


def test_a_finding_fails_although_the_outputs_are_right(verdict):
    assert verdict([BOOT, REFUSED, END]) == (
        Verdict.FAIL,
        "Couldn't register builtin op #25, resolver size is too small (1)",
    )


def test_an_expected_finding_passes_and_its_absence_fails(verdict):
    expected = Expected(True, (("resolver_too_small", "SOFTMAX"),))
    assert verdict([BOOT, REFUSED, END], expect=expected)[0] is Verdict.PASS
    assert verdict([BOOT, END], expect=expected)[0] is Verdict.FAIL


def test_an_image_that_fails_as_it_should_passes_without_an_end(verdict):
    expected = Expected(outputs=False, findings=(("missing_operator", "CONV_2D"),))
    chunks = [BOOT, MISSING, line(1, "failed")]
    expected = Expected(False, (*expected.findings, ("allocation_failed", "")))
    assert verdict(chunks, OutputCheck(), expect=expected)[0] is Verdict.PASS


def test_outputs_where_none_should_be_fail(verdict):
    expected = Expected(outputs=False)
    assert verdict([BOOT, END], expect=expected)[0] is Verdict.FAIL


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
def test_a_run_without_comparisons_does_not_pass(verdict, outputs):
    assert verdict([BOOT, END], outputs)[0] is Verdict.FAIL


@pytest.mark.parametrize("end", [Stop.DEADLINE, Stop.IDLE, Stop.GUARD, Stop.LOCKUP])
def test_silence_is_a_firmware_verdict_with_the_place_of_the_core(verdict, end):
    kind, reason = verdict([], OutputCheck(), stop=end)
    assert kind is Verdict.FIRMWARE
    assert "silent" in reason
    assert "spin at main.c:7" in reason


def test_a_fault_is_the_firmwares_fault_even_with_right_outputs(verdict):
    fault = Fault("UsageFault", "INVSTATE", 0, 0x5875, None, "loop at main.cc:12", "...")
    kind, reason = verdict([BOOT, END], faults=[fault])
    assert kind is Verdict.FIRMWARE
    assert reason == "UsageFault (INVSTATE) at loop at main.cc:12"


def test_resetting_for_ever_is_the_firmwares_fault(verdict):
    assert verdict([BOOT] * 5, OutputCheck(), stop=Stop.RESET_LOOP)[0] is Verdict.FIRMWARE


def test_a_budget_that_is_exceeded_fails(verdict):
    kind, reason = verdict([BOOT, END], budgets=["flash 70,000 B is over its budget"])
    assert (kind, reason) == (Verdict.FAIL, "flash 70,000 B is over its budget")


WRONG = "the image runs a model with CRC-32 0000abcd, a.tflite has 00001234"
FAULT = Fault("UsageFault", "INVSTATE", 0, 0x5875, None, "loop at main.cc:12", "...")


def test_a_wrong_model_stands_first_and_hides_nothing(judged):
    told = judged([BOOT, END], OutputCheck(problem="nothing came"), models=[WRONG])
    assert told.verdict is Verdict.FAIL
    assert told.reason == f"{WRONG}; nothing came"
    assert told.problems == (WRONG, "nothing came")


def test_a_wrong_model_alone_is_a_reason(judged):
    told = judged([BOOT, END], models=[WRONG])
    assert (told.verdict, told.reason, told.problems) == (Verdict.FAIL, WRONG, (WRONG,))


def test_a_wrong_model_stands_before_a_fault_and_before_a_hang(judged):
    told = judged([BOOT, END], faults=[FAULT], models=[WRONG])
    assert told.verdict is Verdict.FIRMWARE
    assert told.reason == f"{WRONG}; UsageFault (INVSTATE) at loop at main.cc:12"
    told = judged([BOOT], stop=Stop.DEADLINE, models=[WRONG])
    assert told.reason.startswith(f"{WRONG}; 1 line and 3 results came")


def test_all_problems_are_kept_beside_a_short_reason(judged):
    told = judged([BOOT, REFUSED, END], budgets=["flash is over", "ram is over"])
    assert told.reason.endswith("too small (1) (and 2 more)")
    assert told.problems[1:] == ("flash is over", "ram is over")


@pytest.mark.parametrize(
    ("count", "last"), [(50, "budget 49"), (51, "and 1 more"), (120, "and 70 more")]
)
def test_of_many_problems_fifty_are_kept_and_the_rest_is_counted(judged, count, last):
    told = judged([BOOT, END], budgets=[f"budget {n}" for n in range(count)])
    assert told.problems[49] == "budget 49"
    assert told.problems[-1] == last
    assert told.reason == f"budget 0 (and {count - 1} more)"


def test_a_problem_is_one_line_of_a_length_that_can_be_read(judged):
    problems = judged([BOOT, END], budgets=["a\n  b", "x" * 400, "y" * 401]).problems
    assert problems == ("a b", "x" * 400, "y" * 400 + "...")


def test_an_image_that_hangs_after_records_is_the_firmwares_fault(judged):
    told = judged([BOOT], OutputCheck(), stop=Stop.DEADLINE)
    assert told.verdict is Verdict.FIRMWARE
    words = "1 line and 0 results came, then it ran on to the deadline of 10 s"
    assert told.reason == f"{words}; pc is in spin at main.c:7"


def test_the_wall_clock_guard_is_named_with_the_time_reached(judged):
    told = judged([BOOT], OutputCheck(), stop=Stop.GUARD, guard=7.0, timeout=20.0)
    assert "the wall-clock guard stopped it after 7 s at 0.001 s of the 20 s it has" in told.reason
    assert "--guard" in told.hint


TOO_SMALL = b"Failed to resize buffer. Requested: 900, available 772, missing: 128\r\n"


@pytest.mark.parametrize("faults", [[], [FAULT]], ids=["end", "fault"])
def test_too_small_an_arena_has_a_hint_at_the_command_that_finds_the_smallest(judged, faults):
    assert "tflm-hil arena" in judged([BOOT, TOO_SMALL, END], OutputCheck(), faults=faults).hint
    assert "tflm-hil arena" not in judged([BOOT, REFUSED, END]).hint


def test_text_that_a_scraper_reads_is_a_failed_check_with_a_hint(judged):
    lines = [f"x_value: {i}.0, y_value: 0.0\r\n".encode() for i in range(10)]
    told = judged(lines, OutputCheck(), stop=Stop.DEADLINE)
    assert told.verdict is Verdict.FAIL
    assert told.reason.startswith("the image prints no records, and no scraper is given")
    assert told.hint == "--scraper hello_world reads 10 results from it"


def test_text_that_no_scraper_reads_is_a_hang_with_a_hint(judged):
    told = judged([b"score: 7\r\n"], OutputCheck(), stop=Stop.DEADLINE)
    assert told.verdict is Verdict.FIRMWARE
    assert ", ".join(SCRAPERS) in told.hint


def test_results_that_are_not_compared_have_a_hint(judged):
    lines = [b"x_value: 1.0, y_value: 0.0\r\n"]
    outputs = OutputCheck(inferences=1, problem="held against nothing", hint="give --model")
    told = judged(lines, outputs, scraper="hello_world")
    assert (told.verdict, told.reason, told.hint) == (
        Verdict.FAIL,
        "held against nothing",
        "give --model",
    )


@pytest.mark.parametrize(
    ("pc", "words"), [(0x104, ", in soc::Send "), (0, ", called from soc::Send ")]
)
def test_a_fault_dump_on_the_console_is_located_by_the_elf(scripted, tmp_path, pc, words):
    elf = tmp_path / "a.elf"
    text = MadeSection(".text", 0x100, bytes(64), load=0x100, executable=True)
    elf.write_bytes(write_elf([text], [MadeSymbol("_ZN3soc4SendEv", 0x101, 16, "func")]))
    dump = (
        "<err> os: ***** USAGE FAULT *****\r\n"
        "<err> os: r3/a4:  0x00000000 r12/ip:  0x00000000 r14/lr:  0x00000107\r\n"
        f"<err> os: Faulting instruction address (r15/pc): 0x{pc:08x}\r\n"
        "<err> os: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\r\n"
    )
    seen = observe(scripted([dump.encode()]), Case("c"))
    (fault,) = (one for one in seen.findings(image=Image.from_elf(elf)) if one.kind == "fault")
    assert words.strip() in f"{fault.message} "


@pytest.mark.parametrize(("version", "known"), [(-1, False), (0, False), (2, True), (70, False)])
def test_a_schema_version_that_no_file_has_is_that_of_no_model(scripted, version, known):
    said = f"Model provided is schema version {version} not equal to supported version 3."
    seen = observe(scripted([f"{said}\r\n".encode()]), Case("c"))
    (finding,) = (one for one in seen.findings() if one.kind == "schema_mismatch")
    meaning = f"no .tflite has schema version {version}: GetModel() got something else"
    assert finding.message.startswith("Model provided" if known else f"{meaning} (Model provided")


def test_findings_stand_before_the_missing_scraper(judged):
    lines = [REFUSED, *(f"x_value: {i}.0, y_value: 0.0\r\n".encode() for i in range(3))]
    told = judged(lines, OutputCheck(), stop=Stop.DEADLINE)
    assert told.problems[0].startswith("Couldn't register builtin op #25")
    assert "no scraper is given" in told.problems[1]
    assert told.hint == "--scraper hello_world reads 3 results from it"


def test_a_scraper_that_does_not_fit_is_not_a_hang(judged):
    lines = [f"x_value: {i}.0, y_value: 0.0\r\n".encode() for i in range(3)]
    told = judged(lines, OutputCheck(), stop=Stop.DEADLINE, scraper="person_detection")
    assert told.verdict is Verdict.FAIL
    assert told.reason.startswith("scraper person_detection reads nothing from its text")
    assert told.problems[1].startswith("3 lines and 0 results came, then")
    assert told.hint == "--scraper hello_world reads 3 results from it"


def test_the_last_words_of_an_image_are_the_reason(judged):
    told = judged([MISSING, b"AllocateTensors() failed\r\n"], OutputCheck(), stop=Stop.DEADLINE)
    assert told.reason == "Didn't find op for builtin opcode 'CONV_2D' (and 1 more)"
    assert "tflm-hil resolver check" in told.hint


def test_an_image_that_waits_for_input_has_a_hint(judged):
    ready = line(1, "ready", input_bytes=64)
    told = judged([BOOT, ready], OutputCheck(), stop=Stop.DEADLINE)
    assert told.hint == "the image waits for input: give --inputs, or `inputs` in a case file"


def test_a_lockup_is_not_an_end_unless_a_fault_is_expected(judged):
    refused = Expected(outputs=False, findings=(("missing_operator", "CONV_2D"),))
    said = [BOOT, MISSING, END]
    assert judged(said, OutputCheck(), expect=refused).verdict is Verdict.PASS
    told = judged(said, OutputCheck(), stop=Stop.LOCKUP, expect=refused)
    assert (told.verdict, "the core locked up" in told.reason) == (Verdict.FIRMWARE, True)
    faulty = Expected(outputs=False, findings=(("fault", ""),))
    expected = judged([BOOT, END], OutputCheck(), stop=Stop.LOCKUP, faults=[FAULT], expect=faulty)
    assert expected.verdict is Verdict.PASS


def test_wrong_outputs_before_a_hang_are_reported(judged):
    outputs = OutputCheck(30, 4, 3, problem="4 of 30 output values differ")
    told = judged([BOOT], outputs, stop=Stop.DEADLINE, budgets=["flash is over"])
    assert told.verdict is Verdict.FIRMWARE
    assert told.problems[1:] == ("4 of 30 output values differ", "flash is over")


def test_a_case_without_outputs_passes_with_that_reason(judged):
    told = judged([BOOT, END], OutputCheck(), expect=Expected(outputs=False))
    assert (told.verdict, told.reason) == (Verdict.PASS, "no outputs, as expected")


@pytest.mark.parametrize(
    ("case", "hint", "later"),
    [
        ({}, "--end never", "--end never"),
        ({"inferences": 99}, "--timeout", ""),
        ({"end": LastLine("^done$")}, "--timeout", ""),
        ({"end": "never", "inferences": 99}, "--timeout", ""),
    ],
)
def test_results_without_an_end_have_a_hint(judged, case, hint, later):
    def hint_of(*, lines, timeout):
        told = judged([b"y=1\n"] * lines, OutputCheck(inferences=9), stop=Stop.DEADLINE,
                      scraper=r"/y=(?P<y>\d+)/", timeout=timeout, **case)  # fmt: skip
        assert told.verdict is Verdict.FIRMWARE
        assert "9 results came, then it ran on to the deadline" in told.reason
        return told.hint

    assert hint in hint_of(lines=50, timeout=0.02)
    silent = hint_of(lines=1, timeout=10.0)  # for most of its time
    assert later in silent and bool(silent) is bool(later)


def test_a_flooded_console_is_the_reason(judged, monkeypatch):
    monkeypatch.setattr("harness.uart.console.LARGEST", 100)
    told = judged([b"noise\n"] * 100, OutputCheck(), stop=Stop.DEADLINE)
    assert told.verdict is not Verdict.PASS
    assert "the console printed more than is read" in told.reason


def test_a_suite_is_praised_in_its_own_words(judged):
    suite = b"Running TESTSUITE s\nPROJECT EXECUTION SUCCESSFUL\n"
    outputs = OutputCheck(2, 0, 2, pass_reason="2 of 2 tests passed")
    told = judged([suite], outputs, scraper="ztest")
    assert (told.verdict, told.reason) == (Verdict.PASS, "2 of 2 tests passed")


def test_a_custom_operator_without_a_name_gets_those_of_the_model(scripted):
    model = SimpleNamespace(custom_operator_names=("Atan", "Sine"))
    text = b"Failed to get registration from op code CUSTOM\r\n"
    seen = observe(scripted([text]), Case("c"))
    bare, named = seen.findings(), seen.findings(model)
    unnamed = [one for one in bare if one.kind is Kind.MISSING_CUSTOM_OPERATOR]
    assert [one.subject for one in unnamed] == [""]
    assert [one.subject for one in named] == [
        one.subject or "Atan or Sine" if one in unnamed else one.subject for one in bare
    ]
    assert any(one.message.endswith("(the model's: Atan or Sine)") for one in named)


def test_only_an_unnamed_custom_operator_is_named_by_the_model(scripted):
    model = SimpleNamespace(custom_operator_names=("Atan",))
    seen = observe(scripted([b"AllocateTensors() failed\r\n"]), Case("c"))
    assert seen.findings(model) == seen.findings() != ()


def test_a_reset_that_the_target_counted_is_a_finding(scripted):
    session = scripted([BOOT, b"AllocateTensors() failed\r\n"])
    session.resets = 1
    found = observe(session, Case("c")).findings()
    assert len(found) > 1
    assert [one.message for one in found if one.kind is Kind.REBOOTED] == [
        "the firmware reset itself (1 times)"
    ]


def test_a_reset_that_the_console_shows_is_one_finding(scripted):
    session = scripted([BOOT, BOOT, END])
    session.resets = 1
    found = observe(session, Case("c")).findings()
    assert sum(one.kind is Kind.REBOOTED for one in found) == 1


def test_the_first_finding_is_the_reason_of_a_missing_end(judged):
    told = judged([REFUSED, MISSING], OutputCheck(), stop=Stop.DEADLINE)
    assert told.reason.startswith("Couldn't register builtin op #25, resolver size is too small")
    assert "CONV_2D" in told.problems[1]
