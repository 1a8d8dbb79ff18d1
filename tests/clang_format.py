"""Checks (or with --fix makes) the form of the project's C and C++ files."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("examples", "harness", "platforms", "zephyr_samples", "tests")
SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp")


def main() -> int:
    files = [
        str(path)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    if not files:
        print("no C or C++ file found: this check would prove nothing", file=sys.stderr)
        return 1
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
    return subprocess.run(["clang-format", *mode, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
