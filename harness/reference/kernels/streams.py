"""Operators with a memory of samples: streams.

SignalFramer, SignalStacker, SignalDelay, SignalOverlapAdd, CIRCULAR_BUFFER. Source: tflite-micro,
``signal/micro/kernels``, ``signal/src`` and ``circular_buffer.cc``. A reset clears the memory.
While SignalFramer and SignalStacker have too few samples, their second output is false and the
first one is 0; a device does not write the first one.
"""

from __future__ import annotations

import math

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.signal import typed

#: The largest size among the options.
_MAX_SIZE = 1 << 20
#: Slots of a CIRCULAR_BUFFER after which, without ``cycles_max``, the later operators run in every
#: inference; for other numbers they run in every second one.
_EVERY_INFERENCE = (5, 13, 25)


class _Queue:
    """A first-in, first-out queue of samples, int16 (channels, n), initially ``zeros`` zeros."""

    def __init__(self, node: Node, channels: int, capacity: int, zeros: int) -> None:
        self._samples = node.memory.cell(np.zeros((channels, capacity), np.int16))
        self._count = node.memory.cell(np.array(zeros))

    @property
    def count(self) -> int:
        return int(self._count)

    def write(self, samples: Array) -> None:
        """Append samples (channels, n)."""
        end = self.count + samples.shape[1]
        self._samples[:, self.count : end] = samples
        self._count[...] = end

    def get(self, count: int) -> Array:
        """A copy of the ``count`` oldest samples, (channels, count)."""
        return self._samples[:, :count].copy()

    def discard(self, count: int) -> None:
        """Removes the ``count`` oldest samples."""
        self._samples[:, : self.count - count] = self._samples[:, count : self.count].copy()
        self._count[...] = self.count - count


