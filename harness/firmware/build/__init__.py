"""Builders that need no Zephyr: the standalone one, and prebuilt images."""

from harness.firmware.build.result import BuildOptions, BuildResult, prebuilt
from harness.firmware.build.standalone import build_many, build_operators, build_standalone

__all__ = [
    "BuildOptions",
    "BuildResult",
    "build_many",
    "build_operators",
    "build_standalone",
    "prebuilt",
]
