"""Handwritten digits with the operators of person detection: a small MobileNet, int8.

CONV_2D, DEPTHWISE_CONV_2D, AVERAGE_POOL_2D, RESHAPE and SOFTMAX, no others, in the arrangement of
A. G. Howard et al., "MobileNets", 2017: depthwise and pointwise convolutions in turn, each with
batch normalization (folded into the weights) and ReLU6 (fused).
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from . import convert, digits_data, fit

SEED = 9161
EPOCHS = 60
CLASSES = 10


def _normalized(convolution: tf.keras.layers.Layer) -> list[tf.keras.layers.Layer]:
    layers = tf.keras.layers
    return [convolution, layers.BatchNormalization(momentum=0.9), layers.ReLU(max_value=6.0)]


def build() -> tf.keras.Model:
    """(N, 8, 8, 1) pixels in 0..1 -> (N, 10) logits."""
    layers = tf.keras.layers
    plain = {"padding": "same", "use_bias": False}
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            *_normalized(layers.Conv2D(8, 3, **plain)),
            *_normalized(layers.DepthwiseConv2D(3, depth_multiplier=2, **plain)),
            *_normalized(layers.Conv2D(24, 1, **plain)),
            *_normalized(layers.DepthwiseConv2D(3, strides=2, **plain)),
            *_normalized(layers.Conv2D(48, 1, **plain)),
            *_normalized(layers.DepthwiseConv2D(3, **plain)),
            *_normalized(layers.Conv2D(48, 1, **plain)),
            layers.AveragePooling2D(4),
            layers.Conv2D(CLASSES, 1),
            layers.Reshape((CLASSES,)),
        ]
    )


def main() -> None:
    """Write the model and the held-out images that all digit models are tested on."""
    network, data = fit.classifier(build, SEED, EPOCHS)
    model = convert.to_int8(
        lambda x: tf.nn.softmax(network(x, training=False)),
        digits_data.normalize(data.train_pixels),
    )
    (convert.FOLDER / "digits_int8.tflite").write_bytes(model)
    np.savez_compressed(
        convert.FOLDER / "digits_test.npz",
        pixels=data.test_pixels,
        int8=convert.quantize(
            digits_data.normalize(data.test_pixels), *convert.input_quantization(model)
        ),
        float32=digits_data.normalize(data.test_pixels),
        labels=data.test_labels,
    )


if __name__ == "__main__":
    main()
