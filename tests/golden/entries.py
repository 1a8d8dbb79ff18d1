"""The table of entries: what is run in each of the two commits."""

from __future__ import annotations

import fcntl
import io
import re
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import consoles

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "golden"
#: Case files, examples and the rows of samples are those of this commit, whatever is compared:
#: a key or an option that a later commit does not know any more is a difference.
FROZEN = "8748e3fabf55757b76de65d35c0bbf72bfebe337"
_MODELS = {
    "windows": "examples/bare_metal/model.tflite",
    "sine": "zephyr_samples/models/hello_world_int8.tflite",
}
_SUITES = {
    "standalone": "tests/suites/01_resolver_configurations.robot",
    "standalone-ns": "tests/suites/08_two_worlds.robot",
}
_RESOLVERS = "zephyr_samples/resolvers.toml"
_ROW = re.compile(r"^(\w+) (\w+) +\1 +\2$", re.M)


class CannotCompare(Exception):
    """Something that the comparison needs is not there; the message says what."""


@dataclass(frozen=True)
class Entry:
    """A command line for a shell, typed in a folder with ``files``.

    Compared are its exit code, what it prints and those files that it writes which ``keep`` names.
    """

    name: str
    command: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    keep: tuple[str, ...] = ()

    @property
    def part(self) -> str:
        """The part of the corpus."""
        return self.name.partition("/")[0]


def corpus() -> Iterator[Entry]:
    """All entries."""
    yield from _samples()
    yield from _examples()
    yield from _consoles()
    yield from _wrong_calls()


def _samples() -> Iterator[Entry]:
    """Every sample in every configuration that the suites run."""
    table = tomllib.loads(_frozen(_RESOLVERS)[_RESOLVERS].decode())["samples"]
    for builder, suite in _SUITES.items():
        for sample, resolver in _ROW.findall(_frozen(suite)[suite].decode()):
            options = f"{sample} --resolver {resolver} --builder {builder}"
            name, model = f"{builder}/{sample}/{resolver}", table[sample]["model"]
            run = f"tflm-hil run {options} --json run.json"
            yield Entry(f"{name}/run", run, keep=("run.json",))
            yield Entry(
                f"{name}/static",
                f"image=$(tflm-hil build {options})"
                ' && tflm-hil footprint "$image" --json footprint.json'
                f' && tflm-hil resolver check "$image" {model} --json resolver.json',
                keep=("footprint.json", "resolver.json"),
            )


def _examples() -> Iterator[Entry]:
    """The examples, and the case file of suite 03, as a user runs them."""
    run = "tflm-hil run . --json run.json"
    for name in ("bare_metal", "two_worlds", "zephyr"):
        yield Entry(f"examples/{name}", run, _example(name), ("run.json",))
    build = 'cp "$(tflm-hil build hello_world)" hello_world.elf'
    file = "tests/cases/hil.toml"
    files = {"hil.toml": _frozen(file)[file]}
    yield Entry("examples/own", f"{build} && {run}", files, ("run.json",))


def _consoles() -> Iterator[Entry]:
    """Images that print a text: captures, those of strangers, and spoilt ones."""
    models = {name: _frozen(path)[path] for name, path in _MODELS.items()}
    parts = {"captures": list(consoles.captures()), "strangers": list(consoles.strangers())}
    named = {f"{part}/{one.name}": one for part, found in parts.items() for one in found}
    run, keep = "tflm-hil run . --json run.json", ("run.json",)
    for name, console in named.items():
        files = console.files(models)
        image = {path: data for path, data in files.items() if path != "hil.toml"}
        yield Entry(f"{name}/run", run, files, keep)
        yield Entry(f"{name}/init", "tflm-hil init .", image, ("hil.toml", "test_firmware.py"))
    for name, console in named.items():
        yield Entry(f"spoilt/{name}", run, console.spoilt(models), keep)


def _wrong_calls() -> Iterator[Entry]:
    """What a user mistypes: exit codes and messages."""
    console = next(one for one in consoles.strangers() if one.name == "best-label")
    elf = console.image({})
    files = {
        "app.elf": elf,
        "cut.elf": elf[:1000],
        "empty.elf": b"",
        "text.elf": b"no ELF at all\n",
        "hil.toml": console.case.encode(),
        "not.toml": b"[[case\n",
    }
    for command in _WRONG.strip().splitlines():
        yield Entry(f"wrong/{command}", f"tflm-hil {command}", files)
    yield Entry("wrong/init: no image", "tflm-hil init .")
    yield Entry("wrong/init: a cut image", "tflm-hil init .", {"cut.elf": files["cut.elf"]})
    for name, (old, new) in _WRONG_KEYS.items():
        case = console.case.replace(old, new)
        assert case != console.case, name
        yield Entry(f"wrong/case: {name}", "tflm-hil run .", {**files, "hil.toml": case.encode()})


