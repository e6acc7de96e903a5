// One pane: a plane of the sample with its overlays, for the target or for one run.

import { drawCross, drawLetters } from "./plane-guides.js";
import { cssOf, objectColour, onColours } from "./palette.js";
import { Picture } from "./zoomable-picture.js";
import { indexAt, shownSize } from "./plane-geometry.js";
import { drawMarks } from "./prompt-marks.js";
import { PlacedOutlines, boundsOf } from "./mask-drawing.js";

/** @typedef {import("./plane-geometry.js").Plane} Plane */
/** @typedef {import("./content.js").Outlines} Outlines */
/** @typedef {import("./viewport.js").View} View */
/** @typedef {"fill" | "lines" | "errors" | "plain"} Mode */

/**
 * @typedef {object} Drawn  what a pane shows
 * @property {number} place  index of the plane among the available ones
 * @property {Outlines} target
 * @property {Outlines} ignored
 * @property {Outlines | null} answer  null if there is none
 * @property {CanvasImageSource | null} heat
 * @property {any[][]} prompts
 * @property {number} round
 */

/**
 * @typedef {object} Look  display settings shared by all panes
 * @property {Mode} mode
 * @property {number} opacity
 * @property {boolean} marks
 * @property {number} numbered  how many of the latest rounds have numbered clicks
 * @property {boolean} isLatestOnly  whether only the prompts of the current round are drawn
 * @property {number[] | null} cross  the position where all planes meet
 * @property {number} objects  number of objects
 */

/** @type {Outlines} */
const NO_OUTLINES = new Map();
const IGNORED_ALPHA = 0.6;
const LEAST_ERROR_ALPHA = 0.6;
const BACKGROUND_COLOUR = "#111";
/** Margin around a target: a share of its longer side, and a minimum in pixels. */
const [CONTEXT, LEAST_CONTEXT] = [0.35, 24];

export class Pane {
  /**
   * @param {HTMLElement} host
   * @param {Plane} plane
   * @param {View | null} view  shared by linked panes
   * @param {{label: string, isTarget: boolean, margin: number, look: () => Look, crossOf: (plane: Plane) => [number, number] | null}} options
   */
  constructor(host, plane, view, { label, isTarget, margin, look, crossOf }) {
    this.plane = plane;
    this.isTarget = isTarget;
    this.look = look;
    this.crossOf = crossOf;
    this.picture = new Picture(host, { label, margin });
    if (view) this.picture.view = view;
    this.picture.onDraw = (context, own) => this.draw(context, own);
    /** @type {Drawn | null} */
    this.drawn = null;
    /** @type {Map<string, Path2D>} parsed outlines of what the pane shows */
    this.paths = new Map();
    this.forgetColours = onColours(() => this.picture.redraw());
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
    const before = this.drawn;
    if (before?.target !== drawn.target || before.answer !== drawn.answer || before.ignored !== drawn.ignored) this.paths.clear();
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
    const [down, across] = this.plane.outline_scale;
    const outlines = new PlacedOutlines(this.paths, view, [across, down]);
    outlines.fill(context, drawn.ignored, () => "#777", IGNORED_ALPHA);
    if (this.isTarget) this.drawTarget(context, outlines, drawn, look);
    else this.drawAnswer(context, view, outlines, drawn, look);
    const crossing = this.crossOf(this.plane);
    if (crossing) drawCross(context, view.toScreen(crossing), view.screenSize);
    if (look.marks && !this.isTarget) this.drawPrompts(context, view, drawn, look);
    if (this.plane.letters) drawLetters(context, this.plane.letters, view.screenSize);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {PlacedOutlines} outlines
   * @param {Drawn} drawn
   * @param {Look} look
   */
  drawTarget(context, outlines, { target }, look) {
    if (look.mode === "fill" && look.objects > 1) outlines.fill(context, target, (number) => this.colourOf(number), look.opacity);
    if (look.mode === "plain" && look.objects > 0) return;
    for (const data of target.values()) outlines.stroke(context, data, ["#000000b3", 4.5, []], [cssOf("--truth"), 2, []]);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {PlacedOutlines} outlines
   * @param {Drawn} drawn
   * @param {Look} look
   */
  drawAnswer(context, view, outlines, { target, ignored, answer, heat }, look) {
    const shown = answer ?? NO_OUTLINES;
    if (look.mode === "fill" && heat) this.drawHeat(context, view, heat, look.opacity);
    else if (look.mode === "fill") outlines.fill(context, shown, (number) => this.colourOf(number), look.opacity);
    if (look.mode === "errors" && answer) {
      const colours = { missing: cssOf("--missing"), surplus: cssOf("--surplus") };
      outlines.fillErrors(context, answer, target, ignored, colours, Math.max(look.opacity, LEAST_ERROR_ALPHA));
    }
    const showsEdges = look.mode === "fill" || look.mode === "lines";
    if (showsEdges) {
      for (const [number, data] of shown) {
        const colour = look.objects > 1 ? this.colourOf(number) : "#8fd0ff";
        outlines.stroke(context, data, ["#06213abf", 4, []], [colour, 1.75, []]);
      }
    }
    if (showsEdges || (look.mode === "errors" && !answer)) {
      for (const data of target.values()) outlines.stroke(context, data, ["#000000b3", 3, []], [cssOf("--truth"), 1.25, [4, 3]]);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {CanvasImageSource} heat
   * @param {number} opacity
   */
  drawHeat(context, view, heat, opacity) {
    const [x, y] = view.toScreen([0, 0]);
    const [width, height] = shownSize(this.plane);
    context.save();
    context.globalAlpha = Math.min(1, 2 * opacity);
    context.drawImage(heat, x, y, width * view.scale, height * view.scale);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Drawn} drawn
   * @param {Look} look
   */
  drawPrompts(context, view, { place, prompts, round }, look) {
    const shown = { rounds: prompts, now: round, numbered: look.numbered, isLatestOnly: look.isLatestOnly };
    const of = (/** @type {any} */ prompt) => {
      if (prompt.colour) return cssOf(prompt.colour);
      if (look.objects > 1) return prompt.object_id ? this.colourOf(prompt.object_id) : BACKGROUND_COLOUR;
      return cssOf(prompt.is_positive === false ? "--neg" : "--pos");
    };
    drawMarks(context, view, this.plane, indexAt(this.plane, place), shown, { newest: cssOf("--truth"), of });
  }

  /** Zoom to the target, unless it fills most of the picture or is not on this plane. */
  showTarget() {
    const box = boundsOf(this.drawn?.target ?? NO_OUTLINES);
    if (!box) return;
    const [down, across] = this.plane.outline_scale;
    const [width, height] = shownSize(this.plane);
    const [left, top, right, bottom] = [box[0] * across, box[1] * down, box[2] * across, box[3] * down];
    const around = Math.max(CONTEXT * Math.max(right - left, bottom - top), LEAST_CONTEXT);
    if (right - left + 2 * around > width || bottom - top + 2 * around > height) return;
    this.picture.show([left - around, top - around, right + around, bottom + around], 0);
  }

  /**
   * Return the colour of an object's prediction.
   * @param {number} number
   */
  colourOf(number) {
    return cssOf(this.look().objects > 1 ? objectColour(number) : "--guess");
  }

  /** Clear the pane if its content cannot be shown, so that no outdated picture remains. */
  blank() {
    this.drawn = null;
    this.paths.clear();
    for (const level of this.picture.levels.splice(0)) level.close();
    this.picture.moved();
  }

  close() {
    this.forgetColours();
    this.picture.close();
  }
}
