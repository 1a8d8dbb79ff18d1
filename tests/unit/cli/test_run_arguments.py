"""What `run` refuses before anything runs: values that are none, options that say nothing here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main


@pytest.fixture
def elf(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.elf"
    path.write_bytes(b"not looked at")
    return path


@pytest.fixture
def refused(elf, capsys, monkeypatch):
    """The one line with which `run` refuses arguments; fails if it runs anything."""

    def never(*arguments, **more):
        raise AssertionError("it ran")

    monkeypatch.setattr("harness.cli.run.execute", never)

    def call(*arguments: str) -> str:
        assert main(["run", *arguments]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        return said.err

    return call


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "0", "1e999", "1e308", "soon", ""])
@pytest.mark.parametrize("option", ["--timeout", "--guard"])
def test_a_time_limit_is_a_finite_number_above_zero(refused, option, value):
    assert option in refused("a.elf", option, value)


@pytest.mark.parametrize("option", ["--json", "--junit", "--html", "--coverage"])
def test_a_report_that_cannot_be_written_is_found_before_the_run(refused, option, tmp_path):
    assert "no folder /no/such" in refused("a.elf", option, "/no/such/file")
    assert "is a folder" in refused("a.elf", option, str(tmp_path))


@pytest.mark.needs("user")
@pytest.mark.parametrize("option", ["--json", "--output"])
def test_a_folder_that_may_not_be_written_is_named_before_the_run(elf, capsys, option):
    locked = elf.parent / "locked"
    locked.mkdir(mode=0o500)
    assert main(["run", "a.elf", option, str(locked / "x")]) == 3
    assert f"{locked} is not writable" in capsys.readouterr().err


def test_results_that_cannot_be_written_are_found_before_the_run(refused, elf):
    assert "cannot write results" in refused("a.elf", "--output", f"{elf}/x")


def test_only_json_goes_to_standard_output(refused):
    assert "needs the name of a file" in refused("a.elf", "--html", "-")


def test_two_reports_do_not_go_to_one_file(refused):
    assert "two reports" in refused("a.elf", "--json", "x", "--junit", "x")
    assert "two reports" in refused("a.elf", "--json", "x", "--junit", str(Path.cwd() / "x"))


@pytest.mark.parametrize(
    "arguments", [("--resolver", "missing"), ("--builder", "zephyr"), ("--resolver", "exact")]
)
def test_an_elf_and_a_case_file_take_no_resolver_and_no_builder(refused, tmp_path, arguments):
    assert arguments[0] in refused("a.elf", *arguments)
    (tmp_path / "hil.toml").write_text('[[case]]\nname = "c"\nelf = "a.elf"\n')
    assert arguments[0] in refused("hil.toml", *arguments)


@pytest.mark.parametrize("value", [",", "", "simulator,", "moon", "simulator,moon"])
def test_targets_are_known_ones(refused, value):
    assert "target" in refused("a.elf", "--target", value)


@pytest.mark.parametrize(
    "arguments",
    [("--renode", "/x"), ("--board", "b"), ("--lab", "l.toml"), ("--wait", "5"), ("--wait", "0")],
)
def test_options_of_a_target_that_nothing_runs_on_are_refused(refused, arguments):
    assert f"{arguments[0]} cannot be used here" in refused("a.elf", *arguments)


def test_an_unknown_scraper_is_refused_with_the_known_ones(refused):
    assert "person_detection" in refused("a.elf", "--scraper", "poetry")


def test_a_folder_and_a_missing_file_have_different_messages(refused, tmp_path):
    (tmp_path / "sub").mkdir()
    assert "sub/ is a folder" in refused("sub/")
    assert "there is no file nothing.elf" in refused("nothing.elf")


def test_an_unknown_sample_is_refused_with_the_known_ones(refused):
    assert "hello_world" in refused("hallo_welt")


@pytest.mark.parametrize("option", [("--profile", "x.json"), ("--coverage", "x.info")])
@pytest.mark.parametrize("targets", ["board", "virtual-board", "simulator,board"])
def test_options_that_need_an_ability_are_refused_on_targets_without_it(refused, option, targets):
    said = refused("a.elf", "--target", targets, *option)
    assert f"{option[0]} cannot be used here" in said
    assert "--target simulator or renode" in said


def test_an_image_that_prints_records_ends_with_one(refused):
    assert "end needs a scraper or outputs" in refused("a.elf", "--end", "never")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (["--never-ends"], "--end never", "end needs a scraper"),
        (["--watch", "0"], "--observe-after", "0 is not a time"),
        (["--watch=0"], "--observe-after", "0 is not a time"),
        (["--beside", "b.elf"], "--also-load", "there is no file b.elf"),
    ],
)
def test_options_of_the_last_release_work_with_a_note(refused, old, new, words):
    note, message, *_ = refused("a.elf", *old).splitlines()
    assert note == f"tflm-hil: {old[0].partition('=')[0]} is now called {new}"
    assert words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("expect.values=[{x=1}", "is not a key with a value of TOML"),
        ("end=never", "is not a key with a value of TOML"),
        ("expcet.values=[{x=1}]", "unknown key 'expcet'"),
        ("expect.vlaues=[{x=1}]", "unknown key 'vlaues'\nhint: did you mean 'values'?"),
        ("timeout=0", "--set timeout: timeout: 0 is not a time"),
    ],
)
def test_a_key_that_is_set_is_one_with_a_value(refused, text, words):
    assert words in refused("a.elf", "--set", text)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "9" * 5000, "99999999999", "x"])
def test_a_number_of_inferences_is_one(refused, value):
    assert "--inferences" in refused("a.elf", "--inferences", value)


@pytest.mark.parametrize(
    "name", ["x" * 300, "y" * 5000, "a\0b", "\udcff.tflite", "folder", "pipe", "/dev/zero"]
)
def test_a_broken_model_is_refused_in_one_line_and_a_hint(refused, tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    said = refused("a.elf", "--model", name).splitlines()
    assert said[0].startswith("tflm-hil: ")
    assert len(said) <= 2
    assert len(said[0]) < 300


@pytest.mark.parametrize("name", ["pipe", "folder.toml", "\udcff.toml", "z" * 300 + ".toml"])
def test_a_path_that_is_not_a_file_is_refused_in_one_line(refused, tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder.toml").mkdir()
    assert len(refused(name).splitlines()) <= 2


def test_a_file_name_that_is_not_unicode_is_shown_escaped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = [sys.executable, "-m", "harness", "run", b"\xff.elf"]
    done = subprocess.run(call, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(b"tflm-hil: there is no file \\udcff.elf")


def test_a_scraper_with_an_end_line_takes_no_never_ends(refused):
    assert "has a last line of its own" in refused("a.elf", "--scraper", "ztest", "--end", "never")
