"""The plugin that fails a skip without a name (tests/support/named_skips.py)."""

from __future__ import annotations

from collections.abc import Callable

import needs
import pytest

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]
MARKED = '@pytest.mark.needs("jq")\ndef test(): pass'
#: Needs that are missing in these tests: no program is on PATH.
MISSING = """
import needs, pytest

@pytest.mark.needs("jq")
def test_marked(): pass

@pytest.mark.needs("cmake", "jq")
@pytest.mark.parametrize("row", range(2))
def test_rows(row): pass

def test_asks(): needs.require("jq")

@pytest.fixture
def tool(): return needs.require("jq")

def test_with_a_fixture(tool): pass

@pytest.mark.xfail
def test_fails(): assert False

def test_runs(): pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TFLM_HIL_INSTALLED", raising=False)

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(f"import needs, pytest, unittest\n{tests}")
        return pytester.runpytest_inprocess("-p", "named_skips", "-p", "no:cacheprovider", *options)

    return run


def test_skips_are_counted_by_need(run: Run) -> None:
    done = run(MISSING, "-rs")
    done.assert_outcomes(skipped=5, xfailed=1, passed=1)
    done.stdout.fnmatch_lines(["*needs jq: apt install jq", "skips: 3 needs jq, 2 needs cmake"])
    assert done.ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_the_same_in_processes_of_xdist(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLM_HIL_INSTALLED", "cmake")
    done = run(f'{MISSING}\ndef test_without_a_name(): pytest.skip("no jq")', "-n", "2")
    done.assert_outcomes(skipped=3, xfailed=1, passed=1, errors=2, failed=1)
    done.stdout.fnmatch_lines_random(
        ["*no need of*: no jq", "*TFLM_HIL_INSTALLED has: needs cmake*", "skips: 3 needs jq"]
    )
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_a_skip_is_reported_where_it_is_asked_for(run: Run) -> None:
    done = run('def test(): needs.require("jq")', "-rs")
    done.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_*.py:2: needs jq: *"])


@pytest.mark.parametrize(
    "test",
    [
        'def test(): pytest.skip("no jq")',
        'def test(): pytest.skip("needs jq")',
        'def test(): pytest.importorskip("no_such_module")',
        'def test(): raise unittest.SkipTest("no jq")',
        '@pytest.mark.skip\ndef test(): pass',
        '@pytest.mark.skipif(True, reason="no jq")\ndef test(): pass',
        '@pytest.fixture\ndef jq(): pytest.skip("no jq")\ndef test(jq): pass',
        '@pytest.mark.parametrize("row", [])\ndef test(row): pass',
    ],
)  # fmt: skip
def test_a_skip_without_a_name_fails(run: Run, test: str) -> None:
    done = run(test)
    done.stdout.fnmatch_lines(["*skipped for no need of tests/support/needs.py: *"])
    assert done.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    "skip",
    [
        'pytest.skip("no jq", allow_module_level=True)',
        'pytest.importorskip("no_such_module")',
        f'pytest.skip("{needs.NEEDS["jq"].reason}", allow_module_level=True)',
    ],
)
def test_a_file_that_is_skipped_while_it_is_collected_fails(run: Run, skip: str) -> None:
    done = run(f"{skip}\ndef test(): pass")
    done.stdout.fnmatch_lines(["*pytestmark = pytest.mark.needs(...) skips a file, not *"])
    done.assert_outcomes(errors=1)


@pytest.mark.parametrize("installed", ["jq", "cmake, jq", "all"])
def test_a_skip_of_what_is_installed_fails(
    run: Run, monkeypatch: pytest.MonkeyPatch, installed: str
) -> None:
    monkeypatch.setenv("TFLM_HIL_INSTALLED", installed)
    done = run(MARKED)
    done.stdout.fnmatch_lines(
        ["*skipped for what TFLM_HIL_INSTALLED has: needs jq: apt install jq"]
    )
    assert done.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(("installed", "name"), [("cmake", "jq"), ("all", "riot")])
def test_a_skip_of_what_is_not_installed_is_permitted(
    run: Run, monkeypatch: pytest.MonkeyPatch, installed: str, name: str
) -> None:
    monkeypatch.setenv("TFLM_HIL_INSTALLED", installed)
    monkeypatch.delenv("TFLM_HIL_RIOT", raising=False)
    run(MARKED.replace("jq", name)).assert_outcomes(skipped=1)


def test_a_misspelt_name_of_what_is_installed_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFLM_HIL_INSTALLED", "jp")
    done = run(MARKED)
    done.stderr.fnmatch_lines(["ERROR: TFLM_HIL_INSTALLED: no need is called jp"])
    assert done.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("test", [MARKED, 'def test(): needs.require("jq")'])
def test_a_misspelt_need_is_an_error(run: Run, test: str) -> None:
    done = run(test.replace("jq", "jp"))
    done.stdout.fnmatch_lines(["E *no need is called 'jp'"])
    assert done.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    ("variable", "name", "words"),
    [
        ("TFLM_HIL_RIOT", "riot", "TFLM_HIL_RIOT: there is no Makefile.include in /nowhere"),
        ("TFLM_HIL_LABGRID", "labgrid", "TFLM_HIL_LABGRID: there is no labgrid-client beside /no*"),
        ("TFLM_HIL_RENODE_TEST", "renode-test", "TFLM_HIL_RENODE_TEST is not a program: /nowhere"),
        ("RENODE", "renode", "RENODE is not a program: /nowhere"),
        ("ZEPHYR_BASE", "zephyr", "ZEPHYR_BASE */nowhere*"),
    ],
)
def test_a_variable_that_names_something_else_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, name: str, words: str
) -> None:
    monkeypatch.setenv(variable, "/nowhere")
    done = run(MARKED.replace("jq", name))
    done.stdout.fnmatch_lines([f"E *{words}"])
    done.assert_outcomes(errors=1)
