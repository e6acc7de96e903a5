// One annotator's drawing in the read-only editor, with marks where it differs from another drawing.

import { Shapes } from "../editor/canvas-paths.js";
import { Editor } from "../editor/editor.js";
import { History } from "../editor/history.js";
import { Painting } from "../editor/painting.js";
import { Scene } from "../editor/scene.js";
import { Picture } from "../../../reports/viewer/zoomable-picture.js";

/** @typedef {import("../editor/editor.js").Touch} Touch */
/** @typedef {import("./disagreements.js").Disagreement} Disagreement */
/** @typedef {[number, number, number, number]} Box */

const MARGIN_PX = 70;
/** A touch that moves less than this selects, in screen px. */
const SLOP_PX = 6;
/** Regions that only one annotator has drawn have a solid line, and matched ones with a small IoU a dashed one. */
const STYLES = { alone: { colour: "#ff3b6b", dash: [] }, iou: { colour: "#ffe14d", dash: [9, 5] } };

/** Drags move the picture, and taps select. */
class Looking {
  name = "hand-or-select";
  title = "Move the picture, or select a region";
  /** @type {Touch["at"]} */
  start = [0, 0];
  moved_px = 0;

  /**
   * @param {Editor} editor
   * @param {(id: string | null) => void} onSelect
   */
  constructor(editor, onSelect) {
    this.editor = editor;
    this.onSelect = onSelect;
  }

  /** @param {Touch} touch */
  press({ at }) {
    this.start = at;
    this.moved_px = 0;
  }

  /** @param {Touch} touch */
  drag({ at }) {
    const { picture } = this.editor;
    const [dx, dy] = [0, 1].map((axis) => (at[axis] - this.start[axis]) * picture.view.scale);
    this.moved_px += Math.hypot(dx, dy);
    if (this.moved_px >= SLOP_PX) picture.panBy(dx, dy);
  }

  /** @param {Touch} touch */
  release({ at }) {
    if (this.moved_px >= SLOP_PX) return;
    const [id] = this.editor.regionsAt(at);
    this.onSelect(id ?? null);
  }
}

export class DrawingPane {
  /**
   * @param {HTMLElement} host
   * @param {string} annotator
   * @param {any} document of the scene
   * @param {[number, number]} size of the picture
   */
  constructor(host, annotator, document, size) {
    this.annotator = annotator;
    this.size = size;
    this.figure = host.ownerDocument.createElement("figure");
    this.figure.className = "pane";
    const caption = host.ownerDocument.createElement("figcaption");
    caption.textContent = annotator;
    const stage = host.ownerDocument.createElement("div");
    this.figure.append(caption, stage);
    host.append(this.figure);
    this.picture = new Picture(stage, { label: `The drawing by ${annotator}` });
    this.picture.overlay.tabIndex = 0;
    this.scene = Scene.read(document);
    /** @type {Map<string, "alone" | "iou">} */
    this.marks = new Map();
    /** @type {Editor | null} */
    this.editor = null;
    /** Called when the picture was moved or zoomed here. */
    this.onView = () => {};
    /**
     * Called with the region that was tapped; null for none.
     * @type {(id: string | null) => void}
     */
    this.onSelect = () => {};
  }

  /**
   * Show the picture and the drawing.
   * @param {Blob} file
   */
  async show(file) {
    await this.picture.setImage(file, { size: this.size });
    const editor = new Editor(this.picture, this.scene, new History(this.scene));
    editor.settings.hatches = false;
    editor.addTool(new Looking(editor, (id) => this.onSelect(id)));
    editor.useTool("hand-or-select");
    editor.isReadOnly = true;
    this.editor = editor;
    new Painting(editor);
    const shapes = new Shapes(editor);
    const paint = this.picture.onDraw;
    this.picture.onDraw = (context, view) => {
      paint(context, view);
      context.save();
      shapes.inImage(context, view);
      for (const [id, kind] of this.marks) shapes.stroke(context, view, id, { width: 3.25, ...STYLES[kind] });
      context.restore();
    };
    this.picture.onView = () => this.onView();
    this.picture.moved();
  }

  /** @param {string} id */
  has(id) {
    return this.scene.has(id);
  }

  /** @param {string | null} id */
  select(id) {
    this.editor?.select(id !== null && this.has(id) ? id : null);
  }

  /** @param {boolean} isFilled */
  fill(isFilled) {
    if (!this.editor) return;
    this.editor.settings.fills = isFilled;
    this.picture.redraw();
  }

  clearMarks() {
    this.marks.clear();
    this.picture.redraw();
  }

  /**
   * Mark the regions whose outlines disagree.
   * @param {Disagreement[]} found
   */
  mark(found) {
    for (const { kind, regions } of found) {
      if (kind !== "alone" && kind !== "iou") continue;
      for (const id of regions) if (this.has(id) && this.marks.get(id) !== "alone") this.marks.set(id, kind);
    }
    this.picture.redraw();
  }

  /**
   * Show the same part of the picture as another pane, at the same scale.
   * @param {DrawingPane} other
   */
  takeView({ picture }) {
    const { view } = this.picture;
    if (!this.picture.size[0] || !picture.size[0]) return;
    const middle = picture.view.toImage([picture.screen[0] / 2, picture.screen[1] / 2]);
    view.scale = picture.view.scale;
    view.offset = [this.picture.screen[0] / 2 - middle[0] * view.scale, this.picture.screen[1] / 2 - middle[1] * view.scale];
    this.picture.moved();
  }

  /** @param {number} factor */
  zoomBy(factor) {
    const [width, height] = this.picture.screen;
    this.picture.zoomAbout([width / 2, height / 2], factor);
  }

  /**
   * Zoom to regions; those that this drawing lacks are ignored.
   * @param {string[]} ids
   */
  zoomTo(ids) {
    const boxes = ids.filter((id) => this.has(id)).map((id) => this.scene.box(id));
    if (!boxes.length) return;
    /** @type {Box} */
    const box = [
      Math.min(...boxes.map((each) => each[0])),
      Math.min(...boxes.map((each) => each[1])),
      Math.max(...boxes.map((each) => each[2])),
      Math.max(...boxes.map((each) => each[3])),
    ];
    this.picture.show(box, MARGIN_PX);
  }

  /** @param {boolean} isFront */
  setFront(isFront) {
    this.figure.classList.toggle("is-front", isFront);
  }

  close() {
    this.editor?.stop();
    this.picture.close();
    this.figure.remove();
  }
}
