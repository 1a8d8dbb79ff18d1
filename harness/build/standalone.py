"""The standalone builder: a sample, the runtime of ``platforms/standalone``, one ELF.

The runtime and the shared code of the samples are compiled once for each set of flags; a resolver
configuration then costs one compilation and one link. An image that is in the cache costs neither.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from harness import paths
from harness.build import generated, schema, secure
from harness.build.cache import Cache, digest, tree_digest
from harness.build.configurations import Table, Variant, load
from harness.build.result import BuildOptions, BuildResult
from harness.build.threads import at_once
from harness.build.toolchain import Toolchain
from harness.build.variants import Addition
from harness.errors import EnvironmentMissing, UsageError

_log = logging.getLogger(__name__)

#: The builder's name for secure and for non-secure images.
_BUILDERS = ("standalone", "standalone-ns")
_FLATBUFFERS = (Path("/usr/include/flatbuffers"), Path("/usr/local/include/flatbuffers"))


def build_standalone(
    sample: str, configuration: str = "exact", *, options: BuildOptions | None = None
) -> BuildResult:
    """Build one sample in one configuration.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` without a compiler,
    :class:`BuildFailed` with the compiler's own message.
    """
    return build_many([(sample, configuration)], options=options)[0]


def build_operators(
    sample: str, operators: Sequence[str], *, options: BuildOptions | None = None
) -> BuildResult:
    """Build a sample with exactly ``operators`` registered, in no configuration of the table.

    Raises :class:`UsageError` for an operator that has no ``Add*`` method.
    """
    table = load()
    exact = table.variant(sample, "exact", "standalone")
    custom = exact.sample.custom_operators
    unknown = [name for name in operators if name not in table.methods and name not in custom]
    if unknown:
        raise UsageError(f"the resolver has no method for {', '.join(unknown)}")
    additions = tuple(
        Addition(name, "AddCustom" if name in custom else table.methods[name], name in custom)
        for name in operators
    )
    variant = replace(
        exact,
        configuration=replace(exact.configuration, name=f"operators_{len(operators)}"),
        additions=additions,
        slots=max(1, len(additions)),
    )
    return _Builder(table, options or BuildOptions()).build(variant)


def build_many(
    pairs: Iterable[tuple[str, str]],
    *,
    jobs: int = 0,
    options: BuildOptions | None = None,
) -> list[BuildResult]:
    """Build (sample, configuration) pairs, ``jobs`` at once (0: one per core); results in order.

    Each image that was not in the cache is logged.
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
        builder.prepare(jobs or os.cpu_count() or 1)
    return at_once(build, list(enumerate(variants, 1)), jobs=jobs)


class _Builder:
    """Builds variants with the same flags; the runtime's and the shared sources are read once."""

    def __init__(self, table: Table, options: BuildOptions) -> None:
        self._table = table
        self._options = options
        self._tools = Toolchain.find()
        self._cache = Cache(paths.cache() / "build")
        self._runtime = paths.platforms() / "standalone"
        self._samples = table.path.parent
        own = self._samples / "common"
        self._common = own if own.is_dir() else paths.own_samples() / "common"  # a user has none
        self._flags = self._tools.flags(options)

    @cached_property
    def _base(self) -> str:
        """A hash of what all images share: tools, flags, runtime."""
        common = tree_digest([self._runtime, self._common])
        return digest(self._tools.identity, "\0".join(self._flags), common)

    def prepare(self, jobs: int) -> None:
        """Compile the runtime with all cores, before the variants wait for it one by one."""
        self._archive(jobs)

    def build(self, variant: Variant) -> BuildResult:
        """Build one image, or take it from the cache."""
        started = time.monotonic()
        model_file = self._options.model or paths.models() / variant.sample.model
        model = model_file.read_bytes()
        variant = self._options.applied_to(variant)
        inputs = generated.inputs_of(variant.sample, paths.models())
        header = generated.config_header(variant, model, inputs)
        data = generated.data_source(model, inputs)
        application = tree_digest([self._samples / variant.sample.application / "src"])
        key = digest(self._base, application, header, data)
        name = f"{variant.sample.name}-{variant.configuration.name}.elf"
        cached = self._cache.entry(key) is not None

        def fill(folder: Path) -> None:
            self._link(folder, folder / name, variant, header, data)

        elf = self._cache.make(key, fill) / name
        return BuildResult(
            elf, elf.with_suffix(".map"), variant.sample.name, variant.configuration.name,
            _BUILDERS[self._options.nonsecure], cached, time.monotonic() - started,
            merged=self._options.nonsecure,
        )  # fmt: skip

    def _link(self, folder: Path, elf: Path, variant: Variant, header: str, data: str) -> None:
        (folder / "tflm_hil_config.h").write_text(header)
        include = [*self._include, folder]
        objects = []
        for name in variant.sample.sources:
            source = self._samples / name
            if name.startswith("common/"):
                continue  # it is in the archive
            target = folder / f"{source.stem}.o"
            self._tools.compile(source, target, self._flags_in(folder), include)
            objects.append(target)
        objects += [self._data(data), self._archive(os.cpu_count() or 1)]
        if not self._options.nonsecure:
            self._tools.link(objects, self._runtime / "memory.ld", elf, self._flags)
            return
        image = secure.build(self._tools, self._cache, self._runtime)
        script = self._runtime / "nonsecure.ld"
        self._tools.link([*objects, image.gateways], script, elf, self._flags)
        secure.merge(elf, image)

    def _data(self, text: str) -> Path:
        """The object with the model and its inputs, the same for all configurations of a sample."""

        def fill(folder: Path) -> None:
            source = folder / "tflm_hil_data.cc"
            source.write_text(text)
            self._compile(source, folder / "data.o")

        return self._cache.make(digest(self._base, text), fill) / "data.o"

    def _archive(self, jobs: int) -> Path:
        """The runtime and the samples' shared code as one archive."""

        def fill(folder: Path) -> None:
            folders = (self._runtime / name for name in ("shim", "soc", "tflm"))
            sources = [source for part in folders for source in sorted(part.rglob("*.cc"))]
            if self._options.nonsecure:  # the secure image has the UARTE
                sources.remove(self._runtime / "soc" / "uarte.cc")
                sources += sorted((self._runtime / "nonsecure").glob("*.cc"))
            sources += sorted((self._common / "src").glob("*.cc"))
            objects = [folder / f"{number:02}-{path.stem}.o" for number, path in enumerate(sources)]
            at_once(lambda pair: self._compile(*pair), list(zip(sources, objects, strict=True)),
                    jobs=jobs)  # fmt: skip
            self._tools.run(
                [self._tools.archiver, "rcsD", folder / "runtime.a", *objects], "runtime"
            )

        return self._cache.make(digest(self._base, "archive"), fill) / "runtime.a"

    def _compile(self, source: Path, target: Path) -> None:
        self._tools.compile(source, target, self._flags_in(target.parent), self._include)

    def _flags_in(self, folder: Path) -> list[str]:
        """The flags, with names in the image for folders that do not depend on their paths.

        Messages and debug lines contain file names. Without this, an image's size would depend on
        the checkout's path, and no build would be like the last.
        """
        names = {
            Path.cwd(): ".",
            folder: "generated",
            self._schema: "generated",
            self._runtime: "platforms/standalone",
            self._samples: "zephyr_samples",
        }
        # GCC takes the last option that fits.
        maps = [f"-ffile-prefix-map={path}={name}" for path, name in names.items()]
        return [*self._flags, *maps]

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
        """A folder with the header that flatc makes of the schema, and flatbuffers' own headers.

        It has only those, because other headers of the host are not for a microcontroller.
        """
        whole = schema.text(self._runtime / "schema" / "schema.fbs")
        headers = next((folder for folder in _FLATBUFFERS if folder.is_dir()), None)
        if headers is None:
            raise EnvironmentMissing(
                "the flatbuffers headers are not here",
                hint="tflm-hil doctor --install installs libflatbuffers-dev",
            )

        def fill(folder: Path) -> None:
            out = folder / "tensorflow" / "lite" / "schema"
            out.mkdir(parents=True)
            source = folder / "schema.fbs"
            source.write_text(whole, encoding="utf-8")
            self._tools.run([self._tools.flatc, "--cpp", "-o", out, source], source.name)
            (folder / "flatbuffers").symlink_to(headers)

        return self._cache.make(digest(self._tools.identity, whole.encode()), fill)
