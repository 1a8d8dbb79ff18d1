"""Instructions on known words do what Unicorn's core does; on unknown ones nothing is claimed."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from typing import Any

import needs
import pytest

from harness.resolver.static.core import Core
from harness.resolver.static.operation import Fork
from harness.resolver.static.state import UNSET, State
from harness.resolver.static.values import Cause, Unknown

CODE, RAM = 0x1000, 0x2000_0000
RAM_BYTES = 0x1000
FLAGS = "nzcv"

PROGRAM = """
movs r0, #200
mov r1, r2
mov.w r1, #0x01000100
movs.w r1, #0x80000000
mvn r1, #5
mvns r3, r4
movw r5, #0xabcd
movt r5, #0x1234
adds r0, r1, r2
adds r0, #255
add r0, r1
add.w r0, r1, r2, lsl #3
adds.w r0, r1, r2, asr #7
addw r0, r1, #4095
adcs r0, r1
adc.w r2, r3, r4, lsr #1
subs r0, r1, r2
subs r0, #7
sub.w r0, r1, r2, ror #5
subw r3, r4, #1000
sbcs r3, r4
rsbs r0, r1, #0
rsb r5, r6, r7, lsl #2
cmp r0, r1
cmp r0, #10
cmp.w r3, r4, lsl #4
cmn r0, r1
cmn.w r0, #17
tst r0, r1
tst.w r0, #0x80000000
teq r0, r1
teq.w r2, r3, lsl #1
ands r0, r1
and.w r0, r1, #0xff
ands.w r0, r1, r2, lsr #9
orrs r0, r1
orr.w r0, r1, r2, lsl #31
eors r0, r1
eor.w r2, r3, #0xaa00aa00
bics r0, r1
bic.w r0, r1, #3
orn r0, r1, r2
orns r0, r1, #0xff0000
lsls r0, r1, #5
lsls r0, r1
lsl.w r0, r1, r2
lsrs r0, r1, #31
lsrs r0, r1, #32
lsrs r0, r1
asrs r0, r1, #4
asrs r0, r1, #32
asrs r0, r1
rors r0, r1
ror.w r0, r1, #13
rrx r0, r1
rrxs r0, r1
muls r0, r1, r0
mul r2, r3, r4
mla r0, r1, r2, r3
mls r0, r1, r2, r3
udiv r0, r1, r2
sdiv r0, r1, r2
umull r0, r1, r2, r3
smull r0, r1, r2, r3
umlal r0, r1, r2, r3
smlal r0, r1, r2, r3
uxtb r0, r1
uxth r0, r1
sxtb r0, r1
sxth r0, r1
uxtb.w r0, r1, ror #8
uxtab r0, r1, r2
sxtah r0, r1, r2, ror #16
ubfx r0, r1, #3, #7
sbfx r0, r1, #3, #7
bfi r0, r1, #4, #9
bfc r0, #4, #9
clz r0, r1
rev r0, r1
rev16 r0, r1
revsh r0, r1
rbit r0, r1
adr r0, .+8
nop
ldr r0, [r8, #4]
ldr r0, [r8]
ldr.w r0, [r8, #100]
ldr r0, [r8, #-4]
ldr r0, [r8, r9, lsl #2]
ldr r0, [r8, #4]!
ldr r0, [r8], #-8
ldrb r0, [r8, #3]
ldrh r0, [r8, #6]
ldrsb r0, [r8, r9]
ldrsh r0, [r8, #2]
ldrd r0, r1, [r8, #8]
ldrd r0, r1, [r8], #16
ldrd r0, r1, [r8, #-8]!
ldm r8, {r0, r1, r2}
ldmia r8!, {r0, r3}
ldmdb r8!, {r0, r3}
str r0, [r8, #4]
str r0, [r8, #5]
str r0, [r8, #4]!
str r0, [r8], #12
strb r0, [r8, #3]
strh r0, [r8, #6]
strh r0, [r8, #7]
strb.w r0, [r8, r9]
strd r0, r1, [r8, #8]
strd r0, r1, [r8, #-16]!
stm r8!, {r0, r1, r2}
stmdb r8!, {r0, r1, r2}
push {r0, r4, lr}
pop {r0, r4}
vldr s1, [r8, #4]
vstr s1, [r8, #8]
vmov r0, s1
vmov s3, r1
vmov r0, r1, s2, s3
vmov.f32 s4, s1
vpush {s0, s1, s2}
vpop {s3, s4}
vldmia r8!, {s0-s3}
vstmia r8, {s0-s3}
add sp, #16
sub sp, #24
add r0, sp, #8
sub.w r0, sp, #4
"""
LINES = [line for line in PROGRAM.splitlines() if line]


@dataclass(frozen=True)
class Stored:
    """An image of nothing but code."""

    code: bytes
    symbols: tuple[()] = ()

    def read(self, address: int, size: int) -> bytes | None:
        start = address - CODE
        return self.code[start : start + size] if 0 <= start <= len(self.code) - size else None


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Each line's bytes, as the assembler encodes it."""
    needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("assembled")
    source = "\n".join(f".balign 16\n{line}" for line in LINES)
    head = ".syntax unified\n.cpu cortex-m33\n.fpu fpv5-sp-d16\n.thumb\n"
    (folder / "a.s").write_text(f"{head}{source}\n.balign 16\n")
    subprocess.run(["arm-none-eabi-as", "-o", "a.o", "a.s"], cwd=folder, check=True)
    subprocess.run(
        ["arm-none-eabi-objcopy", "-O", "binary", "a.o", "a.bin"], cwd=folder, check=True
    )
    code = (folder / "a.bin").read_bytes()
    return {line: code[16 * n : 16 * n + 16] for n, line in enumerate(LINES)}


def start(random_: random.Random) -> tuple[list[int], list[int], dict[str, int], bytes]:
    words = [0, 1, 2, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]
    registers = [random_.choice([*words, random_.getrandbits(32)]) for _ in range(15)]
    registers[8], registers[9] = RAM + 0x400 + 4 * random_.randrange(64), random_.randrange(64)
    registers[13] = RAM + 0x800
    floats = [random_.getrandbits(30) for _ in range(8)]
    flags = {flag: random_.getrandbits(1) for flag in FLAGS}
    return registers, floats, flags, random_.randbytes(RAM_BYTES)


def on_unicorn(
    code: bytes, registers: list[int], floats: list[int], flags: dict[str, int], ram: bytes
) -> tuple[Any, ...]:
    """Registers, s0 to s7, flags and RAM after one instruction."""
    import unicorn
    from unicorn import arm_const as uc

    engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    engine.ctl_set_cpu_model(uc.UC_CPU_ARM_CORTEX_M33)
    engine.mem_map(0, 0x4000)
    engine.mem_map(RAM, RAM_BYTES)
    engine.mem_map(0xE000_E000, 0x1000)
    engine.mem_write(CODE, code)
    engine.mem_write(RAM, ram)
    engine.mem_write(0xE000_ED88, (0xF << 20).to_bytes(4, "little"))
    names = [getattr(uc, f"UC_ARM_REG_R{n}") for n in range(13)]
    names += [uc.UC_ARM_REG_SP, uc.UC_ARM_REG_LR]
    singles = [getattr(uc, f"UC_ARM_REG_S{n}") for n in range(8)]
    for name, value in zip(names, registers, strict=True):
        engine.reg_write(name, value)
    for name, value in zip(singles, floats, strict=True):
        engine.reg_write(name, value)
    bits = sum(flags[flag] << 31 - n for n, flag in enumerate(FLAGS))
    engine.reg_write(uc.UC_ARM_REG_CPSR, engine.reg_read(uc.UC_ARM_REG_CPSR) & 0x0FFF_FFFF | bits)
    engine.emu_start(CODE | 1, 0x3000, count=1)
    status = engine.reg_read(uc.UC_ARM_REG_CPSR)
    return (
        [engine.reg_read(name) for name in names], [engine.reg_read(name) for name in singles],
        {flag: status >> 31 - n & 1 for n, flag in enumerate(FLAGS)},
        bytes(engine.mem_read(RAM, RAM_BYTES)),
    )  # fmt: skip


def state_of(image: Any, registers: list[int], floats: list[int], flags: dict[str, int],
             ram: bytes) -> State:  # fmt: skip
    state = State(image, CODE, registers[13])
    state.r = list(registers)
    state.s[:8] = floats
    for flag, value in flags.items():
        setattr(state, flag, value)
    for at in range(0, RAM_BYTES, 4):
        state.memory.store(RAM + at, 4, int.from_bytes(ram[at : at + 4], "little"))
    return state


class NoObjects:
    """No variable is known."""

    def at(self, state: State, address: int) -> None:
        return None


@pytest.mark.parametrize("line", LINES)
def test_an_instruction_does_what_the_core_does(line: str, encodings: dict[str, bytes]) -> None:
    random_ = random.Random(line)
    image: Any = Stored(encodings[line])
    core = Core(image, NoObjects())  # type: ignore[arg-type]
    for _ in range(20):
        before = start(random_)
        state = state_of(image, *before)
        assert core.operation(CODE)(state) is None
        registers, floats, flags, ram = on_unicorn(encodings[line], *before)
        assert (state.r, state.s[:8]) == (registers, floats)
        assert {flag: getattr(state, flag) for flag in FLAGS} == flags
        found = [state.memory.word(RAM + at, 0) for at in range(0, RAM_BYTES, 4)]
        assert b"".join(word.to_bytes(4, "little") for word in found) == ram


@pytest.mark.parametrize("line", [one for one in LINES if "[" not in one and "{" not in one])
def test_what_an_instruction_writes_from_the_unknown_is_unknown(
    line: str, encodings: dict[str, bytes]
) -> None:
    """A word that differs between two runs with different registers is not claimed to be known."""
    random_ = random.Random(line)
    image: Any = Stored(encodings[line])
    core = Core(image, NoObjects())  # type: ignore[arg-type]
    one, other = start(random_), start(random_)
    results = []
    for registers in (one[0], other[0]):
        state = state_of(image, registers, *one[1:])
        core.operation(CODE)(state)
        results.append(state)
    unknown = state_of(image, one[0], *one[1:])
    unknown.r[:13] = [Unknown(Cause("unknown", 0))] * 13
    core.operation(CODE)(unknown)
    for index, value in enumerate(unknown.r[:13]):
        if isinstance(value, int):
            assert results[0].r[index] == results[1].r[index] == value
    for flag in FLAGS:
        value = getattr(unknown, flag)
        assert value is None or getattr(results[0], flag) == getattr(results[1], flag) == value


def test_an_unknown_flag_leaves_a_branch_open(encodings: dict[str, bytes]) -> None:
    image: Any = Stored(bytes.fromhex("00d0 00bf 00bf".replace(" ", "")))  # beq, nop, nop
    core = Core(image, NoObjects())  # type: ignore[arg-type]
    state = State(image, CODE, RAM)
    state.flags_unknown(UNSET.cause)
    assert core.operation(CODE)(state) == Fork((CODE + 4, CODE + 2), UNSET.cause)
