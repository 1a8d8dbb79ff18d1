"""Runs one of the official interpreters for :mod:`oracle`, in a process of its own.

Lists of requests and of answers are pickles with their length in front, on standard input and
output. Requests are run in a fork, so that a crash ends one of them, and not the imports.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO, NoReturn

import numpy as np

#: The modules of the official interpreters by their short names.
MODULES = {
    "tflm": "tflite_micro.python.tflite_micro.runtime",
    "litert": "ai_edge_litert.interpreter",
}
#: Requests that one fork answers: a fork costs more than most requests, and what one leaves in
#: memory should not stay for all.
MOST = 100
Runner = Callable[[dict[str, Any]], dict[str, Any]]


def read(stream: BinaryIO) -> Any:
    """The next message; None at the end, also in the middle of one."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<Q", head)
    message = stream.read(size)
    return pickle.loads(message) if len(message) == size else None


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


class Fork:
    """A copy of this process that answers requests until it is closed, or crashes."""

    def __init__(self, run: Runner) -> None:
        asked, asking = os.pipe()
        answered, answering = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(asking)
            os.close(answered)
            _answer(run, asked, answering)
        os.close(asked)
        os.close(answering)
        self._asking, self._answered = os.fdopen(asking, "wb"), os.fdopen(answered, "rb")
        self.answers = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None if the request ended the process."""
        with contextlib.suppress(BrokenPipeError):
            write(self._asking, request)
        self.answers += 1
        answer: dict[str, Any] | None = read(self._answered)
        return answer

    def close(self) -> int:
        """End the process, if it has not ended; its exit code."""
        with contextlib.suppress(BrokenPipeError):
            self._asking.close()
        self._answered.close()
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def _answer(run: Runner, asked: int, answering: int) -> NoReturn:
    with os.fdopen(asked, "rb") as requests, os.fdopen(answering, "wb") as answers:
        while (request := read(requests)) is not None:
            # SIGPROF ends the process, unless the request has its answer in time.
            signal.setitimer(signal.ITIMER_PROF, request["seconds"])
            try:
                answer = run(request)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            write(answers, answer)
    os._exit(0)


class Answers:
    """Answers of forks: a new one goes on behind the request that ended the last one."""

    def __init__(self, run: Runner) -> None:
        self._run = run
        self._fork: Fork | None = None

    def of(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answer to each request, or an "error"."""
        return [self._one(request) for request in requests]

    def _one(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._fork is None:
            self._fork = Fork(self._run)
        answer = self._fork.answer(request)
        if answer is None:
            return {"error": f"the official interpreter ended with code {self.close()}"}
        if self._fork.answers == MOST:
            self.close()
        return answer

    def close(self) -> int:
        """End the fork, if there is one; its exit code."""
        fork, self._fork = self._fork, None
        return fork.close() if fork else 0


def main() -> None:
    kind = sys.argv[1]
    run = {"tflm": run_tflm, "litert": run_litert}[kind]
    import_module(MODULES[kind])
    gc.freeze()  # what a fork does not touch is not copied
    answers = Answers(run)
    while (requests := read(sys.stdin.buffer)) is not None:
        write(sys.stdout.buffer, answers.of(requests))
    answers.close()


if __name__ == "__main__":
    main()
