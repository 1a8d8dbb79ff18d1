"""Places of labgrid, with a client of a few lines of shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import needs
import pytest

from harness.base.errors import BoardUnavailable, EnvironmentMissing
from harness.targets.board import labgrid

PARSE = """
from labgrid.remote.client import get_parser
options = get_parser().parse_args()
print(options.place, options.command)
"""


@pytest.fixture
def client(tmp_path: Path) -> str:
    """A labgrid-client that keeps places as files and refuses one that is taken."""
    path = tmp_path / "labgrid-client"
    path.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --place ] || exit 2\n'
        f'place="{tmp_path}/$2.place"\n'
        'case "$3" in\n'
        '  acquire) [ -e "$place" ] && { echo "place $2 is already acquired by ann"; exit 1; }\n'
        '           : > "$place" ;;\n'
        '  release) rm "$place" ;;\n'
        "  *) exit 2 ;;\n"
        "esac\n"
    )
    path.chmod(0o755)
    return f"{tmp_path}:/usr/bin:/bin"


def test_place_is_held_for_the_block(client: str, tmp_path: Path) -> None:
    with labgrid.acquired("dk1", search_path=client):
        assert (tmp_path / "dk1.place").exists()
    assert not (tmp_path / "dk1.place").exists()


def test_place_is_released_after_an_error(client: str, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), labgrid.acquired("dk1", search_path=client):
        _ = 1 / 0
    assert not (tmp_path / "dk1.place").exists()


def test_place_of_another_user_is_an_error_with_the_clients_message(
    client: str, tmp_path: Path
) -> None:
    (tmp_path / "dk1.place").touch()
    with (
        pytest.raises(BoardUnavailable, match="already acquired by ann"),
        labgrid.acquired("dk1", search_path=client),
    ):
        raise AssertionError("not refused")
    assert (tmp_path / "dk1.place").exists()


def test_board_without_a_place_needs_no_client(tmp_path: Path) -> None:
    with labgrid.acquired("", search_path=str(tmp_path)):
        pass


def test_missing_client_is_an_environment_error(tmp_path: Path) -> None:
    with (
        pytest.raises(EnvironmentMissing, match="labgrid-client"),
        labgrid.acquired("dk1", search_path=str(tmp_path)),
    ):
        raise AssertionError("not refused")


def test_real_client_takes_these_arguments() -> None:
    python = needs.require("labgrid")
    for action in ("acquire", "release"):
        command = [python, "-c", PARSE, *labgrid.command("dk1", action)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["dk1", action]
