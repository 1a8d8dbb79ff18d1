"""``tflm-hil build``: kernel variants and boards belong to the Zephyr builder."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.base.errors import UsageError
from harness.build import zephyr
from harness.build.options import BuildResult
from harness.case.plan import Request
from harness.cli.build import build
from harness.cli.run import run


@pytest.mark.parametrize("option", [["--variant", "soft-float"], ["--board", "nrf9160dk/nrf9160"]])
def test_variants_and_boards_are_refused_for_the_standalone_builder(option: list[str]) -> None:
    failed = CliRunner().invoke(build, ["hello_world", *option]).exception
    assert isinstance(failed, UsageError)
    assert "--builder zephyr" in failed.message


def test_a_board_goes_with_one_configuration_at_a_time() -> None:
    words = ["hello_world", "--builder", "zephyr", "--board", "nrf9160dk/nrf9160"]
    failed = CliRunner().invoke(build, [*words, "--resolver", "all-configurations"]).exception
    assert isinstance(failed, UsageError)


@pytest.mark.parametrize(
    ("builder", "variants", "name"),
    [
        ("zephyr", ["cmsis-nn"], "zephyr-cmsis-nn"),
        ("zephyr-ns", ["soft-float"], "zephyr-ns-soft-float"),
        ("zephyr", ["soft-float", "cmsis-nn"], "zephyr-cmsis-nn-soft-float"),
        ("zephyr-cmsis-nn", [], "zephyr-cmsis-nn"),
    ],
)
def test_a_variant_is_a_part_of_the_builder_s_name(builder, variants, name, monkeypatch) -> None:
    asked: list[object] = []

    def record(request: Request) -> None:
        asked.append(request.layers[-1].values["builder"])
        raise UsageError("noted")

    monkeypatch.setattr("harness.cli.run.plan", record)
    words = [word for one in variants for word in ("--variant", one)]
    CliRunner().invoke(run, ["digits", "--builder", builder, *words])
    assert asked == [name]


def test_the_zephyr_builder_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def record(pairs: list[tuple[str, str]], **options: object) -> list[BuildResult]:
        asked.append((pairs, options))
        return [BuildResult(Path("z.elf"))]

    monkeypatch.setattr(zephyr, "build_many", record)
    words = ["digits", "--builder", "zephyr", "--variant", "cmsis-nn", "--variant", "soft-float"]
    result = CliRunner().invoke(build, words)
    assert result.output.strip() == "z.elf"
    options = {"board": "nrf9160dk/nrf9160", "fragments": ["cmsis-nn", "soft-float"]}
    assert asked == [([("digits", "exact")], options)]
