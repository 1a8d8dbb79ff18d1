"""The simulator's counting core: loading it, and building it after the installation.

``pip install`` builds it if there is a C compiler. Without one it leaves the core out, and the
simulator cannot run. Then ``tflm-hil doctor --install`` installs a compiler and builds the core.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import sysconfig
import tempfile
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from harness.base import files, paths, process
from harness.base.errors import (
    BuildFailed,
    EnvironmentMissing,
    ProgramFailed,
    ProgramTimedOut,
)
from harness.base.sources import ATTRIBUTE, MACRO, fingerprint

_MODULE = "harness.simulator._native"
#: The folder of its C files; the library is beside this folder.
_SOURCES = paths.PACKAGE / "simulator" / "native"
#: Time limit of the compiler, and of the process that tries the library.
_SECONDS = 120
#: The sources do not change under a process that has loaded the library, and each machine loads it.
_of_this_process = cache(fingerprint)


def load(sources: Path = _SOURCES) -> ModuleType:
    """The counting core. Raises :class:`EnvironmentMissing` if none was built from ``sources``.

    An older build may be found first: Python prefers an extension module for its own version to one
    for all versions.
    """
    hint = "build it with: tflm-hil doctor --install (it needs a C compiler)"
    try:
        module = importlib.import_module(_MODULE)
    except ImportError as error:
        message = f"the simulator's counting core is not built ({error})"
        raise EnvironmentMissing(message, hint=hint) from error
    if getattr(module, ATTRIBUTE, None) != _of_this_process(sources):
        message = f"the simulator's counting core is of another version: {module.__file__}"
        raise EnvironmentMissing(message, hint=hint)
    return module


def find() -> str:
    """The path of the counting core; "" if none can be loaded.

    A process that has loaded an older build cannot load the new one: another process tries.
    """
    try:
        return str(load().__file__)
    except EnvironmentMissing:
        older = sys.modules.get(_MODULE)
    try:
        if older is not None:
            check()
            return str(older.__file__)
    except BuildFailed:
        pass
    return ""


def _headers() -> Path:
    return Path(sysconfig.get_paths()["include"])


def packages() -> list[str]:
    """The Debian packages that a build needs and this machine lacks."""
    missing = [] if shutil.which("cc") else ["gcc", "libc6-dev"]
    return missing if files.is_file(_headers() / "Python.h") else [*missing, "python3-dev"]


def build(sources: Path = _SOURCES) -> Path:
    """Compile the counting core, beside the folder of its sources, and return the library's path.

    Other builds that Python would prefer are removed. Raises :class:`EnvironmentMissing` without a
    compiler, Python's headers or permission to write there, :class:`BuildFailed` with the
    compiler's message.
    """
    compiler = shutil.which("cc")
    if compiler is None or packages():
        raise EnvironmentMissing(f"building the counting core needs {' and '.join(packages())}")
    library = sources.parent / "_native.abi3.so"
    try:
        with tempfile.TemporaryDirectory(dir=sources.parent, prefix=".native-") as folder:
            draft = Path(folder, library.name)
            command = [compiler, "-O2", "-fPIC", "-fwrapv", "-shared", f"-I{_headers()}"]
            command += [f'-D{MACRO}="{fingerprint(sources)}"']
            command += [str(path) for path in sorted(sources.glob("*.c"))]
            _run([*command, "-o", str(draft)], "the counting core cannot be built")
            draft.replace(library)
        for preferred in _preferred_to(library):
            preferred.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {library}: {error.strerror or error}") from error
    importlib.invalidate_caches()
    return library


def _preferred_to(library: Path) -> list[Path]:
    """The paths at which Python looks for the same module first."""
    name, dot, rest = library.name.partition(".")
    earlier = EXTENSION_SUFFIXES[: EXTENSION_SUFFIXES.index(dot + rest)]
    return [library.with_name(name + suffix) for suffix in earlier]


def check() -> None:
    """Load the counting core in another process. Raises :class:`BuildFailed` if that fails."""
    # -P: a folder `harness` in the current folder is not this package.
    code = f"import sys; sys.path.insert(0, {str(paths.PACKAGE.parent)!r})\n"
    code += "from harness.base import native; native.load()"
    _run([sys.executable, "-P", "-c", code], "the counting core cannot be loaded")


def _run(command: list[str], failure: str) -> None:
    try:
        process.run(command, seconds=_SECONDS)
    except ProgramTimedOut as error:
        raise BuildFailed(f"{failure}: {error.reason}") from error
    except ProgramFailed as error:
        raise BuildFailed(f"{failure}:\n{error.output.strip()}") from error
