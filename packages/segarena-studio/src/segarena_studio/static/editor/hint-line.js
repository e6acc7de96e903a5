// The line below the picture: the keys that work now, each as a button, so that touch users can
// press them too.

import { hintsFor } from "./actions.js";
import { keyCap } from "../common/dom.js";

/** @typedef {import("./editor.js").Editor} Editor */

export class Hints {
  /**
   * @param {HTMLElement} place
   * @param {Editor} editor
   */
  constructor(place, editor) {
    this.place = place;
    this.editor = editor;
    this.shown = "";
    this.frame = 0;
    editor.listeners.add(() => this.later());
    editor.picture.overlay.addEventListener("pointermove", () => this.later());
    this.later();
  }

  later() {
    this.frame ||= requestAnimationFrame(() => this.update());
  }

  update() {
    this.frame = 0;
    const hints = hintsFor(this.editor);
    const advice = this.editor.isReadOnly ? "" : this.editor.tool.advice?.() ?? "";
    const key = advice + hints.map(({ action, text }) => `${action.name}:${action.keys[0]}:${text}`).join("|");
    if (key === this.shown) return;
    this.shown = key;
    const said = Object.assign(document.createElement("span"), { className: "advice", textContent: advice });
    this.place.replaceChildren(
      ...(advice ? [said] : []),
      ...hints.map(({ action, text }) => {
        const made = Object.assign(document.createElement("button"), { type: "button" });
        if (action.keys.length) made.append(keyCap(action.keys[0]));
        made.append(` ${text}`);
        made.dataset.action = action.name;
        made.addEventListener("click", () => {
          if (action.when?.(this.editor) ?? true) action.run(this.editor);
        });
        return made;
      }),
    );
  }
}
