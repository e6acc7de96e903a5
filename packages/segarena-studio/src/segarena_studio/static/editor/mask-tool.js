// The mask tool: paint a region with a round brush, and erase. Each stroke is one undo step and
// becomes an outline at once, so that saving and merging need not handle masks.

import { paintOn, paintRegion } from "./mask-painting.js";
import { ruleAbout } from "./outline-rules.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */
/** @typedef {[number, number]} Point */

/** Radius of the brush when it is first used, in px of the screen. */
const FIRST_RADIUS = 18;
const LEAST_RADIUS_PX = 0.75;
const MOST_RADIUS_PX = 2000;
const FACTOR = 1.25;
const ERASING = "#d9480f";
const PAINTING = "#1c6fd6";

export class Masking {
  name = "mask";
  title = "Paint a region with a brush";

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** Radius of the brush in px of the picture; 0 until the tool is first used. */
    this.radius = 0;
    /** Whether strokes erase. */
    this.erases = false;
    /** @type {Point[]} the stroke being painted */
    this.stroke = [];
    this.isErasing = false;
    /** @type {Record<string, () => boolean>} */
    this.keys = { Enter: () => this.askName() };
  }

  enter() {
    this.radius ||= this.editor.inImage(FIRST_RADIUS);
  }

  exit() {
    this.stroke = [];
  }

  /** Return a hint about the next possible actions. */
  advice() {
    if (this.erases) return this.editor.region ? "Erase from the selected region, or cut a hole in it." : "Select a region to erase from it.";
    return this.editor.region ? "Paint to extend the region; hold Alt to erase." : "Paint a new region.";
  }

  /** Ask for the name of the painted region; the keyboard cursor needs Enter itself. */
  askName() {
    const { editor } = this;
    if (editor.hasCursor || editor.selected === null) return false;
    editor.onClosed(editor.selected);
    return true;
  }

  /** Toggle between painting and erasing. */
  turn() {
    this.erases = !this.erases;
    this.editor.changed();
  }

  /** @param {number} steps positive for a larger brush */
  resize(steps) {
    const radius = this.radius * FACTOR ** steps;
    this.radius = Math.min(Math.max(radius, LEAST_RADIUS_PX), MOST_RADIUS_PX);
    this.editor.changed();
  }

  /** @param {Touch} touch */
  press(touch) {
    this.isErasing = this.erases || touch.isAlt || touch.isBox;
    this.stroke = [touch.at];
    return false;
  }

  /** @param {Touch} touch */
  drag(touch) {
    const last = this.stroke.at(-1);
    // Closer points change no pixel that matters.
    const isFar = !last || Math.hypot(touch.at[0] - last[0], touch.at[1] - last[1]) > Math.max(this.radius / 6, 0.5);
    if (isFar) this.stroke.push(touch.at);
  }

  /** @param {Touch} touch */
  release(touch) {
    const { editor, stroke, isErasing, radius } = this;
    this.stroke = [];
    if (!stroke.length) return;
    const id = editor.selected;
    if (id === null && isErasing) return editor.say("Select a region to erase from it.");
    const painted = { points: [...stroke, touch.at], radius, isErasing };
    if (id !== null) this.paintOn(id, painted);
    else if (editor.edit("paint", null, (steps) => paintRegion(steps, painted))) editor.select(editor.scene.regions[0].id);
  }

  /**
   * @param {string} id
   * @param {import("./mask-painting.js").Stroke} painted
   */
  paintOn(id, painted) {
    const { editor } = this;
    const before = editor.scene.outlines(id);
    if (!editor.edit("paint", id, (steps) => paintOn(steps, id, painted))) return;
    const rule = ruleAbout(before, editor.scene.outlines(id));
    if (rule) editor.say(rule);
  }

  cancel() {
    this.stroke = [];
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../../../reports/viewer/viewport.js").View} view
   */
  draw(context, view) {
    const { editor, stroke, radius, isErasing, erases } = this;
    const isOff = stroke.length ? isErasing : erases || editor.cursor.isAlt;
    if (stroke.length) {
      context.save();
      context.globalAlpha = 0.5;
      context.strokeStyle = isOff ? ERASING : PAINTING;
      context.lineWidth = 2 * radius * view.scale;
      context.lineCap = context.lineJoin = "round";
      context.beginPath();
      for (const at of [stroke[0], ...stroke]) context.lineTo(...view.toScreen(at));
      context.stroke();
      context.restore();
    }
    if (!editor.isPointing && !editor.hasCursor && !stroke.length) return;
    const [x, y] = view.toScreen(editor.cursor.at);
    for (const [width, colour] of /** @type {[number, string][]} */ ([[3, "rgba(8, 14, 20, 0.62)"], [1.5, isOff ? "#ffb38a" : "#fff"]])) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.beginPath();
      context.arc(x, y, Math.max(radius * view.scale, 1), 0, 2 * Math.PI);
      context.stroke();
    } // prettier-ignore
  }
}
