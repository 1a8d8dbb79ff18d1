"""Runs every benchmark of this folder in turn; each prints its own figures and asserts none."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    scripts = sorted(Path(__file__).parent.glob("bench_*.py"))
    wanted = sys.argv[1:]
    failed = []
    for script in scripts:
        if wanted and script.stem.removeprefix("bench_") not in wanted:
            continue
        print(f"== {script.stem}", flush=True)
        if subprocess.run([sys.executable, script], check=False).returncode:
            failed.append(script.stem)
    if failed:
        print(f"did not end well: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