def framer(node: Node) -> Run:
    """Overlapping frames of ``frame_size`` samples, one per ``frame_step``. int16.

    Outputs: (..., frames, frame_size), and true if all frames are full. ``prefill``: the stream
    begins with zeros.
    """
    node.check_signature("int16 -> int16 bool")
    shape = node.input(0).shape
    size, step = node.number("frame_size", 1, _MAX_SIZE), node.number("frame_step", 1, _MAX_SIZE)
    prefill = bool(node.number("prefill", 0, 1))
    if not shape or shape[-1] < step or shape[-1] % step or (prefill and step > size):
        raise node.bad(f"frame size {size} and step {step} do not fit the input {list(shape)}")
    outer, frames = math.prod(shape[:-1]), shape[-1] // step
    node.check_output((*shape[:-1], frames, size))
    node.check_output((), 1)
    capacity = -(-size // step) * step
    queue = _Queue(node, outer, capacity, size - step if prefill else 0)

    def run(x: Array) -> list[Array]:
        parts = x.reshape(outer, frames, step)
        y = np.zeros((outer, frames, size), np.int16)
        valid = True
        for frame in range(frames):
            queue.write(parts[:, frame])
            if queue.count >= size:
                y[:, frame] = queue.get(size)
                queue.discard(step)
            else:
                valid = False
        return [y.reshape(1, *shape[:-1], frames, size), np.array([valid])]

    return run


def stacker(node: Node) -> Run:
    """Stacks of a frame of ``num_channels`` values and its neighbours, one per ``stacker_step``.

    int16. Outputs: the stack, and true if it is full. The first frame is its own left context.
    """
    node.check_signature("int16 -> int16 bool")
    channels, step = (
        node.number("num_channels", 1, _MAX_SIZE),
        node.number("stacker_step", 1, _MAX_SIZE),
    )
    left, right = (
        node.number(f"stacker_{side}_context", 0, _MAX_SIZE) for side in ("left", "right")
    )
    size = channels * (left + right + 1)
    if node.input(0).shape != (channels,) or step > left + right + 1 or size > _MAX_SIZE:
        raise node.bad(
            f"{channels} channels, context {left} + {right} and step {step} do not fit its input"
        )
    node.check_output((size,))
    node.check_output((), 1)
    queue = _Queue(node, 1, size, 0)
    started = node.memory.cell(np.zeros((), bool))

    def run(x: Array) -> list[Array]:
        queue.write(x)
        if not started:
            for _ in range(left):
                queue.write(x)
            started[...] = True
        if queue.count < size:
            return [np.zeros((1, size), np.int16), np.array([False])]
        y = queue.get(size)
        queue.discard(channels * step)
        return [y, np.array([True])]

    return run


def delay(node: Node) -> Run:
    """The stream along the last axis, delayed by ``delay_length`` samples; initially 0. int16."""
    node.check_signature("int16 -> int16")
    shape, length = node.input(0).shape, node.number("delay_length", 0, _MAX_SIZE)
    if not shape or not shape[-1]:
        raise node.bad(f"its input has the shape {list(shape)}")
    node.check_output(shape)
    outer = math.prod(shape[:-1])
    queue = _Queue(node, outer, shape[-1] + length, length)

    def run(x: Array) -> Array:
        queue.write(x.reshape(outer, shape[-1]))
        y = queue.get(shape[-1])
        queue.discard(shape[-1])
        return y.reshape(1, *shape)

    return run


def overlap_add(node: Node) -> Run:
    """The sum of frames (..., frames, size) at distances of ``frame_step``. int16, float32.

    int16 saturates.
    """
    dtype = typed(node, "int16 float32")
    shape, step = node.input(0).shape, node.number("frame_step", 1, _MAX_SIZE)
    if len(shape) < 2 or step > shape[-1]:
        raise node.bad(f"the frame step {step} does not fit the frames {list(shape)}")
    *lead, frames, size = shape
    outer = math.prod(lead)
    node.check_output((*lead, frames * step))
    buffer = node.memory.cell(np.zeros((outer, size), dtype))

    def run(x: Array) -> Array:
        parts = x.reshape(outer, frames, size)
        y = np.zeros((outer, frames, step), dtype)
        for frame in range(frames):
            total = parts[:, frame].astype(np.int64 if dtype == "int16" else dtype) + buffer
            if dtype == "int16":
                total = np.clip(total, -(1 << 15), (1 << 15) - 1)
            y[:, frame] = total[:, :step]
            buffer[:, : size - step] = total[:, step:]
            buffer[:, size - step :] = 0
        return y.reshape(1, *node.output().shape)

    return run


def circular_buffer(node: Node) -> Run:
    """The last slots of a stream, the newest one last: (1, 1, W, C) -> (1, slots, W, C). int8.

    The output is a variable tensor, its zero point after a reset. The later operators run once per
    ``cycles_max`` inferences.
    """
    node.check_signature("int8 -> int8")
    shape, output = node.input(0).shape, node.output()
    if len(shape) != 4 or len(output.shape) != 4 or shape[0] != 1 or 0 in output.shape:
        raise node.bad(f"its input is {list(shape)}, its output {list(output.shape)}")
    slots = output.shape[1]
    if shape[1] != 1 or (shape[0], *shape[2:]) != (output.shape[0], *output.shape[2:]):
        raise node.refused(f"slots {list(shape)} do not fit the output {list(output.shape)}")
    if not output.variable:
        raise node.bad("its output is not a variable tensor, so other operators overwrite it")
    options = node.operator.custom_options
    period = node.number("cycles_max", -(1 << 31), 1 << 31) if options else 0
    if period <= 0:
        period = 1 if slots in _EVERY_INFERENCE else 2
    if period != 1:
        raise node.unsupported(
            f"it ends {period - 1} of {period} inferences early, which repeat earlier outputs"
        )
    ring = node.memory.cell(np.full((1, *output.shape), output.zero_point, np.int8))

    def run(x: Array) -> Array:
        ring[:, :, :-1] = ring[:, :, 1:]
        ring[:, :, -1] = x[:, :, 0]
        return ring

    return run
