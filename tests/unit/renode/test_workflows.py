"""The workflows are valid in form, and what they call exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PATHS = re.compile(r"(?<![\w./-])((?:tests|harness|platforms|zephyr_samples)/[\w./-]+)")


def steps(path):
    document = yaml.safe_load(path.read_text())
    assert {"name", "jobs", "permissions"} <= set(document)
    assert True in document  # YAML 1.1 reads the key `on` so
    for job in document["jobs"].values():
        assert "runs-on" in job
        assert "timeout-minutes" in job
        yield from job["steps"]


def test_both_workflows_are_there():
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_either_uses_or_runs(path):
    for step in steps(path):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
        unknown = set(step) - {"name", "uses", "run", "with", "if", "working-directory", "env"}
        assert not unknown


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_file_that_a_step_names_exists(path):
    for step in steps(path):
        for name in PATHS.findall(step.get("run", "")):
            assert (ROOT / name).exists(), name


def test_nightly_refuses_an_archive_that_is_not_pinned():
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text()
    assert text.index("sha256sum --check") < text.index("tar --extract")
