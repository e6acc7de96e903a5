"use strict";
// Sorting and enlarging. Everything on the page can be read without this script.

for (const table of document.querySelectorAll("table")) {
  table.querySelectorAll("th").forEach((th, column) => {
    const button = document.createElement("button");
    button.textContent = th.textContent;
    button.title = th.title ? `${th.title} Click to sort.` : "sort";
    th.replaceChildren(button);
    button.addEventListener("click", () => sortBy(table, th, column));
  });
}

function sortBy(table, th, column) {
  // What is best comes first; a second click turns it round.
  const sorted = th.getAttribute("aria-sort");
  const descending = sorted ? sorted === "ascending" : th.dataset.first === "descending";
  table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const isNumber = th.classList.contains("num");
  const value = (row) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent;
    return cell.dataset.value === "" ? Infinity : Number(cell.dataset.value);
  };
  const compare = (a, b) => (isNumber ? value(a) - value(b) : value(a).localeCompare(value(b), undefined, { numeric: true }));
  const rows = [...table.tBodies[0].rows].sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
  table.tBodies[0].append(...rows);
}

const dialog = document.createElement("dialog");
const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, ariaLabel: "round" });
let pictures = [];

function show(index) {
  const figure = pictures[index].cloneNode(true);
  const chart = figure.querySelector("figcaption .chart");
  if (chart) chart.remove();
  slider.value = index;
  figure.querySelector("figcaption span").after(slider);
  dialog.replaceChildren(figure);
  slider.focus();
}

document.body.append(dialog);
slider.addEventListener("input", () => show(Number(slider.value)));
dialog.addEventListener("click", (event) => {
  if (event.target !== slider) dialog.close();
});
for (const strip of document.querySelectorAll(".strip")) {
  strip.classList.add("zoomable");
  const enlargeAt = (figure) => {
    pictures = [...strip.querySelectorAll("figure")].filter((one) => one.querySelector(".picture"));
    slider.max = pictures.length - 1;
    dialog.showModal();
    show(pictures.indexOf(figure));
  };
  for (const picture of strip.querySelectorAll(".picture")) {
    picture.tabIndex = 0;
    picture.addEventListener("click", () => enlargeAt(picture.closest("figure")));
    picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter") enlargeAt(picture.closest("figure"));
    });
  }
}
