"""How long a user waits: one case from process start to verdict, and the whole main job.

Prints seconds and, as the ratio that travels between machines, the case against the start of a bare
Python interpreter.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]


def seconds(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        case = [sys.executable, "-m", "harness", "run", "hello_world", "--output", folder]
        seconds(case)  # builds it
        bare = median(seconds([sys.executable, "-c", "pass"]) for _ in range(5))
        one = median(seconds(case) for _ in range(5))
        print(f"hello_world, process start to verdict: {one:.2f} s, {one / bare:.0f} x bare Python")
        robot = shutil.which("robot") or "robot"
        job = [robot, "--outputdir", folder, "tests/"]
        seconds(job)
        print(f"robot tests/, everything built: {seconds(job):.0f} s")


if __name__ == "__main__":
    main()
