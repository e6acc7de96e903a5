// Deleting many vertices at once, with a brush or a box. Each stroke or box is one undo step.

import { boxBetween } from "./adjust-tool.js";
import { deletePoints } from "./vertex-editing.js";
import { pointsInBox, pointsNear } from "./hit-testing.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */

const BRUSH = 18;

export class Sweeping {
  name = "sweep";
  title = "Delete vertices";

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {"brush" | "box"} */
    this.form = "brush";
    /** @type {Set<number>} */
    this.swept = new Set();
    /** @type {[number, number] | null} */
    this.from = null;
  }

  /** Return a hint about the next possible actions. */
  advice() {
    const whose = this.editor.region ? "of the selected region" : "of all regions";
    return `${this.form === "brush" ? "Brush over" : "Draw a box around"} vertices ${whose} to delete them.`;
  }

  /** @param {"brush" | "box"} form */
  take(form) {
    this.form = form;
    this.editor.useTool(this.name);
    this.editor.changed();
  }

  /** @param {Touch} touch */
  press(touch) {
    this.from = touch.at;
    this.drag(touch);
    return false;
  }

  /** @param {Touch} touch */
  drag(touch) {
    const { scene, selected } = this.editor;
    const ids = selected ? [selected] : this.editor.touchable();
    if (this.form === "box") this.swept = new Set(pointsInBox(scene, boxBetween(this.from ?? touch.at, touch.at), ids));
    else for (const point of pointsNear(scene, touch.at, this.editor.inImage(BRUSH), ids)) this.swept.add(point);
  }

  release() {
    const points = [...this.swept];
    this.cancel();
    if (!points.length) return;
    if (this.editor.edit("delete", this.editor.selected, (steps) => deletePoints(steps, points, {}))) {
      this.editor.say(points.length === 1 ? "1 vertex deleted." : `${points.length} vertices deleted.`);
    }
  }

  cancel() {
    this.swept.clear();
    this.from = null;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../../../reports/viewer/viewport.js").View} view
   */
  draw(context, view) {
    const { cursor, scene } = this.editor;
    const [x, y] = view.toScreen(cursor.at);
    context.lineWidth = 1.5;
    context.strokeStyle = "#fff";
    context.fillStyle = "#d9480f33";
    context.beginPath();
    if (this.form === "brush") context.arc(x, y, BRUSH, 0, 2 * Math.PI);
    else if (this.from) context.rect(...cornerAndSize(view.toScreen(this.from), [x, y]));
    context.fill();
    context.stroke();
    context.fillStyle = "#d9480f";
    for (const point of this.swept) {
      const [px, py] = view.toScreen(scene.points[point]);
      context.beginPath();
      context.arc(px, py, 6, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
}

/**
 * @param {[number, number]} a
 * @param {[number, number]} b
 * @returns {[number, number, number, number]}
 */
function cornerAndSize(a, b) {
  return [a[0], a[1], b[0] - a[0], b[1] - a[1]];
}
