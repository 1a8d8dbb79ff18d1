"""Changes to the agent are noticed on the real Renode, each by one image or test."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import framed_images
import needs
import pytest

from harness.base.errors import HilError
from harness.targets.renode import RenodeServer
from harness.targets.renode.machine import monitor_path
from harness.targets.renode.server import AGENT as FILES

pytestmark = [pytest.mark.slow, pytest.mark.renode]


def module_of(name: str) -> ModuleType:
    """A file of tests beside this one."""
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AGENT, FAULTS, ENDS = map(
    module_of, ("test_renode_agent", "test_renode_faults", "test_renode_ends")
)
#: The files that can be replaced while Renode runs: all but the first one, which serves the link.
INCLUDED = FILES[1:]
#: One change each: file, old text, new text, and who notices it: an image of the tables "faults" or
#: "ends", or a test of the agent and its arguments.
MUTANTS = [
    ("exceptions.py", "number != ENTRY", "True", "faults: undefined"),
    ("exceptions.py", "self.raised not in (0, SVC)", "self.raised", "faults: lazy_floats_nowhere"),
    ("exceptions.py", "NEVER_EXECUTED if never else", "", "faults: branch_into_peripherals"),
    ("exceptions.py", "self.report(0, self.raised", "self.report(3, self.raised",
     "faults: masked_by_faultmask"),
    ("exceptions.py", "return self.executed() - self.changed", "return 0",
     "ends: computes_in_a_handler"),
    ("exceptions.py", "self.report(running, 0, self.before_entry(), entered)", "pass",
     "faults: stack_outside_ram_at_an_interrupt"),
    ("exceptions.py", "            self.flush()\n", "", "the_console_is_told_before_a_fault_and_"
     "before_a_core_that_ends"),
    ("exceptions.py", "MOST_STATES = 16", "MOST_STATES = 17",
     "faults_without_end_are_bounded_and_the_first_ones_have_their_state"),
    ("rest.py", "code & 0xFFFF == TO_ITSELF or ", "",
     "ends: timer_masked_by_primask_at_a_branch_behind_a_wfi"),
    ("rest.py", "self.core.word(SCR) & SEVONPEND", "False",
     "ends: pending_interrupt_wakes_an_event_wait"),
    ("rest.py", 'waits == "WFI"', "True",
     "ends: timer_masked_by_primask_at_a_branch"),
    ("rest.py", "if self.core.register(BASEPRI)", "if False", "ends: timer_below_basepri"),
    ("rest.py", "self.is_enabled(number) and", "", "ends: timer_not_enabled_in_the_nvic"),
    ("rest.py", "self.chip.IsAwaited or ", "", "ends: watchdog_waits"),
    ("rest.py", "and self.interrupts_by(one)", "", "ends: systick_without_interrupt"),
    ("core.py", "int(bool(self.cpu.IsUsingProcessSP))", "0", "faults: on_a_process_stack"),
    ("core.py", "if limit & 1", "if True", "state_of_a_stopped_core_is_that_on_the_simulator"),
    ("core.py", "0x800, 0x10", "0x800, 0x20", "faults: secure_ram_read"),
    ("core.py", "int(cpu.SecureFaultStatus)", "0", "faults: secure_ram_read"),
    ("console.py", "begin - SEARCHED)", "begin)",
     "a_match_may_begin_in_an_earlier_line_of_the_same_run"),
    ("console.py", "self.searched = self.printed.Count", "pass",
     "a_match_may_begin_in_an_earlier_line_of_the_same_run"),
    ("console.py", "self.sent = SEARCHED", "pass",
     "a_flood_is_passed_on_whole_and_its_end_is_found"),
    ("console.py", "if byte == 10", "if False", "a_flood_is_passed_on_whole_and_its_end_is_found"),
    ("console.py", "self.uart.Receive(", "(",
     "input_longer_than_the_receive_buffer_arrives_whole", 100),
    ("calls.py", "caller & ~1 not in self.callers", "False",
     "calls_are_those_on_the_simulator", "recursion"),
    ("calls.py", "p[1] == sp and ", "", "calls_are_those_on_the_simulator", "recursion"),
    ("calls.py", "self.last == before", "False",
     "a_run_to_a_watched_function_leaves_it_watched"),
    ("machine.py", "in self.registers.items()", "in ()", "faults: undefined_in_a_callee"),
    ("machine.py", "setattr(self.nvic, name, System.Byte(0))", "pass",
     "masks_do_not_outlive_their_case"),
    ("agent.py", "self.resets - self.pressed >=", "self.resets >=",
     "resets_by_the_pin_are_not_those_of_a_loop"),
    ("agent.py", "        self.earlier += before\n", "",
     "a_pin_reset_starts_the_image_again_and_instructions_go_on"),
    ("agent.py", "return self.sleeping or", "return True or",
     "an_elapsed_time_and_a_count_are_exact"),
    ("agent.py", "self.sleeping = sleeping", "self.sleeping = False", "ends: sleeps"),
    ("agent.py", "self.executed() != self.at_symbol", "True",
     "a_symbol_is_reached_once_each_time"),
    ("agent.py", "            self.console.flush()  #", "            #",
     "a_match_may_begin_in_an_earlier_line_of_the_same_run"),
    ("log.py", "MAX_WARNINGS = 1000", "MAX_WARNINGS = 1200", "a_log_that_floods_is_bounded"),
]  # fmt: skip


def check_of(noticed_by: str, arguments: list[object], folder: Path) -> Callable[..., None]:
    """The test that notices a change, as a call that takes a Renode."""
    compiler = str(needs.require("arm-none-eabi-gcc"))
    table, colon, name = noticed_by.partition(": ")
    if colon:
        (image,) = (one for one in framed_images.images(table) if one.name == name)
        module = FAULTS if table == "faults" else ENDS
        (test,) = (value for name, value in vars(module).items() if name.startswith("test_"))
        return lambda renode: test(image, lambda one: one.build(compiler, folder), renode)
    test = getattr(AGENT, f"test_{noticed_by}")
    build = AGENT.builder(compiler, folder)

    def run(renode: RenodeServer) -> None:
        with AGENT.opening(build, renode) as opened:
            fixtures = {"opened": opened, "build": build, "server": renode}
            names, left = inspect.signature(test).parameters, iter(arguments)
            test(**{name: fixtures[name] if name in fixtures else next(left) for name in names})

    return run


def changed(folder: Path, name: str, old: str, new: str) -> tuple[Path, ...]:
    """The agent's files, one of them changed, in ``folder``."""
    files = tuple(folder / path.name for path in INCLUDED)
    for source, copy in zip(INCLUDED, files, strict=True):
        text = source.read_text()
        if source.name == name:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
            text = text.replace(old, new)
        copy.write_text(text)
    return files


@pytest.fixture
def use(server):
    """Makes Renode use other files of the agent, on a new machine; those of the package at last."""

    def include(files: tuple[Path, ...]) -> None:
        server.release(reusable=False)
        for file in files:
            server.client.command(f"include {monitor_path(file)}")

    yield include
    include(INCLUDED)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one[0]}: {one[1].strip()}")
def test_a_changed_agent_is_noticed(mutant, server, use, tmp_path):
    name, old, new, noticed_by, *arguments = mutant
    check = check_of(noticed_by, arguments, tmp_path)
    use(INCLUDED)
    check(server)
    use(changed(tmp_path, name, old, new))
    with pytest.raises((AssertionError, HilError)):
        check(server)
