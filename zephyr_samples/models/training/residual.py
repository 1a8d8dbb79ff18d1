"""Handwritten digits with a small residual network, int8, made to reach more kernels.

CONV_2D, RELU6, ADD, PAD, MEAN, LOGISTIC, MUL and CONCATENATION:

* residual blocks with the activation before the convolution (K. He et al., "Identity Mappings in
  Deep Residual Networks", 2016): the sum is used twice, so RELU6 stays an operator of its own;
* explicit padding before the strided convolution, one row and column at the top left, which no
  SAME padding can express: PAD stays;
* a squeeze-and-excite gate (J. Hu et al., 2018): MEAN, two 1 x 1 convolutions, LOGISTIC, and a
  MUL that broadcasts one factor a channel;
* tflite-micro's int8 RELU6 clamps and does not rescale (TensorFlow Lite's does both), so the
  converter's usual ranges, one before and one after the clamp, gave 10 % accuracy on the
  device where TensorFlow Lite has 99.5 %; here RELU6 keeps one range;
* two branches joined by CONCATENATION; classes scored per pixel and averaged by the last MEAN.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema_fb

from . import convert, digits_data, fit

SEED = 9163
EPOCHS = 60
CLASSES = 10


def _convolution(x: tf.Tensor, channels: int, size: int = 3, **options: object) -> tf.Tensor:
    options.setdefault("padding", "same")
    x = tf.keras.layers.Conv2D(channels, size, use_bias=False, **options)(x)
    return tf.keras.layers.BatchNormalization(momentum=0.9)(x)


def _relu6(x: tf.Tensor) -> tf.Tensor:
    return tf.keras.layers.ReLU(max_value=6.0)(x)


def _block(x: tf.Tensor, channels: int) -> tf.Tensor:
    inner = _convolution(_relu6(x), channels)
    inner = _convolution(_relu6(inner), channels)
    return tf.keras.layers.Add()([x, inner])


def _gate(x: tf.Tensor, channels: int) -> tf.Tensor:
    layers = tf.keras.layers
    squeezed = layers.GlobalAveragePooling2D(keepdims=True)(x)
    squeezed = layers.Conv2D(channels // 2, 1, activation="relu")(squeezed)
    factors = layers.Conv2D(channels, 1, activation="sigmoid")(squeezed)
    return layers.Multiply()([x, factors])


def build() -> tf.keras.Model:
    """(N, 8, 8, 1) pixels in 0..1 -> (N, 10) logits."""
    layers = tf.keras.layers
    pixels = layers.Input((8, 8, 1))
    x = _block(_convolution(pixels, 8), 8)
    x = layers.ZeroPadding2D(((1, 0), (1, 0)))(_relu6(x))
    x = _convolution(x, 16, strides=2, padding="valid")
    x = _gate(_block(x, 16), 16)
    wide = _relu6(_convolution(x, 16))
    narrow = _relu6(_convolution(x, 16, size=1))
    x = layers.Concatenate()([wide, narrow])
    scores = layers.Conv2D(CLASSES, 1)(x)
    return tf.keras.Model(pixels, layers.GlobalAveragePooling2D()(scores))


def main() -> None:
    """Write the model; its test images are those of ``digits``."""
    network, data = fit.classifier(build, SEED, EPOCHS)
    model = convert.to_int8(
        lambda x: network(x, training=False),
        digits_data.normalize(data.train_pixels),
        one_range=frozenset({schema_fb.BuiltinOperator.RELU6}),
    )
    (convert.FOLDER / "residual_int8.tflite").write_bytes(model)


if __name__ == "__main__":
    main()
