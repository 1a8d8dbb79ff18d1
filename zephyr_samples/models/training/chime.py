"""Rising and falling chimes, heard frame by frame: a streaming network with two ring buffers, int8.

It is trained on windows of ten frames as an ordinary convolutional network. What runs on a device
sees one frame an inference: before each convolution a resource variable keeps the last frames that
it looks at (O. Rybakov et al., "Streaming keyword spotting on mobile devices", 2020).
VAR_HANDLE, READ_VARIABLE, CONCATENATION, STRIDED_SLICE, ASSIGN_VARIABLE, CONV_2D, FULLY_CONNECTED.

The converter also writes a subgraph that CALL_ONCE runs to fill the buffers with zeros. It is left
out: tflite-micro gives a variable its zero point when it is allocated and when it is reset.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from . import chime_data, convert

SEED = 9165
EPOCHS = 30
TRAINING_FRAMES = 30_000
TEST_FRAMES = 1_000
CALIBRATION_FRAMES = 3_000
NEAR, FAR = 3, 8  # frames that the first and the second convolution see
WINDOW = NEAR + FAR - 1


def build() -> tf.keras.Model:
    """(N, WINDOW, 1, BANDS) energies -> (N, 3) logits."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((WINDOW, 1, chime_data.BANDS)),
            layers.Conv2D(12, (NEAR, 1), activation="relu", name="near"),
            layers.Conv2D(16, (FAR, 1), activation="relu", name="far"),
            layers.Flatten(),
            layers.Dense(chime_data.CLASSES, name="scores"),
        ]
    )


def train() -> tf.keras.Model:
    """Fit the network on all windows of a long recording."""
    recording = chime_data.record(np.random.default_rng(SEED), TRAINING_FRAMES)
    windows = np.lib.stride_tricks.sliding_window_view(recording.energies, WINDOW, axis=0)
    network = build()
    steps = EPOCHS * (len(windows) // 128)
    network.compile(
        optimizer=tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(3e-3, steps)),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    network.fit(
        np.ascontiguousarray(windows.transpose(0, 2, 1))[:, :, None, :],
        recording.labels[WINDOW - 1 :],
        batch_size=128,
        epochs=EPOCHS,
        verbose=0,
    )
    return network


class Streaming(tf.Module):
    """The trained network, one frame per call; its variables hold earlier frames."""

    def __init__(self, network: tf.keras.Model) -> None:
        super().__init__()
        weights = {
            layer.name: [tf.constant(array) for array in layer.get_weights()]
            for layer in network.layers
            if layer.weights
        }
        self._near, self._far, self._scores = weights["near"], weights["far"], weights["scores"]
        channels = self._near[0].shape[-1]
        self.frames = tf.Variable(tf.zeros((1, NEAR - 1, 1, chime_data.BANDS)), name="frames")
        self.features = tf.Variable(tf.zeros((1, FAR - 1, 1, channels)), name="features")

    def __call__(self, frame: tf.Tensor) -> tf.Tensor:
        """(1, 1, 1, BANDS) energies -> (1, 3) logits."""
        near = self._convolved(self.frames, frame, self._near)
        far = self._convolved(self.features, near, self._far)
        kernel, bias = self._scores
        return tf.reshape(far, (1, -1)) @ kernel + bias

    @staticmethod
    def _convolved(memory: tf.Variable, newest: tf.Tensor, weights: list[tf.Tensor]) -> tf.Tensor:
        seen = tf.concat([memory, newest], axis=1)
        memory.assign(seen[:, 1:])
        kernel, bias = weights
        return tf.nn.relu(tf.nn.conv2d(seen, kernel, 1, "VALID") + bias)


def main() -> None:
    """Write the model and a recording that was not used in training."""
    convert.be_deterministic(SEED)
    streaming = Streaming(train())
    heard = chime_data.record(np.random.default_rng(SEED + 1), CALIBRATION_FRAMES)
    frames = heard.energies.reshape(-1, 1, 1, chime_data.BANDS)
    model = convert.to_int8_stream(streaming, frames)
    (convert.FOLDER / "chime_int8.tflite").write_bytes(model)

    # The first event is a chime: images with a few built-in frames take the first ones.
    test = chime_data.record(np.random.default_rng(SEED + 2), TEST_FRAMES, begin="rising")
    energies = test.energies.reshape(-1, 1, 1, chime_data.BANDS)
    np.savez_compressed(
        convert.FOLDER / "chime_test.npz",
        float32=energies,
        int8=convert.quantize(energies, *convert.input_quantization(model)),
        labels=test.labels,
    )


if __name__ == "__main__":
    main()
