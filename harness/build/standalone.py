"""The standalone builder: links a sample with the runtime of ``platforms/standalone``.

The runtime and the shared code of the samples are compiled once for each set of flags; a resolver
configuration then needs one compilation and one link. Ninja does both (:mod:`harness.build.ninja`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import BuildFailed, EnvironmentMissing
from harness.base.platforms import ChipTable, chip_called
from harness.build import generated, toolchain
from harness.build.first_error import overflows, space_hint
from harness.build.generated import Variant
from harness.build.ninja import (
    KEEP,
    KEEP_ALL,
    Edge,
    ManifestPart,
    NinjaFolder,
    error_text,
    first_line,
    folders,
    literal,
    python,
)
from harness.build.options import BuildOptions, BuildResult
from harness.build.table import inputs_of, load
from harness.build.toolchain import Toolchain
from harness.elf.chip import MARK
from harness.model.schema import OPERATOR_NAMES

_SCHEMA_PLACEHOLDER = "// enum BuiltinOperator:"
_FLATBUFFERS = (Path("/usr/include/flatbuffers"), Path("/usr/local/include/flatbuffers"))
_SOURCES = (".c", ".cc", ".cpp")

#: Bytes that the secure image occupies at the start of each memory
#: (platforms/standalone/secure/layout.h).
TAKEN = {"flash": 0x8000, "ram": 0x2000}
#: Sources that the secure image shares with the non-secure runtime.
_SHARED_WITH_SECURE = ("console.cc", "format.cc", "uarte.cc")
_SECURE, _GATEWAYS, _MERGED = "secure.elf", "import.o", "merged.hex"

_CONFIG, _DATA, _SCRIPT = "tflm_hil_config.h", "tflm_hil_data.cc", "memory.ld"
_SCHEMA_FOLDER = "schema/include"
_SCHEMA = f"{_SCHEMA_FOLDER}/tensorflow/lite/schema/schema_generated.h"
_HEADERS, _TOOLCHAIN, _TOOLS_MEMO = "shared/headers", "toolchain", "toolchain.json"
#: What every compilation needs besides the files that it reads.
_NEEDED = (_TOOLCHAIN, _HEADERS, _SCHEMA)


def build_standalone(
    sample: str, configuration: str = "exact", *, options: BuildOptions | None = None
) -> BuildResult:
    """Builds a sample in a configuration, or finds it built.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` without a compiler,
    :class:`BuildFailed` with the compiler's message.
    """
    return build_many([(sample, configuration)], options=options)[0]


def build_many(
    pairs: Iterable[tuple[str, str]], *, jobs: int = 0, options: BuildOptions | None = None
) -> list[BuildResult]:
    """Builds (sample, configuration) pairs with ``jobs`` commands at a time (0: one per core).

    Returns the results in order; logs what is built.
    """
    options, table = options or BuildOptions(), load()
    variants = [table.variant(sample, name, "standalone") for sample, name in pairs]
    return build_images([image_source(one, options) for one in variants], options, jobs=jobs)


@dataclass(frozen=True)
class ImageSource:
    """What is compiled and linked into one image, besides the runtime.

    ``folder`` is its place among the images of the same flags; the ELF is called ``name``. The
    texts are those of ``tflm_hil_config.h`` and of the source with model and inputs.
    """

    folder: str
    name: str
    application: str
    config: str
    data: str


def image_source(variant: Variant, options: BuildOptions) -> ImageSource:
    """The source of a variant. Raises :class:`UsageError` for a model that cannot be read."""
    sample = variant.sample
    model = files.read(options.model or paths.models() / sample.model)
    inputs = inputs_of(sample)
    changed = options.applied_to(variant)
    name = f"{sample.name}-{variant.configuration.name}"
    own = (options.arena, options.inferences, _digest(model) if options.model else None)
    folder = name if own == (None, None, None) else f"{name}-{_digest(repr(own).encode())}"
    return ImageSource(
        folder,
        name,
        sample.application,
        generated.config_header(changed, model, inputs),
        generated.data_source(model, inputs),
    )


def build_images(
    wanted: Sequence[ImageSource], options: BuildOptions, *, jobs: int = 0
) -> list[BuildResult]:
    """Builds images with the same flags, as :func:`build_many` does."""
    group = _FlagsGroup(_StandaloneSetup.find(), options)
    images = [_StandaloneImage(group, source) for source in wanted]
    targets = list(dict.fromkeys(name for image in images for name in image.targets))
    folder = group.setup.folder
    with folder.locked():
        parts = {part.folder: part for part in group.parts}
        sources = dict(group.sources)
        for image in images:
            parts.update((part.folder, part) for part in image.parts)
            sources.update(image.sources)
        folder.build(list(parts.values()), targets, sources=sources, jobs=jobs, failed=_failed)
    return [image.result for image in images]


def sources_of(application: str) -> list[Path]:
    """The C and C++ files of an application, without the code that all samples share."""
    found = sorted((paths.samples() / application / "src").glob("*"))
    return [path for path in found if path.suffix in _SOURCES]


@dataclass(frozen=True)
class _StandaloneSetup:
    """The tools, the sources, and the build folder of both."""

    tools: Toolchain
    runtime: Path
    samples: Path
    common: Path
    flatbuffers: Path

    @classmethod
    def find(cls) -> _StandaloneSetup:
        """Raises :class:`EnvironmentMissing` for the first tool that is missing."""
        samples = paths.samples()
        own = samples / "common"  # a user's samples have no such folder
        common = own if files.is_folder(own) else paths.own_samples() / "common"
        headers = next((folder for folder in _FLATBUFFERS if files.is_folder(folder)), None)
        if headers is None:
            raise EnvironmentMissing(
                "the flatbuffers headers are not installed",
                hint="tflm-hil doctor --install installs libflatbuffers-dev",
            )
        return cls(Toolchain.find(), paths.platforms() / "standalone", samples, common, headers)

    @cached_property
    def folder(self) -> NinjaFolder:
        """Sources and tools in other places, and other users, have other build folders."""
        places = (self.runtime, self.samples, self.common, os.getuid(), *self.tools.settings)
        key = _digest("\n".join(map(str, places)).encode())
        return NinjaFolder(folders() / f"standalone-{key}", self._rules)

    @property
    def _rules(self) -> str:
        tools = self.tools
        compiler, archiver, flatc, headers = map(
            _word, (tools.compiler, tools.archiver, tools.flatc, self.flatbuffers)
        )
        # In its direct mode, ccache does not see a new header that shadows another. The name of the
        # build folder is in the options, but not in the objects.
        settings = 'CCACHE_NODIRECT=1 CCACHE_BASEDIR="$$PWD"'
        ccache = f"{settings} {_word(tools.ccache)} " if tools.ccache else ""
        commands = {
            # The names in folders of headers: a new file may shadow one that was read before.
            "list": "find $in -maxdepth 1 ! -name '.*' ! -name '*~' | LC_ALL=C sort -u > $out.new",
            # Flatbuffers' headers are separate from the host's others, which are not for this core.
            "schema": f"{flatc} --cpp -o tmp $in && mv tmp/schema_generated.h $out.new"
            f" && ln -sfn {headers} {_SCHEMA_FOLDER}/flatbuffers",
            "cxx": f"{ccache}{compiler} $flags $maps -MD -MT $out -MF $out.d -c $in -o $out.new",
            "archive": f"rm -f $out.new && {archiver} rcsD $out.new $in",
            "link": f"mkdir -p $dir/new && {compiler} $flags $link -Wl,-Map=$dir/new/$name.map $in"
            " -lm -o $dir/new/$name.elf",
            "copy": "cp $in $out.new",
            "merge": f"{python('harness.build.secure_image')} $in $out.new",
        }
        lines = [
            first_line(self.samples, self.tools.compiler),
            "ninja_required_version = 1.10",
        ]
        for name, command in commands.items():
            keep = KEEP_ALL if name == "link" else KEEP
            lines += [f"rule {name}", f"  command = {command} && {keep}", "  description = $out"]
            lines += ["  restat = 1"]
            lines += ["  depfile = $out.d", "  deps = gcc"] if name == "cxx" else []
        return "\n".join([*lines, ""])

    @property
    def include(self) -> list[Path]:
        """The folders of headers, besides that of the generated schema."""
        own = (self.runtime / name for name in ("tflm", "shim", "soc", "secure"))
        return [*own, self.common / "include"]

    @property
    def maps(self) -> list[str]:
        """Options that replace folders by names in messages and debug information.

        This makes builds reproducible: without it images would contain the checkout's path.
        """
        names = {
            self.folder.path: "generated",
            _SCHEMA_FOLDER: "generated",
            self.common.parent: "zephyr_samples",
            self.samples: "zephyr_samples",
            self.runtime: "platforms/standalone",
        }
        return [f"-ffile-prefix-map={path}={name}" for path, name in names.items()]

    @property
    def part(self) -> ManifestPart:
        """What all groups need: the header of the schema, and the names of all headers."""
        folders = [path for top in self.include for path in _folders(top)]
        schema = Edge("schema", [_SCHEMA], ["schema/schema.fbs"], [_TOOLCHAIN])
        return ManifestPart("shared", [schema, Edge("list", [_HEADERS], folders)])

    @property
    def sources(self) -> dict[str, str]:
        """The texts of generated files for all groups."""
        others = [self.tools.archiver, self.tools.flatc]
        memo = self.folder.path / _TOOLS_MEMO
        return {
            _TOOLCHAIN: toolchain.identity(self.tools.compiler, others, memo),
            "schema/schema.fbs": flatc_schema(self.runtime / "schema" / "schema.fbs"),
        }


@dataclass(frozen=True)
class _FlagsGroup:
    """The outputs of one set of flags: objects of the runtime, and their archive."""

    setup: _StandaloneSetup
    options: BuildOptions

    @cached_property
    def name(self) -> str:
        """The name of its folder."""
        one = self.options
        words = [
            one.chip,
            *(["ns"] if one.nonsecure else []),
            *([] if one.optimize == "s" else [f"O{one.optimize}"]),
            *([] if one.fpu else ["soft"]),
            *(["lto"] if one.lto else []),
            *([_digest("\n".join(one.defines).encode())] if one.defines else []),
        ]
        return "-".join(words)

    @property
    def archive(self) -> str:
        return f"{self.name}/runtime.a"

    @property
    def script(self) -> str:
        return f"{self.name}/{_SCRIPT}"

    @property
    def parts(self) -> list[ManifestPart]:
        """The part of the group, and those that it needs."""
        setup = self.setup
        compiled = _compiled(self.name, self._sources, numbered=True)
        archive = Edge("archive", [self.archive], [edge.outputs[0] for edge in compiled])
        include = [*setup.include, _SCHEMA_FOLDER]
        link = [*toolchain.LINK, f"-L{self.name}", f"-T{self.script}", f"-L{setup.runtime}",
                f"-Wl,--defsym={MARK}{self.options.chip}=1"]  # fmt: skip
        variables = {
            "flags": _words([*Toolchain.flags(self.options), *(f"-I{one}" for one in include)]),
            "maps": _words(setup.maps),
            "link": _words(link),
        }
        secure = [_secure_part(setup, self.options.chip)] if self.options.nonsecure else []
        return [setup.part, *secure, ManifestPart(self.name, [*compiled, archive], variables)]

    @property
    def sources(self) -> dict[str, str]:
        """The texts of the generated files."""
        taken = TAKEN if self.options.nonsecure else {}
        script = memory_script(chip_called(self.options.chip), taken)
        return {**self.setup.sources, self.script: script}

    @property
    def _sources(self) -> list[Path]:
        """The runtime and the samples' shared code."""
        runtime = self.setup.runtime
        folders = [runtime / name for name in ("shim", "soc", "tflm")]
        found = [source for part in folders for source in sorted(part.rglob("*.cc"))]
        if self.options.nonsecure:  # the UARTE belongs to the secure image
            found.remove(runtime / "soc" / "uarte.cc")
            found += sorted((runtime / "nonsecure").glob("*.cc"))
        return found + sorted((self.setup.common / "src").glob("*.cc"))


@dataclass(frozen=True)
class _StandaloneImage:
    """The outputs of one image."""

    group: _FlagsGroup
    source: ImageSource

    @property
    def folder(self) -> str:
        return f"{self.group.name}/{self.source.folder}"

    @property
    def elf(self) -> str:
        return f"{self.folder}/{self.source.name}.elf"

    @cached_property
    def _data(self) -> str:
        """The folder of the source with model and inputs, which configurations share."""
        return f"data-{_digest(self.source.data.encode())}"

    @property
    def sources(self) -> dict[str, str]:
        """The texts of the generated files."""
        return {
            f"{self.folder}/{_CONFIG}": self.source.config,
            f"{self._data}/{_DATA}": self.source.data,
        }

    @property
    def targets(self) -> list[str]:
        """The outputs that are asked for."""
        secure = [f"{self.folder}/{name}" for name in (_SECURE, _MERGED)]
        return [self.elf, *(secure if self.group.options.nonsecure else [])]

    @property
    def result(self) -> BuildResult:
        path = self.group.setup.folder.path
        further = path / self.folder if self.group.options.nonsecure else None
        return BuildResult(path / self.elf, further)

    @property
    def parts(self) -> list[ManifestPart]:
        """The part of the image, and those that no other image of the group has."""
        listed = f"application-{self.source.application}"
        names = f"{listed}/headers"
        application = self.group.setup.samples / self.source.application / "src"
        data = f"{self.group.name}/{self._data}"
        source = f"{self._data}/{_DATA}"
        return [
            ManifestPart(listed, [Edge("list", [names], _folders(application))]),
            ManifestPart(data, _compiled(data, [source], maps=[_named(self._data)])),
            ManifestPart(self.folder, self._edges(f"{data}/{Path(_DATA).stem}.o", names)),
        ]

    def _edges(self, data: str, names: str) -> list[Edge]:
        group, runtime = self.group, self.group.setup.runtime
        maps = [_named(self.folder), f"-I{self.folder}"]
        sources = sources_of(self.source.application)
        compiled = _compiled(self.folder, sources, maps=maps, needs=[names])
        linked = [*(edge.outputs[0] for edge in compiled), data, group.archive]
        scripts: list[Path | str] = [group.script, runtime / "sections.ld", _TOOLCHAIN]
        if not group.options.nonsecure:
            return [*compiled, _linked(self.folder, self.source.name, linked, scripts)]
        secure = _secure_folder(group.options.chip)
        linked.append(f"{secure}/{_GATEWAYS}")
        copy = f"{self.folder}/{_SECURE}"
        code = [paths.PACKAGE / name for name in ("build/secure_image.py", "elf/hexfile.py")]
        return [
            *compiled,
            _linked(self.folder, self.source.name, linked, scripts),
            Edge("copy", [copy], [f"{secure}/{_SECURE}"]),
            Edge("merge", [f"{self.folder}/{_MERGED}"], [copy, self.elf], code),
        ]


def _secure_part(setup: _StandaloneSetup, chip: str) -> ManifestPart:
    """The secure image of a chip, with an import library of its gateways.

    It has no options: all non-secure images of a compiler for a chip share it. It does not use the
    FPU, whose state is shared.
    """
    folder, own = _secure_folder(chip), setup.runtime / "secure"
    shared = [setup.runtime / "soc" / name for name in _SHARED_WITH_SECURE]
    compiled = _compiled(folder, [*sorted(own.glob("*.cc")), *shared])
    objects = [edge.outputs[0] for edge in compiled]
    needs: list[Path | str] = [own / "secure.ld", _TOOLCHAIN]
    linked = _linked(folder, "secure", objects, needs, [_GATEWAYS])
    include = [f"-I{path}" for path in (setup.runtime / "soc", own)]
    flags = [*Toolchain.flags(BuildOptions(fpu=False, chip=chip)), "-mcmse", *include]
    link = [*toolchain.LINK, f"-L{own}", f"-T{own / 'secure.ld'}", "-Wl,--cmse-implib",
            f"-Wl,--out-implib={folder}/new/{_GATEWAYS}"]  # fmt: skip
    variables = {"flags": _words(flags), "maps": _words(setup.maps), "link": _words(link)}
    return ManifestPart(folder, [*compiled, linked], variables)


def _secure_folder(chip: str) -> str:
    return f"{chip}-secure"


def _compiled(
    folder: str,
    sources: Sequence[Path | str],
    *,
    maps: Sequence[str] = (),
    needs: Sequence[str] = (),
    numbered: bool = False,
) -> list[Edge]:
    """A compilation of each source to an object in ``folder``."""
    variables = {"maps": f"$maps {_words(maps)}"} if maps else {}
    return [
        Edge(
            "cxx",
            [f"{folder}/{f'{number:02}-' if numbered else ''}{Path(source).stem}.o"],
            [source],
            [*_NEEDED, *needs],
            variables,
        )
        for number, source in enumerate(sources)
    ]


def _linked(
    folder: str, name: str, inputs: Sequence[str], needs: Sequence[Path | str],
    others: Sequence[str] = (),
) -> Edge:  # fmt: skip
    """A link to an ELF, with its map beside it."""
    made = [f"{folder}/{one}" for one in (f"{name}.elf", f"{name}.map", *others)]
    variables = {"dir": folder, "name": name, "made": " ".join(made)}
    return Edge("link", made, inputs, needs, variables)


def _failed(output: str, log: Path) -> BuildFailed:
    """The error of a failed build; if a region overflows, its hint shows what is in the way."""
    text, hint = error_text(output), f"full output: {log}"
    maps = sorted(log.parent.glob("*/*/new/*.map"), key=lambda path: path.stat().st_mtime)
    if overflows(text) and maps:
        hint = f"{space_hint(maps[-1])}; {hint}"
    return BuildFailed(text, hint=hint)


def _named(folder: str) -> str:
    return f"-ffile-prefix-map={folder}=generated"


def _words(words: Iterable[str]) -> str:
    """Arguments of a command, as a value of ninja's."""
    return literal(shlex.join(words))


def _word(word: object) -> str:
    return _words([str(word)])


def _folders(top: Path) -> list[Path]:
    """A folder and all below it."""
    return sorted(Path(folder) for folder, _, _ in os.walk(top))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def flatc_schema(schema: Path) -> str:
    """The text of ``schema.fbs`` of the standalone runtime, with the operators of harness.model."""
    members = "".join(f"  {name} = {number},\n" for number, name in enumerate(OPERATOR_NAMES))
    before, placeholder, after = schema.read_text(encoding="utf-8").partition(_SCHEMA_PLACEHOLDER)
    assert placeholder, f"{schema} lacks the line for the operators"
    rest = after.partition("\n")[2]
    return f"{before}enum BuiltinOperator : int32 {{\n{members}}}\n{rest}"


def memory_script(chip: ChipTable, taken: Mapping[str, int]) -> str:
    """The linker script of the standalone runtime, with flash and RAM of ``chip``.

    ``taken`` is the number of bytes at the start of "flash" and "ram" that another image uses.
    """
    lines = [f"/* Generated from platforms/chips/{chip.key}.toml. */", "MEMORY", "{"]
    for name, rights in (("flash", "rx"), ("ram", "rwx")):
        area, start = chip.area(name), taken.get(name, 0)
        place = f"ORIGIN = {area.origin + start:#010x}, LENGTH = {area.size - start:#x}"
        lines.append(f"  {name.upper()} ({rights}) : {place}")
    return "\n".join([*lines, "}", "", "INCLUDE sections.ld", ""])
