"""The simulator's Cortex-M33 against QEMU's, rule by rule (tests/witness)."""

import subprocess

import needs
import pytest
import witness_table
from kept_images import kept

from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import Machine
from harness.targets import open_target

RULES = witness_table.rules()
IMAGES = sorted({one.image for one in RULES if one.answer is not None})
ENOUGH = 100_000  # instructions: all of an image's work, and some of its output
LONG = 10 * 64_000_000  # ticks: all of it
FLAGS = (
    "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding -nostdlib "
    "-mno-unaligned-access -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror"
)
each_image = pytest.mark.parametrize("image", IMAGES)


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder, sources = tmp_path_factory.mktemp("witness"), witness_table.FOLDER

    def linked(image, machine):
        elf = folder / f"{image}-{machine}.elf"
        defines = ["-DQEMU"] * (machine == "qemu")
        script, source = sources / f"{machine}.ld", sources / f"{image}.c"
        command = [compiler, *FLAGS.split(), *defines, "-T", str(script), str(source)]
        return kept(elf, command, read=(script, source, *sources.glob("*.h")))

    return linked


def answers(console):
    lines = [line.strip() for line in console.splitlines()]
    assert lines[-1:] == ["end"], console[-200:]
    return {name: int(value, 16) for name, value in (line.split("=") for line in lines[:-1])}


def expected(image, witness=""):
    rows = [one for one in RULES if one.image == image and witness in one.witness]
    rows = [one for one in rows if one.answer is not None]
    return {one.name: one.answer for one in rows}


@each_image
def test_simulator_answers_as_the_architecture_does(image, link):
    machine = Machine(Image.from_elf(link(image, "simulator")))
    machine.run(until_tick=LONG)
    assert answers(machine.console.since(0).decode()) == expected(image)


@each_image
def test_qemu_gives_the_same_answers(image, link):
    qemu = needs.require("qemu-system-arm")
    command = [qemu, "-M", "mps2-an505", "-nographic", "-semihosting", "-kernel"]
    done = subprocess.run(
        [*command, str(link(image, "qemu"))],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    given = answers(done.stdout)
    wanted = expected(image, witness_table.QEMU)
    assert {name: given[name] for name in wanted} == wanted


@each_image
def test_renode_gives_the_same_answers_where_it_is_a_witness(image, link, server):
    """And other answers elsewhere: harness/targets/renode/differences.toml."""
    with open_target("renode", Image.from_elf(link(image, "simulator")), server=server) as session:
        session.run(None, session.deadline(10, guard=120))
        given = answers(session.read().decode())
    same = {name for name, answer in expected(image).items() if given.get(name) == answer}
    assert same == set(expected(image, witness_table.RENODE))


def test_what_qemu_does_differently_is_unverified():
    """A row is witnessed, or says that it is not."""
    assert all(
        one.witness == witness_table.UNVERIFIED
        or witness_table.RENODE in one.witness
        or one.by_qemu
        for one in RULES
    )


@each_image
@pytest.mark.parametrize("size", [7, 1000])
def test_slices_equal_one_run(image, size, link):
    assert_slices_change_nothing(image, size, link)


@pytest.mark.slow
def test_slices_of_one_instruction_equal_one_run(link):
    for image in IMAGES:
        assert_slices_change_nothing(image, 1, link)


def assert_slices_change_nothing(image, size, link):
    whole, sliced = (Machine(Image.from_elf(link(image, "simulator"))) for _ in range(2))
    whole.run(until_executed=ENOUGH)
    while sliced.core.executed < whole.core.executed:
        sliced.run(until_executed=min(sliced.core.executed + size, whole.core.executed))
    assert observed(sliced) == observed(whole), image


@pytest.mark.slow
def test_snapshot_keeps_a_deferred_context(link):
    """At each of many instructions, a new machine goes on from the snapshot."""
    for image in IMAGES:
        assert_snapshots_change_nothing(image, link)


def assert_snapshots_change_nothing(image, link):
    elf = Image.from_elf(link(image, "simulator"))
    whole, first = Machine(elf), Machine(elf)
    whole.run(until_executed=ENOUGH)
    for at in range(0, whole.core.executed, 97):
        first.run(until_executed=at)
        second = Machine(elf)
        snapshot.restore(second, snapshot.take(first))
        first.close()
        first = second
    first.run(until_executed=whole.core.executed)
    assert observed(first) == observed(whole), image


def observed(machine):
    return (
        machine.core.executed,
        machine.now,
        machine.console.since(0),
        machine.registers,
        machine.read_memory(0x2000_0000, 0x1_0000),
    )


def test_docs_table_is_that_of_the_rules():
    page = witness_table.PAGE.read_text()
    hint = "python tests/support/witness_table.py writes it"
    assert page == witness_table.with_table(page), hint
