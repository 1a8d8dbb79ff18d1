"""The standalone builder: links a sample with the runtime of ``platforms/standalone``.

The runtime and the shared code of the samples are compiled once for each set of flags; a resolver
configuration then needs one compilation and one link. Images are cached.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import EnvironmentMissing
from harness.base.platforms import chip_called
from harness.build import generated, secure_image
from harness.build.cache import Cache
from harness.build.compiler import Compiler
from harness.build.configurations import load
from harness.build.inputs import Contents, Includes, Inputs, Roots, digest
from harness.build.options import BuildOptions, BuildResult
from harness.build.parallel import parallel_map
from harness.build.toolchain import Toolchain
from harness.build.variants import Table, Variant
from harness.elf.chip import MARK
from harness.model.schema import OPERATOR_NAMES

_log = logging.getLogger(__name__)

_SCHEMA_PLACEHOLDER = "// enum BuiltinOperator:"
_FLATBUFFERS = (Path("/usr/include/flatbuffers"), Path("/usr/local/include/flatbuffers"))


def build_standalone(
    sample: str, configuration: str = "exact", *, options: BuildOptions | None = None
) -> BuildResult:
    """Builds a sample in a configuration, or takes it from the cache.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` without a compiler,
    :class:`BuildFailed` with the compiler's message.
    """
    return build_many([(sample, configuration)], options=options)[0]


def build_many(
    pairs: Iterable[tuple[str, str]],
    *,
    jobs: int = 0,
    options: BuildOptions | None = None,
) -> list[BuildResult]:
    """Builds (sample, configuration) pairs, ``jobs`` at a time (0: one per core).

    Returns the results in order; logs each image that was not in the cache.
    """
    table = load()
    builder = _Builder(table, options or BuildOptions())
    variants = [table.variant(sample, name, "standalone") for sample, name in pairs]
    total = len(variants)

    def build(numbered: tuple[int, Variant]) -> BuildResult:
        number, variant = numbered
        result = builder.build(variant)
        if not result.cached:
            name, seconds = result.elf.stem, result.seconds
            _log.info("[%d/%d] %s: built in %.1f s", number, total, name, seconds)
        return result

    if total > 1:
        parallel_map(lambda prepare: prepare(), [builder.prepare], jobs=1, stop=builder.stop)
    return parallel_map(build, list(enumerate(variants, 1)), jobs=jobs, stop=builder.stop)


class _Builder:
    """Builds variants with the same flags."""

    def __init__(self, table: Table, options: BuildOptions) -> None:
        self._table = table
        self._options = options
        self._tools = Toolchain.find()
        self._runtime = paths.platforms() / "standalone"
        self._samples = table.path.parent
        own = self._samples / "common"
        # A user's samples have no folder of their own.
        self._common = own if files.is_folder(own) else paths.own_samples() / "common"
        self._contents = Contents()
        self._includes = Includes(self._contents)

    def prepare(self) -> None:
        """Compiles the runtime on all cores, before the variants need it."""
        _ = self._archive, self._options.nonsecure and self._secure

    def stop(self) -> None:
        """Ends the running compilers."""
        self._tools.stopped.set()

    def build(self, variant: Variant) -> BuildResult:
        """Builds an image, or takes it from the cache."""
        started = time.monotonic()
        model_file = self._options.model or paths.models() / variant.sample.model
        model = model_file.read_bytes()
        variant = self._options.applied_to(variant)
        inputs = generated.inputs_of(variant.sample, paths.models())
        header = generated.config_header(variant, model, inputs)
        data = generated.data_source(model, inputs)
        name = f"{variant.sample.name}-{variant.configuration.name}.elf"
        linked = [self._data(data), self._archive]
        if self._options.nonsecure:
            linked.append(self._secure.elf)
        key = digest(
            "image", self._compiler.key, self._schema.name, name, header, *variant.sample.sources,
            *(one.parent.name for one in linked),
        )  # fmt: skip
        cached = self._cache.entry(key) is not None

        def fill(folder: Path) -> Inputs:
            return self._link(folder, folder / name, variant, header, data)

        elf = self._cache.make(key, fill) / name
        further = elf.parent if self._options.nonsecure else None
        return BuildResult(elf, cached, time.monotonic() - started, further)

    def _link(self, folder: Path, elf: Path, variant: Variant, header: str, data: str) -> Inputs:
        (folder / "tflm_hil_config.h").write_text(header)
        sources = [
            self._samples / name
            for name in variant.sample.sources
            if not name.startswith("common/")  # part of the archive
        ]
        objects = [folder / f"{source.stem}.o" for source in sources]
        pairs = list(zip(sources, objects, strict=True))
        read = self._compile(pairs, folder, [*self._include, folder])
        objects += [self._data(data), self._archive]
        options = (f"-L{self._runtime}", f"-Wl,--defsym={MARK}{self._options.chip}=1")
        taken = secure_image.TAKEN if self._options.nonsecure else {}
        script = folder / "memory.ld"
        script.write_text(generated.memory_script(chip_called(self._options.chip), taken))
        if not self._options.nonsecure:
            return Inputs.of(read, self._compiler.link(objects, script, elf, options))
        linked = self._compiler.link([*objects, self._secure.gateways], script, elf, options)
        secure_image.merge(elf, self._secure)
        return Inputs.of(read, linked)

    def _data(self, text: str) -> Path:
        """The object with the model and its inputs, shared by all configurations of a sample."""

        def fill(folder: Path) -> Inputs:
            source = folder / "tflm_hil_data.cc"
            source.write_text(text)
            return self._compile([(source, folder / "data.o")], folder, self._include)

        key = digest("data", self._compiler.key, self._schema.name, text)
        return self._cache.make(key, fill) / "data.o"

    @cached_property
    def _archive(self) -> Path:
        """The runtime and the samples' shared code as one archive."""
        folders = (self._runtime / name for name in ("shim", "soc", "tflm"))
        sources = [source for part in folders for source in sorted(part.rglob("*.cc"))]
        if self._options.nonsecure:  # the UARTE belongs to the secure image
            sources.remove(self._runtime / "soc" / "uarte.cc")
            sources += sorted((self._runtime / "nonsecure").glob("*.cc"))
        sources += sorted((self._common / "src").glob("*.cc"))

        def fill(folder: Path) -> Inputs:
            objects = [folder / f"{number:02}-{path.stem}.o" for number, path in enumerate(sources)]
            pairs = list(zip(sources, objects, strict=True))
            read = self._compile(pairs, folder, self._include, jobs=os.cpu_count() or 1)
            archiver = [self._tools.archiver, "rcsD", folder / "runtime.a", *objects]
            self._tools.run(archiver, "runtime", folder)
            return read

        names = (self._roots.name(str(source)) or "" for source in sources)
        key = digest("archive", self._compiler.key, self._schema.name, *names)
        return self._cache.make(key, fill) / "runtime.a"

    def _compile(
        self, pairs: Sequence[tuple[Path, Path]], folder: Path, include: Sequence[Path],
        jobs: int = 1,
    ) -> Inputs:  # fmt: skip
        return self._compiler.compile(pairs, self._names(folder), include, jobs=jobs)

    def _names(self, folder: Path) -> list[tuple[Path, str]]:
        """The names that replace folders in an image built in ``folder``."""
        return [(folder, "generated"), (self._schema, "generated"),
                *((path, name) for name, path in self._places.items())]  # fmt: skip

    @cached_property
    def _include(self) -> list[Path]:
        return [
            self._runtime / "tflm",
            self._runtime / "shim",
            self._runtime / "soc",
            self._runtime / "secure",
            self._common / "include",
            self._schema,
        ]

    @cached_property
    def _schema(self) -> Path:
        """An include folder with the header generated by flatc, and flatbuffers' headers.

        They are separate from the host's other headers, which are not for a microcontroller.
        """
        whole = flatc_schema(self._runtime / "schema" / "schema.fbs")
        headers = next((folder for folder in _FLATBUFFERS if files.is_folder(folder)), None)
        if headers is None:
            raise EnvironmentMissing(
                "the flatbuffers headers are not installed",
                hint="tflm-hil doctor --install installs libflatbuffers-dev",
            )
        flatc = self._tools.flatc

        def fill(folder: Path) -> Inputs:
            out = folder / "tensorflow" / "lite" / "schema"
            out.mkdir(parents=True)
            source = folder / "schema.fbs"
            source.write_text(whole, encoding="utf-8")
            self._tools.run([flatc, "--cpp", "-o", out, source], source.name, folder)
            (folder / "flatbuffers").symlink_to(headers)
            return Inputs(frozenset([str(flatc)]))

        key = digest("schema", str(flatc), str(headers), whole)
        return self._tool_cache.make(key, fill)

    @cached_property
    def _places(self) -> dict[str, Path]:
        """The folders of sources, by their names in images and in the cache."""
        return {"platforms/standalone": self._runtime, "zephyr_samples": self._samples}

    @cached_property
    def _roots(self) -> Roots:
        # The schema's folder links to the headers of flatbuffers, which are inputs, too.
        return Roots({**self._places, "schema": self._schema}, [self._tool_cache.root])

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self._tool_cache.root, self._roots, self._contents)

    @cached_property
    def _tool_cache(self) -> Cache:
        """The cache for results that depend on the tools only, not on sources."""
        root = paths.cache() / "build"
        return Cache(root, Roots({}, [root]), self._contents)

    @cached_property
    def _compiler(self) -> Compiler:
        flags = self._tools.flags(self._options)
        return Compiler(self._tools, flags, self._tool_cache, self._includes)

    @cached_property
    def _secure(self) -> secure_image.SecureImage:
        compiler = Compiler(
            self._tools, secure_image.flags(self._options.chip), self._tool_cache, self._includes
        )
        return secure_image.build(compiler, self._cache, self._runtime)


def flatc_schema(schema: Path) -> str:
    """The text of ``schema.fbs`` of the standalone runtime, with the operators of harness.model."""
    members = "".join(f"  {name} = {number},\n" for number, name in enumerate(OPERATOR_NAMES))
    before, placeholder, after = schema.read_text(encoding="utf-8").partition(_SCHEMA_PLACEHOLDER)
    assert placeholder, f"{schema} lacks the line for the operators"
    rest = after.partition("\n")[2]
    return f"{before}enum BuiltinOperator : int32 {{\n{members}}}\n{rest}"
