"""The paths of the project's own files: samples, models, platform tables, caches."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parents[1]


def _root(name: str) -> Path:
    """A top-level folder of the project: inside the package in a wheel, beside it in a checkout.

    An installed package has other packages beside it: Robot Framework's is called ``robot``, too.
    """
    inside = PACKAGE / "_data" / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def platforms() -> Path:
    """``platforms/``: memory map, Renode platforms, standalone runtime."""
    return _root("platforms")


def samples() -> Path:
    """The folder of sample applications: ``TFLM_HIL_SAMPLES``, or the project's own."""
    named = os.environ.get("TFLM_HIL_SAMPLES")
    return Path(named).expanduser().absolute() if named else own_samples()


def own_samples() -> Path:
    """``zephyr_samples/``, with the code that samples share in ``common/``."""
    return _root("zephyr_samples")


def models() -> Path:
    """``models/`` of the samples."""
    return samples() / "models"


def robot() -> Path:
    """``robot/``: the resource file of Robot suites."""
    return _root("robot")


def examples() -> Path:
    """``examples/``: small projects with firmware, case file and tests."""
    return _root("examples")


def docs() -> Path:
    """``docs/``: the pages of the site as Markdown."""
    return _root("docs")


def schemas() -> Path:
    """``harness/schemas``: JSON schemas of the files that are read and written."""
    return PACKAGE / "schemas"


def cache() -> Path:
    """The build cache, at ``TFLM_HIL_CACHE`` if that is set. Safe to delete at any time."""
    named = os.environ.get("TFLM_HIL_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_cache_dir("tflm-hil"))
