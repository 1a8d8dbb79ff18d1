"""Keywords that check an image: its size, its operator resolver."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from robot.api import logger
from robot.api.deco import keyword

from harness import resolver
from harness.base.errors import CheckFailed
from harness.case.measure import size_of
from harness.case.result import Size
from harness.case.subject import find_model
from harness.elf import combined
from harness.footprint.budget import size_limit
from harness.keywords import variables
from harness.model import Model
from harness.targets.registry import DEFAULT


class ImageChecks:
    """Checks of an image that need no case."""

    @keyword
    def flash_should_not_exceed(self, elf: Path, limit: str) -> None:
        """Fails if the image needs more flash than ``limit``.

        Examples:
        | Flash Should Not Exceed | ${elf} | 60 KB |
        """
        self._within("flash", self.get_size(elf).flash, limit)

    @keyword("RAM Should Not Exceed")
    def ram_should_not_exceed(self, elf: Path, limit: str) -> None:
        """Fails if the image needs more RAM than ``limit``.

        Examples:
        | RAM Should Not Exceed | ${elf} | 12 KB |
        """
        self._within("RAM", self.get_size(elf).ram, limit)

    @keyword
    def get_size(self, elf: Path) -> Size:
        """Returns the bytes of flash and RAM (``.flash``, ``.ram``) as counted by the linker."""
        measured = size_of(combined.read(elf, chip=variables.chip()))
        if measured is None:
            raise CheckFailed(f"{elf} has no table of FLASH and RAM, so its size is unknown")
        return measured

    def _within(self, what: str, used: int, limit: str) -> None:
        most = size_limit(int(limit) if limit.isdigit() else limit, what)
        logger.info(f"{what}: {used} of {most} bytes")
        if used > most:
            raise CheckFailed(f"{what} is {used:,} B, the limit is {most:,} B")

    @keyword
    def resolver_check_should_say(
        self,
        elf: Path,
        model: str,
        verdict: str,
        target: str = DEFAULT,
        timeout: timedelta = timedelta(seconds=5),
    ) -> None:
        """Audits the operator resolver that the interpreter of an image gets.

        The image runs on ``target`` until it allocates its tensors, at most for ``timeout`` on the
        target's clock. Fails if the verdict of the audit is not ``verdict``.

        Examples:
        | Resolver Check Should Say | ${elf} | hello_world_int8.tflite | ok |
        | Resolver Check Should Say | ${elf} | hello_world_int8.tflite | ok | target=renode |
        """
        audit = resolver.check(
            combined.read(elf, chip=variables.chip()), Model.from_file(find_model(model)),
            target=target, timeout=timeout.total_seconds(),
        )  # fmt: skip
        logger.info(audit.to_json())
        if str(audit.verdict) != verdict:
            why = f": {audit.reason}" if audit.reason else ""
            raise CheckFailed(f"the verdict is {audit.verdict}, not {verdict}{why}")
