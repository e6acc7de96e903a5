// The dialog for a picture that was changed elsewhere: it shows both revisions side by side and
// lets the user choose. If both come from a known revision, the choice is about the regions that
// both have changed, and all other changes are kept. Undo takes back what the choice changes in the drawing.

import { conflictsOf } from "./scene-merge.js";
import { replaceScene, showScene } from "./revision-choice.js";

const MOST_NAMES = 4;

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
    this.part("#keep-mine").addEventListener("click", () => this.keepMine());
    this.part("#take-theirs").addEventListener("click", () => this.takeTheirs());
    this.show(saving.state);
  }

  /** @param {State} state */
  show({ text, theirs }) {
    if (!theirs) return this.dialog.close();
    if (this.dialog.open) return;
    const { ancestor } = this.saving;
    const conflicts = ancestor ? conflictsOf(ancestor, this.editor.scene.toDocument(), theirs.scene) : [];
    this.part("#conflict-text").textContent = conflicts.length ? `${text} ${this.conflictText(conflicts, theirs.scene)}` : text;
    this.showBoth(theirs.scene, new Set(conflicts));
    this.dialog.showModal();
  }

  /**
   * @param {string[]} conflicts
   * @param {import("./scene.js").SceneDocument} theirs
   */
  conflictText(conflicts, theirs) {
    const { scene } = this.editor;
    const nameOf = (/** @type {string} */ id) => {
      if (!id) return "the outline being drawn";
      const mine = scene.has(id) ? scene.region(id).name : "";
      const other = theirs.regions.find((each) => each.id === id)?.name ?? "";
      if (mine && other && mine !== other) return `${mine} (there: ${other})`;
      return mine || other || "an unnamed region";
    };
    const names = conflicts.slice(0, MOST_NAMES).map(nameOf);
    const more = conflicts.length - names.length;
    const listed = more ? `${names.join(", ")} and ${more} more` : names.join(", ");
    return `Both versions changed ${listed}. All other changes of both versions are kept.`;
  }

  /**
   * @param {import("./scene.js").SceneDocument | null} theirs
   * @param {Set<string>} conflicts
   */
  showBoth(theirs, conflicts) {
    const { scene, size } = this.editor;
    const sides = /** @type {[string, import("./scene.js").SceneDocument | null][]} */ ([
      ["mine", scene.toDocument()],
      ["theirs", theirs],
    ]);
    for (const [side, document] of sides) {
      const canvas = /** @type {HTMLCanvasElement} */ (this.part(`#${side} canvas`));
      this.part(`#${side} figcaption`).textContent = showScene(canvas, document, size, conflicts);
    }
  }

  keepMine() {
    const { ancestor, theirs } = this.saving;
    this.editor.let();
    if (ancestor && theirs) this.saving.merge(ancestor, theirs.scene, "mine");
    this.saving.keepMine();
  }

  takeTheirs() {
    const { ancestor } = this.saving;
    const theirs = this.saving.takeTheirs();
    if (!theirs) return;
    this.editor.let();
    const isMerged = ancestor && this.saving.merge(ancestor, theirs.scene, "theirs") === "merged";
    if (!isMerged) this.editor.edit("theirs", null, (steps) => replaceScene(steps, theirs.scene));
  }

  /**
   * @param {string} selector
   * @returns {HTMLElement}
   */
  part(selector) {
    return /** @type {HTMLElement} */ (this.dialog.querySelector(selector));
  }
}
