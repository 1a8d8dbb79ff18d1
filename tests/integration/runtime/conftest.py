"""The runtime built for this machine, models of one operator, and the official interpreter."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flatbuffers
import needs
import numpy as np
import pytest
from kept_images import compiler_version, keep
from oracle import Oracle, request
from runtime_headers import RUNTIME, include_folders

HERE = Path(__file__).parent
ARENA = 256 * 1024


@dataclass(frozen=True)
class Spec:
    """One tensor: ``data`` for a constant, ``scale`` None where it is not quantized."""

    shape: tuple[int, ...]
    dtype: str = "int8"
    scale: float | Sequence[float] | None = None
    zero_point: int = 0
    data: np.ndarray | None = field(default=None, repr=False)
    channel_axis: int = 0


@dataclass(frozen=True)
class Case:
    """A model of one operator with the inputs of some inferences."""

    operator: str
    inputs: tuple[Spec, ...]
    output: Spec
    options: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    values: tuple[np.ndarray, ...] = field(
        default=(), repr=False
    )  # one array an input that is no constant


class Models:
    """Writes cases as .tflite files with the schema that the official package brings."""

    def __init__(self) -> None:
        from tflite_micro.tensorflow.lite.micro.python import schema_py_generated

        self.schema = schema_py_generated

    def encode(self, case: Case) -> bytes:
        schema = self.schema
        graph = schema.SubGraphT()
        buffers = [schema.BufferT()]
        graph.tensors = [self._tensor(spec, buffers) for spec in (*case.inputs, case.output)]
        count = len(case.inputs)
        graph.inputs = [n for n, spec in enumerate(case.inputs) if spec.data is None]
        graph.outputs = [count]
        operator = schema.OperatorT()
        operator.opcodeIndex = 0
        operator.inputs = list(range(count))
        operator.outputs = [count]
        if case.options:
            options = getattr(schema, f"{case.options}T")()
            for name, value in case.fields.items():
                assert hasattr(options, name), name
                setattr(options, name, value)
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, case.options)
            operator.builtinOptions = options
        graph.operators = [operator]
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, case.operator)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 1
        model = schema.ModelT()
        model.version = 3
        model.operatorCodes = [code]
        model.subgraphs = [graph]
        model.buffers = buffers
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def _tensor(self, spec: Spec, buffers: list[Any]) -> Any:
        schema = self.schema
        tensor = schema.TensorT()
        tensor.shape = list(spec.shape)
        tensor.type = getattr(schema.TensorType, spec.dtype.upper())
        tensor.name = b"t"
        tensor.buffer = 0
        if spec.data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(spec.data.astype(spec.dtype).tobytes(), np.uint8)
            tensor.buffer = len(buffers)
            buffers.append(buffer)
        if spec.scale is not None:
            scales = [spec.scale] if isinstance(spec.scale, float) else list(spec.scale)
            quantization = schema.QuantizationParametersT()
            quantization.scale = scales
            quantization.zeroPoint = [spec.zero_point] * len(scales)
            quantization.quantizedDimension = spec.channel_axis
            tensor.quantization = quantization
        return tensor


@dataclass(frozen=True)
class Ran:
    status: int
    output: bytes
    log: str


class Host:
    """The runtime, compiled for this machine."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def call(self, *arguments: str, data: bytes = b"") -> Ran:
        done = subprocess.run(
            [str(self.program), *arguments],
            input=data,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def run(self, model: Path, data: bytes, arena: int = ARENA) -> Ran:
        return self.call("run", str(model), str(arena), data=data)

    def run_each(self, folders: Sequence[Path]) -> list[bytes]:
        """The outputs for ``model.tflite`` and ``input.bin`` in each folder, from one process."""
        done = self.call("each", str(ARENA), data="".join(f"{one}\n" for one in folders).encode())
        last = [folder / "log" for folder in folders if (folder / "log").exists()][-1]
        assert done.status == 0, f"{last}: {last.read_text()}"
        return [(folder / "output.bin").read_bytes() for folder in folders]


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """Compiling takes 12 s, so the build cache keeps the program until a source of it changes."""
    compiler = needs.require("g++")
    includes = include_folders(tmp_path_factory.mktemp("host"))
    runner = HERE / "host_runner.cc"
    sources = [str(path) for path in (runner, *sorted(RUNTIME.rglob("*.cc")))]
    flags = [
        "-std=c++17",
        "-O1",
        "-g",
        "-fno-exceptions",
        "-fno-rtti",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    # Undefined behaviour in a kernel ends the run.
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    command = [compiler, *flags, *(f"-I{folder}" for folder in includes), *sources]

    def fill(folder: Path) -> None:
        subprocess.run([*command, "-o", str(folder / "host_runner")], check=True)

    headers = (includes[-1] / "flatbuffers" / "base.h").read_bytes()  # it has their version
    read = sorted(path for one in includes for path in one.rglob("*") if path.is_file())
    texts = [path.read_bytes() for path in (runner, *read)]
    key = [compiler_version(compiler), *flags, headers, *texts]
    return Host(keep(key, fill) / "host_runner")


@pytest.fixture(scope="session")
def official() -> Iterator[Oracle]:
    """The official interpreter; PyPI has it for x86-64 only."""
    needs.require("tflite-micro")
    oracle = Oracle()
    yield oracle
    oracle.close()


@pytest.fixture(scope="session")
def models(official: Oracle) -> Models:
    return Models()


@pytest.fixture
def compare(
    host: Host, models: Models, official: Oracle, tmp_path: Path
) -> Callable[[Iterable[Case]], None]:
    """Runs cases on both; every output byte must be the same."""

    def check(cases: Iterable[Case]) -> None:
        drawn = list(cases)
        assert len(drawn) >= 200
        asked, folders = [], []
        for number, case in enumerate(drawn):
            folder = tmp_path / f"{number:04}"
            folder.mkdir()
            model, inferences = models.encode(case), list(zip(*case.values, strict=True))
            (folder / "model.tflite").write_bytes(model)
            data = b"".join(value.tobytes() for inference in inferences for value in inference)
            (folder / "input.bin").write_bytes(data)
            asked.append(request(model, inferences))
            folders.append(folder)
        compared = 0
        for case, answer, output in zip(
            drawn, official.ask(asked), host.run_each(folders), strict=True
        ):
            assert "error" not in answer, f"{case}\n{answer}"
            obtained = np.frombuffer(output, case.output.dtype)
            wanted = np.concatenate([one.ravel() for (one,) in answer["outputs"]])
            assert wanted.dtype == obtained.dtype
            assert obtained.size == wanted.size, case
            different = np.flatnonzero(obtained.view(np.uint8) != wanted.view(np.uint8))
            assert different.size == 0, (
                f"{different.size} bytes differ, first at {different[:1]}:"
                f" {obtained[:8]} against {wanted[:8]}\n{case}"
            )
            compared += wanted.size
        assert compared > len(drawn)

    return check


@pytest.fixture
def case_types() -> tuple[type[Spec], type[Case]]:
    return Spec, Case
