"""Samples and a scraper's image whose sources are spoilt do not pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from build_mutants import FIRMWARE, edited, firmware_mutant, sample_mutant
from source_mutants import SCRAPED_MUTANTS, SOURCE_MUTANTS, SourceMutant
from test_transcripts import what_noticed

from harness.base import paths
from harness.case import Case, run_case
from harness.case.samples import sample_case

pytestmark = [
    pytest.mark.needs("arm-none-eabi-gcc", "flatc"),
    pytest.mark.timeout(3600),
]

#: Seconds on the image's own clock: a good image needs a tenth of it, a bad one may hang.
_TIMEOUT = 3.0
_MODEL = "hello_world_int8.tflite"


def _case(mutant: SourceMutant, way: str, elf) -> Case:
    case = replace(sample_case(mutant.sample, mutant.resolver), timeout=_TIMEOUT)
    if way == "sample":
        return case
    return Case("own", elf=elf, model=case.model, timeout=_TIMEOUT)


def _run(mutant: SourceMutant, way: str, elf, folder, monkeypatch):
    """By the way of every run; the builder hands out the mutant where a sample is asked for."""
    with monkeypatch.context() as patch:
        patch.setattr("harness.case.samples.build_one", lambda *names: elf)
        return run_case(_case(mutant, way, elf), folder)


@pytest.mark.parametrize(
    ("folder", "mutants"),
    [(paths.samples(), SOURCE_MUTANTS), (FIRMWARE, SCRAPED_MUTANTS)],
)
def test_every_row_still_finds_its_place_in_the_source(folder, mutants):
    for mutant in mutants:
        edited(folder / mutant.file, mutant.edits)


@pytest.mark.slow
@pytest.mark.usefixtures("unexplained")
def test_no_mutant_of_the_samples_sources_passes(part, tally, tmp_path, monkeypatch):
    passed = []
    for mutant in SOURCE_MUTANTS[part]:
        elf = sample_mutant(mutant.file, mutant.edits, mutant.sample, mutant.resolver, tmp_path)
        for way in mutant.ways:
            result = _run(mutant, way, elf, tmp_path, monkeypatch)
            if result.passed:
                passed.append(f"{mutant.spoils} (as {way}): {result.reason}")
            else:
                tally.noticed("sources", what_noticed(result))
    assert not passed, f"{len(passed)} spoilt images pass:\n" + "\n".join(passed)


@pytest.mark.usefixtures("unexplained")
def test_no_mutant_of_a_scraped_image_passes(part, tally, tmp_path):
    passed = []
    for mutant in SCRAPED_MUTANTS[part]:
        result = run_case(_scraped(firmware_mutant(mutant.file, mutant.edits, tmp_path)), tmp_path)
        if result.passed:
            passed.append(f"{mutant.spoils}: {result.reason}")
        else:
            tally.noticed("scraped sources", what_noticed(result))
    assert not passed, f"{len(passed)} spoilt images pass:\n" + "\n".join(passed)


def _scraped(elf) -> Case:
    return Case(
        "sine",
        elf=elf,
        model=paths.models() / _MODEL,
        scraper="hello_world",
        inferences=20,
        timeout=_TIMEOUT,
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sample", "elf"])
def test_the_sample_built_in_the_same_way_and_not_spoilt_passes(way, tmp_path, monkeypatch):
    good = SourceMutant("nothing", ())
    elf = sample_mutant(good.file, (), good.sample, good.resolver, tmp_path)
    result = _run(good, way, elf, tmp_path, monkeypatch)
    assert result.passed, result.reason


def test_the_scraped_image_as_it_is_passes(tmp_path):
    result = run_case(_scraped(firmware_mutant("sine.c", (), tmp_path)), tmp_path)
    assert result.passed, result.reason


def test_there_are_more_than_thirty_mutants_and_no_two_spoil_the_same():
    spoils = [mutant.spoils for mutant in SOURCE_MUTANTS]
    assert len(spoils) == len(set(spoils)) > 30
