"""A toolchain with one set of flags, which is a part of the keys of its results in the cache."""

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
    """Compiles and links, and gives the inputs of each result.

    ``cache`` keeps where it looks for system headers, with its own programs as inputs; ``includes``
    works out the search for headers.
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
        """An entry of the cache that holds as long as the compiler is the same in all its parts."""
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
        """A hash of the compiler, its flags, and the environment's variables for it."""
        return digest(*self.tools.command, self._search.name, *self.flags)

    def flags_with(self, names: Sequence[tuple[Path, str]]) -> list[str]:
        """The flags, with names for folders in messages and debug lines, the last that fits.

        Without them an image's size would depend on the checkout's path, and no build would be like
        the last.
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
        """Compile (source, object) pairs, ``jobs`` at once; ``names`` as for :meth:`flags_with`."""
        flags = self.flags_with(names)

        def compile_one(pair: tuple[Path, Path]) -> list[str]:
            return self.tools.compile(*pair, flags, include)

        headers = parallel_map(compile_one, sources, jobs=jobs, stop=self.tools.processes.stop)
        return self._includes.inputs(
            [str(source) for source, _ in sources],
            chain.from_iterable(headers),
            [*map(str, include), *self._folders],
        )

    def link(
        self, objects: Sequence[Path], script: Path, target: Path, options: Sequence[str] = ()
    ) -> Inputs:
        """Link objects and archives to ``target``; see :meth:`Toolchain.link`."""
        return self.tools.link(objects, script, target, [*self.flags, *options])
