// Text around the viewer's pictures: position in the collection, captions, metric values and object
// names.

import { noteOf } from "../../../reports/rounds.js";
import { find } from "../common/dom.js";
import { addressOf } from "./sample-info.js";
import { momentIn, roundsOf, valueText } from "./dialogue.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./panes.js").Held} Held */
/** @typedef {import("./sample-info.js").Key} Key */
/** @typedef {import("./sample-info.js").Place} Place */
/** @typedef {import("./dialogue.js").Dialogue} Dialogue */

export class Words {
  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.root = viewer.root;
    /** Name of a round, as shown to the reader. */
    this.word = viewer.root.dataset.word ?? "round";
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
  tellProblem(problem) {
    this.write(".problem", problem);
    find(".problem", HTMLElement, this.root).hidden = !problem;
  }

  /** @param {string} text */
  tellUnder(text) {
    this.write(".under", text);
  }

  /** @param {string[]} notes */
  tellNotes(notes) {
    find(".notes", HTMLElement, this.root).replaceChildren(...notes.map((text) => element("p", "note", text)));
  }

  /**
   * Show the position of a place in the filtered list, and link to its neighbours.
   * @param {Key} key
   * @param {import("./sample-info.js").Shown["around"]} around
   */
  tellAround([sample, target, user, repeat], around) {
    const { address, question } = this.viewer;
    const name = [sample, target].filter(Boolean).join(" / ");
    this.write("h1", name);
    document.title = `${name} · segarena`;
    this.write(".who", [user, repeat ? `repeat ${repeat}` : ""].filter(Boolean).join(", "));
    this.write(".at", around.row === null ? `not among the ${around.count} that are asked for` : `${around.row + 1} of ${around.count}`);
    for (const [which, key] of /** @type {[string, Key | null][]} */ ([["previous", around.previous], ["next", around.next]])) {
      const link = find(`a.${which}`, HTMLAnchorElement, this.root);
      link.toggleAttribute("aria-disabled", !key);
      if (key) link.href = `${address}/view?${addressOf(key)}&${question}`;
      else link.removeAttribute("href");
    }
    find("a.list", HTMLAnchorElement, this.root).href = `${address}?${question}`;
  }

  /**
   * List the names and colours of the objects, if there are several.
   * @param {Place} place
   */
  tellObjects({ objects }) {
    const legend = find(".legend", HTMLElement, this.root);
    const areNamed = new Set(objects.map(({ id }) => id)).size > 1;
    legend.hidden = objects.length < 2;
    legend.replaceChildren(
      ...(legend.hidden ? [] : objects).map(({ number, id, label }) => {
        const item = element("li", `c${(number - 1) % 7}`);
        item.append(element("i"), label || (areNamed ? id : `object ${number}`));
        return item;
      }),
    );
  }

  /**
   * Update captions and values to the current round.
   * @param {Place} place
   */
  tell(place) {
    const { viewer, word } = this;
    const { control } = viewer.controls;
    const rounds = roundsOf(place.dialogues);
    control("round").value = viewer.round;
    control("told-round").value = `${viewer.round} of ${rounds}`;
    control("round").setAttribute("aria-valuetext", `${word} ${viewer.round} of ${rounds}`);
    if (place.kind === "video") {
      control("frame").value = viewer.indices[0];
      control("told-frame").value = `${viewer.indices[0] + 1} of ${place.planes[0].count}`;
    }
    for (const held of viewer.panes.held) this.tellPane(place, held);
    this.tellValues(place);
  }

  /**
   * @param {Place} place
   * @param {Held} held
   */
  tellPane(place, { dialogue, direction, caption }) {
    const plane = place.planes[direction];
    const where = plane.count > 1 ? `${plane.name} ${this.viewer.indices[direction] + 1} of ${plane.count}` : "";
    const name = element("span", dialogue ? `run c${dialogue.number % 7}` : "run");
    if (dialogue && place.dialogues.length > 1) name.append(element("i", "swatch"));
    name.append(dialogue ? dialogue.label : place.objects.length ? "target" : "no target");
    caption.replaceChildren(name, element("span", "plate", where));
    if (!dialogue) return;
    const moment = momentIn(dialogue, this.viewer.round);
    caption.append(element("b", "value", moment.at ? valueText(dialogue, moment.at) : ""));
    const again = dialogue.held_again.includes(moment.last) ? "held again" : "";
    const note = [noteOf(moment, this.word), again].filter(Boolean).join("; ");
    if (note) caption.append(element("small", "", note));
    if (moment.at && moment.last !== moment.at) caption.append(this.againButton(dialogue));
    if (dialogue.failure) caption.append(element("p", "failed", `failed: ${dialogue.failure}`));
  }

  /** @param {Dialogue} dialogue */
  againButton(dialogue) {
    const { viewer } = this;
    const isHeld = viewer.again.isHolding(dialogue);
    const button = Object.assign(document.createElement("button"), { type: "button", disabled: isHeld });
    button.textContent = isHeld ? "Holding again …" : "Hold again";
    button.title = `Ask ${dialogue.label} again with the same prompts, so that every ${this.word} can be seen`;
    button.addEventListener("click", () => void viewer.again.hold(dialogue));
    return button;
  }

  /**
   * Build a table of all metric values after the current round.
   * @param {Place} place
   */
  tellValues({ dialogues }) {
    const table = find(".values", HTMLTableElement, this.root);
    const moments = dialogues.map((dialogue) => ({ dialogue, at: momentIn(dialogue, this.viewer.round).at }));
    const names = [...new Set(moments.flatMap(({ dialogue, at }) => Object.keys(dialogue.values[at - 1] ?? {})))];
    const head = row(heading("col", "text", `after ${this.word} ${this.viewer.round}`), ...dialogues.map(({ label }) => heading("col", "num", label)));
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
