"""A real Renode: clean machines, traces, nothing left behind; skipped where none is installed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import needs
import pytest
from firmwares import build  # noqa: F401

from harness.base import paths
from harness.base.errors import TargetLost
from harness.base.findings import Kind
from harness.build import table
from harness.build.standalone import build_standalone
from harness.case import Case, run_case
from harness.elf import Image
from harness.targets import ConsoleMatch, Elapsed, Stop, open_target
from harness.targets.renode import RenodePool, RenodeServer

END = ConsoleMatch(rb"~HIL \d+ (?:end|ready) [^\r\n]*\*[0-9a-f]{8}[\r\n]")
TABLE = tomllib.loads((paths.platforms() / "chips" / "nrf9160.toml").read_text())
SCS, DWT = 0xE000E000, 0xE0001000
#: Offsets and sizes: SysTick; NVIC enables, pending bits, priorities; SCB; CPACR.
SCS_REGISTERS = ((0x10, 16), (0x100, 12), (0x200, 12), (0x400, 64), (0xD00, 64), (0xD88, 4))
DISTURBED = (0x100, 0x104, 0x140, 0x200, 0x304, 0x344, *range(0x500, 0x520, 4), 0x700, 0x718)
MOST_MEMORY = 450_000_000  # bytes of a process of Renode
BUTTONS = 0x3C0  # P0.06 to P0.09, high with a pull-up where nobody presses
PULL_UP = 3 << 2  # PIN_CNF, with the input buffer connected
MPU_RNR, MPU_RBAR = SCS + 0xD98, SCS + 0xD9C


@pytest.fixture(scope="module")
def image() -> Image:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_standalone("hello_world", "exact").elf)


def windows():
    for name, entry in TABLE["peripherals"].items():
        for window in entry["bases"]:
            base = TABLE["windows"][window] + entry["offset"]
            yield f"{name} {window}", entry["model"], base, entry.get("size", 0x1000)


def state(session) -> dict[str, bytes]:
    """Every register and every byte of memory that a debugger can read."""
    memory = session.memory
    seen = {name: memory.read(base, size) for name, _, base, size in windows()}
    seen |= {f"SCS {at:x}": memory.read(SCS + at, size) for at, size in SCS_REGISTERS}
    seen["DWT"] = memory.read(DWT, 0x10)
    for name, where in TABLE["memory"].items():
        seen[name] = memory.read(where["origin"], where["size"])
    for region in range(TABLE["soc"]["mpu_regions"]):
        word(session, MPU_RNR, region)
        seen[f"MPU {region}"] = memory.read(MPU_RBAR, 8)
    word(session, MPU_RNR, 0)
    return seen | {"core": repr(session.registers).encode()}


def word(session, address: int, value: int) -> None:
    session.memory.write(address, value.to_bytes(4, "little"))


def disturb(session) -> None:
    """Leave nothing as it was: start timers, enable and pend interrupts, overwrite all memories."""
    for _, model, base, size in windows():
        if model in ("storage", "wdt"):
            continue
        for offset in (one for one in DISTURBED if one < size):
            word(session, base + offset, 0xF0F0F)
        if model in ("timer", "rtc"):
            word(session, base, 1)
    for offset in (0x100, 0x104, 0x200, 0x204):
        word(session, SCS + offset, 0xFFFFFFFF)
    for offset, value in ((0x14, 0xFFFF), (0x10, 7), (0x400, 0xE0E0E0E0), (0xD24, 0x70000)):
        word(session, SCS + offset, value)
    for region in range(TABLE["soc"]["mpu_regions"]):
        word(session, MPU_RNR, region)
        word(session, MPU_RBAR, 0x20000000 + 0x100 * region)
        word(session, MPU_RBAR + 4, 0x200000E1 + 0x100 * region)
    word(session, DWT, 1)
    session.memory.write(0x20000000, b"\x5a" * 0x40000)
    session.memory.write(0x80000, b"\x5a" * 0x1000)
    session.memory.write(0xFF0000, bytes(0x1000))
    session.memory.write(0xFF8000, bytes(0x1000))
    session.write(b"on its way")


def test_a_machine_that_was_used_is_as_a_new_one(server, image):
    with open_target("renode", image, server=server) as session:
        session.profile()  # so that the next machine is new
    with open_target("renode", image, server=server) as session:
        new, machines = state(session), server.machines
        session.run(END, session.deadline(10))
        printed, counters = session.read(), session.counters
        disturb(session)
        spoilt = state(session)
    changed = {name for name in new if spoilt[name] != new[name]}
    assert {"ram", "uicr", "UARTE0 s", "RTC1 s", "TIMER0 s", "P0 s", "SPU s"} <= changed
    assert {"SCS 10", "SCS 100", "SCS 400", "SCS d00", "MPU 3"} <= changed
    with open_target("renode", image, server=server) as session:
        assert server.machines == machines, "a new machine was made, nothing is tested"
        again = state(session)
        assert [name for name in new if again[name] != new[name]] == []
        session.run(END, session.deadline(10))
        assert session.read() == printed
        assert session.counters.instructions == counters.instructions
        assert session.counters.virtual_seconds == counters.virtual_seconds


def test_unmodelled_accesses_name_the_function_and_a_debuggers_are_none(server, build):  # noqa: F811
    with open_target("renode", build("publish"), server=server) as session:
        session.memory.read(0x500141F4, 4)
        session.run(ConsoleMatch(rb"end\n"), session.deadline(10))
        found = [one for one in session.findings if one.kind is Kind.UNMODELLED_ACCESS]
    assert [one.subject for one in found] == ["RTC0+0x1f0"]
    assert "RTC0+0x1f0 has no model and was written (by Publish at " in found[0].message


def test_buttons_stay_released_over_a_reset(server, image):
    with open_target("renode", image, server=server) as session:
        session.run(END, session.deadline(10))
        session.reset()
        for pin in range(6, 10):
            word(session, 0x50842700 + 4 * pin, PULL_UP)
        assert session.memory.word(0x50842510) & BUTTONS == BUTTONS


@pytest.mark.parametrize("sample", table.load().samples)
def test_what_ran_is_what_ran_on_the_simulator(server, sample):
    needs.require("arm-none-eabi-gcc", "flatc")
    firmware = Image.from_elf(build_standalone(sample, "exact").elf)
    found = {}
    for target, options in (("renode", {"server": server}), ("simulator", {})):
        with open_target(target, firmware, **options) as session:
            session.profile()
            session.run(END, session.deadline(30, guard=250))
            found[target] = session.coverage()
            assert found[target].instructions == session.counters.instructions
    renode, simulator = found["renode"], found["simulator"]
    assert renode.files == simulator.files
    assert renode.lcov() == simulator.lcov()
    apart = {
        name: (count, simulator.functions.get(name))
        for name, count in renode.functions.items()
        if count != simulator.functions.get(name)
    }
    # The console driver polls: there a transfer takes time on the simulator and none on Renode.
    assert set(apart) <= {"soc::Send(unsigned char const*, unsigned int)"}
    assert all(one < other for one, other in apart.values())
    assert renode.functions.keys() == simulator.functions.keys()


@pytest.mark.slow
def test_200_cases_share_a_process_and_a_machine_whose_memory_does_not_grow(image):
    with pool() as renodes:
        server, memory = renodes.server(), []
        for _ in range(200):
            with open_target("renode", image, server=server) as session:
                assert session.run(END, session.deadline(10)) is Stop.CONDITION
            memory.append(resident(server))
        assert (server.starts, server.machines) == (1, 1)
    assert max(memory) < MOST_MEMORY, memory[::20]


@pytest.mark.slow
def test_a_renode_that_is_killed_is_one_error_and_the_next_case_runs(image):
    with pool() as renodes:
        session = open_target("renode", image, pool=renodes)
        os.kill(pid_in(session), signal.SIGKILL)
        with session, pytest.raises(TargetLost, match="connection"):
            session.run(END, session.deadline(10))
        with open_target("renode", image, pool=renodes) as session:
            assert session.run(END, session.deadline(10)) is Stop.CONDITION
        assert renodes.starts == 2


@pytest.mark.slow
def test_a_renode_that_hangs_ends_at_the_guard_and_the_next_case_runs(image, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._MARGIN", 0.5)
    with pool() as renodes:
        session = open_target("renode", image, pool=renodes)
        hung = pid_in(session)
        os.kill(hung, signal.SIGSTOP)
        with session:
            assert session.run(END, session.deadline(10, guard=1.0)) is Stop.GUARD
        assert not alive(hung)
        with open_target("renode", image, pool=renodes) as session:
            assert session.run(Elapsed(0.001), session.deadline(10)) is Stop.CONDITION


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_opens_no_port_and_leaves_no_process_and_no_file_when_it_is_ended(
    number, image, tmp_path
):
    needs.require("renode")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    arguments = ["run", str(image.path), "--target", "renode", "--timeout", "3000"]
    arguments += ["--inferences", "1000", "--output", str(tmp_path / "out")]
    run = subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    folder = wait_for(lambda: next(tmp_path.glob("tflm-hil-renode-*/renode-*"), None))
    renode = int(folder.name.removeprefix("renode-"))
    assert listening(renode) == set()
    run.send_signal(number)
    run.wait(30)
    assert wait_for(lambda: not alive(renode))
    assert wait_for(lambda: not list(tmp_path.glob("tflm-hil-*")))


@pytest.mark.slow
def test_damaged_models_are_compiled_again(tmp_path, monkeypatch):
    needs.require("renode")
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path))
    with RenodeServer() as first:
        assert first.client
    models = list(tmp_path.glob("renode-models/*/renode/compiler-cache/[0-9A-F]*"))
    assert models
    for model in models:
        model.write_bytes(model.read_bytes()[:1000])
    with RenodeServer() as second:
        assert second.client


@pytest.mark.slow
def test_a_case_that_is_run_alone_ends_its_renode(image, tmp_path):
    needs.require("renode")
    seen = []
    case = Case("alone", elf=image.path, timeout=1.0).on("renode")
    run_case(case, tmp_path, look=lambda session, *_: seen.append(pid_in(session)))
    assert len(seen) == 1
    assert not alive(seen[0])


def pool() -> RenodePool:
    needs.require("renode")
    return RenodePool()


def pid_of(server) -> int:
    return int(next(server.folder.glob("renode-*")).name.removeprefix("renode-"))


def pid_in(session) -> int:
    return pid_of(session._server)


def resident(server) -> int:
    """Bytes of the memory of Renode's process."""
    status = Path(f"/proc/{pid_of(server)}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def listening(process: int) -> set[str]:
    """Addresses on which ``process`` listens: its sockets among those of /proc/net in LISTEN."""
    links = []
    for one in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since then
            links.append(str(one.readlink()))
    own = {one.removeprefix("socket:[").rstrip("]") for one in links if one.startswith("socket:")}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[1] for row in rows if row[3] == "0A" and row[9] in own}


def alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(check, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.05)
    return None
