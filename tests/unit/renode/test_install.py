"""Renode's installer against real servers on loopback, with an archive of a few hundred bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import needs
import pytest
from renode_archive import GOOD, NAME, PROGRAM, packed, pinned

from harness.base.errors import CannotWrite, EnvironmentMissing, UsageError
from harness.targets.renode import find, install
from harness.targets.renode.install import opener
from harness.targets.renode.releases import PINNED

Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts a server that answers each GET by the given function; gives its address."""
    with contextlib.ExitStack() as stack:

        def start(answer: Answer, context: ssl.SSLContext | None = None) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    answer(self)

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            if context is not None:
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}"

        yield start


def sends(data: bytes, length: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data) if length is None else length))
        request.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            request.wfile.write(data)

    return answer


def leads_to(url: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", url)
        request.end_headers()

    return answer


HTTP = partial(opener, ("http",))


def left(cache: Path) -> list[str]:
    return sorted(one.name for one in cache.iterdir() if one.name != ".lock")


def test_an_archive_is_fetched_checked_unpacked_and_found(cache, serve, monkeypatch):
    data, seen = packed(), []
    archive = pinned(data, f"{serve(sends(data))}/{NAME}")
    program = install.install(archive, web=HTTP(), progress=lambda *at: seen.append(at))
    assert program == cache / "1.17.0" / "renode"
    assert (program.parent / "lib" / "core.so").read_bytes() == b"core"
    assert seen[-1] == (len(data), len(data))
    assert left(cache) == ["1.17.0"]
    monkeypatch.setenv("PATH", "")
    assert find.locate() == program
    assert find.find().version == PINNED


def test_over_https_a_certificate_is_checked(cache, serve, tmp_path):
    needs.require("openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    command += ["/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    data = packed()
    archive = pinned(data, f"{serve(sends(data), context)}/{NAME}")
    with pytest.raises(EnvironmentMissing, match="CERTIFICATE_VERIFY_FAILED"):
        install.install(archive)
    assert left(cache) == []
    trusting = opener(context=ssl.create_default_context(cafile=str(certificate)))
    assert install.install(archive, web=trusting).is_file()


def test_a_second_time_nothing_is_fetched(cache, tmp_path):
    data = packed()
    file = tmp_path / NAME
    file.write_bytes(data)
    program = install.install(pinned(data), file=file)
    before = program.stat().st_mtime_ns
    assert install.install(pinned(data), file=tmp_path / "nowhere") == program
    assert program.stat().st_mtime_ns == before


def test_one_that_is_broken_is_replaced(cache, tmp_path):
    data = packed()
    (tmp_path / NAME).write_bytes(data)
    broken = cache / "1.17.0" / "renode"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    program = install.install(pinned(data), file=tmp_path / NAME)
    assert find.examine(program).version == PINNED


def test_next_installation_removes_the_rest_of_a_killed_one(cache, tmp_path):
    (cache / ".new-killed").mkdir(parents=True)
    data = packed()
    (tmp_path / NAME).write_bytes(data)
    install.install(pinned(data), file=tmp_path / NAME)
    assert left(cache) == ["1.17.0"]


OUT = tarfile.TarInfo("renode_1.17.0-portable/link")
OUT.type, OUT.linkname = tarfile.SYMTYPE, "../../../outside"
ABOVE = tarfile.TarInfo("../above")
DEVICE = tarfile.TarInfo("renode_1.17.0-portable/device")
DEVICE.type = tarfile.CHRTYPE


@pytest.mark.parametrize(
    ("told", "data", "words"),
    [
        (pinned(GOOD), GOOD[:-1] + b"\1", "has the SHA-256 .* pinned is"),
        (pinned(GOOD), GOOD[:100], "ends after 100 of"),
        (pinned(GOOD), GOOD + b"\0", "is larger than"),
        (pinned(GOOD[:100]), GOOD[:100], "cannot be unpacked"),
        (pinned(b"no archive"), b"no archive", "cannot be unpacked: not a gzip file"),
        (pinned(packed(more=(OUT,))), packed(more=(OUT,)), "cannot be unpacked: .*outside"),
        (pinned(packed(more=(ABOVE,))), packed(more=(ABOVE,)), "cannot be unpacked: .*outside"),
        (pinned(packed(more=(DEVICE,))), packed(more=(DEVICE,)), "cannot be unpacked: .*special"),
        (pinned(packed(b"#!/bin/sh\n")), packed(b"#!/bin/sh\n"), "does not answer --version"),
        (pinned(GOOD, version=(1, 18, 0)), GOOD, r"holds Renode 1.17.0, not 1.18.0"),
    ],
    ids=["other", "cut", "longer", "half", "text", "link", "above", "device", "dead", "old"],
)
def test_an_archive_that_is_not_right_leaves_nothing(cache, serve, tmp_path, told, data, words):
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(EnvironmentMissing, match=words) as caught:
        install.install(told, file=tmp_path / NAME)
    assert "\n" not in caught.value.message
    assert left(cache) == []
    web = replace(told, url=f"{serve(sends(data))}/{NAME}")
    with pytest.raises(EnvironmentMissing):
        install.install(web, web=HTTP())
    assert left(cache) == []
    assert not (cache.parent / "above").exists()


def test_a_server_that_breaks_off_or_refuses_or_is_gone_is_one_line(cache, serve):
    data = packed()
    gone = serve(sends(data)).rpartition(":")[0] + ":9"
    for url, words in (
        (serve(sends(data[:100], len(data))), "ends after 100 of|broke off"),
        (serve(lambda request: request.send_error(503)), "answers 503"),
        (gone, "cannot fetch .*: "),
        (serve(leads_to("https://127.0.0.1:9/x")), "leads to https://127.0.0.1:9/x, which is not"),
    ):
        with pytest.raises(EnvironmentMissing, match=words) as caught:
            install.install(pinned(data, f"{url}/{NAME}"), web=HTTP())
        assert "\n" not in caught.value.message
        assert caught.value.hint
        assert left(cache) == []


def test_a_redirect_away_from_https_is_not_followed():
    redirects = install._Redirects(("https",))
    request = install.urllib.request.Request("https://example.org/a")
    with pytest.raises(install._NotAllowed, match="which is not https"):
        redirects.redirect_request(request, None, 302, "Found", {}, "http://example.org/a")


def test_an_interrupt_leaves_nothing(cache, serve):
    data = packed()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    archive = pinned(data, f"{serve(sends(data))}/{NAME}")
    with pytest.raises(KeyboardInterrupt):
        install.install(archive, web=HTTP(), progress=interrupt)
    assert left(cache) == []


def test_a_disk_without_room_is_named_and_left_as_it_was(tmp_path):
    """A limit on the size of files acts where a full disk does: in write()."""
    data = packed(PROGRAM + b"#" + os.urandom(100_000).replace(b"\n", b""))
    (tmp_path / NAME).write_bytes(data)
    code = (
        "import resource, sys; sys.path[:0] = sys.argv[3:]\n"
        "from pathlib import Path\n"
        "from renode_archive import pinned\n"
        "from harness.base.errors import CannotWrite\n"
        "from harness.targets.renode import install\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "data = Path(sys.argv[1]).read_bytes()\n"
        "try: install.install(pinned(data), file=Path(sys.argv[1]))\n"
        "except CannotWrite as error: print(error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, tmp_path / NAME, "", *sys.path, Path(__file__).parent],
        env={**os.environ, "TFLM_HIL_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    home = tmp_path / "cache" / "renode"
    assert answer.stdout.startswith(f"cannot write {home}: File too large")
    assert "is the disk full" in answer.stdout
    assert left(home) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "file"))
    with pytest.raises(CannotWrite, match=f"cannot write {tmp_path / 'file'}/renode: Not a dir"):
        install.install(pinned(GOOD), file=tmp_path / NAME)


def test_a_file_that_is_not_there_is_a_usage_error(cache, tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        install.install(pinned(GOOD), file=tmp_path / "nowhere")
    assert left(cache) == []


def test_progress_is_reported_piece_by_piece(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(install, "_PIECE", 100)
    (tmp_path / NAME).write_bytes(GOOD)
    told = []
    install.install(pinned(GOOD), file=tmp_path / NAME, progress=lambda *at: told.append(at))
    assert told == [(min(at, len(GOOD)), len(GOOD)) for at in range(100, len(GOOD) + 100, 100)]


def test_an_archive_of_unknown_size_is_taken_up_to_a_bound(cache, tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(GOOD)
    monkeypatch.setattr(install, "_MOST_BYTES", len(GOOD))
    told = []
    install.install(
        pinned(GOOD, size=0), file=tmp_path / NAME, progress=lambda *at: told.append(at)
    )
    assert told[-1] == (len(GOOD), 0)
    shutil.rmtree(cache)
    monkeypatch.setattr(install, "_MOST_BYTES", len(GOOD) - 1)
    with pytest.raises(EnvironmentMissing, match=f"is larger than {len(GOOD) - 1} bytes"):
        install.install(pinned(GOOD, size=0), file=tmp_path / NAME)


@pytest.mark.parametrize(
    ("bound", "most"), [("_MOST_FILES", 2), ("_MOST_UNPACKED", len(PROGRAM) + len(b"core"))]
)
def test_unpacked_size_is_bounded(cache, tmp_path, monkeypatch, bound, most):
    (tmp_path / NAME).write_bytes(GOOD)
    monkeypatch.setattr(install, bound, most - 1)
    with pytest.raises(EnvironmentMissing, match="unpacks to too many files or bytes"):
        install.install(pinned(GOOD), file=tmp_path / NAME)
    monkeypatch.setattr(install, bound, most)
    assert install.install(pinned(GOOD), file=tmp_path / NAME).is_file()


def test_an_archive_holds_one_renode(cache, tmp_path):
    second = tarfile.TarInfo("another/renode")
    with_two = packed(more=(second,))
    (tmp_path / NAME).write_bytes(with_two)
    with pytest.raises(EnvironmentMissing, match="contains no Renode"):
        install.install(pinned(with_two), file=tmp_path / NAME)


def test_a_system_other_than_linux_has_its_own_c_library(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    install.check_libc("CS_PATH_THAT_NOBODY_KNOWS")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    install.check_libc()
