// One pane: a plane of the sample with its overlays, for the target or for one run.

import { drawCross, drawLetters } from "../common/plane-guides.js";
import { cssOf, onColours, rgbOf } from "../common/palette.js";
import { Picture } from "../common/zoomable-picture.js";
import { shownSize } from "./plane-geometry.js";
import { drawMarks } from "./prompt-marks.js";
import { areas, boxOf, errors, outlineOf } from "./mask-painting.js";

/** @typedef {import("./plane-geometry.js").Plane} Plane */
/** @typedef {import("./mask-painting.js").Objects} Objects */
/** @typedef {import("./mask-painting.js").Colour} Colour */
/** @typedef {import("../common/viewport.js").View} View */
/** @typedef {"fill" | "lines" | "errors" | "plain"} Mode */

/**
 * @typedef {object} Drawn  the current content of a pane
 * @property {number} index  index of the plane
 * @property {Objects} target
 * @property {Objects} ignored
 * @property {Objects | null} answer  null if there is none
 * @property {any[][]} prompts
 * @property {number} round
 */

/**
 * @typedef {object} Look  display settings shared by all panes
 * @property {Mode} mode
 * @property {number} opacity
 * @property {boolean} marks
 * @property {number[] | null} cross  the position where all planes meet
 * @property {number} objects  number of objects
 */

/** @type {Objects} */
const NONE = new Map();
const IGNORED_ALPHA = 0.6;
const FIT_MARGIN_PX = 4;
const LEAST_ERROR_ALPHA = 0.6;
/** Margin around a target: a share of its longer side, and a minimum in pixels. */
const [CONTEXT, LEAST_CONTEXT] = [0.35, 24];

export class Pane {
  /**
   * @param {HTMLElement} host @param {Plane} plane @param {View | null} view  shared by linked panes
   * @param {{label: string, isTarget: boolean, look: () => Look, crossOf: (plane: Plane) => [number, number] | null}} options
   */
  constructor(host, plane, view, { label, isTarget, look, crossOf }) {
    this.plane = plane;
    this.isTarget = isTarget;
    this.look = look;
    this.crossOf = crossOf;
    this.picture = new Picture(host, { label, margin: FIT_MARGIN_PX });
    if (view) this.picture.view = view;
    this.picture.onDraw = (context, own) => this.draw(context, own);
    /** @type {Drawn | null} */
    this.drawn = null;
    /**
     * Cache of painted areas and traced edges of the current content.
     * @type {Map<string, any>}
     */
    this.made = new Map();
    this.forgetColours = onColours(() => this.repaint());
  }

  /**
   * @param {ImageBitmap} bitmap  owned by the pane, which closes it when it shows another one
   * @param {boolean} keepsView
   */
  async setImage(bitmap, keepsView) {
    await this.picture.setImage(bitmap, { size: shownSize(this.plane), keepsView });
  }

