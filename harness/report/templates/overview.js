// Tells the night under the pointer of a strip.
"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("runs").textContent);
  const told = document.querySelector(".told");
  const words = {p: "pass", f: "fail", w: "firmware", e: "error", s: "skipped", " ": "not run"};
  for (const strip of document.querySelectorAll(".strip")) {
    strip.addEventListener("pointermove", (event) => {
      const box = strip.getBoundingClientRect();
      const at = Math.min(runs.length - 1,
        Math.max(0, Math.floor((event.clientX - box.left) / box.width * runs.length)));
      const [when, commit] = runs[at];
      const name = strip.closest("tr").cells[0].textContent.trim();
      told.textContent = `${when} ${commit.slice(0, 12)}: ${name}: ${words[strip.dataset.verdicts[at]]}`;
    });
  }
})();
