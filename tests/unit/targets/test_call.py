"""A function of a stopped image is called, and the image goes on as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator

import needs
import pytest
from little_tflm import compile_little

from harness.base.errors import TargetLost
from harness.elf import Image
from harness.simulator.unicorn import Reg
from harness.targets import open_target
from harness.targets.base import Stop, SymbolReached
from harness.targets.simulator import SimulatorSession

FUNCTIONS = """
extern "C" {
__attribute__((used, noipa)) inline unsigned add(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a + 10 * b + 100 * c + 1000 * d;
}
__attribute__((used, noipa)) inline unsigned both(const char* one, const char* other) {
  unsigned sum = 0;
  for (; *one; ++one) sum += *one;
  for (; *other; ++other) sum += *other;
  return sum;
}
__attribute__((used, noipa)) inline unsigned deep(int depth) {
  volatile int room[16];
  room[depth & 15] = depth;
  return depth ? deep(depth - 1) + room[depth & 15] : 0;
}
__attribute__((used, noipa)) inline void floats() {
  asm volatile("vmov s0, r0\\n vmov s5, r0\\n cmp r0, r0" ::: "s0", "s5", "cc");
}
__attribute__((used, noipa)) inline void forever() { for (volatile int on = 1; on;) {} }
}
"""

FLOATS = range(Reg.S0, Reg.S0 + 32)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    needs.require("arm-none-eabi-gcc")
    extra = (
        "-include",
        "above.h",
        "-mfpu=fpv5-sp-d16",
        "-mfloat-abi=softfp",
        "-Wl,-u,add,-u,both,-u,deep,-u,floats,-u,forever",
    )
    folder = tmp_path_factory.mktemp("call")
    fpu_on = "*reinterpret_cast<volatile unsigned*>(0xE000ED88) = 0xF << 20;"
    return Image.from_elf(
        compile_little(folder, register=fpu_on, files={"above.h": FUNCTIONS}, extra=extra)
    )


@pytest.fixture
def session(image: Image) -> Iterator[SimulatorSession]:
    """Stopped at the second beginning of a function, whose hook has been called."""
    with open_target("simulator", image) as opened:
        assert isinstance(opened, SimulatorSession)
        for _ in range(2):
            assert opened.run(SymbolReached("loop"), opened.deadline(1.0)) is Stop.CONDITION
        yield opened


def call(session: SimulatorSession, image: Image, name: str, *arguments: int | bytes) -> int:
    function = image.symbol(name)
    assert function is not None
    return session.call(function.address, arguments, session.deadline(0.01))


@pytest.mark.parametrize(
    ("name", "arguments", "returned"),
    [("add", (1, 2, 3, 4), 4321), ("both", (b"ab\0", b"c\0"), ord("a") + ord("b") + ord("c")),
     ("deep", (12,), 78)],
)  # fmt: skip
def test_words_are_passed_as_they_are_and_bytes_by_their_address(
    session: SimulatorSession, image: Image, name: str, arguments: tuple[int, ...], returned: int
) -> None:
    assert [call(session, image, name, *arguments) for _ in range(3)] == [returned] * 3


@pytest.mark.parametrize("name", ["add", "deep", "floats", "forever"])
def test_the_core_is_then_as_it_was(session: SimulatorSession, image: Image, name: str) -> None:
    registers, floats = session.registers, session.machine.core.read_many(FLOATS)
    above = session.memory.read(registers["sp"], 64)
    try:
        call(session, image, name, 3)
    except TargetLost:
        assert name == "forever"
    assert session.registers == registers
    assert session.machine.core.read_many(FLOATS) == floats
    assert session.memory.read(registers["sp"], 64) == above


def test_a_function_that_does_not_return_is_told(session: SimulatorSession, image: Image) -> None:
    with pytest.raises(TargetLost, match=r"^forever\(\) does not return: deadline$"):
        call(session, image, "forever")


def test_the_place_where_the_image_stood_is_not_reached_again_at_once(
    session: SimulatorSession, image: Image
) -> None:
    call(session, image, "add")
    before = session.counters.instructions
    assert session.run(SymbolReached("loop"), session.deadline(1.0)) is Stop.CONDITION
    assert before is not None
    assert session.counters.instructions is not None
    assert session.counters.instructions > before + 10
