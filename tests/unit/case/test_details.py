"""Faults in a result, and the name of an image's model."""

import zlib

from device import line

from harness.base import paths
from harness.case.case import Case
from harness.case.judge import _details, _wrong_model
from harness.case.observe import observe
from harness.case.outputs import OutputCheck
from harness.case.run import _one_line
from harness.model import Model
from harness.targets import Fault

LD = "collect2: error: ld returned 1 exit status"


def fault(pc: int) -> Fault:
    return Fault("UsageFault", "STKOF", pc, 0, None, "f at a.c:1", f"report of {pc:#x}")


def seen(scripted, *, faults=(), crc="00000000"):
    session = scripted([line(0, "boot", model_crc32=crc), line(1, "end")])
    session.faults = list(faults)
    return observe(session, Case("c"))


def test_a_fault_that_comes_again_at_one_place_is_reported_once(scripted):
    observed = seen(scripted, faults=[fault(0x10), fault(0x20), fault(0x10), fault(0x10)])
    assert _details(observed, OutputCheck(details="a table")) == [
        "a table",
        "report of 0x10",
        "report of 0x20",
        "2 more faults",
    ]


def test_three_different_reports_are_enough(scripted):
    told = _details(seen(scripted, faults=[fault(n) for n in range(1, 8)]), OutputCheck())
    assert told == ["report of 0x1", "report of 0x2", "report of 0x3", "4 more faults"]


def test_one_of_the_projects_models_is_called_by_its_name(scripted):
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    other = (paths.models() / "hello_world_int8.tflite").read_bytes()
    (told,) = _wrong_model(seen(scripted, crc=f"{zlib.crc32(other):08x}"), model)
    assert told.startswith("the image runs hello_world_int8.tflite (CRC-32 ")
    assert told.endswith(f"not digits_int8.tflite (CRC-32 {model.crc32:08x})")
    (told,) = _wrong_model(seen(scripted, crc="0badcafe"), model)
    assert "a model with CRC-32 0badcafe" in told
    assert _wrong_model(seen(scripted, crc=f"{model.crc32:08x}"), model) == []


def test_a_compilers_words_become_one_line_and_details():
    said = "a.cc cannot be built:\n/x/a.cc:1:2: error: no such thing\n    1 | #error\nnote: x"
    reason, details = _one_line(said)
    assert reason == "a.cc cannot be built: /x/a.cc:1: no such thing"
    assert details.startswith("/x/a.cc:1:2: error: no such thing")
    assert _one_line("short") == ("short", "")
    undefined = "x.elf cannot be linked:\nld: main.o: undefined reference to `f'\n" + LD
    assert _one_line(undefined)[0] == "x.elf cannot be linked: main.o: undefined reference to `f'"
    full = "x.elf cannot be linked:\nld: region `FLASH' overflowed by 9 bytes\n" + LD
    assert _one_line(full)[0] == "x.elf cannot be linked: region `FLASH' overflowed by 9 bytes"
    tool = "nrfutil ended with exit code 33\nerasing\nthe target did not respond\n"
    assert _one_line(tool)[0] == "nrfutil ended with exit code 33: the target did not respond"


def test_of_many_wrong_models_three_are_named(scripted):
    model = Model.from_file(paths.models() / "digits_int8.tflite")
    boots = [line(number, "boot", model_crc32=f"{number:08x}") for number in range(1, 6)]
    told = _wrong_model(observe(scripted(boots), Case("c")), model)
    assert [one.partition(",")[0] for one in told] == [
        f"the image runs a model with CRC-32 {number:08x}" for number in (1, 2, 3)
    ]
