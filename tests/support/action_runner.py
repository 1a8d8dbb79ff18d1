"""The steps of action.yml, run as GitHub runs them, in a bare environment.

A stand-in of Python makes the environment into which the action installs, so that no test needs a
network; the command in it is the package under test.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import yaml
from forked_python import SERVER

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
#: ``python -m venv [--clear] FOLDER``: a folder with a Python that only notes what pip is asked.
PYTHON = """#!/bin/sh
for folder; do :; done
mkdir -p "$folder/bin"
cat > "$folder/bin/python" <<END
#!/bin/sh
echo "\\$@" >> {log}
END
cat > "$folder/bin/tflm-hil" <<END
#!/bin/sh
exec {command} "\\$@"
END
chmod +x "$folder/bin/python" "$folder/bin/tflm-hil"
"""


class Runner:
    """Runs the steps of the action in a workspace, with inputs and with little else."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        self.summary, self.path = folder / "summary.md", folder / "path"
        self.outputs = folder / "outputs"
        self.pip = folder / "pip.log"
        for made in (self.workspace, self.temp):
            made.mkdir()
        self.python = folder / "python"
        command = shlex.join(SERVER.program("harness"))
        self.python.write_text(PYTHON.format(log=self.pip, command=command), encoding="utf-8")
        self.python.chmod(0o755)
        self.said = ""
        self.environment: dict[str, str] = {}

    def run(self, **given: str) -> dict[str, int]:
        """Exit codes of the steps by name; a step whose condition does not hold is left out."""
        given = {name.replace("_", "-"): value for name, value in given.items()}
        inputs = {name: row["default"] for name, row in ACTION["inputs"].items()} | given
        codes: dict[str, int] = {}
        for step in ACTION["runs"]["steps"]:
            if "run" in step and self._wanted(step.get("if", ""), inputs, codes):
                codes[step["name"]] = self._step(step, inputs)
        return codes

    def _step(self, step: dict, inputs: dict[str, str]) -> int:
        variables = {name: self._filled(text, inputs) for name, text in
                     step.get("env", {}).items()}  # fmt: skip
        added = self.path.read_text().split() if self.path.exists() else []
        own = self.environment.get("PATH", "/usr/bin:/bin")
        bare = {"PATH": os.pathsep.join([*reversed(added), own])}
        cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
        files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_PATH": str(self.path),
                 "GITHUB_OUTPUT": str(self.outputs), "RUNNER_TEMP": str(self.temp)}  # fmt: skip
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace, capture_output=True, text=True, check=False,
            env={**cache, **files, **self.environment, **bare, **variables},
        )  # fmt: skip
        self.said += done.stdout + done.stderr
        return done.returncode

    def _filled(self, text: str, inputs: dict[str, str]) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known["github.action_path"] = str(ROOT)
        known |= {"github.repository": "team/product", "github.event.number": "7"}
        known["steps.python.outputs.python-path"] = str(self.python) if inputs["python"] else ""
        return re.sub(r"\$\{\{ (.+?) \}\}", lambda match: known[match[1]], text)

    @staticmethod
    def _wanted(condition: str, inputs: dict[str, str], codes: dict[str, int]) -> bool:
        if any(codes.values()) and "always()" not in condition:
            return False
        for name in re.findall(r"inputs\.(\w+) != ''", condition):
            if not inputs[name]:
                return False
        if match := re.search(r"inputs\.(\w+) == '(\w+)'", condition):
            return inputs[match[1]] == match[2]
        if match := re.search(r"contains\(inputs\.(\w+), '(\w+)'\)", condition):
            return match[2] in inputs[match[1]]
        return True
