"""Where the project's own files lie: samples, models, platform tables, caches."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parent


def _root(name: str) -> Path:
    """A top-level folder of the project: inside the package in a wheel, beside it in a checkout.

    What lies beside an installed package is other people's: Robot Framework's is called robot, too.
    """
    inside = PACKAGE / "_data" / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def platforms() -> Path:
    """``platforms/``: memory map, Renode platforms, standalone runtime."""
    return _root("platforms")


def samples() -> Path:
    """The sample applications and their resolver table: ``TFLM_HIL_SAMPLES``, or our own."""
    named = os.environ.get("TFLM_HIL_SAMPLES")
    return Path(named).expanduser().absolute() if named else own_samples()


def own_samples() -> Path:
    """``zephyr_samples/``, with the code that samples share in ``common/``."""
    return _root("zephyr_samples")


def models() -> Path:
    """``models/`` of the samples: what they run."""
    return samples() / "models"


def robot() -> Path:
    """``robot/``: the resource file of Robot suites."""
    return _root("robot")


def cache() -> Path:
    """The build cache; ``TFLM_HIL_CACHE`` moves it. Safe to delete at any time."""
    named = os.environ.get("TFLM_HIL_CACHE")
    return (
        Path(named).expanduser().absolute()
        if named
        else Path(platformdirs.user_cache_dir("tflm-hil"))
    )
