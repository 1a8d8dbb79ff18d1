"""The distributions: build both, check them, install the wheel in an empty folder, use it there.

`python tests/dist.py [FOLDER]`; FOLDER (default: build/dist) keeps what was built.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What a user does first; none of it may need the checkout.
COMMANDS = (
    ("tflm-hil", "--version"),
    ("tflm-hil", "list", "samples"),
    ("tflm-hil", "doctor", "--images"),
    ("tflm-hil", "completion", "bash"),
    ("tflm-hil", "reference", "hello_world_int8"),
    ("tflm-hil", "run", "hello_world"),
    ("tflm-hil", "layers", "hello_world"),
    ("tflm-hil", "footprint", "hello_world"),
)
SUITE = """*** Settings ***
Resource    tflm.resource

*** Test Cases ***
It Runs
    Run Sample Case    hello_world    exact
"""
CASE = '[[case]]\nname = "sine"\nsample = "hello_world"\n'


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """One command, shown; its output. Ends everything where it fails."""
    print("+", *command, flush=True)
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **environment},
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stdout}\nexit code {done.returncode}")
    return done.stdout


def main(folder: Path) -> None:
    """Build, check, install, use."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    made = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[-2:]
    [wheel] = [path for path in made if path.suffix == ".whl"]
    run(sys.executable, "-m", "twine", "check", "--strict", *made)
    run("check-wheel-contents", "--ignore", "W002", wheel)  # W002: samples share files on purpose
    [sources] = [path for path in made if path.suffix == ".gz"]
    with tempfile.TemporaryDirectory() as name:
        use(wheel, Path(name))
    with tempfile.TemporaryDirectory() as name:
        from_read_only(sources, Path(name))
    print("the distributions are whole")


def use(wheel: Path, empty: Path) -> None:
    """Install the wheel where nothing else is, and do there what a user does."""
    venv.create(empty / "venv", with_pip=True)
    programs = empty / "venv" / "bin"
    clean = {"PYTHONPATH": "", "PATH": f"{programs}:{os.environ['PATH']}"}
    run(programs / "pip", "install", "--quiet", wheel, "pytest", cwd=empty, **clean)
    for program, *words in COMMANDS:
        run(programs / program, *words, cwd=empty, **clean)
    (empty / "suite.robot").write_text(SUITE)
    (empty / "hil.toml").write_text(CASE)
    resource = run(programs / "tflm-hil", "list", "paths", "robot", cwd=empty, **clean).strip()
    run(programs / "robot", "--pythonpath", resource, "suite.robot", cwd=empty, **clean)
    run(programs / "pytest", "hil.toml", cwd=empty, **clean)


def from_read_only(sources: Path, empty: Path) -> None:
    """Build the wheel where the user may not write beside the sources."""
    run("tar", "-xzf", sources, "-C", empty)
    [checkout] = empty.iterdir()
    folders = [checkout, *(path for path in checkout.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    if os.access(checkout, os.W_OK):
        print("a read-only checkout: not tried, root may write it")
    else:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", empty / "wheel", checkout)
    for folder in folders:
        folder.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "dist").absolute())
