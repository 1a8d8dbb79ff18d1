"""Every sample in every configuration: the check against what the memory holds at run time."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.build.configurations import load
from harness.build.options import BuildOptions
from harness.build.standalone import build_many
from harness.build.variants import Table
from harness.elf import Image
from harness.model import Model
from harness.resolver import Audit, AuditVerdict, check, check_live, dump
from harness.resolver.audit import HARMLESS
from harness.resolver.stop_point import run_past_registration
from harness.targets import open_target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("arm-none-eabi-gcc", "flatc"),
]
#: Refusals and repetitions, which the memory at run time does not show.
UNSEEN = (AuditVerdict.TOO_SMALL, AuditVerdict.DUPLICATE)
#: Configurations that are built with each level of optimization.
OPTIMIZED = ("exact", "missing", "too_small_rev", "custom_missing")


def pairs(table: Table) -> list[tuple[str, str]]:
    """Every sample with every configuration that applies to it."""
    found = []
    for sample in table.samples:
        for configuration in table.configurations:
            try:
                table.variant(sample, configuration, "standalone")
            except UsageError:
                continue
            found.append((sample, configuration))
    return found


def both(image: Image, model: Model) -> tuple[Audit, Audit]:
    """What the code proves, and what the simulator's memory holds."""
    with open_target("simulator", image) as session:
        run_past_registration(session, image)
        return check(image, model), check_live(image, model, dump(session, image))


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("sample", load().samples)
def test_the_check_of_a_sample_is_that_of_its_memory(sample: str) -> None:
    table = load()
    model = Model.from_file(table.path.parent / "models" / table.samples[sample].model)
    wanted = [pair for pair in pairs(table) if pair[0] == sample]
    for (_, configuration), built in zip(wanted, build_many(wanted), strict=True):
        proved, held = both(Image.from_elf(built.elf), model)
        if configuration == "checked":  # it gives up before there is an interpreter
            assert not proved.passed and "no path" in proved.reason
            continue
        seen = tuple(v for v in proved.verdicts if v not in UNSEEN) or (AuditVerdict.OK,)
        assert seen == held.verdicts, configuration
        assert proved.passed == (held.passed and seen == proved.verdicts), configuration


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("lto", [False, True], ids=["", "lto"])
@pytest.mark.parametrize("optimize", ["0", "1", "2", "3"])
def test_no_level_of_optimization_makes_a_wrong_resolver_right(optimize: str, lto: bool) -> None:
    table = load()
    wanted = [pair for pair in pairs(table) if pair[1] in OPTIMIZED]
    options = BuildOptions(optimize=optimize, lto=lto)
    for (sample, configuration), built in zip(
        wanted, build_many(wanted, options=options), strict=True
    ):
        model = Model.from_file(table.path.parent / "models" / table.samples[sample].model)
        proved, held = both(Image.from_elf(built.elf), model)
        assert proved.verdict not in HARMLESS or held.passed, (sample, configuration)
        assert lto or proved.passed == held.passed, (sample, configuration, proved.reason)
