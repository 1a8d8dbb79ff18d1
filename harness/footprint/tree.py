"""Source files as a tree of folders, like Zephyr's rom_report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.footprint.files import FileCost

#: Most levels of the tree; what lies deeper is one node.
MOST_FOLDERS = 100


@dataclass
class Folder:
    """A folder or a file; ``sizes`` (region -> bytes) include everything below."""

    name: str
    sizes: dict[str, int] = field(default_factory=dict)
    children: dict[str, Folder] = field(default_factory=dict)

    def add(self, sizes: Mapping[str, int]) -> None:
        """Add ``sizes`` to this node."""
        for region, size in sizes.items():
            self.sizes[region] = self.sizes.get(region, 0) + size


def grow(files: Iterable[FileCost]) -> Folder:
    """The tree of all files; chains of folders with a single child are one node."""
    root = Folder("")
    for file in files:
        root.add(file.sizes)
        node = root
        for name in _steps(file.path):
            node = node.children.setdefault(name, Folder(name))
            node.add(file.sizes)
    _collapse(root)
    return root


def _steps(path: str) -> list[str]:
    if path.startswith("("):
        return [path]
    steps = [step for step in path.split("/") if step]
    if len(steps) > MOST_FOLDERS:
        steps[MOST_FOLDERS - 1 :] = ["/".join(steps[MOST_FOLDERS - 1 :])]
    return [f"/{steps[0]}", *steps[1:]] if path.startswith("/") and steps else steps


def _collapse(node: Folder) -> None:
    for name, child in list(node.children.items()):
        while len(child.children) == 1:
            (only,) = child.children.values()
            child = Folder(f"{child.name}/{only.name}", only.sizes, only.children)  # noqa: PLW2901
        node.children[name] = child
        _collapse(child)


def walk(node: Folder, region: str, depth: int = 0) -> Iterator[tuple[int, Folder]]:
    """The depth and the node of everything below ``node``, the largest in ``region`` first."""
    ordered = sorted(
        node.children.values(), key=lambda child: (-child.sizes.get(region, 0), child.name)
    )
    for child in ordered:
        if child.sizes.get(region, 0):
            yield depth, child
            yield from walk(child, region, depth + 1)
