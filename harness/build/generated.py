"""Variants of the samples, and the C++ sources that are generated for each.

``zephyr_samples/resolvers.toml`` has the samples and the resolver configurations; the comment at
its head explains the keys. A :class:`Variant` has the operators to add in their order, the slots of
the resolver, and the arena. CMake runs this file as a program, with a Python that has the standard
library only; :mod:`harness.build.table` reads the same table and checks it.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import math
import re
import struct
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

#: The runtimes of samples.
RUNTIMES = ("standalone", "tflm")

_FORMULA = re.compile(r"(?P<base>[a-z]+)(?P<difference>[+-]\d+)?")
_ITEM_BYTES = {"|i1": 1, "|u1": 1, "<i2": 2, "<i4": 4, "<i8": 8, "<f4": 4}
_BYTES_PER_LINE = 16
_GIT_SECONDS = 60.0


class TableError(ValueError):
    """A name that the table does not have, a row that makes no sense, or a file of its models."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Sample:
    """A model with the application that runs it.

    ``model`` is a file name in ``zephyr_samples/models``, ``application`` a folder of
    ``zephyr_samples``. ``arena`` and ``arena_minimum`` are in bytes, the latter by runtime, with
    the revision for tflite-micro (``tflm@8d404de7``). ``refused`` is the operator whose Prepare
    fails, by revisions that cannot run the model with any arena.

    ``operators`` are the builtins that the model needs, in the order of their first use.

    ``inputs`` is a file in ``models`` and an array in it (``digits_test.npz:int8``), whose first
    ``inferences`` rows are linked into the image; ``:pixels/16`` converts bytes to float32, divided
    by 16; "" means that the application generates its inputs. The last of the ``inferences`` rows
    are those of ``vectors`` (``digits_vectors.npz:int8``), inputs that detect mistakes of kernels.
    ``rows`` is the number of rows that a host sends through the console, 0 for all; the vectors
    follow them.
    """

    name: str
    title: str
    application: str
    model: str
    arena: int
    operators: tuple[str, ...]
    custom_operators: tuple[str, ...]
    inferences: int
    inputs: str = ""
    vectors: str = ""
    rows: int = 0
    override: str = ""
    arena_minimum: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any]) -> Sample:
        """The sample of a row of the table."""
        minimum = row.get("arena_minimum", {})
        minima = {f"tflm@{key}": value for key, value in minimum.get("tflm", {}).items()}
        if "standalone" in minimum:
            minima["standalone"] = minimum["standalone"]
        return cls(
            name=name,
            title=row["title"],
            application=row.get("application") or name,
            model=row["model"],
            arena=row["arena"],
            operators=tuple(row["operators"]),
            custom_operators=tuple(row.get("custom_operators", ())),
            inferences=row["inferences"],
            inputs=row.get("inputs", ""),
            vectors=row.get("vectors", ""),
            rows=row.get("rows", 0),
            override=row.get("override", ""),
            arena_minimum={key: one for key, one in minima.items() if isinstance(one, int)},
            refused={key: one for key, one in minima.items() if isinstance(one, str)},
        )

    @property
    def needed(self) -> tuple[str, ...]:
        """All operators that the model needs, builtins first."""
        return self.operators + self.custom_operators


@dataclass(frozen=True)
class Configuration:
    """A resolver configuration of the table, without a sample.

    ``expect`` has the keys ``outputs`` and ``findings`` of the row.
    """

    name: str
    title: str
    add: tuple[str, ...]
    slots: str
    arena: str
    repeat: bool
    replace: tuple[str, ...]
    checked: bool
    console: bool
    requires: tuple[str, ...]
    expect: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any]) -> Configuration:
        """The configuration of a row of the table."""
        return cls(
            name=name,
            title=row["title"],
            add=tuple(row["add"]),
            slots=str(row["slots"]),
            arena=str(row.get("arena", "declared")),
            repeat=row.get("repeat", False),
            replace=tuple(row.get("replace", ())),
            checked=row.get("checked", False),
            console=row.get("console", False),
            requires=tuple(row.get("requires", ())),
            expect=row["expect"],
        )

    def applies_to(self, sample: Sample) -> bool:
        """True if the sample meets this configuration's requirements."""
        has = {
            "custom": bool(sample.custom_operators),
            "override": bool(sample.override),
            "arena_minimum": bool(sample.arena_minimum),
        }
        return all(has[requirement] for requirement in self.requires)


