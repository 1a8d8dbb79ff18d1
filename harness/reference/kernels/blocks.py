"""SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND, SPACE_TO_DEPTH, DEPTH_TO_SPACE.

Sources: TensorFlow Lite operator specification; tflite-micro's reference ``SpaceToBatchND`` and
``BatchToSpaceND`` for three or four axes. TFLM does not write the padding of SPACE_TO_BATCH_ND: it
keeps the previous content of the arena, 0 after boot, whatever the zero point.
"""

from __future__ import annotations

import numpy as np

from harness.reference.arrays import Array
from harness.reference.node import Node, Run
from harness.reference.parameters import parametrized


def _check(node: Node) -> tuple[int, ...]:
    """The shape of the input."""
    node.check_types("int8 float32")
    shape = node.input(0).shape
    if len(shape) not in (3, 4) or len(node.output().shape) != len(shape):
        raise node.bad(f"its input has the shape {list(shape)}, not three or four axes")
    return shape


def _spatial(node: Node, blocks: list[int], pairs: list[int]) -> list[tuple[int, int, int]]:
    """(block, before, after) per spatial axis."""
    axes = len(node.input(0).shape) - 2
    if len(blocks) != axes or len(pairs) != 2 * axes or min(blocks) < 1 or min(pairs) < 0:
        raise node.bad(f"blocks {blocks} and margins {pairs} are invalid for {axes} spatial axes")
    return list(zip(blocks, pairs[::2], pairs[1::2], strict=True))


def space_to_batch_nd(node: Node) -> Run:
    """Spatial blocks to batches. Inputs: tensor (N, spatial..., C), block sizes, paddings.

    int8, float32.
    """
    shape = _check(node)

    def make(blocks: list[int], paddings: list[int]) -> Run:
        spatial = _spatial(node, blocks, paddings)
        padded = [size + a + b for size, (_, a, b) in zip(shape[1:-1], spatial, strict=True)]
        if any(size % block for size, block in zip(padded, blocks, strict=True)):
            raise node.bad(f"blocks {blocks} do not divide {padded}")
        out = [size // block for size, block in zip(padded, blocks, strict=True)]
        node.check_output((shape[0] * int(np.prod(blocks)), *out, shape[-1]))
        margins = [(0, 0), (0, 0), *((a, b) for _, a, b in spatial), (0, 0)]
        split = [part for pair in zip(out, blocks, strict=True) for part in pair]
        inner = range(3, 2 + 2 * len(out), 2)
        order = (0, *inner, 1, *range(2, 2 + 2 * len(out), 2), 2 + 2 * len(out))

        def run(x: Array, *_: Array) -> Array:
            x = np.pad(x, margins)
            x = x.reshape(len(x), shape[0], *split, shape[-1]).transpose(order)
            return x.reshape(len(x), *node.output().shape)

        return run

    return parametrized(node, (1, 2), make)


def batch_to_space_nd(node: Node) -> Run:
    """Batches to spatial blocks. Inputs: tensor (N, spatial..., C), block sizes, crops.

    int8, float32.
    """
    shape = _check(node)

    def make(blocks: list[int], crops: list[int]) -> Run:
        spatial = _spatial(node, blocks, crops)
        batch, rest = divmod(shape[0], int(np.prod(blocks)))
        whole = [size * block for size, block in zip(shape[1:-1], blocks, strict=True)]
        out = [size - a - b for size, (_, a, b) in zip(whole, spatial, strict=True)]
        if rest or min(out) < 0:
            raise node.bad(f"blocks {blocks} and crops {crops} do not fit the input {list(shape)}")
        node.check_output((batch, *out, shape[-1]))
        axes = len(out)
        pairs = [place for i in range(axes) for place in (axes + 2 + i, 1 + i)]
        order = (0, axes + 1, *pairs, 2 + 2 * axes)
        cuts = tuple(slice(a, size - b) for size, (_, a, b) in zip(whole, spatial, strict=True))

        def run(x: Array, *_: Array) -> Array:
            x = x.reshape(-1, *blocks, batch, *shape[1:])
            x = x.transpose(order).reshape(len(x), batch, *whole, shape[-1])
            return x[(slice(None), slice(None), *cuts)]

        return run

    return parametrized(node, (1, 2), make)


def _block(node: Node) -> tuple[int, tuple[int, ...]]:
    """The block size, and the shape of the input (N, H, W, C)."""
    node.check_types("int8 float32")
    shape, block = node.input(0).shape, int(node.option("block_size"))
    if len(shape) != 4 or block < 1:
        raise node.bad(f"the block size {block} does not fit the input {list(shape)}")
    return block, shape


def space_to_depth(node: Node) -> Run:
    """Spatial blocks to channels, (N, H, W, C). int8, float32."""
    block, (n, h, w, c) = _block(node)
    if h % block or w % block:
        raise node.bad(f"blocks of {block} do not divide {h} x {w}")
    out = (n, h // block, w // block, c * block * block)
    node.check_output(out)

    def run(x: Array) -> Array:
        x = x.reshape(-1, n, out[1], block, out[2], block, c)
        return x.transpose(0, 1, 2, 4, 3, 5, 6).reshape(-1, *out)

    return run


def depth_to_space(node: Node) -> Run:
    """Channels to spatial blocks, (N, H, W, C). int8, float32."""
    block, (n, h, w, c) = _block(node)
    if c % (block * block):
        raise node.bad(f"blocks of {block} do not divide {c} channels")
    out = (n, h * block, w * block, c // (block * block))
    node.check_output(out)

    def run(x: Array) -> Array:
        x = x.reshape(-1, n, h, w, block, block, out[3])
        return x.transpose(0, 1, 2, 4, 3, 5, 6).reshape(-1, *out)

    return run
