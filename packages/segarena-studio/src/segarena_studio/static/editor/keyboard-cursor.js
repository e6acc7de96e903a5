// The keyboard cursor: a substitute for a pointing device.

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {[number, number]} Point */

/** Step sizes, in screen px. */
const STEPS = { fine: 1, plain: 10, far: 60 };
/** Distance from the edge of the screen at which the picture pans along, in screen px. */
const EDGE = 40;

export class Cursor {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
  }

  /** @param {boolean} isOn */
  show(isOn) {
    const { editor } = this;
    editor.hasCursor = isOn;
    if (isOn) {
      const [x0, y0, x1, y1] = editor.picture.view.inView;
      const { at } = editor.cursor;
      const isSeen = at[0] >= x0 && at[0] <= x1 && at[1] >= y0 && at[1] <= y1;
      editor.point({ ...editor.cursor, at: isSeen ? at : [(x0 + x1) / 2, (y0 + y1) / 2], kind: "keys" });
    }
    editor.changed();
  }

  /**
   * @param {number} columns
   * @param {number} rows
   * @param {"fine" | "plain" | "far"} step
   */
  move(columns, rows, step) {
    const { cursor } = this.editor;
    const by = this.editor.inImage(STEPS[step]);
    this.goTo([cursor.at[0] + columns * by, cursor.at[1] + rows * by]);
  }

  /**
   * Move the cursor to a point and bring the point into view.
   * @param {Point} at
   */
  goTo(at) {
    const { editor } = this;
    editor.hasCursor = true;
    editor.point({ ...editor.cursor, at, kind: "keys", isBox: false });
    this.keepInView(at);
    if (editor.isHolding) editor.tool.drag?.(editor.cursor);
    else editor.tool.hover?.(editor.cursor);
    editor.changed();
  }

  /**
   * Click at the cursor. On something draggable, the first press grabs it and the second one drops
   * it.
   */
  press() {
    const { editor } = this;
    const { tool } = editor;
    const wasHolding = editor.isHolding;
    editor.isHolding = true;
    const isGrabbed = !wasHolding && tool.press?.(editor.cursor, 1) === false;
    if (!isGrabbed) {
      editor.isHolding = false;
      tool.release?.(editor.cursor);
    }
    editor.changed();
  }

  /** @param {Point} at */
  keepInView(at) {
    const { picture } = this.editor;
    const [x, y] = picture.view.toScreen(at);
    const [width, height] = picture.screen;
    const dx = Math.max(EDGE - x, 0) || Math.min(width - EDGE - x, 0);
    const dy = Math.max(EDGE - y, 0) || Math.min(height - EDGE - y, 0);
    if (dx || dy) picture.panBy(dx, dy);
  }
}
