"""Where the project's own files lie, in a checkout and in an installed package."""

from harness.base import paths


def test_an_installed_package_takes_its_own_folder_and_not_a_namesake_beside_it(
    tmp_path, monkeypatch
):
    (tmp_path / "robot").mkdir()  # Robot Framework, in site-packages
    own = tmp_path / "harness" / "_data" / "robot"
    own.mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "harness")
    assert paths.robot() == own


def test_a_checkout_takes_the_folder_beside_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "harness")
    assert paths.robot() == tmp_path / "robot"
