"""A build folder: what is built when, what is mended, and how it says that it cannot be used.

The commands are ``cp`` and ``cat``; tests/integration/build has the compiler.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness.base import logs
from harness.base.errors import BuildFailed, CannotWrite, EnvironmentMissing
from harness.build import ninja
from harness.build.ninja import KEEP, KEEP_ALL, Edge, ManifestPart, NinjaFolder, error_text

RULES = f"""\
rule copy
  command = echo $out >> ran && cp $in $out.new && {KEEP}
  restat = 1
rule list
  command = ls $in > $out.new && {KEEP}
  restat = 1
rule both
  command = echo $out >> ran && mkdir -p $dir/new && cp $in $dir/new/one && cp $in $dir/new/two $
    && {KEEP_ALL}
  restat = 1
rule fail
  command = echo "$text" && false
rule slow
  command = echo half > $out && touch started && sleep 600
"""


class Project:
    """A source that is copied twice, one copy after the other."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "a source.txt"
        self.source.write_text("text")
        self.folder = NinjaFolder(folder / "build folder", RULES)

    @property
    def parts(self) -> list[ManifestPart]:
        first = Edge("copy", ["p/first"], [self.source])
        return [ManifestPart("p", [first, Edge("copy", ["p/second"], ["p/first"])])]

    def build(
        self, parts: Sequence[ManifestPart] | None = None, targets: Sequence[str] = ("p/second",)
    ) -> list[str]:
        """The outputs whose commands ran."""
        ran = self.folder.path / "ran"
        with self.folder.locked():
            ran.unlink(missing_ok=True)
            self.folder.build(parts or self.parts, targets, sources={}, failed=told)
        return ran.read_text().split() if ran.exists() else []

    def output(self, name: str = "p/second") -> Path:
        return self.folder.path / name

    @property
    def state(self) -> dict[str, int]:
        """The time stamps of all parts of the manifest."""
        found = self.folder.path.rglob("*.ninja")
        return {str(path): path.stat().st_mtime_ns for path in found}


def told(output: str, log: Path) -> BuildFailed:
    return BuildFailed(error_text(output), hint=str(log))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    assert made.build() == ["p/first", "p/second"]
    return made


def test_nothing_is_built_twice_and_the_manifest_stays(project: Project) -> None:
    before = project.state
    assert project.build() == []
    assert project.state == before


def test_a_changed_source_builds_what_depends_on_it(project: Project) -> None:
    project.source.write_text("another")
    assert project.build() == ["p/first", "p/second"]
    assert project.output().read_text() == "another"


def test_an_output_with_the_same_content_ends_the_chain(project: Project) -> None:
    os.utime(project.source)
    assert project.build() == ["p/first"]
    assert project.build() == []


def test_another_request_leaves_the_outputs_of_the_first(project: Project) -> None:
    other = [ManifestPart("q", [Edge("copy", ["q/other"], [project.source])])]
    assert project.build(other, ["q/other"]) == ["q/other"]
    assert project.build() == []
    assert (project.folder.path / "build.ninja").read_text().count("subninja") == 2


def test_a_part_is_included_by_the_part_above_it(project: Project) -> None:
    inner = ManifestPart("p/x", [Edge("copy", ["p/x/third"], ["p/second"])])
    assert project.build([*project.parts, inner], ["p/x/third"]) == ["p/x/third"]
    assert project.build() == []  # and stays, though it is not asked for


def test_a_file_that_appears_in_a_listed_folder_is_seen(tmp_path: Path) -> None:
    project = Project(tmp_path)
    headers = tmp_path / "headers"
    headers.mkdir()
    names = Edge("list", ["p/names"], [headers])
    parts = [ManifestPart("p", [names, Edge("copy", ["p/first"], [project.source], ["p/names"])])]
    assert project.build(parts, ["p/first"]) == ["p/first"]
    (headers / "shadow.h").touch()
    assert project.build(parts, ["p/first"]) == ["p/first"]
    (headers / "shadow.h").unlink()
    (headers / "shadow.h").touch()  # as editors save
    assert project.build(parts, ["p/first"]) == []


DAMAGES = {
    "truncated": lambda path: path.write_bytes(b""),
    "another": lambda path: path.write_text("damaged"),
    "gone": Path.unlink,
    "one bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1, *b"ext"])),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["p/first", "p/second", "p/first.sha256"])
def test_a_damaged_output_is_built_again(project: Project, name: str, damage: str) -> None:
    path = project.output(name)
    before = path.stat()
    DAMAGES[damage](path)
    if path.exists():
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    project.build()
    assert [project.output(one).read_text() for one in ("p/first", "p/second")] == ["text"] * 2
    assert project.build() == []


def test_a_damaged_output_is_told(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    project.output("p/first").write_text("damaged")
    project.build()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert caplog.messages == [
        f"{project.output('p/first')} is not as it was built: it is built again"
    ]


def test_of_several_outputs_each_is_watched(tmp_path: Path) -> None:
    project = Project(tmp_path)
    variables = {"dir": "p", "made": "p/one p/two"}
    parts = [ManifestPart("p", [Edge("both", ["p/one", "p/two"], [project.source], (), variables)])]
    assert project.build(parts, ["p/one"]) == ["p/one"]
    project.output("p/two").write_text("damaged")
    assert project.build(parts, ["p/one"]) == ["p/one"]
    assert project.output("p/two").read_text() == "text"


@pytest.mark.parametrize("name", [".ninja_log", ".ninja_deps", "build.ninja", "p/part.ninja"])
@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"rule\n"])
def test_a_damaged_file_of_ninja_s_does_not_stay(
    project: Project, name: str, content: bytes
) -> None:
    project.output(name).write_bytes(content)
    project.build()
    assert project.output().read_text() == "text"
    assert project.build() == []


