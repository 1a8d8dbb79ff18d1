"""y = atan(x + offset) with the custom operator ``Atan``, float32.

The offset is learned from noiseless samples of a known one, then a constant of the model.
TensorFlow Lite has no arc tangent: the converter leaves a custom operator under TensorFlow's name.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from . import convert

SEED = 9164
TRUE_OFFSET = 1.0
WIDTH = 8
STEPS = 2000
ORDINARY_ROWS = 20
EXTREME_ROWS = 80


class ShiftedAtan(tf.Module):
    """The function with its one trainable number."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = tf.Variable(0.0, name="offset")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Of any shape."""
        return tf.atan(x + self.offset)


def train() -> ShiftedAtan:
    """Fit the offset by gradient descent on the squared error."""
    generator = np.random.default_rng(SEED)
    x = generator.uniform(-6.0, 6.0, 256).astype(np.float32)
    y = np.arctan(x + np.float32(TRUE_OFFSET))
    module = ShiftedAtan()
    optimizer = tf.keras.optimizers.SGD(0.2)
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(module(x) - y))
        optimizer.apply(tape.gradient(loss, [module.offset]), [module.offset])
    return module


def main() -> None:
    """Write the model and rows of inputs from ordinary to extreme."""
    convert.be_deterministic(SEED)
    module = train()
    model = convert.to_float32(module, (1, WIDTH), custom=True)
    (convert.FOLDER / "atan_float32.tflite").write_bytes(model)

    generator = np.random.default_rng(SEED + 1)
    ordinary = generator.uniform(-6.0, 6.0, (ORDINARY_ROWS, WIDTH))
    magnitudes = 10.0 ** generator.uniform(-6.0, 6.0, (EXTREME_ROWS, WIDTH))
    extreme = generator.choice([-1.0, 1.0], magnitudes.shape) * magnitudes
    inputs = np.concatenate([ordinary, extreme]).astype(np.float32)
    targets = np.arctan(inputs.astype(np.float64) + TRUE_OFFSET).astype(np.float32)
    np.savez_compressed(convert.FOLDER / "atan_test.npz", float32=inputs, targets=targets)


if __name__ == "__main__":
    main()
