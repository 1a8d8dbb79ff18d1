"""The rows of tests/suites/01_resolver_configurations.robot are those of the resolver table."""

from pathlib import Path

from harness.build.table import load
from robot import api

SUITE = Path(__file__).parents[2] / "suites" / "01_resolver_configurations.robot"


def test_the_suite_has_one_row_for_each_sample_and_configuration():
    suite = api.TestSuite.from_file_system(SUITE)
    rows = [tuple(test.body[0].args) for test in suite.tests]
    pairs = [(sample.name, configuration.name) for sample, configuration in load().pairs()]
    assert [pair for pair in pairs if pair not in rows] == [], "rows that are missing"
    assert rows == pairs


def test_each_row_is_named_after_what_it_runs():
    suite = api.TestSuite.from_file_system(SUITE)
    assert all(test.name == " ".join(test.body[0].args) for test in suite.tests)
