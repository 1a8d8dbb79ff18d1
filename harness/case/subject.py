"""What a user may name on the command line and in tests: an image, sample, case file, model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import UsageError
from harness.base.text import short
from harness.build.table import load
from harness.elf import combined

#: Name of the case file in a folder that is given as one.
CASE_FILE = "hil.toml"
_EXPECTED = "an ELF or HEX file, FILE@ADDRESS, a build folder, a sample (tflm-hil list samples)"


@dataclass(frozen=True)
class Subject:
    """An image, a sample or a case file: one of ``elf``, ``sample``, ``case_file`` is set.

    ``elf`` is any image that :mod:`harness.elf.combined` reads.
    """

    text: str
    elf: Path | None = None
    sample: str = ""
    case_file: Path | None = None

    @classmethod
    def find(cls, text: str, here: Path = Path(), *, case_files: bool = False) -> Subject:
        """Find the file (relative to ``here``) or the sample called ``text``.

        With ``case_files`` a ``.toml`` is a case file, and a folder means its ``hil.toml``. Raises
        :class:`UsageError` if there is no such file or sample.
        """
        path = here / text
        expected = _EXPECTED + (" or a hil.toml" if case_files else "")
        folder = files.is_folder(path)
        if not folder and combined.is_image(path):
            is_case_file = case_files and path.suffix == ".toml"
            return cls(text, case_file=path) if is_case_file else cls(text, elf=path)
        if folder and text not in load().samples:
            if case_files and files.is_file(path / CASE_FILE):
                return cls(text, case_file=path / CASE_FILE)
            if combined.is_image(path):
                return cls(text, elf=path)
            if not case_files:
                raise UsageError(f"{text} is a folder", hint=f"name {expected}")
            hint = f"tflm-hil init {text} writes one"
            raise UsageError(f"{text} is a folder without a {CASE_FILE}", hint=hint)
        if "/" in text or Path(text).suffix or "\0" in text:
            raise UsageError(f"there is no file {text}", hint=f"name {expected}")
        load().sample(text)
        return cls(text, sample=text)

    def image(self, chip: str = "") -> Path:
        """The path of the image; a sample is built (exact, standalone, for ``chip``)."""
        if self.elf is not None:
            return self.elf
        from harness.build.builders import build_one  # noqa: PLC0415 - only a sample is built

        return build_one(self.sample, "exact", chip=chip)


def find_model(name: str, here: Path = Path()) -> Path:
    """The file of a model, given by its path or by the name of one of this project's."""
    for candidate in (here / name, paths.models() / name, paths.models() / f"{name}.tflite"):
        if files.is_file(candidate):
            return candidate
    known = ", ".join(sorted(path.name for path in paths.models().glob("*.tflite")))
    raise UsageError(f"no model {short(name)}", hint=f"a path, or one of the project's: {known}")
