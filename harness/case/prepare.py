"""What a case needs before it runs: the image, built or read, its model, and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness import targets
from harness.base.errors import BuildFailed, EnvironmentMissing, UsageError
from harness.case.case import Case
from harness.case.inputs import load_inputs
from harness.case.power_on import seeds_of
from harness.case.result import Setup
from harness.case.samples import as_built, elf_of
from harness.elf import Image, combined
from harness.model import Model


@dataclass(frozen=True)
class Prepared:
    """A case with its image, its model, and the input tensors of each inference."""

    case: Case
    image: Image
    model: Model | None = None
    inputs: Sequence[Sequence[bytes]] = ()

    @property
    def hosted(self) -> bool:
        """Whether the host takes part in a run: it feeds inputs, answers, or presses buttons."""
        case = self.case
        return bool((self.inputs and not case.outputs) or case.steps or case.presses)

    @property
    def setup(self) -> Setup:
        """The setup of its result."""
        return replace(
            setup_of(self.case),
            elf=self.image.path,
            chip=self.image.chip.key,
            elf_sha256=self.image.sha256,
            compiler=self.image.compiler,
            model=self.case.model,
        )


def setup_of(case: Case) -> Setup:
    """The setup of a case whose image is not known."""
    return Setup(
        case.name, case.sample, case.resolver, case.builder, case.target, power_on=seeds_of(case)
    )


def prepare(case: Case) -> Prepared:
    """Build or read the image of ``case``, and read its files.

    Raises :class:`BuildFailed` without a compiler (a missing target is another matter), and the
    errors of building and of unreadable files.
    """
    try:
        elf = elf_of(case)
    except EnvironmentMissing as error:
        lacks = targets.target(case.target).lacks()
        reason = f"{error.message}; {lacks}" if lacks else error.message
        raise BuildFailed(reason, hint=error.hint) from error
    image = combined.read(elf, case.also_load, case.chip)
    case = as_built(case, image)
    model = Model.from_file(case.model) if case.model else None
    return Prepared(case, image, model, _inputs(case, model))


def _inputs(case: Case, model: Model | None) -> Sequence[Sequence[bytes]]:
    if case.input_file is None and case.vectors is None:
        return []
    if model is None:
        raise UsageError(f"case {case.name!r} has inputs but no model, which gives their shapes")
    rows = load_inputs(case.input_file, model) if case.input_file is not None else []
    more = load_inputs(case.vectors, model) if case.vectors is not None else []
    return [*(rows[: case.rows] if case.rows else rows), *more]
