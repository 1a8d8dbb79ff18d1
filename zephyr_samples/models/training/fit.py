"""The training loop that the three digit classifiers share."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from . import digits_data

BATCH = 64
RATE = 3e-3


def classifier(model: tf.keras.Model, data: digits_data.Digits, seed: int, epochs: int) -> None:
    """Fit ``model`` in place; its output is one logit a class, shape (N, 10)."""
    generator = np.random.default_rng(seed)
    steps = epochs * (len(data.train_pixels) // BATCH)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(RATE, steps)),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    for epoch in range(epochs):
        pixels = data.train_pixels
        # Every second epoch sees the images as they are, which is what the test set looks like.
        seen = digits_data.shifted(pixels, generator) if epoch % 2 else pixels
        model.fit(
            digits_data.normalize(seen), data.train_labels, batch_size=BATCH, epochs=1, verbose=0
        )
