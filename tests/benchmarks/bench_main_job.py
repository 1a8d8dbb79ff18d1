"""How long a user waits: one case from process start to verdict, and the whole main job.

Prints seconds and, as the ratio that travels between machines, the case against the start of a bare
Python interpreter. The build cache is a folder of its own, so that "nothing built" is true and the
user's own cache stays as it is.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]


def seconds(command: list[str], cache: Path) -> float:
    """Wall seconds of a command that must end well; what it prints is dropped."""
    environment = {**os.environ, "TFLM_HIL_CACHE": str(cache)}
    started = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.monotonic() - started


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        cache, output = Path(folder, "cache"), str(Path(folder, "results"))
        job = [sys.executable, "-P", "-m", "robot", "--outputdir", output, "tests/"]
        case = [sys.executable, "-P", "-m", "harness", "run", "hello_world", "--output", output]
        try:
            print(f"robot tests/, nothing built: {seconds(job, cache):.0f} s", flush=True)
            print(f"robot tests/, everything built: {seconds(job, cache):.0f} s", flush=True)
            bare = median(seconds([sys.executable, "-P", "-c", "pass"], cache) for _ in range(5))
            one = median(seconds(case, cache) for _ in range(5))
        except subprocess.CalledProcessError as error:
            print(f"exit code {error.returncode}: {' '.join(error.cmd)}", file=sys.stderr)
            return 1
        print(f"hello_world, process start to verdict: {one:.2f} s, {one / bare:.0f} x bare Python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
