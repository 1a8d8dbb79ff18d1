"""Every sample in every resolver configuration: the check says what the table says that it
registers, and what happens when the image runs to its end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import needs
import pytest

from harness import footprint, resolver
from harness.base import paths
from harness.base.errors import UsageError
from harness.build.builders import build_one
from harness.build.generated import Variant
from harness.build.options import BuildOptions
from harness.build.standalone import build_many
from harness.build.table import load
from harness.cli import main
from harness.elf import Image
from harness.elf.interpreter import ALLOCATE
from harness.model import Model
from harness.resolver import Audit, AuditVerdict
from harness.targets import open_target
from harness.targets.base import Elapsed

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
SAMPLE = "digits"
#: Configurations of the sample that its tests build anyway.
CONFIGURATIONS = ("exact", "missing", "empty", "too_small", "too_small_rev", "too_large",
                  "duplicate", "all", "checked")  # fmt: skip
#: Configurations that are built with other levels of optimization.
OPTIMIZED = ("exact", "missing", "too_small_rev", "duplicate", "custom", "custom_missing")


def image(configuration: str, sample: str = SAMPLE) -> Image:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_one(sample, configuration))


def model(sample: str = SAMPLE) -> Model:
    return Model.from_file(paths.models() / load().samples[sample].model)


@dataclass(frozen=True)
class Told:
    """What the table of configurations says of a resolver."""

    registered: tuple[str, ...]
    refused: tuple[tuple[str, bool], ...]  # operator, and whether it is a duplicate
    verdicts: frozenset[str]

    @classmethod
    def by(cls, variant: Variant, needed: tuple[str, ...]) -> Told:
        registered: list[str] = []
        refused: list[tuple[str, bool]] = []
        for operator in (one.operator for one in variant.additions):
            again = operator in registered
            if not again and len(registered) < variant.slots:
                registered.append(operator)
                continue
            refused.append((operator, again))
            if variant.checked:
                break
        verdicts = {
            "empty": not registered,
            "missing": bool(set(needed) - set(registered)),
            "unused": bool(set(registered) - set(needed)),
            "too_small": any(not again for _, again in refused),
            "duplicate": any(again for _, again in refused),
            "too_large": len(registered) < variant.slots,
        }
        found = frozenset(name for name, holds in verdicts.items() if holds)
        return cls(tuple(registered), tuple(refused), found or frozenset(("ok",)))


def allocates(firmware: Image) -> bool:
    """Whether AllocateTensors() succeeds in a run of the image, each time that it is called."""
    place = firmware.symbol(ALLOCATE)
    assert place is not None
    with open_target("simulator", firmware) as session:
        session.watch_calls([place.address])
        session.run(Elapsed(1.0), session.deadline(2.0))
        results = [call.result for call in session.calls]
        return bool(results) and not any(results)


def assert_right(audit: Audit, firmware: Image, variant: Variant, wanted: Model) -> None:
    told = Told.by(variant, wanted.operator_names)
    name = variant.configuration.name
    if variant.checked and told.refused:  # it gives up, and has no interpreter
        assert (audit.verdicts, audit.registered) == ((AuditVerdict.CANNOT_TELL,), None), name
        assert audit.reason.startswith(f"{told.refused[0][0]} is re"), name
        return
    assert (audit.registered, audit.declared) == (told.registered, variant.slots), name
    refused = [(one.operator, one.duplicate) for one in audit.resolver.refused]
    assert refused == list(told.refused), name
    assert set(audit.verdicts) == told.verdicts, name
    if audit.missing:
        assert not allocates(firmware), name
    elif load().expected(variant).outputs:
        assert allocates(firmware), name


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_check_says_what_the_configuration_registers(configuration: str) -> None:
    firmware = image(configuration)
    audit = resolver.check(firmware, model())
    assert_right(audit, firmware, load().variant(SAMPLE, configuration, "standalone"), model())
    rows = audit.resolver.registered or ()
    assert all(" at " in row.added for row in rows)
    assert all(row.invoke and row.file.endswith(".cc") for row in rows)


def applying(sample: str) -> Iterator[Variant]:
    """The sample in every configuration that applies to it."""
    table = load()
    for configuration in table.configurations:
        try:
            yield table.variant(sample, configuration, "standalone")
        except UsageError:
            continue


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("sample", load().samples)
def test_it_does_so_of_every_sample_in_every_configuration(sample: str) -> None:
    variants = list(applying(sample))
    built = build_many([(sample, one.configuration.name) for one in variants])
    for variant, made in zip(variants, built, strict=True):
        firmware = Image.from_elf(made.elf)
        audit = resolver.check(firmware, model(sample))
        assert_right(audit, firmware, variant, model(sample))


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("lto", [False, True], ids=["", "lto"])
@pytest.mark.parametrize("optimize", ["0", "2", "3"])
@pytest.mark.parametrize("sample", ["digits", "atan"])
def test_no_level_of_optimization_makes_a_wrong_resolver_right(
    sample: str, optimize: str, lto: bool
) -> None:
    variants = [one for one in applying(sample) if one.configuration.name in OPTIMIZED]
    options = BuildOptions(optimize=optimize, lto=lto)
    wanted = [(sample, one.configuration.name) for one in variants]
    for variant, made in zip(variants, build_many(wanted, options=options), strict=True):
        audit = resolver.check(Image.from_elf(made.elf), model(sample))
        told = Told.by(variant, model(sample).operator_names)
        assert audit.registered == told.registered, variant.configuration.name
        assert set(audit.verdicts) == told.verdicts, variant.configuration.name


def test_an_unused_slot_costs_what_the_audit_says() -> None:
    exact, large = image("exact"), image("too_large")
    grown = footprint.regions(large)[1].used - footprint.regions(exact)[1].used
    assert abs(grown - resolver.check(large, model()).wasted) < 16  # alignment


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["virtual-board", pytest.param("renode", marks=pytest.mark.needs("renode"))]
)
def test_other_targets_show_the_same_table(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A board is read through its debug probe, some time after its start."""
    elf = str(image("exact").path)
    code = main(["resolver", "dump", elf, "--target", target, "--timeout", "2", "--json", "-"])
    said = capsys.readouterr()
    assert code == 0, said.err
    (table,) = json.loads(said.out)["resolvers"]
    assert [row["operator"] for row in table["registered"]] == list(
        load().samples[SAMPLE].operators
    )
    assert all("Invoke" in row["invoke"] for row in table["registered"])


def test_a_stripped_image_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stripped = tmp_path / "stripped.elf"
    subprocess.run(
        ["arm-none-eabi-strip", "-o", str(stripped), str(image("missing").path)], check=True
    )
    assert main(["resolver", "check", str(stripped), SAMPLE + "_int8", "--timeout", "1"]) == 1
    said = capsys.readouterr()
    lacking = load().samples[SAMPLE].operators[-1]
    assert f"operator {lacking} is needed by the model and not registered" in said.out
    assert "is wrong for" in said.err
