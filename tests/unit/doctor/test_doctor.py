"""What doctor finds, and what it would install, on machines that lack this or that."""

from dataclasses import replace

import pytest

from harness import doctor
from harness.base.errors import EnvironmentMissing
from harness.cli import main
from harness.doctor import Diagnosis, Requirement, examine, install_commands, packages_to_install


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A PATH that holds only the programs that the test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(*programs: str) -> None:
        for name in programs:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)

    return put


def test_any_one_of_several_programs_will_do(machine):
    need = Requirement("flash tool", "the board target", "", ("nrfutil", "pyocd"))
    assert not examine([need])[0].ok
    machine("pyocd")
    assert examine([need])[0].found.endswith("/pyocd")


def test_files_are_found_by_pattern(tmp_path):
    need = Requirement("library", "x", "p", files=("/no/such/*", f"{tmp_path}/*.a"))
    assert not examine([need])[0].ok
    (tmp_path / "lib.a").write_bytes(b"")
    assert examine([need])[0].found == f"{tmp_path}/lib.a"


def test_optional_packages_are_installed_only_on_request():
    rows = [
        Diagnosis(Requirement("a", "", "pkg-a"), ""),
        Diagnosis(Requirement("b", "", "pkg-b", required=False), ""),
        Diagnosis(Requirement("c", "", "pkg-c"), "/usr/bin/c"),
        Diagnosis(Requirement("d", "", "", required=False), ""),
    ]
    assert packages_to_install(rows) == ["pkg-a"]
    assert packages_to_install(rows, optional=True) == ["pkg-a", "pkg-b"]


def test_without_apt_the_command_for_a_system_that_has_it_is_named(machine):
    with pytest.raises(EnvironmentMissing, match="no apt-get") as caught:
        install_commands(["gcc-arm-none-eabi"])
    assert "apt-get install --yes gcc-arm-none-eabi" in caught.value.hint


@pytest.mark.parametrize("programs", [("apt-get",), ("apt-get", "sudo")])
def test_a_user_without_root_uses_sudo_or_gets_the_commands_for_root(
    machine, monkeypatch, programs
):
    machine(*programs)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    if "sudo" in programs:
        assert all(command[0] == "sudo" for command in install_commands(["p"]))
        return
    with pytest.raises(EnvironmentMissing, match="there is no sudo") as caught:
        install_commands(["p"])
    assert caught.value.hint == "as root: apt-get install --yes p"


def test_root_installs_without_asking(machine, monkeypatch):
    machine("apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    update, install = install_commands(["p", "q"])
    assert update[:2] == ["apt-get", "update"]
    assert install[-2:] == ["p", "q"]


def test_apt_that_fails_is_an_environment_that_lacks_something(machine, tmp_path, monkeypatch):
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(EnvironmentMissing, match="apt-get update"):
        doctor.install(["p"])


def test_missing_tools_are_named_with_exit_code_3(machine, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    assert main(["doctor"]) == 3
    said = capsys.readouterr()
    assert "MISSING  Arm compiler" in said.out
    assert "tflm-hil doctor --install" in said.err


def test_a_dry_run_prints_the_commands_and_runs_none(machine, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("harness.doctor.install", lambda packages: pytest.fail("it installed"))
    machine("apt-get")
    assert main(["doctor", "--install", "--dry-run"]) == 3
    assert (
        "would run: env DEBIAN_FRONTEND=noninteractive apt-get install" in capsys.readouterr().out
    )


def test_built_images_need_no_compiler(machine, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    assert main(["doctor", "--images"]) == 0
    said = capsys.readouterr().out
    assert "Arm compiler" not in said
    assert "counting core" in said


def test_built_images_need_the_counting_core(machine, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    missing = [replace(need, look=lambda: "") if need.images else need
               for need in doctor.FOR_IMAGES]  # fmt: skip
    monkeypatch.setattr("harness.doctor.FOR_IMAGES", missing)
    assert main(["doctor", "--images"]) == 3
    assert "missing: simulator's counting core" in capsys.readouterr().err


@pytest.fixture
def built(monkeypatch, tmp_path):
    """A cache with a build folder of two images, and what an older version left."""
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "build" / "standalone-12"
    for name in ("chip/a-exact/a-exact.elf", "chip/b-exact/b-exact.elf", "chip/runtime.a"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(1_000_000))
    (folder / "build.ninja").write_text("# /a/samples with /usr/bin/g++\nrule x\n")
    (tmp_path / "cache" / "build" / "3d" / "3d12-34").mkdir(parents=True)
    (tmp_path / "cache" / "build" / "3d" / "3d12-34" / "a.elf").write_bytes(bytes(2_000_000))
    (tmp_path / "cache" / "zephyr").mkdir()
    (tmp_path / "cache" / "zephyr" / "b.elf").write_bytes(bytes(1_000_000))
    (tmp_path / "cache" / "renode").mkdir()
    return tmp_path / "cache"


def test_it_says_what_the_build_folders_hold(machine, built, capsys):
    main(["doctor", "--images"])
    lines = capsys.readouterr().out.splitlines()
    assert f"  builds  {built / 'build'}: 6 MB; `tflm-hil doctor --clear` removes them" in lines
    assert "          standalone-12: /a/samples with /usr/bin/g++: 2 images, 3 MB" in lines
    assert "          of an older version: 3 MB" in lines


def test_it_clears_the_builds_and_nothing_else(built, capsys):
    assert main(["doctor", "--clear"]) == 0
    assert capsys.readouterr().out == f"removed 6 MB of builds from {built / 'build'}\n"
    assert list((built / "build").iterdir()) == []
    assert [path.name for path in sorted(built.iterdir())] == ["build", "renode"]
    assert main(["doctor", "--clear"]) == 0  # there is nothing left to remove
    for other in ("--install", "--images", "--all", "--dry-run", "--unconfirmed"):
        assert main(["doctor", "--clear", other]) == 2


def test_images_alone_are_not_installed_for(capsys):
    assert main(["doctor", "--install", "--images"]) == 2
