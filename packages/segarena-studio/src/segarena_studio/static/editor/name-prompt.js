// The field that asks for the name of a region as soon as its outline closes, beside the region.

import { find } from "../common/dom.js";
import { boxOf } from "../common/geometry.js";
import { setFields } from "./region-commands.js";

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
    /** @type {string[]} the regions that are being named */
    this.ids = [];
    editor.onClosed = (id) => this.open([id]);
    editor.onName = () => this.open(editor.selection);
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
      if (this.ids.some((id) => !editor.scene.has(id))) this.close();
    });
  }

  /** @param {string[]} ids not empty */
  open(ids) {
    const { editor, form, input } = this;
    const { scene } = editor;
    if (editor.isReadOnly) return void editor.refuse("closed");
    if (ids.some((id) => scene.region(id).is_locked)) return void editor.refuse("locked");
    this.ids = ids;
    const names = new Set(ids.map((id) => scene.region(id).name));
    input.value = names.size === 1 ? [...names][0] : "";
    input.placeholder = ids.length === 1 ? "Name the region" : `Name ${ids.length} regions`;
    input.setAttribute("aria-label", input.placeholder);
    form.hidden = false;
    const [left, top] = placeBeside(this.boxOnScreen(ids), [form.offsetWidth, form.offsetHeight], editor.picture.screen);
    form.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    input.focus({ preventScroll: true });
    input.select();
  }

  /** Name the regions as typed. */
  accept() {
    const { editor, ids } = this;
    const { scene } = editor;
    const name = nameFrom(this.input.value);
    this.close();
    const changing = ids.filter((id) => scene.has(id) && scene.region(id).name !== name);
    // An empty field never removes the names of several regions.
    if (!changing.length || (!name && ids.length > 1)) return;
    editor.edit("name", changing.at(-1) ?? null, (steps) => setFields(steps, changing, "name", name));
  }

  /** Leave the regions as they are. */
  dismiss() {
    this.close();
    this.editor.picture.overlay.focus();
  }

  close() {
    this.ids = [];
    this.input.value = "";
    this.form.hidden = true;
  }

  /** @param {string[]} ids */
  boxOnScreen(ids) {
    const { scene, picture } = this.editor;
    const [x0, y0, x1, y1] = boxOf(ids.flatMap((id) => scene.polygon(id)));
    return /** @type {Box} */ ([...picture.view.toScreen([x0, y0]), ...picture.view.toScreen([x1, y1])]);
  }
}

/**
 * Return a typed name in the form in which it is stored.
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
