"""Runs models on the official interpreter, in a process of its own (it may crash).

Arguments: folders, each with ``model.tflite`` and ``input.npy`` files named ``input0.npy``, ...
(first axis: inferences). Writes ``expected0.bin``, ...: outputs of all inferences, raw.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tflite_micro import runtime


def main() -> None:
    for name in sys.argv[1:]:
        folder = Path(name)
        interpreter = runtime.Interpreter.from_file(
            str(folder / "model.tflite"), arena_size=4 * 1024 * 1024
        )
        inputs = [np.load(path) for path in sorted(folder.glob("input*.npy"))]
        outputs = bytearray()
        for inference in range(len(inputs[0])):
            for index, values in enumerate(inputs):
                interpreter.set_input(values[inference], index)
            interpreter.invoke()
            outputs += interpreter.get_output(0).tobytes()
        (folder / "expected.bin").write_bytes(outputs)


if __name__ == "__main__":
    main()
