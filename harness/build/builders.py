"""Builders by name: samples and configurations -> paths of ELF files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.platforms import DEFAULT_CHIP, board_with, chip_called
from harness.build.board_names import target_of
from harness.build.options import BuildOptions

#: Names of builders. (`prebuilt` in results means an image from elsewhere.)
BUILDERS = ("standalone", "standalone-ns", "zephyr")

#: Builder -> the runtime that it links, by its name in the table.
RUNTIME = {"standalone": "standalone", "standalone-ns": "standalone", "zephyr": "tflm"}

#: A sample and one of its resolver configurations.
Pair = tuple[str, str]


def build_one(sample: str, configuration: str, builder: str = "standalone", chip: str = "") -> Path:
    """Build a sample; gives the path of the image. The cache makes a second call cheap.

    The path is that of the ELF, for ``standalone-ns`` of the folder with both worlds' images.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` without a compiler
    or a Zephyr workspace, :class:`BuildFailed` with the tool's own message.
    """
    return build_all([(sample, configuration)], builder, chip=chip)[sample, configuration]


def build_all(
    pairs: Sequence[Pair],
    builder: str = "standalone",
    jobs: int = 0,
    chip: str = "",
) -> dict[Pair, Path]:
    """Build several, ``jobs`` in parallel (0: one per core), for ``chip`` ("": the default)."""
    kit = board_with(chip_called(chip or DEFAULT_CHIP).key)
    if RUNTIME.get(builder) == "standalone":
        from harness.build.standalone import build_many  # noqa: PLC0415

        options = BuildOptions(nonsecure=builder == "standalone-ns", chip=kit.chip.key)
        results = build_many(pairs, jobs=jobs, options=options)
        return {pair: result.image for pair, result in zip(pairs, results, strict=True)}
    if builder == "zephyr":
        from harness.build.zephyr import build_zephyr  # noqa: PLC0415

        board = target_of(kit, nonsecure=False)
        return {pair: build_zephyr(*pair, board=board).image for pair in pairs}
    raise UsageError(f"no builder {builder!r}", hint=f"one of {', '.join(BUILDERS)}")
