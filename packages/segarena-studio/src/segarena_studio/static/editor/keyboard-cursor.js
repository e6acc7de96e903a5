// The cursor that keys move: a pointer for whoever has none.

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {[number, number]} Point */

/** How far it steps, in screen px. */
const STEPS = { fine: 1, plain: 10, far: 60 };
/** So near the edge of the screen the picture moves with it. */
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
   * Put the cursor there and bring it into view.
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

  /** What a click does, at the cursor; in what can be grabbed the first one grabs, the second one drops. */
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