@pytest.mark.parametrize("folder", ["q", "p/x"])
def test_a_damaged_part_of_another_request_is_left_out(
    project: Project, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    inner = ManifestPart(folder, [Edge("copy", [f"{folder}/third"], [project.source])])
    parts = [*project.parts, inner] if "/" in folder else [inner]
    project.build(parts, [f"{folder}/third"])
    project.output(f"{folder}/part.ninja").write_text("no manifest\n")
    assert project.build() == []
    assert "earlier requests are forgotten" in caplog.text
    assert project.build(parts, [f"{folder}/third"]) == []


def test_a_failure_has_the_first_error_and_then_what_the_command_printed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    text = "In file x.h:\\nmain.cc:3:9: error: no such thing\\nmore of it"
    parts = [ManifestPart("p", [Edge("fail", ["p/no"], [project.source], (), {"text": text})])]
    with pytest.raises(BuildFailed) as failed:
        project.build(parts, ["p/no"])
    first, *rest = failed.value.message.splitlines()
    assert first == "main.cc:3: no such thing"
    assert [line.strip() for line in rest] == text.split("\\n")
    assert "no such thing" in Path(failed.value.hint).read_text()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_tool_that_finds_no_room_is_a_full_disk(tmp_path: Path, code: int) -> None:
    project = Project(tmp_path)
    text = f"as: cannot write x.o: {os.strerror(code)}"
    parts = [ManifestPart("p", [Edge("fail", ["p/no"], [project.source], (), {"text": text})])]
    with pytest.raises(CannotWrite) as failed:
        project.build(parts, ["p/no"])
    assert os.strerror(code) in failed.value.message and "\n" not in failed.value.message
    assert "TFLM_HIL_CACHE" in failed.value.hint


def test_a_folder_that_is_a_file_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = NinjaFolder(tmp_path / "file" / "below", RULES)
    with pytest.raises(EnvironmentMissing) as failed, folder.locked():
        pass
    assert str(folder.path) in failed.value.message and "\n" not in failed.value.message
    assert "TFLM_HIL_CACHE" in failed.value.hint


BUILD_SLOWLY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import {module} as tests
project = tests.Project(Path(sys.argv[1]))
edge = tests.Edge("slow", ["p/first"], [project.source])
parts = [tests.ManifestPart("p", [edge, tests.Edge("copy", ["p/second"], ["p/first"])])]
project.build(parts)
"""


@pytest.fixture
def building(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process in the middle of a build."""
    program = BUILD_SLOWLY.format(folder=str(Path(__file__).parent), module=Path(__file__).stem)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], start_new_session=True
    ) as child:
        limit = time.monotonic() + 60
        while not (tmp_path / "build folder" / "started").exists():
            assert time.monotonic() < limit and child.poll() is None
            time.sleep(0.02)
        yield child
        child.kill()


def test_a_killed_build_leaves_nothing_that_passes_for_a_result(
    tmp_path: Path, building: subprocess.Popen[bytes]
) -> None:
    building.send_signal(signal.SIGKILL)
    building.wait()
    project = Project(tmp_path)
    assert project.build() == ["p/first", "p/second"]  # ninja may have removed the half one
    assert project.output().read_text() == "text"


def test_a_build_waits_for_another_and_says_so(
    tmp_path: Path, building: subprocess.Popen[bytes]
) -> None:
    folder, lines = Project(tmp_path).folder, []

    def show(line: str) -> None:
        lines.append(line)
        building.terminate()

    with logs.shown(show), folder.locked():
        building.wait()
    assert lines == [f"another process builds in {folder.path}: waiting for it"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EACCES, errno.EROFS])
def test_a_folder_whose_file_system_refuses_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As network folders do that have no locks."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(EnvironmentMissing) as failed, Project(tmp_path).folder.locked():
        pass
    assert failed.value.message.endswith(f"build folder: {os.strerror(code)}")
    assert "TFLM_HIL_CACHE" in failed.value.hint


def test_progress_names_images_and_now_and_then_another_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 1.0, 2.5, 3.0, 3.1])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines: list[str] = []
    with logs.shown(lines.append):
        show = ninja._BuildProgress()
        for line in ("[1/9] a.o", "[2/9] b.o", "[3/9] c.o", "x.cc:3: warning", "[4/9] d.elf"):
            show(line)
    assert lines == ["[2/9] b.o", "[4/9] d.elf"]
