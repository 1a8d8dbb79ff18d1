"""Generated resolvers in real images: built with the standalone runtime, run on the simulator,
held against the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import needs
import pytest

from harness import resolver
from harness.base import paths
from harness.build import generated
from harness.build.options import BuildOptions
from harness.build.standalone import build_images, image_source
from harness.build.table import load
from harness.case import Case, Verdict, run_case
from harness.case.samples import sample_case
from harness.elf import Image
from harness.model import Model

Build = Callable[[str, list[str]], Path]


@pytest.fixture
def build() -> Build:
    """Build a sample whose registration is what `resolver generate` writes for some models."""
    table = load()

    def with_models(sample: str, names: list[str]) -> Path:
        needs.require("arm-none-eabi-gcc", "flatc")
        models = [Model.from_file(paths.models() / name) for name in names]
        text = resolver.generate(models, namespace="hil")
        needed = {name for model in models for name in model.operator_names}
        variant = table.variant(sample, "exact", "standalone")
        variant = replace(variant, slots=len(needed),
                          configuration=replace(variant.configuration, name="made"))  # fmt: skip
        program = image_source(variant, BuildOptions())
        table_s_own = "\n".join(generated._registration(variant))
        assert table_s_own in program.config
        config = program.config.replace(table_s_own, text)
        folder = f"made-{hashlib.sha256(config.encode()).hexdigest()[:8]}"
        made = replace(program, folder=folder, config=config)
        return build_images([made], BuildOptions())[0].elf

    return with_models


def run(sample: str, elf: Path, output: Path) -> Verdict:
    known = sample_case(sample, "exact")
    case = Case(name=sample, elf=elf, model=known.model, inferences=known.inferences)
    result = run_case(case, output)
    assert result.outputs_compared > 0, result.reason
    return result.verdict


@pytest.mark.parametrize("sample", ["hello_world", "digits", "residual", "atan"])
def test_a_generated_resolver_computes_what_the_model_says(
    sample: str, build: Build, tmp_path: Path
) -> None:
    """Atan's model needs a custom operator, which the application defines."""
    model = load().samples[sample].model
    elf = build(sample, [model])
    assert run(sample, elf, tmp_path) is Verdict.PASS
    audit = resolver.check(Image.from_elf(elf), Model.from_file(paths.models() / model))
    assert audit.verdicts == (resolver.AuditVerdict.OK,)


@pytest.mark.slow
def test_one_generated_resolver_serves_several_models(build: Build, tmp_path: Path) -> None:
    names = ["digits_int8.tflite", "hello_world_int8.tflite", "residual_int8.tflite"]
    elf = build("digits", names)
    assert run("digits", elf, tmp_path) is Verdict.PASS
    firmware = Image.from_elf(elf)
    for name in names:
        assert not resolver.check(firmware, Model.from_file(paths.models() / name)).missing
    wanted = [
        name for file in names for name in Model.from_file(paths.models() / file).operator_names
    ]
    found = resolver.check(firmware, Model.from_file(paths.models() / names[0])).registered
    assert found == tuple(dict.fromkeys(wanted))
