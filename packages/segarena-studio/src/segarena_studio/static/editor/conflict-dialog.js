// The dialog for a picture that was changed elsewhere: it shows both revisions side by side and
// lets the user choose. Undo restores the other revision.

import { replaceScene, showScene } from "./revision-choice.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./saving.js").Saving} Saving */
/** @typedef {import("./saving.js").State} State */

export class Conflict {
  /**
   * @param {HTMLDialogElement} dialog
   * @param {Editor} editor
   * @param {Saving} saving
   */
  constructor(dialog, editor, saving) {
    this.dialog = dialog;
    this.editor = editor;
    this.saving = saving;
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    this.part("#keep-mine").addEventListener("click", () => saving.keepMine());
    this.part("#take-theirs").addEventListener("click", () => this.takeTheirs());
    this.show(saving.state);
  }

  /** @param {State} state */
  show({ text, theirs }) {
    if (!theirs) return this.dialog.close();
    if (this.dialog.open) return;
    this.part("#conflict-text").textContent = text;
    this.showBoth(theirs.scene);
    this.dialog.showModal();
  }

  /** @param {import("./scene.js").SceneDocument | null} theirs */
  showBoth(theirs) {
    const { scene, size } = this.editor;
    const sides = /** @type {[string, import("./scene.js").SceneDocument | null][]} */ ([
      ["mine", scene.toDocument()],
      ["theirs", theirs],
    ]);
    for (const [side, document] of sides) {
      const canvas = /** @type {HTMLCanvasElement} */ (this.part(`#${side} canvas`));
      this.part(`#${side} figcaption`).textContent = showScene(canvas, document, size);
    }
  }

  takeTheirs() {
    const theirs = this.saving.takeTheirs();
    if (theirs) this.editor.edit("theirs", null, (steps) => replaceScene(steps, theirs.scene));
  }

  /**
   * @param {string} selector
   * @returns {HTMLElement}
   */
  part(selector) {
    return /** @type {HTMLElement} */ (this.dialog.querySelector(selector));
  }
}
