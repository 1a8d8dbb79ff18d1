"""Renode's installer against HTTPS servers on loopback, with an archive of a few hundred bytes."""

from __future__ import annotations

import contextlib
import gzip
import os
import ssl
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import needs
import pytest
from renode_archive import GOOD, NAME, PROGRAM, packed, pinned

from harness.base.errors import CannotWrite, EnvironmentMissing, UsageError
from harness.targets.renode import find, install
from harness.targets.renode.archives import PINNED, Archive

Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, and its key."""
    needs.require("openssl")
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=loopback"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def serve(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Answer], str]]:
    """Starts a trusted server that answers each GET by the given function; gives an address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with contextlib.ExitStack() as stack:

        def start(answer: Answer) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    answer(self)

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"https://127.0.0.1:{server.server_address[1]}/{NAME}"

        yield start


def sends(data: bytes, length: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data) if length is None else length))
        request.end_headers()
        with contextlib.suppress(OSError):  # the client has seen enough
            request.wfile.write(data)

    return answer


def leads_to(url: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", url)
        request.end_headers()

    return answer


def packed_with(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """An archive with an entry more."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return packed(more=(entry,))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The archive, fetched elsewhere."""
    path = tmp_path / NAME
    path.write_bytes(GOOD)
    return path


def left(cache: Path) -> list[str]:
    return sorted(one.name for one in cache.iterdir() if one.name != ".lock")


def test_an_archive_is_fetched_checked_unpacked_and_found(cache, serve, monkeypatch):
    data = packed_with("renode_1.17.0-portable/link", tarfile.SYMTYPE, "lib/core.so")
    seen: list[int] = []
    monkeypatch.setattr(install, "_PIECE", 100)
    address = serve(leads_to(serve(sends(data))))  # as github.com leads to its storage
    program = install.install(pinned(data, address), progress=seen.append)
    assert program == cache / "1.17.0" / "renode"
    assert (program.parent / "link").read_bytes() == b"core"
    assert seen == [min(at, len(data)) for at in range(100, len(data) + 100, 100)]
    assert left(cache) == ["1.17.0"]
    monkeypatch.setenv("PATH", "")
    assert find.locate() == program
    assert find.find().version == PINNED


def test_one_that_runs_is_kept_and_nothing_is_fetched(cache, file, tmp_path):
    program = install.install(pinned(GOOD), file=file)
    before = program.stat().st_mtime_ns
    assert install.install(pinned(GOOD), file=tmp_path / "nowhere") == program
    assert program.stat().st_mtime_ns == before


@pytest.mark.parametrize("broken", ["exit 1", "echo Renode v1.16.1.1"])
def test_one_that_does_not_run_or_is_another_is_replaced(cache, file, broken):
    program = cache / "1.17.0" / "renode"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{broken}\n")
    program.chmod(0o755)
    assert find.examine(install.install(pinned(GOOD), file=file)).version == PINNED


def test_next_installation_removes_the_rest_of_a_killed_one(cache, file):
    (cache / ".new-killed").mkdir(parents=True)
    install.install(pinned(GOOD), file=file)
    assert left(cache) == ["1.17.0"]


def test_an_interrupt_leaves_nothing(cache, file, monkeypatch):
    def interrupt(tar: tarfile.TarFile, folder: Path, **_: object) -> None:
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr(install.tarfile.TarFile, "extractall", interrupt)
    with pytest.raises(KeyboardInterrupt):
        install.install(pinned(GOOD), file=file)
    assert left(cache) == []


TEXT = b"no archive"
EMPTY = gzip.compress(bytes(2 * tarfile.BLOCKSIZE))
LINK = packed_with("renode_1.17.0-portable/link", tarfile.SYMTYPE, "../../../outside")
ABOVE = packed_with("../above")
DEVICE = packed_with("renode_1.17.0-portable/device", tarfile.CHRTYPE)
DEAD = packed(b"#!/bin/sh\n")
NEWER = packed(PROGRAM.replace(b"17", b"18"))


@pytest.mark.parametrize(
    ("row", "data", "words"),
    [
        (pinned(GOOD), GOOD[:-1] + b"\1", "not the pinned .* bytes have the SHA-256"),
        (pinned(GOOD), GOOD[:100], f": 100 of {len(GOOD)} bytes have"),
        (pinned(GOOD), GOOD + b"\0", f": {len(GOOD) + 1} of {len(GOOD)} bytes have"),
        (pinned(GOOD, size=0), GOOD[:100], ": 100 bytes have"),
        (pinned(TEXT), TEXT, "cannot be unpacked: not a gzip file"),
        (pinned(EMPTY), EMPTY, "/renode is not a program"),
        (pinned(LINK), LINK, "cannot be unpacked: .*outside"),
        (pinned(ABOVE), ABOVE, "cannot be unpacked: .*outside"),
        (pinned(DEVICE), DEVICE, "cannot be unpacked: .*special"),
        (pinned(DEAD), DEAD, "does not answer --version"),
        (pinned(NEWER), NEWER, r"holds Renode 1.18.0, not 1.17.0"),
    ],
    ids=["other", "cut", "longer", "no size", "text", "empty", "link", "above", "device", "dead",
         "newer"],
)  # fmt: skip
def test_an_archive_that_is_not_right_leaves_nothing(
    cache, serve, tmp_path, row: Archive, data, words
):
    file = tmp_path / NAME
    file.write_bytes(data)
    for archive, source in ((row, file), (replace(row, url=serve(sends(data))), None)):
        with pytest.raises(EnvironmentMissing, match=words) as caught:
            install.install(archive, file=source)
        assert "\n" not in caught.value.message
        assert left(cache) == []
    assert not (cache.parent / "above").exists()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (sends(GOOD[:100], len(GOOD)), f"100 of {len(GOOD)} bytes|IncompleteRead"),
        (lambda request: request.send_error(503), "cannot fetch .*: HTTP Error 503"),
        (lambda request: request.wfile.write(b"what?\r\n"), "cannot fetch .*: what?"),
        (leads_to("http://127.0.0.1:9/x"), "leads to http://127.0.0.1:9/x, which is not HTTPS"),
        (leads_to("https://127.0.0.1:9/x"), "cannot fetch .*: .*Connection refused"),
        (leads_to("https://127.0.0.1:x/"), "cannot fetch .*: nonnumeric port"),
    ],
    ids=["breaks off", "refuses", "is none", "not HTTPS", "is gone", "no address"],
)
def test_a_server_that_fails_is_one_line_and_a_hint(cache, serve, answer: Answer, words):
    with pytest.raises(EnvironmentMissing, match=words) as caught:
        install.install(pinned(GOOD, serve(answer)))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert left(cache) == []


def test_a_server_without_a_trusted_certificate_is_refused(cache, serve, monkeypatch):
    address = serve(sends(GOOD))
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(EnvironmentMissing, match=r"cannot fetch .*CERTIFICATE_VERIFY_FAILED"):
        install.install(pinned(GOOD, address))


@pytest.mark.parametrize("size", [len(GOOD), 0])
def test_no_more_is_fetched_than_the_size_or_a_bound(cache, serve, monkeypatch, size):
    monkeypatch.setattr(install, "_MOST_BYTES", len(GOOD))
    seen: list[int] = []
    archive = pinned(GOOD, serve(sends(GOOD + bytes(4 * install._PIECE))), size=size)
    with pytest.raises(EnvironmentMissing, match="not the pinned"):
        install.install(archive, progress=seen.append)
    assert len(GOOD) < seen[-1] <= len(GOOD) + install._PIECE


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
    with pytest.raises(UsageError, match="there is no file"):
        install.install(pinned(GOOD), file=tmp_path / "nowhere")
    assert left(cache) == []
