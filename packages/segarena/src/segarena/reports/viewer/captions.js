// Captions of panes: name, plane, value after the current round, and a note if another round is shown.

import { momentIn, noteOf } from "./content.js";
import { objectColour } from "./palette.js";
import { planeLabel } from "./plane-geometry.js";

/** @typedef {import("./round-viewer.js").RoundViewer} RoundViewer */
/** @typedef {import("./content.js").Content} Content */
/** @typedef {import("./panes.js").Slot} Slot */

/**
 * @param {RoundViewer} viewer
 * @param {Content} content
 * @param {Slot} slot
 */
export function writeCaption(viewer, content, { dialogue, direction, caption, figure }) {
  const where = element("span", "plate", planeLabel(content.planes[direction], viewer.places[direction]));
  if (!dialogue) {
    const name = element("span", "run", content.has_truth ? "target" : "sample");
    caption.replaceChildren(name, where);
    return;
  }
  const name = element("span", `run ${dialogue.css}`);
  if (dialogue.is_run && content.dialogues.length > 1) name.append(element("i", "swatch"));
  name.append(dialogue.label);
  const moment = momentIn(dialogue, viewer.round);
  caption.replaceChildren(name, where, element("b", "value", dialogue.captions[moment.at - 1] ?? ""));
  const isReplayed = dialogue.replayed.includes(moment.last);
  const note = [dialogue.is_run ? noteOf(moment, content.word) : "", isReplayed ? "replayed" : ""].filter(Boolean).join("; ");
  if (note) caption.append(element("small", "", note));
  caption.append(...viewer.captionExtras(dialogue, moment));
  if (dialogue.failure) caption.append(element("p", "failed", `failed: ${dialogue.failure}`));
  showChart(figure, dialogue.charts[moment.at - 1] ?? "");
}

/**
 * Show the chart of a round below a pane.
 * @param {HTMLElement} figure
 * @param {string} chart  SVG, written by the report
 */
function showChart(figure, chart) {
  figure.querySelector(".spark")?.remove();
  if (!chart) return;
  const host = element("div", "spark");
  host.innerHTML = chart;
  figure.append(host);
}

/**
 * @param {string} kind
 * @param {string} [className]
 * @param {string} [text]
 */
export function element(kind, className = "", text = "") {
  return Object.assign(document.createElement(kind), { className, textContent: text });
}

/**
 * Return list items with the colours and names of the objects; none for a single object.
 * @param {Content} content
 */
export function legendItems({ objects }) {
  if (objects.length < 2) return [];
  const areNamed = new Set(objects.map(({ id }) => id)).size > 1;
  return objects.map(({ number, id, label }) => {
    const item = element("li");
    item.style.setProperty("--c", `var(${objectColour(number)})`);
    item.append(element("i"), label || (areNamed ? id : `object ${number}`));
    return item;
  });
}
