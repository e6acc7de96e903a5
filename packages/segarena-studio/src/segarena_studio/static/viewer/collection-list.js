// The list of a collection, as thumbnails or as a table: filter and sort by any column; more rows
// load on scrolling.

import { queryOf } from "./sample-info.js";

/** @typedef {{name: string, title: string, kind: string}} Column */

const root = /** @type {HTMLElement} */ (document.querySelector("[data-address]"));
const address = /** @type {string} */ (root.dataset.address);
/** @type {Column[]} */
const columns = JSON.parse(/** @type {string} */ (root.dataset.columns));
const form = /** @type {HTMLFormElement} */ (root.querySelector("form.controls"));
const cards = /** @type {HTMLElement} */ (root.querySelector(".thumbs"));
const table = /** @type {HTMLTableElement} */ (root.querySelector("table"));
const told = /** @type {HTMLOutputElement} */ (root.querySelector("output"));
const chips = /** @type {HTMLElement} */ (root.querySelector(".chips"));
const more = /** @type {HTMLButtonElement} */ (root.querySelector("button.more"));
const problem = /** @type {HTMLElement} */ (root.querySelector(".problem"));
const empty = /** @type {HTMLElement} */ (root.querySelector(".empty"));
const question = new URLSearchParams(location.search);
let [first, count, asked] = [0, 0, 0];

/**
 * @param {string} name
 * @returns {any}
 */
const control = (name) => form.elements.namedItem(name);

/** @param {Record<string, any>} row */
function keyOf(row) {
  return queryOf([row.sample, row.target ?? "", row.user ?? "", row.repeat ?? 0]);
}

/** @param {Record<string, any>} row */
function viewOf(row) {
  const rest = question.toString();
  return `${address}/view?${keyOf(row)}${rest && `&${rest}`}`;
}

/** @param {any} value */
function text(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(3);
}

/** Return at most three columns to show on a card: the sort column if it is numeric, then those of the first metric. */
function telling() {
  const sorted = (question.get("sort") ?? "").replace(/^-/, "");
  const numbers = columns.filter((column) => column.kind === "number" && column.name !== "repeat");
  const metric = numbers[0]?.name.split(".")[0];
  const firsts = numbers.filter((column) => column.name.split(".")[0] === metric);
  return [...new Set([...columns.filter((column) => column.name === sorted && column.kind === "number"), ...firsts])].slice(0, 3);
}

/**
 * Build the card of a row. Its thumbnail is requested at once, ahead of scrolling; until it arrives, the
 * card shows the thumbnail's dominant colour if it is known.
 * @param {Record<string, any>} row
 * @param {string} colour  #rrggbb, or "" if unknown
 */
function cardOf(row, colour) {
  const item = document.createElement("li");
  const link = Object.assign(document.createElement("a"), { href: viewOf(row) });
  const name = [row.sample, row.target].filter(Boolean).join(" / ");
  const image = Object.assign(document.createElement("img"), { decoding: "async", alt: "", src: `${address}/thumb?${keyOf(row)}` });
  const frame = Object.assign(document.createElement("span"), { className: "thumb is-loading" });
  frame.style.setProperty("--placeholder", colour || "var(--faint)");
  image.addEventListener("load", () => frame.classList.remove("is-loading"));
  image.addEventListener("error", async () => {
    frame.classList.remove("is-loading");
    const answer = await fetch(image.src).catch(() => null);
    const why = answer && !answer.ok ? (await answer.json().catch(() => null))?.message : "";
    frame.replaceChildren(Object.assign(document.createElement("small"), { textContent: why || "no picture", className: "failed" }));
  });
  frame.append(image);
  link.append(frame, Object.assign(document.createElement("span"), { className: "name", textContent: name }));
  const who = row.user ? [row.repeat ? `${row.user} ${row.repeat + 1}` : row.user] : [];
  const values = [...who, ...telling().map((column) => `${column.title} ${text(row[column.name]) || "–"}`)];
  const failed = columns.some((column) => column.name.split(".")[0] === "failure" && row[column.name]);
  if (failed) values.push("failed");
  if (values.length) link.append(Object.assign(document.createElement("span"), { className: "told", textContent: values.join(" · ") }));
  item.append(link);
  return item;
}

/** @param {Record<string, any>} row */
function lineOf(row) {
  const line = document.createElement("tr");
  for (const column of columns) {
    const cell = Object.assign(document.createElement("td"), { className: column.kind === "number" ? "num" : "text" });
    const value = text(row[column.name]);
    cell.title = value;
    if (column.name === columns[0].name) cell.append(Object.assign(document.createElement("a"), { href: viewOf(row), textContent: value }));
    else cell.textContent = value;
    line.append(cell);
  }
  return line;
}

