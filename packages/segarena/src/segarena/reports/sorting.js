"use strict";
// Tables: sorting, filtering, definitions. For a long table, the page contains the first rows as
// HTML and all rows as JSON.

// For other scripts: the function that replaces the rows of each table, and its search field.
const sortableTables = new Map();

{
  const AT_ONCE = 200;
  const FILTERED_FROM = 12;
  const tip = Object.assign(document.createElement("div"), { id: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);

  for (const table of document.querySelectorAll("table")) sortableTables.set(table, setUpTable(table));

  function setUpTable(table) {
    const body = table.tBodies[0];
    const data = table.parentElement.querySelector("script[type='application/json']");
    let heads = [...table.querySelectorAll("thead th")];
    let rows = data ? rowsOfData(data) : [...body.rows].map(rowOfPage);
    let most = data ? AT_ONCE : Infinity;
    let words = [];
    let by = null;

    function kindOf(head) {
      return head.classList.contains("num") ? "num" : head.dataset.kind || "text";
    }

    function rowOfPage(row) {
      const values = [...row.cells].map((cell, column) => (kindOf(heads[column]) === "num" ? numberOf(cell.dataset.value) : cell.textContent));
      return { values, text: row.textContent.toLowerCase(), element: () => row };
    }

    function rowsOfData(script) {
      const muted = new Set(JSON.parse(script.dataset.muted ?? "[]"));
      return JSON.parse(script.textContent).map((cells, number) => rowOfCells({ cells, isMuted: muted.has(number) }));
    }

    // `finish` may add elements to a row when it is drawn for the first time.
    function rowOfCells({ cells, isMuted, finish }) {
      const kinds = heads.map(kindOf);
      const texts = cells.map((cell) => (Array.isArray(cell) ? cell[1] : cell));
      const remarks = cells.flatMap((cell) => (Array.isArray(cell) ? cell.slice(3) : []));
      const values = cells.map((cell, column) => (kinds[column] === "num" ? numberOf(cell[0]) : texts[column]));
      let made = null;
      const element = () => {
        if (made) return made;
        made = drawn(cells, kinds);
        if (isMuted) made.className = "muted";
        finish?.(made);
        return made;
      };
      return { values, text: [...texts, ...remarks].join(" ").toLowerCase(), element };
    }

    // A cell is text; a link [address, text, mark, remark]; or a number [value, text, mark, lines below it ...].
    function drawn(cells, kinds) {
      const row = document.createElement("tr");
      cells.forEach((cell, column) => {
        const td = row.insertCell();
        const [first, text, mark, ...below] = Array.isArray(cell) ? cell : ["", cell];
        td.className = mark ? `${kinds[column]} ${mark}` : kinds[column];
        if (kinds[column] === "text") td.title = text;
        if (kinds[column] !== "num" && first) td.append(Object.assign(document.createElement("a"), { href: first, textContent: text }));
        else td.textContent = text;
        for (const line of below.filter(Boolean)) td.append(Object.assign(document.createElement("small"), { textContent: line }));
      });
      return row;
    }

    function show() {
      const found = rows.filter((row) => words.every((word) => row.text.includes(word)));
      if (by) {
        const column = heads.indexOf(by.head);
        found.sort((a, b) => by.sign * compare(a.values[column], b.values[column], by.sign));
      }
      body.replaceChildren(...found.slice(0, most).map((row) => row.element()));
      const shown = Math.min(found.length, most);
      count.value = shown < found.length ? `${shown} of ${found.length}` : `${found.length} of ${rows.length}`;
      more.hidden = shown === found.length;
      sift.hidden = rows.length <= FILTERED_FROM && !words.length;
    }

    function sortBy(head, sign) {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (head) head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
      by = head ? { head, sign } : null;
    }

    function setUpHead(head) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.querySelector(".unseen") ? "" : head.textContent });
      if (!button.textContent) button.setAttribute("aria-label", "sort by this column");
      const about = head.title;
      head.removeAttribute("title");
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        // Sort in the order of the column, such as best first; another click reverses the order.
        const sorted = head.getAttribute("aria-sort");
        const descends = sorted ? sorted === "ascending" : head.dataset.first === "descending";
        sortBy(head, descends ? -1 : 1);
        show();
      });
      if (!about) return;
      button.setAttribute("aria-describedby", "tip");
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => explain(button, about));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => (tip.hidden = true));
    }

    const more = Object.assign(document.createElement("button"), { type: "button", className: "more", textContent: "Show more", hidden: true });
    more.addEventListener("click", () => {
      most += 5 * AT_ONCE;
      show();
    });
    table.after(more);

    const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "every word must be in the row" });
    const label = document.createElement("label");
    const count = document.createElement("output");
    const sift = Object.assign(document.createElement("div"), { className: "sift", hidden: true });
    label.append("Filter ", filter);
    sift.append(label, count);
    table.parentElement.before(sift);
    filter.addEventListener("input", () => {
      words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      show();
    });

    heads.forEach(setUpHead);
    if (rows.length > FILTERED_FROM) show();

    // Replace the headings, some of which may be reused, and the rows; sort by no column.
    function fill(newHeads, newRows) {
      sortBy(null);
      heads = newHeads;
      table.tHead.rows[0].replaceChildren(...heads);
      rows = newRows.map(rowOfCells);
      most = AT_ONCE;
      show();
    }

    return { fill, filter };
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
