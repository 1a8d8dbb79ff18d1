"""What Renode computes otherwise than a Cortex-M33, measured for each row that the scan names.

The image tests/witness/computes.c prints an answer for each name below.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import needs
import pytest
import witness_table
from kept_images import kept

from harness.elf import Image
from harness.simulator.machine import Machine
from harness.targets import open_target
from harness.targets.renode import scan

UNDEFINED = 0x1_0006  # CFSR.UNDEFINSTR, in UsageFault
#: Name of an answer: the row, what the architecture says, and what Renode 1.17 answers.
VALUES = {
    "smlad": ("smlad", 0, 1),
    "smladx": ("smlad", 0, 1),
    "smlald": ("smlald", 0, 0xFFFFFFFF),
    "smlaldx": ("smlald", 0, 0xFFFFFFFF),
    "sasx": ("asx", 0xC, 3),
    "ssax": ("asx", 3, 0xC),
    "uasx": ("asx", 0, 0xC),
    "usax": ("asx", 3, 0xC),
    "usub16": ("usub16", 3, 0xC),
    "uhadd8": ("uh8", 0x0C7D8B31, 0x0CFD0B31),
    "uhsub8": ("uh8", 0xCD13CBD9, 0xCD93CBD9),
    "mrs_apsr": ("mrs", 0xF, 0),
    "mrs_xpsr": ("mrs", 0, 1),
    "mrs_epsr": ("mrs", 0, 0x01000000),
    "msr_apsr": ("msr", 0xF, 0),
    "sel": ("sel", 0xF, 0),
    "vcvt_from_fixed": ("vcvt_from_fixed", 0x4E3727AF, 0x4E3727AE),
    "vcvt_from_fixed_signed": ("vcvt_from_fixed", 0x4D5C9EBB, 0x4D5C9EBC),
    "vcvt_to_fixed_flags": ("vcvt_unsigned", 1, 0x11),
    "vcvt_to_fixed_16_flags": ("vcvt_unsigned", 0x10, 1),
    "vcvt_unsigned_flags": ("vcvt_unsigned", 1, 0x11),
    "vcvtr_unsigned_flags": ("vcvt_unsigned", 1, 0x11),
    "vcvta_unsigned_flags": ("vcvt_unsigned", 1, 0x11),
    "vcvtm_unsigned_flags": ("vcvt_unsigned", 1, 0x11),
    "vcvt_half": ("vcvt_half", 0x20000001, 0x20000000),
    "vcvt_half_flags": ("vcvt_half", 0x18, 8),
    "vcvt_half_large": ("vcvt_half", 0xFBFF0000, 0xFC000000),
    "vmaxnm": ("vmaxnm", 0x7FC12345, 0x337FFFFF),
    "vmaxnm_flags": ("vmaxnm", 1, 0),
    "vminnm": ("vmaxnm", 0x7FC12345, 0x337FFFFF),
    "vminnm_flags": ("vmaxnm", 1, 0),
    "vmsr_fpscr": ("vmsr", 0, 0x00370000),
    "vmov_from_scalar": ("vmov_scalar", 0, UNDEFINED),
    "vmov_to_scalar": ("vmov_scalar", 0, UNDEFINED),
}
#: Row: its encodings that a Cortex-M33 refuses and Renode executes.
EXECUTED = {
    "csel": "csel csinc csinv csneg",
    "double": "vadd_f64 vfma_f64 vdiv_f64 vmov_f64 vcmp_f64 vcvt_f64_f32 vcvt_f32_f64 vcvt_f64_s32 "
    "vcvt_s32_f64 vcvt_f64_fixed vsel_f64 vmaxnm_f64 vrinta_f64 vcvta_f64",
    "vector": "vand vadd_vector vmov_vector",
    "vector_memory": "vld1 vst1 strsb",
    "exclusive": "ldrexd strexd ldrexd_acquire strexd_release ldrex_of_no_size",
    "cps": "setend setpan cps_of_no_kind cps_high",
    "multiply": "mul_op2 smulbb_op2 smuad_op2 smulwb_op2 smusd_op2 smmul_op2 smmla_bit_7 smmls_op2 "
    "usad8_op2 smull_op2 sdiv_op2 umull_op2 udiv_op2 smlal_op2 smlsld_op2 umlal_op2 long_op1_7",
    "pkh": "pkh_t",
    "plain_immediate": "movw_s addw_s plain_1 plain_3 plain_4 plain_7",
    "vmov_core": "vmov_opc1_1 vmov_opc1_2 vmov_opc1_3",
}
ANSWERS = VALUES | {
    name: (row, UNDEFINED, 0) for row, names in EXECUTED.items() for name in names.split()
}
#: Encodings of the A profile that QEMU 7.2 executes, too: only the manual is a witness.
QEMU_TOO = {"ldrexd", "strexd", "ldrexd_acquire", "strexd_release", "setend"}
#: Answers in which the simulator, whose core is Unicorn, is wrong as Renode is.
SIMULATOR_TOO = QEMU_TOO | {
    "smlad", "smladx", "vcvt_from_fixed", "vcvt_from_fixed_signed", "vld1", "vst1", "strsb",
}  # fmt: skip
FLAGS = (
    "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding -nostdlib "
    "-fno-tree-loop-distribute-patterns -Wall -Wextra -Werror"
)


def linked(folder: Path, machine: str, *defines: str) -> Path:
    compiler, sources = needs.require("arm-none-eabi-gcc"), witness_table.FOLDER
    script, source = sources / f"{machine}.ld", sources / "computes.c"
    command = [compiler, *FLAGS.split(), *defines, "-T", str(script), str(source)]
    return kept(folder / "computes.elf", command, read=(script, source, sources / "witness.h"))


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Image:
    return Image.from_elf(linked(tmp_path_factory.mktemp("computes"), "simulator"))


def answers(console: bytes) -> dict[str, int]:
    lines = [line.strip() for line in console.decode().splitlines()]
    assert lines[-1:] == ["end"], console[-200:]
    return {name: int(value, 16) for name, value in (line.split("=") for line in lines[:-1])}


def wrong_in(given: dict[str, int]) -> set[str]:
    return {name for name, (_, right, _) in ANSWERS.items() if given[name] != right}


def test_simulator_computes_as_the_architecture_says(image):
    machine = Machine(image)
    machine.run(until_tick=10 * 64_000_000)
    given = answers(machine.console.since(0))
    assert wrong_in(given) == SIMULATOR_TOO


def test_qemu_computes_as_the_architecture_says(tmp_path):
    qemu = needs.require("qemu-system-arm")
    command = [qemu, "-M", "mps2-an505", "-nographic", "-semihosting", "-kernel"]
    done = subprocess.run(
        [*command, str(linked(tmp_path, "qemu", "-DQEMU"))],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert wrong_in(answers(done.stdout)) == QEMU_TOO


def test_renode_computes_as_its_table_says(image, server):
    console = b""
    with open_target("renode", image, server=server) as session:
        deadline = session.deadline(10, guard=120)
        while not console.endswith(b"end\n") and not deadline.expired:
            session.run(None, deadline)
            console += session.read()
    given = answers(console)
    known = ANSWERS if server.program.version >= (1, 17, 0) else {}
    assert {name: given[name] for name in known} == {
        name: answer for name, (_, _, answer) in known.items()
    }


def test_each_row_is_measured():
    assert {row for row, _, _ in ANSWERS.values()} == {one.key for one in scan.table()}


def test_scan_finds_each_row_in_the_image(image):
    counts = {one.wrong.key: one.count for one in scan.found(image)}
    assert set(counts) == {one.key for one in scan.table()}
    assert {row: counts[row] for row in EXECUTED} == {
        row: len(names.split()) for row, names in EXECUTED.items()
    }
