"""SPU, register by register (nRF9160 PS, "SPU"); what its permissions refuse: test_security.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from bare_chip import BareChip, Peripheral, endless_loop

SPU = 0x5000_3000
EXTDOMAIN, DPPI_PERM, DPPI_LOCK, GPIO_PERM, GPIO_LOCK = 0x440, 0x480, 0x484, 0x4C0, 0x4C4
FLASHNSC, RAMNSC, FLASH_PERM, RAM_PERM, PERIPHID = 0x500, 0x540, 0x600, 0x700, 0x800
SECATTR, DMASEC, LOCK, PRESENT = 1 << 4, 1 << 5, 1 << 8, 1 << 31
ONES = 0xFFFF_FFFF
RAM = 0x2000_0000
SAU_CTRL, ALLNS = 0xE000_EDD0, 2


class Spu(Peripheral):
    def divide(self) -> None:
        """The secure side keeps everything but one region of RAM."""
        self[RAM_PERM] = 7
        self.chip.write(SAU_CTRL, ALLNS)


@pytest.fixture
def spu(chip: BareChip) -> Spu:
    return Spu(chip, SPU)


def test_after_a_reset_everything_is_secure_and_open(spu: Spu) -> None:
    wanted = {
        0x400: 1,
        EXTDOMAIN: 2,
        DPPI_PERM: 0xFFFF,
        DPPI_LOCK: 0,
        GPIO_PERM: ONES,
        GPIO_LOCK: 0,
    }
    wanted |= dict.fromkeys(range(FLASHNSC, FLASHNSC + 16, 4), 0)
    wanted |= dict.fromkeys(range(RAMNSC, RAMNSC + 16, 4), 0)
    wanted |= dict.fromkeys(range(FLASH_PERM, FLASH_PERM + 128, 4), 0x17)
    wanted |= dict.fromkeys(range(RAM_PERM, RAM_PERM + 128, 4), 0x17)
    assert {offset: spu[offset] for offset in wanted} == wanted
    assert spu.chip.machine.findings == []


@pytest.mark.parametrize(
    ("name", "number", "permission"),
    [
        ("SPU", 0x03, PRESENT | SECATTR | 1),  # always secure
        ("CLOCK", 0x05, PRESENT | SECATTR | 2),  # the user's choice
        ("UARTE0", 0x08, PRESENT | SECATTR | 2 | 2 << 2 | DMASEC),  # with EasyDMA of its own
        ("SAADC", 0x0E, PRESENT | SECATTR | 2 | 2 << 2 | DMASEC),
        ("TIMER0", 0x0F, PRESENT | SECATTR | 2),
        ("DPPIC", 0x17, PRESENT | SECATTR | 3),  # split
        ("GPIOTE1", 0x31, PRESENT),  # always non-secure
        ("NVMC", 0x39, PRESENT | SECATTR | 3),
        ("CRYPTOCELL", 0x40, PRESENT | SECATTR | 1 | 2 << 2 | DMASEC),
        ("P0", 0x42, PRESENT | SECATTR | 3),
        ("no peripheral", 0x02, 0x12),
    ],
)
def test_each_peripheral_shows_its_configurable_security(
    spu: Spu, name: str, number: int, permission: int
) -> None:
    assert spu[PERIPHID + 4 * number] == permission


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (0x03, SECATTR), (0x0F, 0), (0x08, 0), (0x17, 0), (0x31, 0), (0x40, SECATTR),
    ],
)  # fmt: skip
def test_only_configurable_permission_bits_are_written(spu: Spu, number: int, kept: int) -> None:
    register = PERIPHID + 4 * number
    before = spu[register]
    spu[register] = 0
    assert spu[register] == before & ~(SECATTR | DMASEC) | kept
    spu[register] = ONES
    assert spu[register] == before | LOCK
    spu[register] = 0
    assert spu[register] == before | LOCK


@pytest.mark.parametrize(
    ("register", "writable"),
    [
        (EXTDOMAIN, SECATTR | LOCK),
        (FLASHNSC, 0x1F | LOCK), (FLASHNSC + 4, 0xF | LOCK),
        (FLASHNSC + 8, 0x1F | LOCK), (FLASHNSC + 12, 0xF | LOCK),
        (RAMNSC, 0x1F | LOCK), (RAMNSC + 4, 0xF | LOCK),
        (RAMNSC + 8, 0x1F | LOCK), (RAMNSC + 12, 0xF | LOCK),
        (FLASH_PERM, 7 | SECATTR | LOCK), (FLASH_PERM + 4 * 31, 7 | SECATTR | LOCK),
        (RAM_PERM, 7 | SECATTR | LOCK), (RAM_PERM + 4 * 31, 7 | SECATTR | LOCK),
    ],
)  # fmt: skip
def test_a_register_has_its_bits_until_it_is_locked(spu: Spu, register: int, writable: int) -> None:
    fixed = spu[register] & ~writable
    for value in (0, writable & ~LOCK, 0, writable):
        spu[register] = value | ONES & ~writable
        assert spu[register] == fixed | value
    spu[register] = 0
    assert spu[register] == fixed | writable


@pytest.mark.parametrize(
    ("permissions", "lock", "width"), [(DPPI_PERM, DPPI_LOCK, 16), (GPIO_PERM, GPIO_LOCK, 32)]
)
def test_channels_and_pins_are_attributed_until_they_are_locked(
    spu: Spu, permissions: int, lock: int, width: int
) -> None:
    spu[permissions] = 0x5A5A_5A5A
    assert spu[permissions] == 0x5A5A_5A5A & (1 << width) - 1
    spu[lock] = 2
    assert spu[lock] == 0
    spu[permissions] = 0
    spu[lock] = ONES
    assert spu[lock] == 1
    spu[lock] = 0
    assert spu[lock] == 1
    spu[permissions] = ONES
    assert spu[permissions] == 0


# gateways


@pytest.mark.parametrize(
    ("nsc", "origin", "region_size"), [(FLASHNSC, 0, 0x8000), (RAMNSC, RAM, 0x2000)]
)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("region", [0, 5, 31])
def test_the_last_bytes_of_a_region_may_be_entered(
    spu: Spu, nsc: int, origin: int, region_size: int, which: int, region: int
) -> None:
    spu[nsc + 8 * which] = region
    spu[nsc + 8 * which + 4] = 2  # 64 bytes
    end = origin + (region + 1) * region_size
    callable_ = spu.chip.machine.core.is_callable
    places = (end - 65, end - 64, end - 1, end)
    assert [callable_(at) for at in places] == [False, True, True, False]


@pytest.mark.parametrize(
    ("size", "found"), [(0, 0), (1, 32), (7, 2048), (8, 4096), (9, 0), (15, 0)]
)
def test_a_gateway_has_32_to_4096_bytes(spu: Spu, size: int, found: int) -> None:
    spu[FLASHNSC] = 1
    spu[FLASHNSC + 4] = size
    callable_ = spu.chip.machine.core.is_callable
    assert sum(callable_(at) for at in range(0x8000, 0x1_0000, 32)) * 32 == found


# events of what was refused

EVENTS = {"RAMACCERR": 0x100, "FLASHACCERR": 0x104, "PERIPHACCERR": 0x108}


def raised(spu: Spu) -> list[str]:
    return [name for name, offset in EVENTS.items() if spu[offset]]


@pytest.mark.parametrize(
    ("place", "register", "event"),
    [(RAM + 3 * 0x2000, RAM_PERM + 4 * 3, "RAMACCERR"),
     (3 * 0x8000, FLASH_PERM + 4 * 3, "FLASHACCERR")],
)  # fmt: skip
def test_a_refused_read_raises_the_spus_event(
    spu: Spu, place: int, register: int, event: str
) -> None:
    spu.chip.play(0x6801, steps=1, r0=place)  # ldr r1, [r0]
    assert raised(spu) == []
    spu[register] = 0x13  # secure; no right to read
    spu.chip.play(0x6801, steps=1, r0=place)
    assert raised(spu) == [event]
    assert spu.chip.machine.faults[0].reason == "PRECISERR, BFARVALID"


MEMORIES = pytest.mark.parametrize(
    ("place", "register", "size"),
    [
        (RAM + 3 * 0x2000, RAM_PERM + 4 * 3, 0x2000),
        (RAM + 31 * 0x2000, RAM_PERM + 4 * 31, 0x2000),
        (3 * 0x8000, FLASH_PERM + 4 * 3, 0x8000),
        (31 * 0x8000, FLASH_PERM + 4 * 31, 0x8000),
    ],
)


def run_at(spu: Spu, place: int) -> str:
    """The fault of a call of ``bx lr`` there; none is ""."""
    machine = spu.chip.machine
    machine.clear_evidence()
    machine.core.locked_up = False
    machine.write_memory(place, (0x4770).to_bytes(2, "little"))
    spu.chip.play(0x4790, 0x3101, steps=3, r2=place | 1, r1=0)  # blx r2; adds r1, #1
    assert (machine.registers["r1"] == 1) is (not machine.faults)
    return machine.faults[0].reason if machine.faults else ""


@MEMORIES
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize(
    ("permission", "reason"),
    [(SECATTR | 7, ""), (SECATTR | 5, ""), (SECATTR | 6, "IBUSERR"), (7, "INVTRAN")],
)
def test_execution_needs_the_spus_permission(
    spu: Spu, place: int, register: int, size: int, at_end: bool, permission: int, reason: str
) -> None:
    spu.chip.write(SAU_CTRL, ALLNS)
    spu[register] = permission
    assert run_at(spu, place + (size - 2) * at_end) == reason


@MEMORIES
def test_a_neighbours_permission_does_not_matter(
    spu: Spu, place: int, register: int, size: int
) -> None:
    spu.chip.write(SAU_CTRL, ALLNS)
    spu[register] = SECATTR | 2
    assert run_at(spu, place - 2) == ""
    spu.chip.play(0x6801, steps=1, r0=place - 4)  # ldr r1, [r0]
    assert spu.chip.machine.faults == []
    spu.chip.play(0x6801, steps=1, r0=place + size - 4)
    assert spu.chip.machine.faults[0].reason == "PRECISERR, BFARVALID"


@MEMORIES
def test_a_restored_permission_takes_effect(spu: Spu, place: int, register: int, size: int) -> None:
    spu[register] = SECATTR
    spu.chip.play(0x6801, steps=1, r0=place)
    assert len(spu.chip.machine.faults) == 1
    spu.chip.machine.reset()
    spu.chip.machine.clear_evidence()
    spu[register] = SECATTR
    spu[register] = SECATTR | 7
    spu.chip.play(0x6801, steps=1, r0=place)
    assert run_at(spu, place + size - 2) == ""


@pytest.mark.parametrize(
    ("secure_dma", "place", "refused"),
    [(True, RAM + 0x2000, False), (False, RAM + 0x2000, True), (False, RAM, False),
     (False, RAM + 0x1FF0, True)],
)  # fmt: skip
def test_easydma_uses_the_peripherals_security(
    spu: Spu, secure_dma: bool, place: int, refused: bool
) -> None:
    """A transfer that only ends in secure memory is refused as well."""
    spu.divide()
    spu[PERIPHID + 4 * 8] = SECATTR | DMASEC * secure_dma
    spu.chip.machine.write_memory(place, bytes([7]) * 32)
    assert spu.chip.machine.chip.can_reach("UARTE0", "read", place, 32) is not refused
    spu.chip.machine.chip.dma_write("UARTE0", place, bytes([9]) * 32)
    assert spu.chip.machine.read_memory(place, 32) == bytes([7 if refused else 9]) * 32
    assert raised(spu) == ["RAMACCERR"] * refused


@pytest.mark.parametrize(
    ("number", "secure", "at_secure", "at_nonsecure"),
    [
        (0x08, True, True, False),
        (0x08, False, False, True),
        (0x39, True, True, False),
        (0x39, False, True, True),  # split
    ],
)
def test_a_peripheral_answers_in_the_window_of_its_state(
    spu: Spu, number: int, secure: bool, at_secure: bool, at_nonsecure: bool
) -> None:
    spu.divide()
    spu[PERIPHID + 4 * number] = SECATTR * secure
    offset = (number << 12) + 0x504
    assert spu.chip.refuses(0x5000_0000 + offset) is not at_secure
    assert raised(spu) == ["PERIPHACCERR"] * (not at_secure)
    spu[0x108] = 0
    assert spu.chip.refuses(0x4000_0000 + offset) is not at_nonsecure
    assert raised(spu) == ["PERIPHACCERR"] * (not at_nonsecure)


def test_after_a_reset_peripherals_answer_in_the_secure_window_only(spu: Spu) -> None:
    assert spu.chip.refuses(0x4000_8500)
    assert raised(spu) == ["PERIPHACCERR"]
    assert not spu.chip.refuses(0x5000_8500)


def test_one_non_secure_peripheral_leaves_the_secure_window(spu: Spu) -> None:
    spu[PERIPHID + 4 * 8] = 0
    assert not spu.chip.refuses(0x4000_8500)
    assert spu.chip.refuses(0x5000_8500)
    spu.chip.play(0x6800, steps=1, r0=0x5000_8500)  # ldr r0, [r0]: not answered by the core itself
    assert len(spu.chip.machine.faults) == 1


def test_a_peripheral_without_a_secure_address_answers_at_its_own(spu: Spu) -> None:
    assert not spu.chip.refuses(0x4003_1510)  # GPIOTE1
    assert spu.chip.refuses(0x5003_1510)


def test_both_windows_answer_a_non_secure_image_that_runs_alone(tmp_path: Path) -> None:
    chip = BareChip(endless_loop(tmp_path / "alone.elf", at=0x5_0000))
    chip.write(0x4000_8544, 0x77)
    assert chip.read(0x5000_8544) == 0x77
    chip.machine.close()


# what a split peripheral shows of itself to non-secure code

P0, DPPIC, NVMC = 0x4084_2500, 0x4001_7000, 0x4003_9000


@pytest.fixture
def shared_out(spu: Spu) -> Spu:
    """Pins and channels 0 to 7 are non-secure; secure code has set what it can."""
    chip = spu.chip
    spu.divide()
    for number in (0x42, 0x17, 0x39):
        spu[PERIPHID + 4 * number] = 0
    spu[GPIO_PERM], spu[DPPI_PERM] = ONES & ~0xFF, 0xFF00
    for at, value in (
        (P0 + 0x014, ONES), (P0 + 0x004, 0x5A5A_5A5A), (P0 + 0x028, 1),
        (P0 + 0x200, 0xD), (P0 + 0x200 + 4 * 8, 0xD), (P0 + 0x200 + 4 * 31, 0xD),
        (DPPIC + 0x500, 0xF0F0), (DPPIC + 0x800, 0x3C3C), (DPPIC + 0x814, 0x3C3C),
        (NVMC + 0x500, 1), (NVMC + 0x504, 1), (NVMC + 0x51C, 3), (NVMC + 0x540, 1),
        (NVMC + 0x584, 2),
    ):  # fmt: skip
        chip.write(at + 0x1000_0000, value)
    chip.enter_nonsecure()
    return spu


@pytest.mark.parametrize(
    ("register", "seen"),
    [
        (P0 + 0x004, 0x5A), (P0 + 0x008, 0x5A), (P0 + 0x00C, 0x5A), (P0 + 0x014, 0xFF),
        (P0 + 0x018, 0xFF), (P0 + 0x01C, 0xFF), (P0 + 0x028, 0),
        (P0 + 0x200, 0xD), (P0 + 0x200 + 4 * 8, 0), (P0 + 0x200 + 4 * 31, 0),
        (DPPIC + 0x500, 0xF0), (DPPIC + 0x504, 0xF0), (DPPIC + 0x508, 0xF0),
        (DPPIC + 0x800, 0x3C), (DPPIC + 0x814, 0x3C),
        (NVMC + 0x400, 1), (NVMC + 0x500, 0), (NVMC + 0x504, 0), (NVMC + 0x50C, 0),
        (NVMC + 0x51C, 0), (NVMC + 0x540, 0), (NVMC + 0x584, 2),
    ],
)  # fmt: skip
def test_non_secure_code_reads_its_own_bits(shared_out: Spu, register: int, seen: int) -> None:
    assert shared_out.chip.read(register) == seen


@pytest.mark.parametrize(
    ("register", "value", "read", "becomes"),
    [
        (P0 + 0x004, 0xFFFF_FF00, P0 + 0x004, 0x5A5A_5A00),
        (P0 + 0x008, ONES, P0 + 0x004, 0x5A5A_5AFF),
        (P0 + 0x00C, ONES, P0 + 0x004, 0x5A5A_5A00),
        (P0 + 0x014, 0, P0 + 0x014, 0xFFFF_FF00),
        (P0 + 0x01C, ONES, P0 + 0x014, 0xFFFF_FF00),
        (P0 + 0x028, 0, P0 + 0x028, 1),
        (P0 + 0x200, 0, P0 + 0x200, 0),
        (P0 + 0x200 + 4 * 8, 0, P0 + 0x200 + 4 * 8, 0xD),
        (DPPIC + 0x500, 0xFF0F, DPPIC + 0x500, 0xF00F),
        (DPPIC + 0x504, ONES, DPPIC + 0x500, 0xF0FF),
        (DPPIC + 0x508, ONES, DPPIC + 0x500, 0xF000),
        (DPPIC + 0x814, 0, DPPIC + 0x814, 0x3C00),
        (NVMC + 0x504, 2, NVMC + 0x504, 1),
        (NVMC + 0x51C, 5, NVMC + 0x51C, 3),
        (NVMC + 0x584, 1, NVMC + 0x584, 1),
    ],
)
def test_non_secure_code_changes_its_own_bits(
    shared_out: Spu, register: int, value: int, read: int, becomes: int
) -> None:
    chip = shared_out.chip
    chip.write(register, value)
    chip.machine.core.change_state()
    assert chip.read(read + 0x1000_0000) == becomes


def test_non_secure_code_clears_its_own_latches(shared_out: Spu) -> None:
    chip = shared_out.chip
    chip.machine.devices["P0"].regs[0x020] = 0x1111
    assert chip.read(P0 + 0x020) == 0x11
    chip.write(P0 + 0x020, ONES)
    assert chip.machine.devices["P0"].regs[0x020] == 0x1100


def test_a_device_that_has_answered_is_refused_once_the_spu_gives_it_away(spu: Spu) -> None:
    """The core answers by itself what the machine has allowed, until the SPU changes."""
    chip, register = spu.chip, 0x5000_8524  # UARTE0.BAUDRATE
    spu[PERIPHID + 4 * 9] = 0  # UARTE1 is non-secure
    assert chip.machine.core.divided
    for _ in range(2):
        chip.play(0x6801, steps=1, r0=register)  # ldr r1, [r0]
        assert chip.machine.registers["r1"] == 0x0400_0000
    assert not chip.machine.faults
    spu[PERIPHID + 4 * 8] = 0
    chip.play(0x6801, steps=1, r0=register)
    assert [fault.address for fault in chip.machine.faults] == [register]
