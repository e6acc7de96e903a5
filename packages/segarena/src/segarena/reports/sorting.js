"use strict";
// Tables: sorting, filtering, definitions. For a long table the page contains the first rows as
// HTML, and all of them as JSON.
{
  const AT_ONCE = 200;
  const FILTERED_FROM = 12;
  const tip = Object.assign(document.createElement("div"), { id: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);

  for (const table of document.querySelectorAll("table:not(.ranks)")) {
    const heads = [...table.querySelectorAll("thead th")];
    const body = table.tBodies[0];
    const data = table.parentElement.querySelector("script[type='application/json']");
    const kinds = heads.map((th) => (th.classList.contains("num") ? "num" : th.dataset.kind || "text"));
    const rows = data ? JSON.parse(data.textContent).map(fromData) : [...body.rows].map(fromPage);
    let most = data ? AT_ONCE : Infinity;
    let words = [];
    let by = null;

    function fromPage(row) {
      const values = [...row.cells].map((cell, column) => (kinds[column] === "num" ? numberOf(cell.dataset.value) : cell.textContent));
      return { values, text: row.textContent.toLowerCase(), element: () => row };
    }

    function fromData(cells) {
      const texts = cells.map((cell) => (Array.isArray(cell) ? cell[1] : cell));
      const values = cells.map((cell, column) => (kinds[column] === "num" ? numberOf(cell[0]) : texts[column]));
      let made = null;
      return { values, text: texts.join(" ").toLowerCase(), element: () => (made ??= drawn(cells)) };
    }

    // A cell is text; a link [address, text]; or a number [value, text, mark, lines below it ...].
    function drawn(cells) {
      const row = document.createElement("tr");
      cells.forEach((cell, column) => {
        const td = row.insertCell();
        const [first, text, mark, ...below] = Array.isArray(cell) ? cell : ["", cell];
        td.className = mark ? `${kinds[column]} ${mark}` : kinds[column];
        if (kinds[column] !== "num" && first) td.append(Object.assign(document.createElement("a"), { href: first, textContent: text }));
        else td.textContent = text;
        for (const line of below) td.append(Object.assign(document.createElement("small"), { textContent: line }));
      });
      return row;
    }

    function show() {
      const found = rows.filter((row) => words.every((word) => row.text.includes(word)));
      if (by) found.sort((a, b) => by.sign * compare(a.values[by.column], b.values[by.column], by.sign));
      body.replaceChildren(...found.slice(0, most).map((row) => row.element()));
      const shown = Math.min(found.length, most);
      if (count) count.value = shown < found.length ? `${shown} of ${found.length}` : `${found.length} of ${rows.length}`;
      more.hidden = shown === found.length;
    }

    heads.forEach((th, column) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: th.querySelector(".unseen") ? "" : th.textContent });
      if (!button.textContent) button.setAttribute("aria-label", "sort by this column");
      const about = th.title;
      th.removeAttribute("title");
      th.replaceChildren(button);
      button.addEventListener("click", () => {
        // Sort the best first; a second click reverses the order.
        const sorted = th.getAttribute("aria-sort");
        const descends = sorted ? sorted === "ascending" : th.dataset.first === "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", descends ? "descending" : "ascending");
        by = { column, sign: descends ? -1 : 1 };
        show();
      });
      if (!about) return;
      button.setAttribute("aria-describedby", "tip");
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => explain(button, about));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => (tip.hidden = true));
    });

    const more = Object.assign(document.createElement("button"), { type: "button", className: "more", textContent: "Show more", hidden: true });
    more.addEventListener("click", () => {
      most += 5 * AT_ONCE;
      show();
    });
    table.after(more);
    let count = null;
    if (rows.length > FILTERED_FROM) {
      const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "every word must be in the row" });
      const label = document.createElement("label");
      count = document.createElement("output");
      const sift = Object.assign(document.createElement("div"), { className: "sift" });
      label.append("Filter ", input);
      sift.append(label, count);
      table.parentElement.before(sift);
      input.addEventListener("input", () => {
        words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        show();
      });
      show();
    }
  }

  function numberOf(value) {
    return value === "" || value === null || value === undefined ? NaN : Number(value);
  }

  // Sort missing values last in either direction.
  function compare(a, b, sign) {
    if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return sign * (Number.isNaN(a) - Number.isNaN(b));
    return a - b;
  }

  function explain(button, about) {
    tip.textContent = about;
    tip.hidden = false;
    const place = button.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${place.bottom + 6}px`;
  }

  addEventListener("scroll", () => (tip.hidden = true), { capture: true, passive: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
  // A link to an element in a folded section opens the section.
  addEventListener("hashchange", () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", ""));
}
