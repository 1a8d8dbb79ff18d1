"""Generated C++ sources: the configuration header, the model and its inputs as arrays.

Used by the standalone builder and by CMake, through the scripts in ``zephyr_samples/common``, with
a Python that has the standard library only. The text depends only on the arguments.
"""

from __future__ import annotations

import ast
import hashlib
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import UsageError
from harness.build.variants import Addition, Sample, Variant

if TYPE_CHECKING:
    from harness.base.platforms import ChipTable

_ITEM_BYTES = {"|i1": 1, "|u1": 1, "<i2": 2, "<i4": 4, "<i8": 8, "<f4": 4}
_BYTES_PER_LINE = 16


@dataclass(frozen=True)
class BuiltinInputs:
    """Inputs that are linked into an image: ``rows`` inferences of ``row_bytes`` bytes each."""

    rows: int
    row_bytes: int
    data: bytes


def read_array(file: Path, name: str, limit: int | None = None) -> BuiltinInputs:
    """The first ``limit`` entries along axis 0 of array ``name`` in an ``.npz`` file.

    Raises UsageError if the file or the array does not exist, cannot be read, is in Fortran order,
    or is truncated. Format: NumPy's, versions 1 to 3 ("numpy.lib.format").
    """
    try:
        with zipfile.ZipFile(file) as archive:
            raw = archive.read(f"{name}.npy")
        rows, row_bytes, start = _shape(raw)
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"cannot read the inputs {file}: {error}") from error
    except (ValueError, KeyError, SyntaxError, IndexError, TypeError, struct.error) as error:
        raise UsageError(f"{file.name} has no usable array {name!r}: {error}") from error
    rows = min(rows, limit) if limit is not None else rows
    data = raw[start : start + rows * row_bytes]
    if rows < 1 or len(data) != rows * row_bytes:
        raise UsageError(f"{file.name}, {name}: {len(data)} bytes are too few for {rows} inputs")
    return BuiltinInputs(rows, row_bytes, data)


def _shape(raw: bytes) -> tuple[int, int, int]:
    """Rows, bytes of a row, and the offset of the data of an array in NumPy's file format."""
    if raw[:6] != b"\x93NUMPY":
        raise ValueError("it does not begin with NumPy's magic string")
    wide = raw[6] > 1
    start = 12 if wide else 10
    (length,) = struct.unpack_from("<I" if wide else "<H", raw, 8)
    header = ast.literal_eval(raw[start : start + length].decode("utf-8"))
    if header["fortran_order"]:
        raise ValueError("it is in Fortran order")
    rows, *shape = header["shape"]
    return rows, math.prod(shape) * _ITEM_BYTES[header["descr"]], start + length


def inputs_of(sample: Sample, models: Path) -> BuiltinInputs | None:
    """The built-in inputs of ``sample``; None if the application generates its inputs."""
    if not sample.inputs:
        return None
    vectors = _vectors(sample, models)
    wanted = sample.inferences - (vectors.rows if vectors else 0)
    file, _, name = sample.inputs.partition(":")
    array, _, divisor = name.partition("/")
    inputs = read_array(models / file, array, wanted)
    if divisor:
        inputs = _as_float32(inputs, int(divisor))
    if inputs.rows < wanted:
        raise UsageError(
            f"{sample.inputs} holds {inputs.rows} inputs; {sample.name} needs {wanted}"
        )
    if vectors is None:
        return inputs
    return BuiltinInputs(sample.inferences, inputs.row_bytes, inputs.data + vectors.data)


def _vectors(sample: Sample, models: Path) -> BuiltinInputs | None:
    """The rows that follow the inputs; None without vectors, or if there are too few inferences."""
    file, _, array = sample.vectors.partition(":")
    if not file:
        return None
    vectors = read_array(models / file, array)
    return vectors if vectors.rows < sample.inferences else None


def _as_float32(inputs: BuiltinInputs, divisor: int) -> BuiltinInputs:
    """Bytes divided by ``divisor``, as float32: exact if the divisor is a power of two."""
    values = [byte / divisor for byte in inputs.data]
    return BuiltinInputs(
        inputs.rows, 4 * inputs.row_bytes, struct.pack(f"<{len(values)}f", *values)
    )


