"""The two things that pyproject.toml cannot say: the native counter, and data beside the package.

Without a compiler the simulator's Python counter gives the same counts, more slowly.
"""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

#: Folders of the checkout that an installed package needs (harness.paths looks for them).
DATA = ("platforms", "zephyr_samples", "robot")


class BuildWithData(build_py):
    """Copies the data folders into ``harness/_data`` of a wheel; an editable install needs none."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for name in DATA:
            target = Path(self.build_lib) / "harness" / "_data" / name
            shutil.copytree(
                Path(__file__).parent / name,
                target,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__"),
            )


setup(
    cmdclass={"build_py": BuildWithData},
    ext_modules=[
        Extension("harness.simulator._native", ["harness/simulator/_native.c"], optional=True)
    ],
)
