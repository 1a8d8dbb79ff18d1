"""Whose an address, an interrupt or a register is: SPU, NVIC and the rights of both states.

Any attribution of the RAM, tried from both security states, against the rules: Armv8-M ARM, B8 and
the pseudocode of ExceptionPriority; nRF9160 PS, "SPU".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base import native
from harness.base.exceptions import PENDSV, SYSTICK
from harness.base.findings import Kind
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import Machine
from harness.simulator.nvic import NONSECURE, NvicRegisters
from harness.simulator.unicorn import Reg

SPU, RAM_PERM, FLASH_PERM, PERIPHID = 0x5000_3000, 0x700, 0x600, 0x800
EXECUTE, WRITE, READ, SECURE, LOCK = 1, 2, 4, 0x10, 0x100
SAU_CTRL, ALLNS = 0xE000_EDD0, 2
RAM, REGION = 0x2000_0000, 0x2000
CODE = RAM + 31 * REGION
LOAD, STORE, BRANCH = range(3)
#: ldr r1, [r0]; str r1, [r0]; bx r0; each followed by: b .
_INSTRUCTIONS = {LOAD: 0x6801, STORE: 0x6001, BRANCH: 0x4700}
_HERE, _BX_LR = 0xE7FE, 0x4770
quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


class Bench:
    """A chip whose SPU and state the tests set as secure firmware would."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.run(until_executed=10)
        self._start = snapshot.take(machine)

    def begin(self) -> None:
        snapshot.restore(self.machine, self._start)
        self.machine.clear_evidence()

    def write(self, address: int, value: int) -> int | None:
        return self.machine.bus.access(1, address, 4, value)

    def read(self, address: int) -> int | None:
        return self.machine.bus.access(0, address, 4, 0)

    def attribute_ram(self, permissions: dict[int, int]) -> None:
        self.write(SAU_CTRL, ALLNS)
        for region, permission in permissions.items():
            self.write(SPU + RAM_PERM + 4 * region, permission)

    def enter_nonsecure(self) -> None:
        self.machine.core.change_state()

    def play(self, kind: int, address: int) -> None:
        """Run one instruction that accesses ``address`` from the code region."""
        machine = self.machine
        machine.write_memory(CODE, struct.pack("<2H", _INSTRUCTIONS[kind], _HERE))
        if kind == BRANCH:
            machine.write_memory(address, struct.pack("<2H", _BX_LR, _HERE))
        machine.core.write_many(
            (int(Reg.R0), int(Reg.LR), int(Reg.PC)),
            (address | (kind == BRANCH), CODE + 3, CODE | 1),
        )
        machine.run(until_executed=machine.core.executed + 4)


@pytest.fixture(scope="module")
def bench(build: Callable[[str], Image]) -> Iterator[Bench]:
    machine = Machine(build("compute"))
    yield Bench(machine)
    machine.close()


@dataclass(frozen=True)
class Refusal:
    cause: str
    reason: str
    event: bool  # of the SPU


def refusal(kind: int, permission: int, nonsecure: bool) -> Refusal | None:
    """What comes of an access to memory with ``permission``, None where it passes."""
    if kind == BRANCH:
        if nonsecure and permission & SECURE:
            return Refusal("SecureFault", "INVEP", event=False)
        if not nonsecure and not permission & SECURE:
            return Refusal("SecureFault", "INVTRAN", event=False)
        allowed = permission & EXECUTE
        return None if allowed else Refusal("BusFault", "IBUSERR", event=True)
    if nonsecure and permission & SECURE:
        return Refusal("SecureFault", "AUVIOL, SFARVALID", event=False)
    if permission & (WRITE if kind == STORE else READ):
        return None
    return Refusal("BusFault", "PRECISERR, BFARVALID", event=True)


permissions = st.integers(0, 7).flatmap(lambda p: st.sampled_from([p, p | SECURE]))


