"""tflite-micro's interpreter in an image: its functions, by their linker names."""

from __future__ import annotations

import re

from harness.elf.image import Image

#: Functions of ``tflite::MicroInterpreter`` by their linker names.
INVOKE = "_ZN6tflite16MicroInterpreter6InvokeEv"
ALLOCATE = "_ZN6tflite16MicroInterpreter15AllocateTensorsEv"
#: They return a tensor: ``TfLiteTensor* input(size_t)``.
INPUT = "_ZN6tflite16MicroInterpreter5inputEj"
OUTPUT = "_ZN6tflite16MicroInterpreter6outputEj"
#: Constructors of an interpreter that takes an arena: ``this``, model, resolver, arena, size.
TAKES_ARENA = re.compile(r"_ZN6tflite(?:16|25Recording)MicroInterpreterC[12]E\w*OpResolver\w*?EPhj")
_KERNEL_SIGNATURE = "P13TfLiteContextP10TfLiteNode"  # (TfLiteContext*, TfLiteNode*)
#: Names that an image with an interpreter has, unless link-time optimization dissolves them all.
_MACHINERY = ("MicroInterpreter", "OpResolver", "MicroAllocator")
#: What is said of an image for which :func:`is_compiled_model` holds.
COMPILED_MODEL = (
    "the image calls kernels without an interpreter or a resolver, as a compiled model does"
)


def constructors(image: Image) -> dict[int, str]:
    """Address -> linker name of the constructors of interpreters that take an arena."""
    functions = (one for one in image.symbols if one.kind == "func")
    return {one.address & ~1: one.name for one in functions if TAKES_ARENA.match(one.name)}


def is_kernel(symbol: str) -> bool:
    """True for a function with the signature of an operator's prepare or invoke."""
    return symbol.partition(".")[0].endswith(_KERNEL_SIGNATURE)


def names_interpreter(image: Image) -> bool:
    """Whether the image's symbols name parts of an interpreter."""
    return any(part in one.name for one in image.symbols for part in _MACHINERY)


def is_compiled_model(image: Image) -> bool:
    """Whether kernels of tflite-micro are called without an interpreter, and so without a resolver.

    Compilers of models make such code (EON of Edge Impulse).
    """
    return not names_interpreter(image) and any(is_kernel(one.name) for one in image.symbols)
