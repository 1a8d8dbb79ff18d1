"""Synthesized chimes: frames of sixteen band energies, as a filter bank of a microphone gives them.

A doorbell has a low and a high note. Low before high is a rising chime, high before low a falling
one; a single note, both at once, a chord that fades or a note too long ago are neither. One frame
alone cannot tell: the network has to remember.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BANDS = 16
NOTES = (4, 11)  # the bands in the middle of the low and the high note
NOTHING, RISING, FALLING = range(3)
CLASSES = 3
NOISE = 0.12


@dataclass(frozen=True)
class Recording:
    """Energies are float32 (N, BANDS) in 0..1, labels uint8 (N,): what sounds in each frame."""

    energies: np.ndarray
    labels: np.ndarray


def record(generator: np.random.Generator, frames: int, *, begin: str = "") -> Recording:
    """Some seconds at a door; ``begin`` is the first event, else it is drawn like the others."""
    pieces: list[Recording] = []
    total = 0
    while total < frames:
        kind = begin or generator.choice(
            ["rising", "falling", "low", "high", "both", "late", "noise"],
            p=[0.25, 0.25, 0.1, 0.1, 0.1, 0.1, 0.1],
        )
        begin = ""
        pieces += [_event(generator, kind), _silence(generator, int(generator.integers(3, 12)))]
        total += sum(len(piece.labels) for piece in pieces[-2:])
    energies = np.concatenate([piece.energies for piece in pieces])[:frames]
    labels = np.concatenate([piece.labels for piece in pieces])[:frames]
    heard = energies + generator.normal(0.0, NOISE / 3, energies.shape)
    return Recording(np.clip(heard, 0.0, 1.0).astype(np.float32), labels)


def _event(generator: np.random.Generator, kind: str) -> Recording:
    low, high = _note(generator, NOTES[0]), _note(generator, NOTES[1])
    if kind in ("rising", "falling"):
        first, then = (low, high) if kind == "rising" else (high, low)
        labels = np.zeros(len(first) + len(then), np.uint8)
        # The second note's first frame could still be a slip of the hand.
        labels[len(first) + 1 :] = RISING if kind == "rising" else FALLING
        return Recording(np.concatenate([first, then]), labels)
    if kind == "late":
        pause = _silence(generator, int(generator.integers(10, 14))).energies
        return _unlabelled(np.concatenate([low, pause, high]))
    if kind == "both":
        length = min(len(low), len(high))
        return _unlabelled(np.maximum(low[:length], high[:length]))
    if kind == "noise":
        return _unlabelled(generator.uniform(0.0, 0.6, (int(generator.integers(2, 6)), BANDS)))
    return _unlabelled(low if kind == "low" else high)


def _note(generator: np.random.Generator, band: int) -> np.ndarray:
    """Three to five frames that fade, loudest in ``band``, with some of their octave."""
    length = int(generator.integers(3, 6))
    distance = np.arange(BANDS) - band - generator.uniform(-0.5, 0.5)
    shape = np.exp(-0.5 * distance**2) + 0.3 * np.exp(-0.5 * (distance - 4) ** 2)
    loudness = generator.uniform(0.55, 1.0) * 0.93 ** np.arange(length)
    return loudness[:, None] * shape


def _silence(generator: np.random.Generator, length: int) -> Recording:
    return _unlabelled(generator.uniform(0.0, NOISE, (length, BANDS)))


def _unlabelled(energies: np.ndarray) -> Recording:
    return Recording(energies, np.zeros(len(energies), np.uint8))
