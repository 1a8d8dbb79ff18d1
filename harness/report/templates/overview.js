// Shows the run under the pointer of a strip.
"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("runs").textContent);
  const caption = document.querySelector(".caption");
  const words = {p: "pass", f: "fail", k: "flaky", w: "firmware", u: "usage", e: "error", s: "skipped", " ": "not run"};
  for (const strip of document.querySelectorAll(".strip")) {
    strip.addEventListener("pointermove", (event) => {
      const box = strip.getBoundingClientRect();
      const run = Math.min(runs.length - 1,
        Math.max(0, Math.floor((event.clientX - box.left) / box.width * runs.length)));
      const [when, commit] = runs[run];
      const name = strip.closest("tr").cells[0].textContent.trim();
      caption.textContent = `${when} ${commit.slice(0, 12)}: ${name}: ${words[strip.dataset.verdicts[run]]}`;
    });
  }
})();
