"""What a run of the little firmware shows of its resolver, and what becomes of it."""

from __future__ import annotations

from operator_chain import operator_chain

from harness.elf import Image
from harness.model import Model
from harness.resolver import Audit, ResolverRun, check, read
from harness.targets import open_target
from harness.targets.base import Elapsed

CONV, SOFTMAX = "resolver.AddConv2D();", "resolver.AddSoftmax();"
BOTH = f"{CONV} {SOFTMAX}"
#: The model of a little firmware that is not given another.
NEEDED = operator_chain("CONV_2D", "SOFTMAX")
#: An interpreter that stays in RAM, where it is found without symbols.
STATIC = """
  static tflite::MicroInterpreter kept(tflite::GetModel(g_model), resolver, tensor_arena, 2048);
  kept.AllocateTensors();
  asm volatile("" :: "r"(&kept) : "memory");
"""
#: A word that the image does not know: a peripheral's.
INPUT = "*reinterpret_cast<volatile unsigned*>(0x50842510)"
#: Simulated seconds in which a little firmware allocates.
SECONDS = 0.05


def seen(
    image: Image, model: Model | None = NEEDED, *, symbol: str = "", target: str = "simulator"
) -> ResolverRun:
    """What the interpreter of an image gets."""
    with open_target(target, image) as session:
        return read(session, image, model, symbol=symbol, seconds=SECONDS)


def audited(image: Image, model: Model = NEEDED) -> Audit:
    return check(image, model, timeout=SECONDS)


def allocates(image: Image) -> bool:
    """Whether the image, run to its end, finds all operators of its model."""
    place = image.symbol("allocated")
    assert place is not None
    with open_target("simulator", image) as session:
        session.run(Elapsed(2 * SECONDS), session.deadline(1.0))
        return session.memory.read(place.address, 4) == bytes(4)
