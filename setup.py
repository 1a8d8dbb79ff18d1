"""What pyproject.toml cannot say: the counting core, data beside the package, and its address.

The core keeps to Python's stable interface, so one wheel a platform fits 3.11 and later. Where no
compiler is, the package is installed without it; ``tflm-hil doctor --install`` builds it then.
A checkout that may not be written, such as another user's, is built in a temporary folder.
"""

import atexit
import os
import runpy
import shutil
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

#: Folders of the checkout that an installed package needs (harness.base.paths looks for them).
DATA = ("docs", "examples", "platforms", "robot", "zephyr_samples")
CORE = Path("harness/simulator/native")
SOURCES = runpy.run_path("harness/base/sources.py")


def urls():
    """The addresses of the repository in whose workflow this is built; {} anywhere else."""
    server, name = (os.environ.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY"))
    if not server or not name:
        return {}
    home = f"{server}/{name}"
    pages = {
        "Documentation": "tree/main/docs", "Changelog": "blob/main/CHANGELOG.md",
        "Issues": "issues",
    }  # fmt: skip
    return {"Source": home} | {title: f"{home}/{path}" for title, path in pages.items()}


def places():
    """Options that keep what a build writes out of the checkout, if that may not be written."""
    if os.access(Path(__file__).parent, os.W_OK):
        return {}
    folder = tempfile.mkdtemp(prefix="tflm-hil-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {"egg_info": {"egg_base": folder}, "build": {"build_base": folder}}


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
                ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.elf", "hil-results"),
            )
            for folder, *_ in os.walk(target):
                Path(folder).chmod(0o755)  # those of the checkout may be read-only


setup(
    project_urls=urls(),
    cmdclass={"build_py": BuildWithData},
    ext_modules=[
        Extension(
            "harness.simulator._native",
            [path.as_posix() for path in sorted(CORE.glob("*.c"))],
            depends=[path.as_posix() for path in sorted(CORE.glob("*.h"))],
            define_macros=[(SOURCES["MACRO"], f'"{SOURCES["fingerprint"](CORE)}"')],
            extra_compile_args=["-Wall", "-Wextra", "-fvisibility=hidden"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}, **places()},
)