def config_header(variant: Variant, model: bytes, inputs: BuiltinInputs | None) -> str:
    """``tflm_hil_config.h``: names and sizes of a variant, and ``hil::RegisterOperators``."""
    sample = variant.sample
    body = "\n".join(
        [
            f'#define TFLM_HIL_SAMPLE "{sample.name}"',
            f'#define TFLM_HIL_RUNTIME "{variant.runtime}"',
            f'#define TFLM_HIL_RESOLVER_NAME "{variant.configuration.name}"',
            f"#define TFLM_HIL_RESOLVER_SLOTS {variant.slots}",
            f"#define TFLM_HIL_RESOLVER_CHECKED {int(variant.checked)}",
            *([f'#define TFLM_HIL_REFUSED "{variant.refused}"'] if variant.refused else []),
            f'#define TFLM_HIL_MODEL_NAME "{sample.model}"',
            f"#define TFLM_HIL_MODEL_BYTES {len(model)}u",
            f"#define TFLM_HIL_MODEL_CRC32 0x{zlib.crc32(model):08x}u",
            f"#define TFLM_HIL_INPUT_ROWS {inputs.rows if inputs else 0}u",
            f"#define TFLM_HIL_INPUT_BYTES {inputs.row_bytes if inputs else 0}u",
            *_default("TFLM_HIL_ARENA_BYTES", str(variant.arena)),
            *_default("TFLM_HIL_INFERENCES", str(sample.inferences)),
            *_default("TFLM_HIL_CONSOLE_INPUT", str(int(variant.console))),
            # The recording allocator needs arena memory, which a minimum arena does not have.
            *_default(
                "TFLM_HIL_RECORD_ALLOCATIONS", str(int(variant.configuration.arena == "declared"))
            ),
            "",
            *_registration(variant),
        ]
    )
    build = hashlib.sha256(body.encode() + model + (inputs.data if inputs else b"")).hexdigest()
    return "\n".join(
        [
            f"// Generated from resolvers.toml: sample {sample.name},"
            f" configuration {variant.configuration.name}.",
            "#ifndef TFLM_HIL_CONFIG_H_",
            "#define TFLM_HIL_CONFIG_H_",
            "",
            '#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"',
            "",
            f'#define TFLM_HIL_BUILD "{build[:16]}"',
            body,
            "",
            "#endif  // TFLM_HIL_CONFIG_H_",
            "",
        ]
    )


def _default(name: str, value: str) -> list[str]:
    return [f"#ifndef {name}", f"#define {name} {value}", "#endif"]


def _registration(variant: Variant) -> Iterator[str]:
    """The declarations of the application's own kernels, and RegisterOperators."""
    additions = variant.additions
    yield "namespace hil {"
    yield ""
    own = (addition for addition in additions if addition.custom or addition.own)
    yield from dict.fromkeys(map(_declaration, own))
    yield ""
    yield "// Adds the operators in the table's order; returns how many the resolver refused."
    yield "template <class Resolver>"
    yield "inline unsigned RegisterOperators([[maybe_unused]] Resolver& resolver) {"
    yield "  unsigned refused = 0;"
    for addition in additions:
        call = f"resolver.{addition.method}({_arguments(addition)})"
        if variant.checked:
            yield f"  if ({call} != kTfLiteOk) return 1;"
        else:
            yield f"  refused += {call} != kTfLiteOk;"
    yield "  return refused;"
    yield "}"
    yield ""
    yield "}  // namespace hil"


def _declaration(addition: Addition) -> str:
    if addition.custom:
        return f"const TFLMRegistration* Register_{addition.operator}();"
    return f"const TFLMRegistration& Own_{addition.operator}();"


def _arguments(addition: Addition) -> str:
    if addition.custom:
        return f'"{addition.operator}", Register_{addition.operator}()'
    return f"Own_{addition.operator}()" if addition.own else ""


def data_source(model: bytes, inputs: BuiltinInputs | None) -> str:
    """A C++ source that defines ``g_model`` and ``g_inputs`` (one zero byte without inputs)."""
    arrays = {"g_model": model, "g_inputs": inputs.data if inputs else b"\0"}
    lines = ["// Generated: a model and its built-in inputs.", '#include "hil/data.h"', ""]
    for name, data in arrays.items():
        lines += [f"alignas(16) const unsigned char {name}[{len(data)}] = {{", *_rows(data), "};"]
    return "\n".join([*lines, ""])


def _rows(data: bytes) -> Iterator[str]:
    for start in range(0, len(data), _BYTES_PER_LINE):
        yield "    " + ",".join(map(str, data[start : start + _BYTES_PER_LINE])) + ","


def memory_script(chip: ChipTable, taken: Mapping[str, int]) -> str:
    """The linker script of the standalone runtime, with flash and RAM of ``chip``.

    ``taken`` is the number of bytes at the start of "flash" and "ram" that another image uses.
    """
    lines = [f"/* Generated from platforms/chips/{chip.key}.toml. */", "MEMORY", "{"]
    for name, rights in (("flash", "rx"), ("ram", "rwx")):
        area, start = chip.area(name), taken.get(name, 0)
        place = f"ORIGIN = {area.origin + start:#010x}, LENGTH = {area.size - start:#x}"
        lines.append(f"  {name.upper()} ({rights}) : {place}")
    return "\n".join([*lines, "}", "", "INCLUDE sections.ld", ""])
