"""The simulator's counting core, built after the fact.

``pip install`` builds it where a C compiler is there, and leaves it out where none is: then the
simulator cannot run. On a fresh machine the compiler comes only with ``tflm-hil doctor
--install``, after the package was installed.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from harness import paths
from harness.errors import BuildFailed, EnvironmentMissing
from harness.sources import ATTRIBUTE, MACRO, fingerprint

_MODULE = "harness.simulator._native"
#: The folder of its C files; the library stands beside it.
_SOURCES = paths.PACKAGE / "simulator" / "native"
_SECONDS = 120


def load(sources: Path = _SOURCES) -> ModuleType:
    """The counting core. Raises :class:`EnvironmentMissing` if none was built from ``sources``.

    An extension module that was built for this very version of Python hides one for all of them,
    however old it is.
    """
    hint = "build it with: tflm-hil doctor --install (it needs a C compiler)"
    try:
        module = importlib.import_module(_MODULE)
    except ImportError as error:
        message = f"the simulator's counting core is not built ({error})"
        raise EnvironmentMissing(message, hint=hint) from error
    if getattr(module, ATTRIBUTE, None) != fingerprint(sources):
        message = f"the simulator's counting core is of another version: {module.__file__}"
        raise EnvironmentMissing(message, hint=hint)
    return module


def find() -> str:
    """Where the counting core lies; "" if this Python has none that fits."""
    try:
        return str(load().__file__)
    except EnvironmentMissing:
        return ""


def _headers() -> Path:
    return Path(sysconfig.get_paths()["include"])


def packages() -> list[str]:
    """The Debian packages that are missing to build it."""
    lacking = [] if shutil.which("cc") else ["gcc", "libc6-dev"]
    return lacking if (_headers() / "Python.h").is_file() else [*lacking, "python3-dev"]


def build(sources: Path = _SOURCES) -> Path:
    """Compile the counting core, beside the folder of its sources; give the library's path.

    Raises :class:`EnvironmentMissing` without a compiler, Python's headers or the right to write
    there, :class:`BuildFailed` with the compiler's own words. Another build that Python would load
    sooner is removed.
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
        for hiding in _before(library):
            hiding.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentMissing(f"cannot write {library}: {error.strerror or error}") from error
    importlib.invalidate_caches()
    return library


def _before(library: Path) -> list[Path]:
    """Where Python would look for the same module first."""
    name, dot, rest = library.name.partition(".")
    sooner = EXTENSION_SUFFIXES[: EXTENSION_SUFFIXES.index(dot + rest)]
    return [library.with_name(name + suffix) for suffix in sooner]


def check() -> None:
    """Load the counting core in a process of its own. Raises :class:`BuildFailed` if that fails."""
    command = [sys.executable, "-c", "from harness import native; native.load()"]
    _run(command, "the counting core cannot be loaded")


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BuildFailed(f"{what}: no end after {_SECONDS} s") from error
    if done.returncode != 0:
        raise BuildFailed(f"{what}:\n{done.stderr.strip()}")
