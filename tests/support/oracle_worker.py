"""Runs one of the official interpreters for :mod:`oracle`, in a process of its own.

Requests and answers are pickles with their length in front, on standard input and output.
"""

from __future__ import annotations

import pickle
import struct
import sys
from typing import Any, BinaryIO

import numpy as np


def read(stream: BinaryIO) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        return None
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0]))


def write(stream: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def run_tflm(request: dict[str, Any]) -> dict[str, Any]:
    from tflite_micro.python.tflite_micro import runtime

    indices = request["tensors"]
    config = runtime.InterpreterConfig
    interpreter = runtime.Interpreter.from_bytes(
        request["model"],
        custom_op_registerers=[],
        arena_size=request["arena"],
        intrepreter_config=config.kPreserveAllTensors if indices else config.kAllocationRecording,
    )
    outputs, tensors = [], []
    for number, arrays in enumerate(request["inputs"]):
        if number in request["resets"]:
            interpreter.reset()
        for index, array in enumerate(arrays):
            interpreter.set_input(array, index)
        interpreter.invoke()
        outputs.append([interpreter.get_output(i).copy() for i in range(request["outputs"])])
        tensors.append(
            {index: np.array(interpreter.GetTensor(index, 0)["tensor_data"]) for index in indices}
        )
    return {"outputs": outputs, "tensors": tensors}


def run_litert(request: dict[str, Any]) -> dict[str, Any]:
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(
        model_content=request["model"],
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=bool(request["tensors"]),
    )
    interpreter.allocate_tensors()
    inputs = [detail["index"] for detail in interpreter.get_input_details()]
    results = [detail["index"] for detail in interpreter.get_output_details()]
    outputs, tensors = [], []
    for arrays in request["inputs"]:
        for place, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        outputs.append([interpreter.get_tensor(index) for index in results])
        tensors.append({index: interpreter.get_tensor(index) for index in request["tensors"]})
    return {"outputs": outputs, "tensors": tensors}


def main() -> None:
    run = {"tflm": run_tflm, "litert": run_litert}[sys.argv[1]]
    while (request := read(sys.stdin.buffer)) is not None:
        try:
            answer = run(request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        write(sys.stdout.buffer, answer)


if __name__ == "__main__":
    main()
