"""The UCI handwritten digits that scikit-learn ships, with one fixed split for every model.

1,797 images of 8 x 8 pixels with 17 grey levels. E. Alpaydin and C. Kaynak, "Optical Recognition
of Handwritten Digits", UCI Machine Learning Repository, 1998, CC BY 4.0; distributed with
scikit-learn under BSD-3-Clause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HELD_OUT = 400
SPLIT_SEED = 0
GREY_LEVELS = 16.0


@dataclass(frozen=True)
class Digits:
    """Pixels are uint8 (N, 8, 8, 1) in 0..16, labels uint8 (N,)."""

    train_pixels: np.ndarray
    train_labels: np.ndarray
    test_pixels: np.ndarray
    test_labels: np.ndarray


def load() -> Digits:
    """The split: the same classes in the same proportions on both sides."""
    data = load_digits()
    pixels = data.images.astype(np.uint8)[..., None]
    labels = data.target.astype(np.uint8)
    parts = train_test_split(
        pixels, labels, test_size=HELD_OUT, stratify=labels, random_state=SPLIT_SEED
    )
    train_pixels, test_pixels, train_labels, test_labels = parts
    # One of each class first: images with a few built-in inputs take the first rows.
    firsts = [int(np.flatnonzero(test_labels == label)[0]) for label in range(10)]
    order = firsts + [i for i in range(HELD_OUT) if i not in firsts]
    return Digits(train_pixels, train_labels, test_pixels[order], test_labels[order])


def normalize(pixels: np.ndarray) -> np.ndarray:
    """Pixels as the networks take them: float32 in 0..1, every level a multiple of 1/16."""
    return pixels.astype(np.float32) / np.float32(GREY_LEVELS)


def shifted(pixels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Each image moved by -1, 0 or 1 pixel in both directions: cheap variety for training."""
    padded = np.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)))
    moves = generator.integers(0, 3, (len(pixels), 2))
    height, width = pixels.shape[1:3]
    return np.stack(
        [
            image[dy : dy + height, dx : dx + width]
            for image, (dy, dx) in zip(padded, moves, strict=True)
        ]
    )
