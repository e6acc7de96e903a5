// The move tool: drag whole regions. A drag is one undo step, and so is each press of an arrow key.

import { moveOutlines } from "./region-commands.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */

/** A smaller movement of the pointer is a click, in screen px. */
const DRAG_THRESHOLD_PX = 4;
/** Steps of the arrow keys, in px of the picture. */
const STEP_PX = 1;
const LARGE_STEP_PX = 10;

export class Moving {
  name = "move";
  title = "Move whole regions";

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {[number, number] | null} where the pointer was pressed, on a region */
    this.from = null;
    /** @type {import("./history.js").Live | null} */
    this.live = null;
    /** Whether the press was on a selected region. */
    this.isRepeated = false;
    /** @type {string[] | null} the selection before the present press */
    this.before = null;
    /** @type {Record<string, () => boolean>} */
    this.keys = { "Shift+Enter": () => editor.hasCursor && this.toggle(editor.cursor) };
    for (const [key, dx, dy] of /** @type {[string, number, number][]} */ ([["ArrowLeft", -1, 0], ["ArrowRight", 1, 0], ["ArrowUp", 0, -1], ["ArrowDown", 0, 1]])) {
      this.keys[key] = () => this.step(dx * STEP_PX, dy * STEP_PX);
      this.keys[`Shift+${key}`] = () => this.step(dx * LARGE_STEP_PX, dy * LARGE_STEP_PX);
    } // prettier-ignore
  }

  /** Return a hint about the next possible actions. */
  advice() {
    const { selection, alsoSelected } = this.editor;
    if (!selection.length) return "Drag a region; Shift-click to select several.";
    return alsoSelected.size ? `Drag or use the arrows to move ${selection.length} regions.` : "Drag the region, or move it with the arrows.";
  }

  /** @param {Touch} touch */
  press(touch) {
    const { editor } = this;
    if (touch.isBox) return this.toggle(touch);
    const there = editor.regionsAt(touch.at);
    this.before = editor.selection;
    this.isRepeated = there.some((id) => editor.isSelected(id));
    if (!this.isRepeated) editor.select(there[0] ?? null);
    if (!there.length) return true;
    if (editor.selection.some((id) => editor.scene.region(id).is_locked)) {
      editor.refuse("locked");
      return true;
    }
    this.from = touch.at;
    // A long press of a finger or pen selects several regions. The keyboard cursor grabs what it presses.
    return touch.kind === "touch" || touch.kind === "pen";
  }

  /**
   * The secondary button or a long press.
   * @param {Touch} touch
   */
  second(touch) {
    // A long press begins with a press, which has selected this region alone.
    if (this.before) this.editor.selectAll(this.before);
    this.before = null;
    this.toggle(touch);
  }

  /**
   * Add the frontmost region here to the selection, or remove it.
   * @param {Touch} touch
   */
  toggle(touch) {
    const [front] = this.editor.regionsAt(touch.at);
    if (front !== undefined) this.editor.toggleSelected(front);
    return true;
  }

  /** @param {Touch} touch */
  drag(touch) {
    const { editor, from } = this;
    if (!from) return;
    const [dx, dy] = [touch.at[0] - from[0], touch.at[1] - from[1]];
    if (!this.live && Math.hypot(dx, dy) < editor.inImage(DRAG_THRESHOLD_PX)) return;
    if (editor.isReadOnly) return void editor.refuse("closed");
    const ids = editor.selection;
    this.live ??= editor.history.start("move", editor.selected);
    this.live.set((steps) => moveOutlines(steps, ids, dx, dy));
  }

  /** @param {Touch} touch */
  release(touch) {
    const { live, from, editor } = this;
    this.live = this.from = this.before = null;
    if (live) live.commit();
    // A click selects the region behind, as with the adjust tool.
    else if (from && this.isRepeated) editor.selectAt(touch.at);
  }

  cancel() {
    this.live?.cancel();
    this.live = this.from = null;
  }

  /**
   * Move the selected regions with the arrow keys, unless these move the keyboard cursor.
   * @param {number} dx in px of the picture
   * @param {number} dy
   */
  step(dx, dy) {
    const { editor } = this;
    const ids = editor.selection;
    if (editor.hasCursor || !ids.length) return false;
    editor.edit("move", editor.selected, (steps) => moveOutlines(steps, ids, dx, dy));
    return true;
  }
}
