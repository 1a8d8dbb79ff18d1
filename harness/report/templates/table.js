// Filters and sorts a table of cases. The page is usable without this script.
"use strict";
(() => {
  const tools = document.querySelector(".tools");
  const table = document.querySelector("table.cases");
  if (!tools || !table) return;
  tools.hidden = false;
  const search = tools.querySelector("input[type=search]");
  const verdict = tools.querySelector("select");
  const failures = tools.querySelector("input[type=checkbox]");
  const count = tools.querySelector("output");
  const body = table.tBodies[0];
  const rows = [...body.rows];

  function shown(row) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = row.textContent.toLowerCase();
    return words.every((word) => text.includes(word))
      && (!verdict.value || row.dataset.verdict === verdict.value)
      && (!failures.checked || row.dataset.verdict !== "pass");
  }

  function apply() {
    for (const row of rows) {
      row.hidden = !shown(row);
      const section = row.dataset.case && document.getElementById(row.dataset.case);
      if (section) section.hidden = row.hidden;
    }
    const left = rows.filter((row) => !row.hidden).length;
    count.textContent = left === rows.length ? "" : `${left} of ${rows.length}`;
  }

  function key(row, column) {
    const cell = row.cells[column];
    const digits = cell.dataset.value ?? cell.textContent.replace(/,/g, "");
    const number = parseFloat(digits);
    return table.tHead.rows[0].cells[column].classList.contains("n")
      ? (Number.isNaN(number) ? -1 : number) : cell.textContent.trim().toLowerCase();
  }

  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const column = head.cellIndex;
      rows.sort((first, second) => {
        const [a, b] = [key(first, column), key(second, column)];
        return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
      });
      body.append(...rows);
    });
  }

  // Shows the caption of the box under the pointer below the map.
  for (const map of document.querySelectorAll(".map")) {
    const caption = map.nextElementSibling;
    const show = (event) => {
      const box = event.target.closest("[data-caption]");
      if (box) caption.textContent = box.dataset.caption;
    };
    map.addEventListener("pointerover", show);
    map.addEventListener("focusin", show);
  }

  // Opens the section that contains the target of a link.
  function open() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) {
      part.hidden = false;
      part.open = true;
    }
    target.scrollIntoView({block: target instanceof HTMLDetailsElement ? "start" : "center"});
  }
  addEventListener("hashchange", open);
  for (const link of table.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => setTimeout(open));
  }

  for (const control of [search, verdict, failures]) control.addEventListener("input", apply);
  apply();
  open();
})();
