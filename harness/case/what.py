"""What a user names to be looked at: an image, a sample, a case file. One rule, one wording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.build.configurations import load
from harness.case.samples import sample_case
from harness.case.spec import Case
from harness.elf import together
from harness.errors import UsageError

#: The case file that a folder is looked through for.
CASE_FILE = "hil.toml"


@dataclass(frozen=True)
class What:
    """One of the three: an image that is built already, the name of a sample, a case file.

    An image is what :mod:`harness.elf.together` reads.
    """

    text: str
    elf: Path | None = None
    sample: str = ""
    case_file: Path | None = None

    def case(self, resolver: str | None = None, builder: str | None = None) -> Case:
        """The case of an image or a sample, with what a sample is expected to do.

        Raises :class:`UsageError` where an image is told how to be built.
        """
        if self.elf is None:
            return sample_case(self.sample, resolver or "exact", builder=builder or "standalone")
        given = {"--resolver": resolver, "--builder": builder}
        for option in (name for name, value in given.items() if value is not None):
            raise UsageError(f"{option} cannot be used here: {self.text} is an image already built")
        return Case(name=together.name_of(self.elf), elf=self.elf)

    def image(self, resolver: str | None = None) -> Path:
        """The image, or what the sample is built to (standalone)."""
        case = self.case(resolver)
        if case.elf is not None:
            return case.elf
        from harness.build.builders import build_one  # noqa: PLC0415 - an image needs none of it

        return build_one(case.sample, case.resolver)


def find(text: str, here: Path = Path(), *, case_files: bool = False) -> What:
    """What ``text`` names: a file (from ``here``), or a sample.

    With ``case_files`` a ``.toml`` is a case file, and a folder stands for its ``hil.toml``. Raises
    :class:`UsageError` where there is no such thing.
    """
    path = here / text
    expected = (
        "an ELF or HEX file, FILE@ADDRESS, a build folder, a sample (tflm-hil samples lists them)"
        + (" or a hil.toml" if case_files else "")
    )
    folder = files.is_folder(path)
    if not folder and together.is_image(path):
        is_case_file = case_files and path.suffix == ".toml"
        return What(text, case_file=path) if is_case_file else What(text, elf=path)
    if folder and text not in load().samples:
        if case_files and files.is_file(path / CASE_FILE):
            return What(text, case_file=path / CASE_FILE)
        if together.is_image(path):
            return What(text, elf=path)
        if not case_files:
            raise UsageError(f"{text} is a folder", hint=f"name {expected}")
        hint = f"tflm-hil init {text} writes one"
        raise UsageError(f"{text} is a folder without a {CASE_FILE}", hint=hint)
    if "/" in text or Path(text).suffix or "\0" in text:
        raise UsageError(f"there is no file {text}", hint=f"name {expected}")
    load().sample(text)
    return What(text, sample=text)
