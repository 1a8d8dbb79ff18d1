"""The workflows are valid in form, and what they call exists."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

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


#: Those that run the suites; the others build what these have tested.
TESTING = [path for path in WORKFLOWS if path.name in ("ci.yml", "nightly.yml")]


def test_the_workflows_are_there():
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml", "site.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_either_uses_or_runs(path):
    for step in steps(path):
        assert ("uses" in step) != ("run" in step)
        unknown = set(step) - {
            "id",
            "name",
            "uses",
            "run",
            "with",
            "if",
            "working-directory",
            "env",
        }
        assert not unknown


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit_with_its_version_beside(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    pinned = re.compile(r"[\w-]+/[\w-]+(/[\w-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one)] == []


def test_an_action_has_one_version_in_the_whole_repository():
    texts = [path.read_text() for path in (*WORKFLOWS, ROOT / "action.yml")]
    used = {one for text in texts for one in re.findall(r"uses: (\S+)", text)}
    assert len({one.partition("@")[0] for one in used}) == len(used)


def test_continuous_integration_runs_every_python_that_the_package_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [
        one.rpartition(" ")[2]
        for one in project["classifiers"]
        if re.search(r":: Python :: 3\.\d+$", one)
    ]
    job = yaml.safe_load((WORKFLOWS[0]).read_text())["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == declared


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_file_that_a_step_names_exists(path):
    for step in steps(path):
        for name in PATHS.findall(step.get("run", "")):
            assert (ROOT / name).exists(), name


KNOWN = ("github.workspace", "github.token", "github.run_id", "hashFiles('tflm-hil/west.yml')")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
TEXTS = [pytest.param(path.read_text(), id=path.name) for path in WORKFLOWS]


@pytest.mark.parametrize("text", TEXTS)
def test_no_repository_variable_or_secret_is_needed(text):
    assert {name.partition(".")[0] for name in EXPRESSION.findall(text)} <= {
        "github", "matrix", "steps", "hashFiles('tflm-hil/west",
    }  # fmt: skip


#: Outputs of others' actions that a workflow uses, from their action.yml.
GIVEN = {"actions/configure-pages": "base_url="}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_name_in_an_expression_is_defined(path):
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        known: dict[str, str] = {}
        for step in job["steps"]:
            for name in EXPRESSION.findall(yaml.safe_dump(step)):
                first, *rest = name.split(".")
                if first == "matrix":
                    assert rest[0] in matrix
                elif first == "steps":
                    assert f"{rest[2]}=" in known[rest[0]]
                else:
                    assert name in KNOWN
            if "id" in step:
                known[step["id"]] = step.get("run") or GIVEN[step["uses"].partition("@")[0]]


def test_nightly_keeps_the_history_of_zephyr_s_figures_from_night_to_night():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"][
        "zephyr"
    ]["steps"]
    caches = [one for one in steps if one.get("uses", "").startswith("actions/cache/")]
    assert [one["uses"].partition("@")[0] for one in caches] == [
        "actions/cache/restore", "actions/cache/save",
    ]  # fmt: skip
    assert caches[0]["with"]["key"] == caches[1]["with"]["key"]
    assert caches[0]["with"]["key"].startswith(caches[0]["with"]["restore-keys"])
    assert caches[1]["if"] == "always()"


@pytest.mark.parametrize("path", TESTING, ids=lambda path: path.name)
def test_each_job_that_installs_renode_caches_it_by_the_key_of_its_archive(path):
    for name, job in yaml.safe_load(path.read_text())["jobs"].items():
        runs = [step.get("run", "") for step in job["steps"]]
        if not any("--with renode" in run for run in runs):
            continue
        assert any("archive=$(python -m harness.targets.renode)" in run for run in runs), name
        kept = {"path": "cache/renode", "key": "renode-${{ steps.renode.outputs.archive }}"}
        assert kept in [step.get("with") for step in job["steps"]], name


@pytest.mark.parametrize("path", TESTING, ids=lambda path: path.name)
def test_every_job_with_tests_uploads_them_and_writes_a_summary(path):
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        text = yaml.safe_dump(job["steps"])
        assert "job_summary.py" in text
        assert re.search(r"tox run -e (hil|full|zephyr)\b", text)
        assert "actions/upload-artifact" in text


#: Whoever checks a change calls these environments, and says nothing of its own about how.
CALLERS = [*WORKFLOWS, ROOT / ".ci" / "run", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini")


@pytest.mark.parametrize("path", CALLERS, ids=lambda path: path.name)
def test_every_environment_of_tox_that_is_called_is_there(path):
    called = re.findall(r"tox\"? run -e (\w+)", path.read_text())
    assert called
    assert {f"testenv:{name}" for name in called} <= set(TOX.sections())


@pytest.mark.parametrize("path", TESTING, ids=lambda path: path.name)
def test_a_workflow_leaves_checks_to_tox(path):
    programs = {step["run"].split()[0] for step in steps(path) if "run" in step}
    assert not programs & {"pytest", "robot", "ruff", "mypy"}


def test_a_commit_is_checked_by_the_versions_that_lint_has():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    pinned = {need for hook in hooks for need in hook.get("additional_dependencies", ())}
    assert pinned <= set(TOX["testenv:lint"]["deps"].split())


@pytest.mark.needs("check-jsonschema")
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_it_fits_githubs_schema(path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    subprocess.run([*command, "vendor.github-workflows", str(path)], check=True)