  /** @param {Drawn} drawn */
  setDrawn(drawn) {
    if (this.drawn?.target !== drawn.target || this.drawn?.answer !== drawn.answer || this.drawn?.ignored !== drawn.ignored) this.made.clear();
    this.drawn = drawn;
    this.picture.redraw();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  draw(context, view) {
    const { drawn } = this;
    if (!drawn) return;
    const look = this.look();
    const isRun = !this.isTarget;
    const answer = drawn.answer ?? NONE;
    if (drawn.ignored.size) this.paint(context, view, "ignored", () => areas(drawn.ignored, () => [119, 119, 119], this.pixels), IGNORED_ALPHA);
    if (look.mode === "fill" && isRun) this.paint(context, view, "areas", () => areas(answer, (number) => this.colourOf(number), this.pixels), look.opacity);
    if (look.mode === "fill" && this.isTarget && look.objects > 1) {
      this.paint(context, view, "targets", () => areas(drawn.target, (number) => this.colourOf(number), this.pixels), look.opacity);
    }
    if (look.mode === "errors" && isRun && drawn.answer) {
      const colours = { missing: rgbOf("--missing"), surplus: rgbOf("--surplus") };
      this.paint(context, view, "errors", () => errors(answer, drawn.target, drawn.ignored, colours, this.pixels), Math.max(look.opacity, LEAST_ERROR_ALPHA));
    }
    const showsEdges = isRun && (look.mode === "fill" || look.mode === "lines");
    if (showsEdges) for (const number of answer.keys()) this.outline(context, view, "answer", answer, number, ["#06213abf", 4, []], [look.objects > 1 ? cssOf(this.nameOf(number)) : "#8fd0ff", 1.75, []]);
    if (this.isTarget ? look.mode !== "plain" || look.objects === 0 : showsEdges || (look.mode === "errors" && !drawn.answer)) {
      for (const number of drawn.target.keys()) this.outline(context, view, "target", drawn.target, number, ["#000000b3", isRun ? 3 : 4.5, []], [cssOf("--truth"), isRun ? 1.25 : 2, isRun ? [4, 3] : []]);
    }
    const crossing = this.crossOf(this.plane);
    if (crossing) drawCross(context, view.toScreen(crossing), view.screenSize);
    if (look.marks && isRun) {
      const colours = { pos: cssOf("--pos"), neg: cssOf("--neg"), newest: cssOf("--truth") };
      drawMarks(context, view, this.plane, drawn.index, drawn.prompts, drawn.round, colours);
    }
    if (this.plane.letters) drawLetters(context, this.plane.letters, view.screenSize);
  }

  /** Zoom to the target, unless it fills most of the picture or is not on this plane. */
  showTarget() {
    const box = boxOf([...(this.drawn?.target.values() ?? [])], this.plane.size);
    if (!box) return;
    const [down, across] = this.plane.edges;
    const [width, height] = shownSize(this.plane);
    const [left, top, right, bottom] = [box[0] * across, box[1] * down, box[2] * across, box[3] * down];
    const around = Math.max(CONTEXT * Math.max(right - left, bottom - top), LEAST_CONTEXT);
    if (right - left + 2 * around > width || bottom - top + 2 * around > height) return;
    this.picture.show([left - around, top - around, right + around, bottom + around], 0);
  }

  get pixels() {
    return this.plane.size[0] * this.plane.size[1];
  }

  /** @param {number} number */
  nameOf(number) {
    return `--s${(number - 1) % 7}`;
  }

  /**
   * @param {number} number
   * @returns {Colour}
   */
  colourOf(number) {
    return rgbOf(this.look().objects > 1 ? this.nameOf(number) : "--guess");
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {string} name
   * @param {() => Uint8ClampedArray} make
   * @param {number} alpha
   */
  paint(context, view, name, make, alpha) {
    const [height, width] = this.plane.size;
    const canvas = this.once(name, () => {
      const made = document.createElement("canvas");
      Object.assign(made, { width, height });
      /** @type {CanvasRenderingContext2D} */ (made.getContext("2d")).putImageData(new ImageData(make(), width, height), 0, 0);
      return made;
    });
    const [x, y] = view.toScreen([0, 0]);
    const [across, down] = shownSize(this.plane);
    context.save();
    context.globalAlpha = alpha;
    context.imageSmoothingEnabled = view.scale < 1;
    context.drawImage(canvas, x, y, across * view.scale, down * view.scale);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {View} view @param {string} name @param {Objects} objects @param {number} number
   * @param {...[string, number, number[]]} lines  colour, width, dashes: drawn on top of each other
   */
  outline(context, view, name, objects, number, ...lines) {
    const path = this.once(`${name} ${number}`, () => outlineOf(/** @type {Uint8Array} */ (objects.get(number)), this.plane.size));
    const [x, y] = view.toScreen([0, 0]);
    const placed = new Path2D();
    placed.addPath(path, new DOMMatrix([view.scale * this.plane.edges[1], 0, 0, view.scale * this.plane.edges[0], x, y]));
    context.save();
    context.lineCap = "square";
    for (const [colour, width, dashes] of lines) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dashes);
      context.stroke(placed);
    }
    context.restore();
  }

  /**
   * @param {string} name
   * @param {() => any} make
   */
  once(name, make) {
    if (!this.made.has(name)) this.made.set(name, make());
    return this.made.get(name);
  }

  /** Clear the pane if its content cannot be shown, so that no outdated picture remains. */
  blank() {
    this.drawn = null;
    this.made.clear();
    for (const level of this.picture.levels.splice(0)) level.close();
    this.picture.moved();
  }

  /** Repaint after a change of the page's colours. */
  repaint() {
    this.made.clear();
    this.picture.redraw();
  }

  close() {
    this.forgetColours();
    this.picture.close();
  }
}
