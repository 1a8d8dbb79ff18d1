"""The training loop that the three digit classifiers share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from . import convert, digits_data

BATCH = 64
RATE = 3e-3


def classifier(
    build: Callable[[], tf.keras.Model], seed: int, epochs: int
) -> tuple[tf.keras.Model, digits_data.Digits]:
    """A model of ``build``, fitted to the digits, and these; its output is logits (N, 10)."""
    convert.be_deterministic(seed)
    data = digits_data.load()
    model = build()
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
    return model, data
