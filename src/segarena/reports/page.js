"use strict";
// Enlarging. Everything on the page can be read without this script.

// What scrolls sideways can be scrolled with the keyboard.
for (const scroller of document.querySelectorAll(".scroll, nav, pre")) {
  new ResizeObserver(() => {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
  }).observe(scroller);
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
