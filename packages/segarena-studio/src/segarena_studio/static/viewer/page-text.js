// Text around the viewer's pictures: position in the collection, names of objects, and metrics.

import { legendItems } from "../../../reports/viewer/captions.js";
import { momentIn, roundsOf } from "../../../reports/viewer/content.js";
import { find } from "../common/dom.js";
import { queryOf } from "./sample-info.js";

/** @typedef {import("./look-viewer.js").LookViewer} LookViewer */
/** @typedef {import("../../../reports/viewer/content.js").Content} Content */
/** @typedef {import("../../../reports/viewer/content.js").Key} Key */

export class PageText {
  /** @param {LookViewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.root = viewer.root;
  }

  clear() {
    for (const name of [".rounds", ".values tbody", ".legend"]) find(name, Element, this.root).replaceChildren();
  }

  /**
   * @param {string} selector
   * @param {string} text
   */
  write(selector, text) {
    find(selector, HTMLElement, this.root).textContent = text;
  }

  /** @param {string} problem */
  showProblem(problem) {
    this.write(".problem", problem);
    find(".problem", HTMLElement, this.root).hidden = !problem;
  }

  /**
   * Show position and value under the pointer.
   * @param {string} text
   */
  showReadout(text) {
    this.write(".under", text);
  }

  /** @param {string[]} notes */
  showNotes(notes) {
    find(".notes", HTMLElement, this.root).replaceChildren(...notes.map((text) => element("p", "note", text)));
  }

  /**
   * Show the position in the filtered list, and link to the neighbours.
   * @param {Key} key
   * @param {import("./sample-info.js").Position} around
   * @param {string} userWords  prompts of the user in words; "" if unknown
   */
  showNeighbours([sample, target, user, repeat], around, userWords) {
    const { address, query } = this.viewer;
    const name = [sample, target].filter(Boolean).join(" / ");
    this.write("h1", name);
    document.title = `${name} · segarena`;
    this.write(".who", [userWords ? `${user} (${userWords})` : user, repeat ? `repeat ${repeat + 1}` : ""].filter(Boolean).join(", "));
    this.write(".at", around.row === null ? `not among the ${around.count} results` : `${around.row + 1} of ${around.count}`);
    for (const [which, key] of /** @type {[string, Key | null][]} */ ([["previous", around.previous], ["next", around.next]])) {
      const link = find(`a.${which}`, HTMLAnchorElement, this.root);
      link.toggleAttribute("aria-disabled", !key);
      if (key) link.href = `${address}/view?${queryOf(key)}&${query}`;
      else link.removeAttribute("href");
    }
    find("a.list", HTMLAnchorElement, this.root).href = `${address}?${query}`;
  }

  /**
   * List the names and colours of the objects, if there are several.
   * @param {Content} content
   */
  showObjects(content) {
    const legend = find(".legend", HTMLElement, this.root);
    const items = legendItems(content);
    legend.hidden = !items.length;
    legend.replaceChildren(...items);
  }

  /**
   * Update sliders and values to the current round and plane.
   * @param {Content} content
   */
  update(content) {
    const { viewer } = this;
    const { control } = viewer.controls;
    const rounds = roundsOf(content.dialogues);
    control("round").value = viewer.round;
    control("told-round").value = `${viewer.round} of ${rounds}`;
    control("round").setAttribute("aria-valuetext", `${content.word} ${viewer.round} of ${rounds}`);
    if (content.kind === "video") {
      control("frame").value = viewer.places[0];
      control("told-frame").value = `${viewer.places[0] + 1} of ${content.planes[0].count}`;
    }
    this.showValues(content);
  }

  /**
   * Build a table of all metric values after the current round.
   * @param {Content} content
   */
  showValues({ dialogues, word }) {
    const table = find(".values", HTMLTableElement, this.root);
    const moments = dialogues.map((dialogue) => ({ dialogue, at: momentIn(dialogue, this.viewer.round).at }));
    const names = [...new Set(moments.flatMap(({ dialogue, at }) => Object.keys(dialogue.values[at - 1] ?? {})))];
    const head = row(heading("col", "text", `after ${word} ${this.viewer.round}`), ...dialogues.map(({ label }) => heading("col", "num", label)));
    find("thead", HTMLTableSectionElement, table).replaceChildren(head);
    const values = names.map((name) =>
      row(heading("row", "text", name), ...moments.map(({ dialogue, at }) => element("td", "num", numberText(dialogue.values[at - 1]?.[name])))),
    );
    const seconds = moments.map(({ dialogue, at }) => element("td", "num", dialogue.seconds[at - 1] ? dialogue.seconds[at - 1].toPrecision(3) : "–"));
    const last = dialogues.length ? [row(heading("row", "text", "seconds"), ...seconds)] : [];
    find("tbody", HTMLTableSectionElement, table).replaceChildren(...values, ...last);
    find(".details", HTMLElement, this.root).hidden = !dialogues.length;
  }
}

/**
 * @param {string} kind
 * @param {string} [className]
 * @param {string} [text]
 */
function element(kind, className = "", text = "") {
  return Object.assign(document.createElement(kind), { className, textContent: text });
}

/**
 * @param {"row" | "col"} scope
 * @param {string} className
 * @param {string} text
 */
function heading(scope, className, text) {
  return Object.assign(document.createElement("th"), { scope, className, textContent: text });
}

/** @param {...HTMLElement} cells */
function row(...cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

/** @param {number | null | undefined} value */
function numberText(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4);
}