@quick
@given(
    rights=st.dictionaries(st.integers(2, 30), permissions, min_size=1),
    kind=st.sampled_from([LOAD, STORE, BRANCH]),
    nonsecure=st.booleans(),
    data=st.data(),
)
def test_each_access_passes_or_faults_by_state_and_permission(
    bench: Bench, rights: dict[int, int], kind: int, nonsecure: bool, data: st.DataObject
) -> None:
    region = data.draw(st.sampled_from(sorted(rights)))
    address = RAM + region * REGION + 4 * data.draw(st.integers(0, REGION // 4 - 2))
    bench.begin()
    own = 7 if nonsecure else 7 | SECURE
    bench.attribute_ram({**rights, 31: own, 1: 7})
    if nonsecure:
        bench.enter_nonsecure()
    bench.machine.core.write(Reg.MSP, RAM + 2 * REGION)  # frames have rights of their own
    bench.play(kind, address)
    expected = refusal(kind, rights[region], nonsecure)
    faults = bench.machine.faults
    event = bench.machine.devices["SPU"].regs[0x100]
    if expected is None:
        assert faults == []
        assert not event
        return
    assert (faults[0].cause, faults[0].reason) == (expected.cause, expected.reason)
    assert faults[0].world == ("non-secure" if nonsecure else "secure")
    assert faults[0].pc == (address if kind == BRANCH else CODE)
    assert bool(event) is expected.event
    if "VALID" in expected.reason:
        assert faults[0].address == address


@pytest.mark.parametrize("secure_first", [True, False])
@pytest.mark.parametrize("kind", [LOAD, STORE])
@pytest.mark.parametrize("beyond", [1, 2, 3])
def test_an_access_that_ends_or_begins_in_secure_memory_is_refused_again_and_again(
    bench: Bench, beyond: int, kind: int, secure_first: bool
) -> None:
    bench.begin()
    bench.attribute_ram({31: 7, 1: 7, 11 if secure_first else 10: 7})
    bench.machine.write_memory(RAM + 10 * REGION, bytes(2 * REGION))
    bench.enter_nonsecure()
    bench.machine.core.write(Reg.MSP, RAM + 2 * REGION)
    own = RAM + (11 * REGION if secure_first else 11 * REGION - 4)
    for at in (own, own, RAM + 11 * REGION - beyond):
        bench.play(kind, at)
    assert [(f.cause, f.reason) for f in bench.machine.faults[:1]] == [
        ("SecureFault", "AUVIOL, SFARVALID")
    ]
    assert bench.machine.faults[0].pc == CODE


@pytest.mark.parametrize(
    ("address", "cause"),
    [(0x3000_0000, "BusFault"), (0x00FF_0000, "SecureFault"), (0x00FF_8000, "SecureFault"),
     (0x5FFF_0000, "SecureFault")],
)  # fmt: skip
def test_factory_settings_and_secure_aliases_are_secure_and_empty_space_is_not(
    bench: Bench, address: int, cause: str
) -> None:
    bench.begin()
    bench.attribute_ram({31: 7, 1: 7})
    bench.enter_nonsecure()
    bench.machine.core.write(Reg.MSP, RAM + 2 * REGION)
    bench.play(LOAD, address)
    assert bench.machine.faults[0].cause == cause


def test_nothing_is_refused_until_the_sau_leaves_the_word_to_the_spu(bench: Bench) -> None:
    bench.begin()
    bench.write(SPU + RAM_PERM + 4 * 5, 7)
    assert not bench.machine.core.divided
    bench.write(SAU_CTRL, ALLNS)
    assert bench.machine.core.divided


def test_non_secure_code_without_attributed_memory_cannot_run(bench: Bench) -> None:
    bench.begin()
    bench.enter_nonsecure()
    bench.play(LOAD, RAM)
    assert (bench.machine.faults[0].cause, bench.machine.faults[0].reason) == (
        "SecureFault", "INVEP",
    )  # fmt: skip


def test_locked_settings_stay_until_a_reset(bench: Bench) -> None:
    bench.begin()
    register = SPU + FLASH_PERM + 4 * 3
    bench.write(register, EXECUTE | READ | SECURE | LOCK)
    bench.write(register, 7)
    assert bench.read(register) == EXECUTE | READ | SECURE | LOCK
    bench.machine.reset()
    assert bench.read(register) == 0x17


@pytest.mark.parametrize(("size", "bytes_"), [(1, 32), (4, 256), (8, 4096)])
def test_the_end_of_a_region_may_be_entered_through_gateways(
    bench: Bench, size: int, bytes_: int
) -> None:
    bench.begin()
    bench.write(SPU + 0x500, 9)
    bench.write(SPU + 0x504, size)
    bench.write(SAU_CTRL, ALLNS)
    end = 10 * 0x8000
    callable_ = bench.machine.core.is_callable
    assert [callable_(a) for a in (end - bytes_ - 1, end - bytes_, end - 1, end)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_peripheral_permissions_are_readable_and_kept(bench: Bench) -> None:
    bench.begin()
    own, uarte, gpiote1, pins = (SPU + PERIPHID + 4 * n for n in (3, 8, 0x31, 0x42))
    assert [(bench.read(r) or 0) & 3 for r in (own, uarte, gpiote1, pins)] == [1, 2, 0, 3]
    for register in (own, uarte):
        bench.write(register, 0)
    assert (bench.read(own) or 0) & SECURE
    assert not (bench.read(uarte) or 0) & SECURE


def test_a_peripheral_answers_at_the_address_of_its_state_alone(bench: Bench) -> None:
    bench.begin()
    bench.attribute_ram({31: 7})
    bench.write(SPU + PERIPHID + 4 * 8, 0)
    assert bench.read(0x5000_8500) is None  # UARTE0 is non-secure now
    assert bench.read(0x4000_8500) is not None
    assert bench.read(0x4000_9500) is None  # UARTE1 is not
    assert bench.machine.devices["SPU"].regs[0x108] == 1
    bench.enter_nonsecure()
    assert bench.read(0x4000_8500) is not None
    assert bench.read(0x5000_9500) is None


def test_non_secure_code_has_its_own_pins_and_channels(bench: Bench) -> None:
    bench.begin()
    bench.attribute_ram({31: 7})
    for number in (0x17, 0x42):  # DPPIC, P0
        bench.write(SPU + PERIPHID + 4 * number, 0)
    bench.write(SPU + 0x4C0, 0xFFFF_FF00)
    bench.write(SPU + 0x480, 0xFFF0)
    out, dirset, pin_cnf = 0x504, 0x518, 0x700
    bench.write(0x5084_2000 + out, 0x1_0001)
    bench.enter_nonsecure()
    bench.write(0x4084_2000 + out, 0xFFFF_FFFE)
    bench.write(0x4084_2000 + dirset, 0xFFFF)
    bench.write(0x4084_2000 + pin_cnf + 4 * 9, 3)
    bench.write(0x4001_7000 + 0x504, 0xFFFF)
    assert bench.read(0x4084_2000 + out) == 0xFE
    assert bench.read(0x4084_2000 + pin_cnf + 4 * 9) == 0
    pins, channels = bench.machine.devices["P0"].regs, bench.machine.devices["DPPIC"].regs
    assert (pins[0x004], pins[0x014], channels[0x500]) == (0x1_00FE, 0xFF, 0xF)


def test_a_non_secure_transfer_neither_reads_nor_writes_secure_memory(
    bench: Bench,
) -> None:
    bench.begin()
    bench.attribute_ram({31: 7})
    machine = bench.machine
    machine.write_memory(RAM, b"key!")
    bench.write(SPU + PERIPHID + 4 * 8, 0)
    assert not machine.chip.can_reach("UARTE0", "read", RAM, 4)
    assert machine.devices["SPU"].regs[0x100] == 1
    machine.chip.dma_write("UARTE0", RAM, b"mine")
    assert machine.read_memory(RAM, 4) == b"key!"
    assert machine.chip.can_reach("UARTE1", "read", RAM, 4)
    assert [
        (one.kind, one.subject) for one in machine.findings if one.kind is Kind.DMA_REFUSED
    ] == [(Kind.DMA_REFUSED, "UARTE0")]


def test_a_snapshot_has_the_security_state(bench: Bench) -> None:
    bench.begin()
    bench.attribute_ram({31: 7})
    bench.enter_nonsecure()
    kept = snapshot.take(bench.machine)
    bench.begin()
    assert not bench.machine.core.divided
    snapshot.restore(bench.machine, kept)
    assert bench.machine.core.nonsecure
    assert bench.machine.core.nonsecure
    bench.play(LOAD, RAM)
    assert bench.machine.faults[0].reason == "AUVIOL, SFARVALID"


# interrupts


@given(mask=st.integers(0, 0xFFFF_FFFF), written=st.integers(0, 0xFFFF_FFFF))
def test_non_secure_code_sees_and_changes_its_own_interrupts_alone(mask: int, written: int) -> None:
    nvic = native.load().Nvic(65, 3)
    secure, other = (NvicRegisters(nvic, nonsecure=state) for state in (False, True))
    secure.write(0x380, mask)
    secure.write(0x100, ~written & 0xFFFF_FFFF)
    other.write(0x100, written)
    other.write(0x180, ~written & 0xFFFF_FFFF)
    assert other.read(0x100) == written & mask
    assert secure.read(0x100) == written & mask | ~written & ~mask & 0xFFFF_FFFF
    other.write(0x380, 0)
    assert (secure.read(0x380), other.read(0x380)) == (mask, 0)


# tail-chaining across the states


def test_a_secure_thread_goes_on_after_a_chain_of_exceptions_of_both_states(bench: Bench) -> None:
    """The chain leaves the process stack, on which the thread's frame is, and its registers."""
    bench.begin()
    machine, core = bench.machine, bench.machine.core
    tables = {False: RAM + 2 * REGION, True: RAM + 20 * REGION}
    bench.attribute_ram(dict.fromkeys(range(20, 31), 7))
    for nonsecure, table in tables.items():
        handler = table + 0x200
        machine.write_memory(table, struct.pack("<16I", *[handler | 1] * 16))
        machine.write_memory(handler, struct.pack("<2H", 0x3401, _BX_LR))  # adds r4, #1; bx lr
        bench.write(0xE002_ED08 if nonsecure else 0xE000_ED08, table)
    machine.write_memory(CODE, struct.pack("<2H", _HERE, _HERE))
    bench.enter_nonsecure()
    core.write(Reg.MSP, RAM + 24 * REGION)
    machine.core.change_state()
    stack = RAM + 6 * REGION
    core.write_many(
        (int(Reg.MSP), int(Reg.PSP), int(Reg.CONTROL), int(Reg.R0) + 4, int(Reg.PC)),
        (RAM + 4 * REGION, stack, 2, 44, CODE | 1),
    )
    machine.nvic.set_priority(SYSTICK | NONSECURE, 0x40)
    machine.nvic.pend(SYSTICK | NONSECURE)
    machine.nvic.pend(PENDSV)
    machine.run(until_executed=core.executed + 20)
    assert {table + 0x200 for table in tables.values()} <= core.profile().keys()
    assert not machine.core.nonsecure
    now = machine.registers
    # The secure handler added one; what the non-secure one did to r4 was not the thread's.
    assert (now["pc"], now["sp"], now["r4"], now["xpsr"] & 0x1FF) == (CODE, stack, 45, 0)
    assert core.read(Reg.CONTROL) & 2
    assert machine.faults == []
