"""Breakpoints of `tflm-hil debug --at`, and runs that stop there."""

from types import SimpleNamespace

import pytest

from harness.base.errors import CheckFailed, UsageError
from harness.debug.gdb import GdbCall, gdb_command, run_up_to
from harness.debug.replay import Breakpoint, Rerun, next_address, stop_at
from harness.simulator import Machine


def stop(image, text, **options):
    place = Breakpoint.parse(text, image)
    return stop_at(lambda: Rerun(Machine(image)), place, 1.0, 30.0, **options).machine


def test_fault_less_a_count_is_so_many_instructions_before_it(build):
    image = build("nullcall")
    at, before = stop(image, "fault"), stop(image, "fault-100")
    assert not at.faults
    assert before.core.executed == at.core.executed - 100
    at.run(until_executed=at.core.executed + 1)
    assert at.faults


def test_a_function_stops_before_its_first_instruction(build):
    image = build("nullcall")
    machine = stop(image, "Main")
    assert machine.pc == image.symbol("Main").address & ~1


def test_next_address_is_the_pc_after_one_instruction(build):
    image = build("nullcall")
    machine = stop(image, "Main", lead=1)
    executed = machine.core.executed
    assert next_address(machine) == image.symbol("Main").address & ~1
    assert machine.core.executed == executed


def test_hang_stops_where_the_image_hangs(build):
    machine = stop(build("nullcall"), "hang")
    assert machine.core.locked_up


@pytest.mark.parametrize("text", ["nowhere", "inference 2", "-5", "fault-x"])
def test_an_unknown_place_is_refused(build, text):
    with pytest.raises(UsageError):
        Breakpoint.parse(text, build("nullcall"))


def test_an_ambiguous_function_name_is_an_error_with_the_addresses():
    functions = [SimpleNamespace(kind="func", name="Step", address=one) for one in (0x201, 0x101)]
    image = SimpleNamespace(path="a.elf", symbols=functions)
    with pytest.raises(UsageError, match="has 2 functions 'Step'") as refused:
        Breakpoint.parse("Step", image)
    assert refused.value.hint == "name one by its address: 0x100, 0x200"


def test_an_image_without_a_fault_is_an_error(build):
    with pytest.raises(CheckFailed, match="no fault"):
        stop(build("counter"), "fault")


def test_the_gdb_command_has_port_place_and_commands(tmp_path):
    call = GdbCall("gdb", tmp_path / "a.gdb")
    words = gdb_command(call, 3333, tmp_path / "a.elf", run_up_to(0x100))
    assert words[:3] == ["gdb", "-nx", "-batch"]
    assert words[-3:] == ["-x", str(tmp_path / "a.gdb"), str(tmp_path / "a.elf")]
    assert "target remote 127.0.0.1:3333" in words
    assert "tbreak *0x100" in words
