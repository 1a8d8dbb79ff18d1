"""Findings are told in the order of time on every target, the first cause first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from bare_images import BareImages

from harness.base.errors import FirmwareFailed
from harness.base.expected import Expected
from harness.base.findings import NOTES, Kind
from harness.case import Case, CaseResult, run_case
from harness.case.live import Live
from harness.targets.opening import Targets

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

REFUSED = "Node FULLY_CONNECTED (number 0) failed to prepare with status 1"
MISSING = "Didn't find op for builtin opcode 'CONV_2D'"
STORE = "*(volatile int *)0xA0000000 = 1;"
FAULT = "a store to 0xa0000000, where nothing answers: a pointer that is not set, or overwritten;"
#: What Zephyr prints of a fault.
DUMP = 'say("***** BUS FAULT *****\\n"); say(">>> ZEPHYR FATAL ERROR 0: CPU exception\\n");'
DUMPED = ["then: Bus fault", "then: >>> ZEPHYR FATAL ERROR 0: CPU exception"]
#: AllocateTensors() by its linker name.
ALLOCATE = """
__attribute__((noipa)) int allocate(int status)
    __asm__("_ZN6tflite16MicroInterpreter15AllocateTensorsEv");
int allocate(int status) { return status; }
"""
RENODE = pytest.param("renode", marks=[pytest.mark.needs("renode"), pytest.mark.renode])


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def targets() -> Iterator[Targets]:
    with Targets() as shared:
        yield shared


@pytest.fixture
def result(images: BareImages, tmp_path: Path, targets: Targets):
    (tmp_path / "own.h").write_text(ALLOCATE)

    def run(target: str, body: str) -> CaseResult:
        elf = images(body, f"-O1 -include {tmp_path / 'own.h'}", on_fault=DUMP + "for (;;) {}")
        expected = Expected(values=({"y": 1},))
        case = Case("own", elf=elf, scraper=r"/y=(?P<y>\d+)/", expect=expected, timeout=2.0)
        return run_case(case.on(target), tmp_path, pools=targets)

    return run


@pytest.mark.parametrize("target", ["simulator", RENODE])
def test_a_message_stands_before_the_fault_and_that_before_its_dump(result, target):
    first, fault, *dump = result(target, f'say("{REFUSED}\\n"); {STORE}').problems
    assert first == REFUSED
    assert fault.startswith("then: HardFault (") and FAULT in fault
    assert dump == DUMPED


@pytest.mark.parametrize("target", ["simulator", RENODE])
def test_a_status_stands_before_the_fault_that_it_led_to(result, target):
    first, fault, *_ = result(target, f'say("boot\\n"); allocate(1); {STORE}').problems
    assert first.startswith("AllocateTensors() returned 1, not kTfLiteOk, in main")
    assert FAULT in fault


@pytest.mark.parametrize(
    ("printed", "hint"), [(REFUSED, ""), (MISSING, "`tflm-hil resolver check IMAGE MODEL` lists")]
)
def test_a_session_tells_the_first_cause_and_its_hint(images, printed, hint):
    case = Case("own", elf=images(f'say("{printed}\\n"); {STORE}'), timeout=2.0)
    with pytest.raises(FirmwareFailed) as failed, Live.open(case) as live:
        live.wait_for("y=")
    assert f"; {printed}; pc is in" in failed.value.message
    assert failed.value.hint.startswith(hint) and bool(failed.value.hint) is bool(hint)
    with pytest.raises(FirmwareFailed) as failed, Live.open(case) as live:
        live.run_for(0.1)
    first, second, *_ = failed.value.message.splitlines()
    assert first.startswith(printed) and second.startswith("then: HardFault (")


@pytest.mark.slow
def test_a_board_tells_the_lines_of_its_console_in_order_with_their_times(result):
    told = result("virtual-board", f'wait(); say("{REFUSED}\\n"); {STORE}')
    assert told.problems == (REFUSED, *DUMPED)
    check_times(told)


@pytest.mark.parametrize("target", ["simulator", RENODE])
def test_each_event_has_its_time_in_seconds(result, target):
    check_times(result(target, f'wait(); say("{REFUSED}\\n"); {STORE}'))


def check_times(told: CaseResult) -> None:
    """Each finding has its time, and so has the document."""
    times = [one.time for one in told.findings if one.kind not in NOTES]
    assert None not in times
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert 0.001 < times[0] < told.measures.wall_seconds + 2.0
    document = [one for one in told.to_json()["findings"] if one["kind"] == Kind.PREPARE_FAILED]
    assert [one["time"] for one in document] == times[:1]