/** @param {boolean} isAnew */
async function fetchRows(isAnew) {
  const number = ++asked;
  if (isAnew) first = 0;
  root.setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await fetch(`${address}/rows?${new URLSearchParams([...question, ["first", String(first)]])}`);
  } catch {
    answer = null;
  }
  const found = answer ? await answer.json().catch(() => null) : null;
  if (number !== asked) return;
  root.removeAttribute("aria-busy");
  problem.hidden = Boolean(answer?.ok);
  if (!answer?.ok) {
    problem.textContent = found?.message ?? "`segarena look` has stopped; start it again.";
    return;
  }
  const body = /** @type {HTMLElement} */ (table.tBodies[0]);
  if (isAnew) {
    cards.replaceChildren();
    body.replaceChildren();
  }
  count = found.count;
  first += found.rows.length;
  cards.append(...found.rows.map((/** @type {any} */ row, /** @type {number} */ place) => cardOf(row, found.colours[place])));
  body.append(...found.rows.map(lineOf));
  told.value = `${first.toLocaleString("en")} of ${count.toLocaleString("en")} shown`;
  more.hidden = first >= count;
  empty.hidden = count > 0;
  const isFiltered = question.has("words") || question.has("where");
  empty.textContent = isFiltered ? "Nothing matches. Remove a condition, or search for other words." : "There are no dialogues yet. Start segarena look again when the run has finished a sample.";
}

function apply() {
  const rest = question.toString();
  history.replaceState(null, "", rest ? `?${rest}` : location.pathname);
  drawChips();
  drawHeads();
  fetchRows(true);
}

function drawChips() {
  chips.replaceChildren(
    ...question.getAll("where").map((condition) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: `${titled(condition)} ×` });
      button.setAttribute("aria-label", `remove the condition ${titled(condition)}`);
      button.addEventListener("click", () => {
        const left = question.getAll("where").filter((other) => other !== condition);
        question.delete("where");
        for (const other of left) question.append("where", other);
        apply();
      });
      return button;
    }),
  );
}

/**
 * Return a filter condition with the title of its column instead of the column's name.
 * @param {string} condition
 */
function titled(condition) {
  const name = condition.split(/<=|>=|!=|<|>|=|~/)[0].trim();
  const column = columns.find((one) => one.name === name);
  return column ? `${column.title} ${condition.slice(name.length)}` : condition;
}

function drawHeads() {
  const sort = question.get("sort") ?? "";
  for (const head of table.tHead?.querySelectorAll("th") ?? []) {
    const name = head.dataset.name ?? "";
    const state = sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none";
    head.setAttribute("aria-sort", state);
  }
  control("sort").value = sort.replace(/^-/, "");
  control("down").checked = sort.startsWith("-");
}

/**
 * @param {string} name
 * @param {boolean} isDown
 */
function sortBy(name, isDown) {
  question.delete("sort");
  if (name) question.set("sort", `${isDown ? "-" : ""}${name}`);
  apply();
}

function showAs() {
  const isTable = control("as").value === "table";
  cards.hidden = isTable;
  /** @type {HTMLElement} */ (root.querySelector(".scroll")).hidden = !isTable;
}

for (const column of columns) {
  control("sort").add(new Option(column.title, column.name));
  control("column").add(new Option(column.title, column.name));
}
for (const head of table.tHead?.querySelectorAll("th") ?? []) {
  head.querySelector("button")?.addEventListener("click", () => {
    const name = head.dataset.name ?? "";
    sortBy(name, question.get("sort") === name);
  });
}
control("words").value = question.get("words") ?? "";
let typing = 0;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const value = control("value").value.trim();
  const condition = `${control("column").value}${control("sign").value}${value}`;
  if (control("column").value && (value || ["=", "!="].includes(control("sign").value))) {
    question.append("where", condition);
    control("value").value = "";
    apply();
  }
});
form.addEventListener("input", ({ target }) => {
  const { name } = /** @type {HTMLInputElement} */ (target);
  if (name === "as") showAs();
  if (name === "sort" || name === "down") sortBy(control("sort").value, control("down").checked);
  if (name === "words") {
    clearTimeout(typing);
    typing = window.setTimeout(() => {
      question.delete("words");
      if (control("words").value.trim()) question.set("words", control("words").value.trim());
      apply();
    }, 250);
  }
});
more.addEventListener("click", () => fetchRows(false));
new IntersectionObserver((seen) => {
  if (seen.some((one) => one.isIntersecting) && !more.hidden && !root.hasAttribute("aria-busy")) fetchRows(false);
}, { rootMargin: "1600px" }).observe(more);
document.addEventListener("keydown", (event) => {
  const isText = /** @type {HTMLElement} */ (event.target).matches("input, select, textarea");
  if (event.key === "/" && !isText) {
    event.preventDefault();
    control("words").focus();
  }
});
if (matchMedia("(max-width: 760px)").matches) /** @type {HTMLDetailsElement} */ (root.querySelector("details.ask")).open = false;
control("as").value = root.dataset.as ?? "pictures";
showAs();
apply();
