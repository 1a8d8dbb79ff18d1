"""Mutants of the standalone runtime's kernels: one operator or index of one line replaced.

They are drawn by rules from the sources, so that nobody chooses the easy ones. Lines that only
refuse a model, comments and declarations are left out. EQUIVALENT holds those that change nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.base import paths

KERNELS = "standalone/tflm/tensorflow/lite/micro/kernels"
_SEED, COUNT = 1, 130

#: Kernels, and the samples that run them: a mutant is noticed if any of these does not pass.
SAMPLES: Mapping[str, tuple[str, ...]] = {
    "activations.cc": ("residual",),
    "add.cc": ("residual",),
    "concatenation.cc": ("residual", "chime"),
    "convolution.cc": ("digits", "residual", "chime"),
    "conv.cc": ("digits", "residual"),
    "depthwise_conv.cc": ("digits",),
    "dequantize.cc": ("digits_cnn",),
    "elementwise.cc": ("residual", "atan"),
    "fixed_point.cc": ("digits", "residual", "hello_world_float"),
    "fully_connected.cc": ("hello_world", "hello_world_float", "digits_cnn", "chime"),
    "logistic.cc": ("residual",),
    "mul.cc": ("residual",),
    "pad.cc": ("residual",),
    "pooling.cc": ("digits", "digits_cnn"),
    "quantize.cc": ("digits_cnn",),
    "reduce.cc": ("residual",),
    "resource_variables.cc": ("chime",),
    "softmax.cc": ("digits", "digits_cnn"),
    "strided_slice.cc": ("chime",),
}

_RULES = (
    (" < ", " <= "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
    (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "),
    ("_height", "_width"), ("_width", "_height"), ("[1]", "[2]"), ("[2]", "[1]"), ("[3]", "[2]"),
    ("INT8_MIN", "INT8_MAX"), (" >> ", " << "), ("1 << ", "2 << "), (" - 1", ""), (" + 1", ""),
    ("++", "--"), (" += ", " = "), (" && ", " || "), (" || ", " && "), (" = 0;", " = 1;"),
    (".scale1", ".scale2"), (".input1", ".input2"), ("offset1", "offset2"), (".min", ".max"),
    (" : 0", " : 1"), ("params.zero_point", "params.zero_point + 1"),
)  # fmt: skip
_LEFT_OUT = re.compile(
    r"^\s*//|TF_LITE_ENSURE|#include|template|static_assert|Register_|= static_cast<const|^struct"
    r"|^constexpr|ErrorReporter|MicroPrintf|const char|kTfLite\w+ &&|^inline|::Alloc|Temp"
)


@dataclass(frozen=True)
class KernelMutant:
    """``line`` of ``file``, from 1 on, in which ``old`` becomes ``new`` at its ``nth`` place."""

    file: str
    line: int
    old: str
    new: str
    nth: int
    text: str

    def __str__(self) -> str:
        change = f"{self.old.strip()} -> {self.new.strip()}, {self.nth}"
        return f"{self.file}: {self.text.strip()} [{change}]"

    def source(self) -> str:
        """The text of the file with the change."""
        lines = _read(self.file).splitlines(keepends=True)
        parts = lines[self.line - 1].split(self.old)
        before, after = self.old.join(parts[: self.nth + 1]), self.old.join(parts[self.nth + 1 :])
        lines[self.line - 1] = before + self.new + after
        return "".join(lines)


def path(file: str) -> Path:
    """A kernel's source."""
    return paths.platforms() / KERNELS / file


@cache
def _read(file: str) -> str:
    return path(file).read_text(encoding="utf-8")


def every_mutant() -> Iterator[KernelMutant]:
    """All that the rules give."""
    for file in SAMPLES:
        for number, text in enumerate(_read(file).splitlines(), 1):
            if _LEFT_OUT.search(text):
                continue
            code = text.partition("//")[0]
            for old, new in _RULES:
                for nth in range(code.count(old)):
                    yield KernelMutant(file, number, old, new, nth, text)


def mutants() -> list[KernelMutant]:
    """COUNT of them, from each file in proportion, the same each time."""
    by_file: dict[str, list[KernelMutant]] = {}
    for mutant in every_mutant():
        by_file.setdefault(mutant.file, []).append(mutant)
    total = sum(map(len, by_file.values()))
    chosen = []
    for file, every in by_file.items():
        share = max(3, round(COUNT * len(every) / total))
        chosen += random.Random(f"{_SEED} {file}").sample(every, min(share, len(every)))
    return chosen


#: Mutants (as their text) that no output of a model which the runtime takes can show, and why.
EQUIVALENT: Mapping[str, str] = {
    "concatenation.cc: if (input->type == kTfLiteInt8) { [== -> !=, 0]": (
        "behind it are checks alone: of float32 inputs they compare 0 with 0, and an int8 model"
        " that passes them gives the same outputs without them"
    ),
    "convolution.cc: while (first < last && start + first * step < 0) { [< -> <=, 0]": (
        "first never reaches last: SAME puts at most (reach - 1) / 2 zeros before the input, so the"
        " last tap of each window, reach - 1 behind its start, is never before the input"
    ),
    "pad.cc: size_t element = 0; [= 0; -> = 1;, 0]": "TfLiteTypeSizeOf sets it before it is read",
    "strided_slice.cc: size_t element = 0; [= 0; -> = 1;, 0]": "the same",
    "reduce.cc: unsigned reduced = 0; [= 0; -> = 1;, 0]": (
        "ReducedDimensions sets it to 0 before it is read"
    ),
    "pad.cc: for (int n = 0; n < kDimensions; ++n) { [< -> <=, 0]": (
        "the sixth extent is written behind the array, and never read: the sanitizers of"
        " tests/integration/runtime end such a run, the chip has nothing there that is used"
    ),
}
