"""The folder of compiled models, whose content is run: nobody else can write to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.targets.renode import compiled
from harness.targets.renode.compiled import compiled_models, forget_compiled


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build of Renode, and a cache of its own."""
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "renode").mkdir()
    for name in ("renode", "Infrastructure.dll", "Renode.dll"):
        (tmp_path / "renode" / name).write_bytes(b"one")
    return tmp_path / "renode" / "renode"


def test_the_folder_is_the_users_alone_and_stays(program):
    folder = compiled_models(program)
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    assert compiled_models(program) == folder


def swapped_for_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


SPOILT = {
    "others may write to it": lambda folder: folder.chmod(0o707),
    "its group may write to it": lambda folder: folder.chmod(0o770),
    "others may write to its parent": lambda folder: folder.parent.chmod(0o707),
    "a link": swapped_for_a_link,
    "its parent is a link": lambda folder: swapped_for_a_link(folder.parent),
    "a file": lambda folder: (folder.rmdir(), folder.write_text("")),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_folder_that_cannot_be_trusted_is_not_used(program, how):
    folder = compiled_models(program)
    assert folder is not None
    SPOILT[how](folder)
    assert compiled_models(program) is None


def test_a_folder_of_another_owner_is_not_used(program, monkeypatch):
    assert compiled_models(program) is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert compiled_models(program) is None


def test_a_cache_that_cannot_be_written_is_not_used(program, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_CACHE", str(program))
    assert compiled_models(program) is None


CHANGES = {
    "its size": lambda part: part.write_bytes(b"another"),
    "its time": lambda part: os.utime(part, ns=(0, 1)),
    "it is gone": lambda part: part.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", compiled._PARTS[:2])
def test_another_build_has_another_folder(program, name, change):
    before = compiled_models(program)
    CHANGES[change](program.with_name(name))
    assert compiled_models(program) != before


def test_the_same_build_at_another_place_has_another_folder(program):
    before = compiled_models(program)
    moved = program.parent.rename(program.parent.with_name("moved")) / "renode"
    assert compiled_models(moved) != before


def test_a_link_to_a_build_has_the_folder_of_the_build(program, tmp_path):
    (tmp_path / "link").symlink_to(program)
    assert compiled_models(tmp_path / "link") == compiled_models(program)


def test_compiled_models_are_forgotten_once(program):
    folder = compiled_models(program)
    assert folder is not None
    kept = folder / "renode" / "compiler-cache" / "5EED"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"damaged")
    assert forget_compiled(program)
    assert not kept.exists()
    assert not forget_compiled(program)
