// The field that asks for the name of a region as soon as its outline closes, beside the region.

import { find } from "../common/dom.js";
import { setField } from "./region-commands.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */

/** Distance from the region and from the edge of the stage, in screen px. */
const GAP = 10;

export class NamePrompt {
  /**
   * @param {HTMLFormElement} form with an input, in the stage of the editor
   * @param {Editor} editor
   */
  constructor(form, editor) {
    this.form = form;
    this.editor = editor;
    this.input = find("input", HTMLInputElement, form);
    /** @type {string | null} the region that is being named */
    this.id = null;
    editor.onClosed = (id) => this.open(id);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.accept();
      editor.picture.overlay.focus();
    });
    form.addEventListener("keydown", (event) => {
      event.stopPropagation();
      // The Enter that closed the outline may still be held down.
      if (event.key === "Enter" && event.repeat) event.preventDefault();
      if (event.key === "Escape") this.dismiss();
    });
    form.addEventListener("focusout", (event) => {
      if (!form.contains(/** @type {Node | null} */ (event.relatedTarget))) this.accept();
    });
    editor.listeners.add(() => {
      if (this.id !== null && !editor.scene.has(this.id)) this.close();
    });
  }

  /** @param {string} id */
  open(id) {
    const { editor, form, input } = this;
    this.id = id;
    input.value = editor.scene.region(id).name;
    form.hidden = false;
    const [left, top] = placeBeside(this.boxOnScreen(id), [form.offsetWidth, form.offsetHeight], editor.picture.screen);
    form.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    input.focus({ preventScroll: true });
  }

  /** Name the region as typed; an empty field leaves it as it is. */
  accept() {
    const { editor, id } = this;
    const name = nameFrom(this.input.value);
    this.close();
    if (id === null || !editor.scene.has(id) || !name || name === editor.scene.region(id).name) return;
    editor.edit("name", id, (steps) => setField(steps, id, "name", name));
  }

  /** Leave the region as it is. */
  dismiss() {
    this.close();
    this.editor.picture.overlay.focus();
  }

  close() {
    this.id = null;
    this.input.value = "";
    this.form.hidden = true;
  }

  /** @param {string} id */
  boxOnScreen(id) {
    const { scene, picture } = this.editor;
    const [x0, y0, x1, y1] = scene.box(id);
    return /** @type {Box} */ ([...picture.view.toScreen([x0, y0]), ...picture.view.toScreen([x1, y1])]);
  }
}

/**
 * Return a typed name as it is stored.
 * @param {string} text
 */
export function nameFrom(text) {
  return text.trim().normalize("NFC");
}

/**
 * Return the upper left corner of a panel next to a box: below it, or else above it, or else at the
 * lower edge, always within the stage.
 * @param {Box} box
 * @param {[number, number]} size of the panel
 * @param {[number, number]} stage
 * @returns {[number, number]}
 */
export function placeBeside([x0, y0, x1, y1], [width, height], stage) {
  const left = within((x0 + x1 - width) / 2, GAP, stage[0] - width - GAP);
  const lowest = stage[1] - height - GAP;
  const isRoomAbove = y0 - GAP - height >= GAP;
  let top = y1 + GAP;
  if (top > lowest && isRoomAbove) top = y0 - GAP - height;
  return [left, within(top, GAP, lowest)];
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function within(value, least, most) {
  return Math.max(least, Math.min(value, most));
}
