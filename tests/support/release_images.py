"""The images of tests/firmware/releases: what they do on the simulator and on each Renode."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kept_images import kept

from harness.elf import Image, combined
from harness.targets.base import Stop
from harness.targets.session import Session

TESTS = Path(__file__).resolve().parents[1]
TABLE = TESTS / "firmware" / "releases" / "images.toml"
#: The columns of releases, by the first version that each is for.
RELEASES = {"1.17": (1, 17, 0), "1.16.1": (1, 16, 1)}
WORLDS = TABLE.parent / "worlds"
MEASURED, BELIEVED = KNOWN = ("measured", "believed")
FLAGS = (
    "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding -nostdlib "
    "-fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -DHOSTILE=1"
)
PAIR_FLAGS = (
    "-mcpu=cortex-m33+nofp -mfloat-abi=soft -mthumb -O2 -g -ffreestanding -nostdlib "
    "-Wall -Wextra -Werror"
)
#: The outcome of an image that a release cannot run.
REFUSED = "(refused)"


@dataclass(frozen=True)
class Expected:
    """An outcome, and how it is known: measured or believed."""

    outcome: str
    known: str


@dataclass(frozen=True)
class ReleaseImage:
    """One image: what it shows, and its outcome on the simulator and on each release."""

    name: str
    shows: str
    simulator: str
    renode: dict[str, Expected]  # by release
    folder: str = "firmware/releases"  # below tests
    after: str = ""  # the image that ran before, on the same machine
    seconds: float = 2.0  # virtual, at most

    @property
    def source(self) -> Path:
        """Its only source file."""
        return TESTS / self.folder / f"{self.name}.c"

    def on(self, version: tuple[int, int, int]) -> Expected:
        """What is expected of a release of Renode."""
        return self.renode[next(name for name, since in RELEASES.items() if version >= since)]

    def surprise(self, version: tuple[int, int, int], seen: str) -> str:
        """What to report if ``seen`` is not what was believed; "" if it is as expected.

        Raises :class:`AssertionError` if it is not what was measured.
        """
        expected = self.on(version)
        if seen == expected.outcome:
            return ""
        text = f"{self.name}: {expected.known} {expected.outcome!r}, seen {seen!r}"
        if expected.known == MEASURED:
            raise AssertionError(text)
        return text

    def build(self, compiler: str, folder: Path) -> Image:
        """The image, or both of a pair, with their ELFs in ``folder``."""
        if self.source.parent == WORLDS:
            return pair(compiler, folder, self.source)
        elf = folder / f"{self.name}.elf"
        frame = TESTS / ("firmware/machine.ld" if self.folder == "firmware" else "hostile/image.ld")
        command = [compiler, *FLAGS.split(), f"-I{TESTS / 'hostile'}", f"-T{frame}"]
        headers = (*self.source.parent.glob("*.h"), TESTS / "hostile" / "image.h")
        kept(elf, [*command, str(self.source)], read=(self.source, frame, *headers))
        return Image.from_elf(elf)

    def outcome(self, session: Session) -> str:
        """Run it to its end: what the console says, and how it ends if not in sleep."""
        stop = session.run(None, session.deadline(self.seconds, guard=120))
        words = session.read().decode("latin-1").split()
        return " ".join(words + [f"({stop})"] * (stop is not Stop.IDLE))


def pair(compiler: str, folder: Path, source: Path) -> Image:
    """The non-secure image of ``source``, with the secure frame beside it; both in ``folder``."""
    secure, elf = folder / "secure.elf", folder / f"{source.stem}.elf"
    gateways, example = folder / "gateways.o", TESTS.parent / "examples" / "two_worlds"
    command = [compiler, *PAIR_FLAGS.split(), f"-I{WORLDS}"]
    cmse = ["-mcmse", "-Wl,--cmse-implib", f"-Wl,--out-implib={gateways}"]
    for words in (
        [*cmse, f"-T{example / 'secure.ld'}", WORLDS / "secure.c", "-lgcc", "-o", secure],
        [f"-T{example / 'nonsecure.ld'}", source, gateways, "-o", elf],
    ):
        subprocess.run([*command, *map(str, words)], check=True)
    return combined.read(elf, [secure])


def images() -> list[ReleaseImage]:
    """All rows, in the order of the file."""
    return [_image(name, row) for name, row in tomllib.loads(TABLE.read_text()).items()]


def _image(name: str, row: dict[str, str]) -> ReleaseImage:
    renode = {release: _expected(row.pop(release), row["simulator"]) for release in RELEASES}
    return ReleaseImage(name, renode=renode, **row)  # type: ignore[arg-type]


def _expected(text: str, simulator: str) -> Expected:
    """``measured`` or ``believed``, and the outcome if it is not the simulator's."""
    known, _, outcome = text.partition(" ")
    if known not in KNOWN:
        raise ValueError(f"{text!r} begins with none of {', '.join(KNOWN)}")
    return Expected(outcome or simulator, known)
