"""Changes to the agent are noticed by the tests of tests/unit/renode/test_renode_agent.py."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from fake_renode import R1_16, R1_17, FakeRenode, tiny_image

from harness.elf import Image
from harness.targets.renode.link import MonitorError
from harness.targets.renode.server import AGENT


def as_module(path: Path) -> ModuleType:
    """A file of tests."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


agent = as_module(Path(__file__).parents[1] / "unit" / "renode" / "test_renode_agent.py")


@pytest.fixture
def firmware(tmp_path: Path) -> Image:
    return tiny_image(tmp_path)


#: What stands behind the line that takes a console from its old machine.
RECYCLED = "        self.machine.MachineReset -= self.on_reset\n        self.cpu"
#: One change to the agent each, which the tests there have to notice: (file, old, new).
MUTANTS = [
    ("agent.py", "ON_PSP = 0x4, 0xC", "ON_PSP = 0x4, 0x4"),
    ("agent.py", "ON_PSP = 0x4, 0xC", "ON_PSP = 0x4, 0x8"),
    ("agent.py", "OTHER_SP if link", "SP if link"),
    ("agent.py", "def Log(self, entry, *_)", "def Log(self, entry)"),
    ("agent.py", "(entry.ObjectName or", "(entry.ObjectName + "),
    ("agent.py", "startswith(ABORT)", "startswith('?')"),
    ("agent.py", '.replace("%", "%%")', ""),
    ("agent.py", "if not self.running or", "if"),
    ("agent.py", "self.cpu.IsLockedUp:", "False:"),
    ("agent.py", "divisor == 1", "divisor == 2"),
    ("agent.py", "if self.last_pc != first_pc:", "if False:"),
    ("agent.py", 'self.stop("abort")', "pass"),
    ("agent.py", "self.earlier += before  # the", "pass  # the"),
    ("agent.py", "if not 3 <= number <= 7", "if not 3 <= number <= 99"),
    ("agent.py", "self.faults >= MAX_FAULTS", "False"),
    ("agent.py", "self.resets - self.pressed >= self.max_resets", "False"),
    ("agent.py", "if count > KEPT:", "if False:"),
    ("agent.py", "self.sent = SEARCHED", "self.sent = 0"),
    ("agent.py", "begin - SEARCHED", "begin"),
    ("agent.py", f"self.uart.CharReceived -= self.on_char\n{RECYCLED}", f"pass\n{RECYCLED}"),
    ("agent_link.py", "words.HasError or", "False or"),
]


def checks(firmware: Image) -> list[Callable[[FakeRenode], None]]:
    """Those tests, as calls that take a Renode, the long ones last."""
    plain = [
        agent.test_a_core_that_locks_up_ends_the_run_at_once,
        agent.test_a_core_that_computes_in_silence_is_not_locked_up,
        agent.test_branch_outside_memory_is_a_fault_with_its_caller,
        agent.test_a_fault_that_comes_again_and_again_is_a_lockup,
        agent.test_interrupt_that_shares_the_fault_handler_is_not_a_fault,
        agent.test_an_image_that_resets_itself_without_end_is_stopped,
        agent.test_a_pin_reset_starts_the_image_again,
        agent.test_warnings_between_runs_are_ignored,
        agent.test_slices_do_not_halt_the_core_and_a_match_halts_it_once,
        agent.test_a_match_may_begin_in_an_earlier_line_of_the_same_run,
        agent.test_an_elapsed_time_and_a_count_are_exact,
        refuses_a_machine,
    ]
    long = [
        agent.test_a_console_without_an_end_is_passed_on_and_not_kept,
        agent.test_100_cases_in_a_row_share_a_process_and_a_machine,
    ]
    frame = agent.test_the_frame_of_a_fault_is_read_from_its_stack
    calls: list[Callable[[FakeRenode], None]] = [
        lambda renode, link=link, psp=on_psp: frame(renode, firmware, link, psp)
        for link, on_psp in ((0xFFFFFFFD, True), (0xFFFFFFF5, False), (0xFFFFFFF9, False))
    ]
    levels = agent.test_log_entries_of_every_level_harm_nothing_and_warnings_are_kept
    calls.append(lambda renode: levels(renode, firmware, 2))
    calls += [(lambda renode, one=one: one(renode, firmware)) for one in (*plain, *long)]
    return calls


def refuses_a_machine(renode: FakeRenode, firmware: Image) -> None:
    renode.refuses = "machine LoadPlatformDescription"
    with pytest.raises(MonitorError, match="Error E39"):
        agent.opened(renode, firmware)


@pytest.mark.parametrize(("name", "old", "new"), MUTANTS)
def test_a_changed_agent_is_noticed(name, old, new, firmware, tmp_path, monkeypatch):
    files = tuple(Path(tmp_path / path.name) for path in AGENT)
    for source, copy in zip(AGENT, files, strict=True):
        text = source.read_text()
        if source.name == name:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
            text = text.replace(old, new)
        copy.write_text(text)
    monkeypatch.setattr("harness.targets.renode.session._MARGIN", 0.1)
    monkeypatch.setattr("harness.targets.renode.link.AgentLink.ready", patient)
    assert not passes(firmware, files)


@pytest.mark.slow
def test_the_agent_as_it_is_passes_what_mutants_fail(firmware):
    assert passes(firmware, AGENT)


def passes(firmware: Image, files: tuple[Path, ...]) -> bool:
    for call in checks(firmware):
        for release in (R1_17, R1_16):
            renode = FakeRenode(release, agent_files=files)
            try:
                call(renode)
            except (Exception, pytest.fail.Exception):
                return False
            finally:
                renode.released.set()
    return True


def patient(link, timeout: float) -> None:
    """A wire whose other end is broken is given up soon."""
    link.timeout = 3.0
    link._answer("its start", 3.0, None)