_WRONG = """
run
run --json -
run . --json -
run hello_world --json -
run helo_world
run hello_world --resolver exactt
run hello_world --target simulater
run hello_world --target board --board nosuchboard
run hello_world --builder zephyr
run hello_world --no-such-option
run hello_world --timeout 0
run hello_world --timeout 0.001
run hello_world --json no/such/folder/run.json
run nothing.elf
run nothing.toml
run cut.elf
run empty.elf
run text.elf
run not.toml
run app.elf
run app.elf --scraper bestlabel
run app.elf --scraper '/(/'
run app.elf --scraper '/best: (?P<label>\\w+)/'
run app.elf --scraper ztest
run app.elf --model nothing.tflite
run app.elf --model text.elf
run app.elf --model hello_world_int8
run . --case 'no such case'
run . --case 'the best label'
build
build helo_world
build hello_world --resolver exactt
footprint
footprint nothing.elf
footprint text.elf
footprint cut.elf
footprint app.elf
footprint app.elf --json -
footprint app.elf --by nothing
footprint hello_world --json -
resolver check
resolver check app.elf
resolver check app.elf hello_world_int8.tflite
resolver check app.elf text.elf
resolver check hello_world --json -
resolver check hello_world digits_int8.tflite
init nothing
samples
nosuchcommand
"""
#: What is mistyped in a case file -> text and its replacement.
_WRONG_KEYS = {
    "a key": ("scraper =", "scrapper ="),
    "a type": ("app.elf", 'app.elf"\ntimeout = "ten'),
    "no image": ("app.elf", "ap.elf"),
    "no name": ('name = "the best label"', ""),
    "a scraper": ("'/best", "'best"),
    "a regex": ("\\w+)", "\\w+"),
    "a target": ("app.elf", 'app.elf"\ntargets = ["simulater"]\nchip = "nrf9160'),
    "a chip": ("app.elf", 'app.elf"\nchip = "nrf9161x'),
    "a finding": ("app.elf", 'app.elf"\nexpect.findings = ["no_such_finding"]\nchip = "nrf9160'),
    "a group": ("score = 7", "scores = 7"),
    "a budget": ("app.elf", 'app.elf"\nbudgets = { flash = "1 XB" }\nchip = "nrf9160'),
    "over budget": ("app.elf", 'app.elf"\nbudgets = { flash = "1 KB" }\nchip = "nrf9160'),
    "negative": ("app.elf", 'app.elf"\ntimeout = -1\nchip = "nrf9160'),
    "a model": ("app.elf", 'app.elf"\nmodel = "nothing.tflite'),
    "twice": ("[[case]]", '[[case]]\nname = "the best label"\nelf = "app.elf"\n[[case]]'),
}


# ------------------------------------------------------------------------------- what FROZEN holds


def _frozen(path: str) -> dict[str, bytes]:
    """Files at and below ``path`` as they are in FROZEN: path -> content."""
    command = ["git", "-C", ROOT, "archive", FROZEN, path]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise CannotCompare(
            f"{path} of commit {FROZEN[:8]} cannot be read: {done.stderr.decode().strip()}\n"
            "The corpus takes its case files from there; a shallow clone gets it by"
            " `git fetch --unshallow`."
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        members = [one for one in archive.getmembers() if one.isfile()]
        return {one.name: archive.extractfile(one).read() for one in members}


def _example(name: str) -> dict[str, bytes]:
    """An example as a user has it: its files and, where a Makefile makes them, its images.

    Images hold the path of their folder, so this is always the same one.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "examples.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path, data in _frozen(f"examples/{name}").items():
            (BUILD / path).parent.mkdir(parents=True, exist_ok=True)
            (BUILD / path).write_bytes(data)
        folder = BUILD / "examples" / name
        if (folder / "Makefile").is_file():
            subprocess.run(["make", "--silent", "--always-make"], cwd=folder, check=True)
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}
