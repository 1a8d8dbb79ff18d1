"""The site, built and served below a project's path, and what a browser says of each page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import chromium

ROOT = Path(__file__).parents[2]
PROJECT = "tflm-hil"
_SECONDS = 900  # for all pages; a machine that does other work takes ten times as long
#: Loads each page in a frame of a phone's width. A page is too wide if it scrolls sideways; a word
#: of a table is broken if its letters stand on two lines.
_MEASURE = """<!doctype html><iframe style="border:0;width:%(width)dpx;height:900px"></iframe>
<pre id="told"></pre><script>
const frame = document.querySelector("iframe"), told = {};
function broken(page) {
  const found = [];
  for (const cell of page.querySelectorAll("td, th")) {
    const walk = page.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode())
      for (const word of node.data.matchAll(/\\w+/g)) {
        const range = page.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) found.push(word[0]);
      }
  }
  return found;
}
(async () => {
  for (const name of %(pages)s) {
    await new Promise((done) => { frame.onload = done; frame.src = name; });
    await new Promise((done) => setTimeout(done, 100));
    const page = frame.contentDocument, root = page.documentElement;
    told[name] = {wide: root.scrollWidth - root.clientWidth, broken: broken(page),
                  styled: getComputedStyle(page.body).margin === "0px"};
  }
  document.getElementById("told").textContent = JSON.stringify(told);
})();
</script>"""


def build(folder: Path, address: str) -> None:
    """Build the site as it is published at ``address``."""
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, check=True, capture_output=True,
        env={**os.environ, "SITE_URL": address, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


class _Pages(SimpleHTTPRequestHandler):
    """Serves files; what is not there is answered as GitHub's pages do, by the site's 404.html."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        body = (Path(self.directory) / PROJECT / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which ``folder`` is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def measured(folder: Path, address: str, pages: Sequence[str], width: int) -> dict[str, dict]:
    """By page: ``wide`` (pixels beyond the window), ``broken`` (words of tables), ``styled``."""
    text = _MEASURE % {"width": width, "pages": json.dumps(pages)}
    (folder / "measure.html").write_text(text, encoding="utf-8")
    dom = chromium.dom(f"{address}/measure.html", seconds=_SECONDS)
    [told] = re.findall(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(unescape(told))
