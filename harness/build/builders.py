"""The builders by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.platforms import DEFAULT_CHIP, board_with, chip_called
from harness.build.board_names import target_of
from harness.build.options import KERNEL_VARIANTS, BuildOptions

#: Builder -> its runtime, as named in the table. The names of Zephyr builders end with their
#: variants (``zephyr-cmsis-nn``), because images of different builders are never compared.
#: (In results, `prebuilt` is an image that was not built by this project.)
RUNTIME = {
    "standalone": "standalone",
    "standalone-ns": "standalone",
    **{
        "-".join((world, *variants)): "tflm"
        for world in ("zephyr", "zephyr-ns")
        for count in range(len(KERNEL_VARIANTS) + 1)
        for variants in combinations(KERNEL_VARIANTS, count)
    },
}
BUILDERS = tuple(RUNTIME)

#: A sample and one of its resolver configurations.
Pair = tuple[str, str]


def builder_with(builder: str, variants: Iterable[str]) -> str:
    """The name of ``builder`` with ``variants``. Raises UsageError if it does not support them."""
    name = "-".join((builder, *(one for one in KERNEL_VARIANTS if one in variants)))
    if name not in RUNTIME:
        raise UsageError(f"--variant {' and '.join(variants)} needs --builder zephyr or zephyr-ns")
    return name


def runtime_of(builder: str) -> str:
    """The runtime of ``builder``; raises :class:`UsageError` for an unknown one."""
    if builder not in RUNTIME:
        raise UsageError(f"no builder {builder!r}", hint=f"one of {', '.join(BUILDERS)}")
    return RUNTIME[builder]


def build_one(sample: str, configuration: str, builder: str = "standalone", chip: str = "") -> Path:
    """Builds a sample, or takes it from the cache; returns the path of the image.

    The path is that of the ELF; for ``standalone-ns`` and ``zephyr-ns`` that of the folder with the
    secure and the non-secure image.

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
    """Builds ``pairs``, ``jobs`` in parallel (0: one per core), for ``chip`` ("": the default).

    Returns the path of each image; see :func:`build_one`.
    """
    kit = board_with(chip_called(chip or DEFAULT_CHIP).key)
    if runtime_of(builder) == "standalone":
        from harness.build import standalone  # noqa: PLC0415

        options = BuildOptions(nonsecure=builder == "standalone-ns", chip=kit.chip.key)
        results = standalone.build_many(pairs, jobs=jobs, options=options)
    else:
        from harness.build import zephyr  # noqa: PLC0415

        fragments = [name for name in KERNEL_VARIANTS if name in builder]
        board = target_of(kit, nonsecure=builder.startswith("zephyr-ns"))
        results = zephyr.build_many(pairs, board=board, fragments=fragments)
    return {pair: result.image for pair, result in zip(pairs, results, strict=True)}