@dataclass(frozen=True)
class Addition:
    """An ``Add*`` call: ``method`` of the resolver, ``own`` for a kernel of the application."""

    operator: str
    method: str
    custom: bool = False
    own: bool = False


@dataclass(frozen=True)
class Variant:
    """A sample in a configuration on a runtime: the input of a build.

    ``minimum`` is the key in ``arena_minimum`` of the value of ``arena``, ``refused`` the operator
    whose Prepare fails with this tflite-micro.
    """

    sample: Sample
    configuration: Configuration
    runtime: str
    additions: tuple[Addition, ...]
    slots: int
    arena: int
    minimum: str = ""
    refused: str = ""

    @property
    def checked(self) -> bool:
        """True if the application tests the results of ``Add*``."""
        return self.configuration.checked

    @property
    def console(self) -> bool:
        """True if the host sends the inputs through the console."""
        return self.configuration.console


@dataclass(frozen=True)
class PlainTable:
    """The table of samples and configurations.

    ``tflite_micro`` contains the dates of the revisions with separate figures, oldest first.
    """

    samples: Mapping[str, Sample]
    configurations: Mapping[str, Configuration]
    spare: tuple[str, ...]
    runtimes: Mapping[str, tuple[str, ...]]
    methods: Mapping[str, str]
    tflite_micro: Mapping[str, date] = field(default_factory=dict)

    @staticmethod
    def fields(document: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the table from the document of its file."""
        dates = document.get("tflite_micro", {})
        return {
            "samples": {name: Sample.of(name, row) for name, row in document["samples"].items()},
            "configurations": {
                name: Configuration.of(name, row)
                for name, row in document["configurations"].items()
            },
            "spare": tuple(document["spare"]),
            "runtimes": {name: tuple(document["runtimes"].get(name, ())) for name in RUNTIMES},
            "methods": document.get("methods", {}),
            "tflite_micro": dict(sorted(dates.items(), key=lambda one: one[1])),
        }

    def sample(self, name: str) -> Sample:
        """The sample called ``name``; raises TableError with the known names."""
        if name not in self.samples:
            known = ", ".join(self.samples)
            raise TableError(f"there is no sample {name!r}", f"samples: {known}")
        return self.samples[name]

    def configuration(self, name: str, sample: Sample) -> Configuration:
        """The configuration called ``name``; raises TableError if ``sample`` has no such one."""
        row = self.configurations.get(name)
        if row is not None and row.applies_to(sample):
            return row
        known = ", ".join(
            row.name for row in self.configurations.values() if row.applies_to(sample)
        )
        raise TableError(
            f"sample {sample.name!r} has no resolver configuration {name!r}",
            f"configurations of {sample.name}: {known}",
        )

    def pairs(self) -> list[tuple[Sample, Configuration]]:
        """Every sample with every configuration that applies to it, in the table's order."""
        return [
            (sample, row)
            for sample in self.samples.values()
            for row in self.configurations.values()
            if row.applies_to(sample)
        ]

    def variant(
        self, sample: str, configuration: str, runtime: str = "standalone", revision: str = ""
    ) -> Variant:
        """``sample`` in ``configuration`` on ``runtime``; raises TableError for unknown names.

        ``revision`` of tflite-micro is one of :meth:`minima`, "" the last of them.
        """
        if runtime not in self.runtimes:
            raise TableError(f"there is no runtime {runtime!r}", ", ".join(self.runtimes))
        known = self.sample(sample)
        row = self.configuration(configuration, known)
        try:
            return self._variant(known, row, runtime, revision)
        except TableError as error:
            where = f"configuration {row.name!r} for sample {known.name!r}"
            raise TableError(f"{where}: {error}", error.hint) from error

    def _variant(self, sample: Sample, row: Configuration, runtime: str, revision: str) -> Variant:
        additions = self._additions(sample, row, runtime)
        slots = _number(row.slots, {"added": len(additions), "needed": len(sample.needed)})
        if slots < 1:
            raise TableError(f"slots {row.slots!r} is {slots}; a resolver has at least one")
        minimum = runtime
        if runtime == "tflm":
            minimum = f"tflm@{revision or ''.join(self.minima(sample)[-1:])}"
        arenas = {"declared": sample.arena}
        if minimum in sample.arena_minimum:
            arenas["minimum"] = sample.arena_minimum[minimum]
        elif minimum in sample.refused:
            arenas["minimum"] = sample.arena
        smallest = row.arena.startswith("minimum")
        refused = sample.refused.get(minimum, "")
        reached = row.expect["outputs"] or smallest
        if not reached or any(one.own for one in additions if one.operator == refused):
            refused = ""
        return Variant(
            sample, row, runtime, additions, slots, _number(row.arena, arenas),
            minimum if refused or smallest else "", refused,
        )  # fmt: skip

    def _additions(self, sample: Sample, row: Configuration, runtime: str) -> tuple[Addition, ...]:
        names = [name for word in row.add for name in self.operators(word, sample, runtime)]
        if not row.repeat:
            names = list(dict.fromkeys(names))
        own = {name for word in row.replace for name in self.operators(word, sample, runtime)}
        custom = set(sample.custom_operators)
        return tuple(
            Addition(
                name,
                "AddCustom" if name in custom else self.methods[name],
                custom=name in custom,
                own=name in own,
            )
            for name in names
        )

    def operators(self, selector: str, sample: Sample, runtime: str) -> tuple[str, ...]:
        """The operators denoted by a selector, or the operator of this name."""
        spare = tuple(name for name in self.spare if name not in sample.needed)
        chosen = {
            "NEEDED": sample.needed,
            "BUILTIN": sample.operators,
            "CUSTOM": sample.custom_operators,
            "FIRST": sample.operators[:1],
            "LAST": sample.operators[-1:],
            "BUT_LAST": sample.operators[:-1],
            "SPARE": spare[:1],
            "SPARE2": spare[1:2],
            "OVERRIDE": (sample.override,) if sample.override else (),
            "ALL": tuple(dict.fromkeys((*sample.operators, *self.runtimes[runtime]))),
        }.get(selector, (selector,))
        for name in chosen:
            if name not in self.methods and name not in sample.custom_operators:
                raise TableError(f"{name!r} is neither a selector nor an operator")
        return chosen

    def minima(self, sample: Sample) -> list[str]:
        """The revisions of tflite-micro with figures for ``sample``, oldest first."""
        measured = sample.arena_minimum.keys() | sample.refused.keys()
        return [one for one in self.tflite_micro if f"tflm@{one}" in measured]

    def nearest(self, sample: Sample, commit: str, day: date | None) -> str:
        """The revision of :meth:`minima` to use for ``commit``, dated ``day``.

        It is the commit itself, or the nearest in time, or the last without commit and date; ""
        without figures for ``sample``.
        """
        known = self.minima(sample)
        if commit:
            known = [one for one in known if commit.startswith(one)] or known
        if day is not None and known:
            return min(known, key=lambda one: abs((self.tflite_micro[one] - day).days))
        return known[-1] if known else ""


def _number(formula: str, bases: Mapping[str, int]) -> int:
    if formula.isdecimal():
        return int(formula)
    match = _FORMULA.fullmatch(formula)
    if match is None or match["base"] not in bases:
        raise TableError(f"cannot compute {formula!r} from {', '.join(bases)}")
    return bases[match["base"]] + int(match["difference"] or 0)


@dataclass(frozen=True)
class BuiltinInputs:
    """Inputs that are linked into an image: ``rows`` inferences of ``row_bytes`` bytes each."""

    rows: int
    row_bytes: int
    data: bytes


def read_array(file: Path, name: str, limit: int | None = None) -> BuiltinInputs:
    """The first ``limit`` entries along axis 0 of array ``name`` in an ``.npz`` file.

    Raises TableError if the file or the array does not exist, cannot be read, is in Fortran order,
    or is truncated. Format: NumPy's, versions 1 to 3 ("numpy.lib.format").
    """
    try:
        with zipfile.ZipFile(file) as archive:
            raw = archive.read(f"{name}.npy")
        rows, row_bytes, start = _shape(raw)
    except (OSError, zipfile.BadZipFile) as error:
        raise TableError(f"cannot read the inputs {file}: {error}") from error
    except (ValueError, KeyError, SyntaxError, IndexError, TypeError, struct.error) as error:
        raise TableError(f"{file.name} has no usable array {name!r}: {error}") from error
    rows = min(rows, limit) if limit is not None else rows
    data = raw[start : start + rows * row_bytes]
    if rows < 1 or len(data) != rows * row_bytes:
        raise TableError(f"{file.name}, {name}: {len(data)} bytes are too few for {rows} inputs")
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
        raise TableError(
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


@functools.lru_cache(maxsize=8)  # configurations of a sample have the same
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


def main() -> None:
    """Writes ``--header`` or ``--data``, the sources of a sample for CMake.

    A file that has its text already is not written: its time stamp decides what is rebuilt.
    """
    arguments = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars="@")
    arguments.add_argument("--samples", required=True, type=Path, help="the folder of the table")
    arguments.add_argument("--sample", required=True, help="a sample of resolvers.toml")
    arguments.add_argument("--model", type=Path, help="another model than the sample's own")
    arguments.add_argument("--data", type=Path, help="the source to write with model and inputs")
    arguments.add_argument("--header", type=Path, help="the header to write of a configuration")
    arguments.add_argument("--configuration", default="exact", help="a row of resolvers.toml")
    arguments.add_argument("--runtime", default="tflm", choices=RUNTIMES)
    arguments.add_argument("--tflite-micro", type=Path, help="the folder of the module")
    options = arguments.parse_args()
    document = tomllib.loads((options.samples / "resolvers.toml").read_text(encoding="utf-8"))
    table = PlainTable(**PlainTable.fields(document))
    sample, models = table.sample(options.sample), options.samples / "models"
    model = (options.model or models / sample.model).read_bytes()
    inputs = inputs_of(sample, models)
    if options.data:
        _write(options.data, data_source(model, inputs))
    if options.header:
        variant = _variant_for(table, options)
        _write(options.header, config_header(variant, model, inputs))


def _variant_for(table: PlainTable, options: argparse.Namespace) -> Variant:
    """The variant for the checked-out revision of tflite-micro, if one is given.

    Raises TableError for operators that this revision cannot register.
    """
    names = options.sample, options.configuration, options.runtime
    module = options.tflite_micro
    if module is None:
        return table.variant(*names)
    commit, day = _commit_of(module)
    revision = table.nearest(table.sample(options.sample), commit, day)
    variant = table.variant(*names, revision)
    header = module / "tensorflow" / "lite" / "micro" / "micro_mutable_op_resolver.h"
    known = set(re.findall(r"\bTfLiteStatus (Add\w+)\(", header.read_text(encoding="utf-8")))
    lacking = [one.operator for one in variant.additions if one.method not in known]
    if lacking:
        which = f"tflite-micro {commit[:8]} of {day}" if commit else f"tflite-micro in {module}"
        raise TableError(
            f"{which} lacks {', '.join(dict.fromkeys(lacking))}, which configuration"
            f" {variant.configuration.name} of {variant.sample.name} registers"
        )
    return variant


def _commit_of(repository: Path) -> tuple[str, date | None]:
    """Hash and date of the commit that is checked out in a folder; ("", None) without git."""
    command = ["git", "-C", str(repository), "log", "-1", "--format=%H %cs"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return "", None
    commit, _, day = done.stdout.strip().partition(" ")
    return commit, date.fromisoformat(day)


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except tomllib.TOMLDecodeError as error:
        sys.exit(f"error: resolvers.toml: {error}")
    except (TableError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyError as error:
        sys.exit(f"error: resolvers.toml lacks the key {error}")
