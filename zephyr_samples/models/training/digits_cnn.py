"""Handwritten digits with float32 at both ends: a plain CNN, int8 inside.

QUANTIZE, CONV_2D, MAX_POOL_2D, FULLY_CONNECTED, SOFTMAX, DEQUANTIZE. The last convolution leaves
1 x 1 pixels, so the converter drops the RESHAPE before FULLY_CONNECTED. The dense weights are
quantized per channel, the converter's default and so what users' own models have.
"""

from __future__ import annotations

import tensorflow as tf

from . import convert, digits_data, fit

SEED = 9162
EPOCHS = 60
CLASSES = 10


def build() -> tf.keras.Model:
    """(N, 8, 8, 1) pixels in 0..1 -> (N, 10) logits."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(12, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(24, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(32, 2, activation="relu"),
            layers.Flatten(),
            layers.Dense(CLASSES),
        ]
    )


def main() -> None:
    """Write the model; its test images are those of ``digits``."""
    network, data = fit.classifier(build, SEED, EPOCHS)
    model = convert.to_int8(
        lambda x: tf.nn.softmax(network(x, training=False)),
        digits_data.normalize(data.train_pixels),
        float_ends=True,
        per_channel_dense=True,
    )
    (convert.FOLDER / "digits_cnn_int8.tflite").write_bytes(model)


if __name__ == "__main__":
    main()
