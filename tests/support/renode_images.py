"""The images of tests/firmware/renode: what they do on the simulator and on Renode."""

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
TABLE = TESTS / "firmware" / "renode" / "images.toml"
WORLDS = TABLE.parent / "worlds"
FLAGS = (
    "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding -nostdlib "
    "-fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -DHOSTILE=1"
)
PAIR_FLAGS = (
    "-mcpu=cortex-m33+nofp -mfloat-abi=soft -mthumb -O2 -g -ffreestanding -nostdlib "
    "-Wall -Wextra -Werror"
)


@dataclass(frozen=True)
class RenodeImage:
    """One image; tests/firmware/renode/images.toml explains the keys."""

    name: str
    shows: str
    simulator: str
    renode: str
    folder: str = "firmware/renode"
    after: str = ""
    seconds: float = 2.0

    @property
    def source(self) -> Path:
        """Its only source file."""
        return TESTS / self.folder / f"{self.name}.c"

    @property
    def differs(self) -> bool:
        """Whether Renode's outcome is not the simulator's."""
        return self.renode != self.simulator

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


def images() -> list[RenodeImage]:
    """All rows, in the order of the file."""
    return [
        RenodeImage(name, **{"renode": row["simulator"], **row})
        for name, row in tomllib.loads(TABLE.read_text()).items()
    ]
