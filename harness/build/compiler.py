"""A toolchain with a set of flags, which are part of the cache keys of its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from harness.build.cache import Cache
from harness.build.inputs import Includes, Inputs, digest
from harness.build.parallel import parallel_map
from harness.build.toolchain import Toolchain

_FOLDERS = "folders.json"


class Compiler:
    """Compiles and links, and determines the inputs of each result.

    ``cache`` stores the compiler's search path, with the compiler's programs as inputs;
    ``includes`` reconstructs the search for headers.
    """

    def __init__(
        self, tools: Toolchain, flags: Sequence[str], cache: Cache, includes: Includes
    ) -> None:
        self.tools = tools
        self.flags = tuple(flags)
        self._cache = cache
        self._includes = includes

    @cached_property
    def _search(self) -> Path:
        """The cache entry with the search path, valid until a file of the compiler changes."""
        flags = [flag for flag in self.flags if not flag.startswith("-D")]

        def fill(folder: Path) -> Inputs:
            search = self.tools.search(flags, folder)
            (folder / _FOLDERS).write_text(json.dumps(search.folders))
            return search.inputs

        return self._cache.make(digest("search", *self.tools.command, *flags), fill)

    @cached_property
    def _folders(self) -> list[str]:
        return list(json.loads((self._search / _FOLDERS).read_text()))

    @property
    def key(self) -> str:
        """A hash of the compiler, its flags, and the environment variables that it reads."""
        return digest(*self.tools.command, self._search.name, *self.flags)

    def flags_with(self, names: Sequence[tuple[Path, str]]) -> list[str]:
        """The flags, with options that replace folders by names in messages and debug information.

        This makes builds reproducible: without it images would contain the checkout's path.
        """
        return [*self.flags, *(f"-ffile-prefix-map={path}={name}" for path, name in names)]

    def compile(
        self,
        sources: Sequence[tuple[Path, Path]],
        names: Sequence[tuple[Path, str]],
        include: Sequence[Path],
        *,
        jobs: int = 1,
    ) -> Inputs:
        """Compiles (source, object) pairs, ``jobs`` at a time; returns the inputs.

        ``names`` is as for :meth:`flags_with`.
        """
        flags = self.flags_with(names)

        def compile_one(pair: tuple[Path, Path]) -> list[str]:
            return self.tools.compile(*pair, flags, include)

        headers = parallel_map(compile_one, sources, jobs=jobs, stop=self.tools.stopped.set)
        return self._includes.inputs(
            [str(source) for source, _ in sources],
            chain.from_iterable(headers),
            [*map(str, include), *self._folders],
        )

    def link(
        self, objects: Sequence[Path], script: Path, target: Path, options: Sequence[str] = ()
    ) -> Inputs:
        """Links objects and archives to ``target``; see :meth:`Toolchain.link`."""
        return self.tools.link(objects, script, target, [*self.flags, *options])
