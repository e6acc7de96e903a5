// Clicks, boxes and scribbles that prompt a segmenter: the mask is shown at once, Enter turns it
// into a region, Esc discards it.

import { addRegion } from "./region-commands.js";
import { boxBetween } from "./adjust-tool.js";
import { area } from "../common/geometry.js";
import { leastArea } from "./outline-rules.js";

/** @typedef {import("./assistant.js").Assist} Assist */
/** @typedef {import("./assistant.js").Prompt} Prompt */
/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {[number, number]} Point */

const BLUE = "#1c6fd6";
const RED = "#c92a2a";
/** Smaller boxes are ignored as accidental. */
const LEAST_BOX_PX = 4;

export class Assisting {
  name = "assist";
  title = "Ask a segmenter";
  hasLoupe = true;

  /**
   * @param {Editor} editor
   * @param {Assist} assist
   */
  constructor(editor, assist) {
    this.editor = editor;
    this.assist = assist;
    /** @type {"click" | "box" | "scribble"} */
    this.form = "click";
    /** Whether new prompts mark the background. */
    this.isNegative = false;
    /**
     * The points of the box or scribble being drawn.
     * @type {Point[]}
     */
    this.stroke = [];
    this.isReady = false;
    assist.onChange = () => {
      if (assist.trouble) editor.say(assist.trouble);
      editor.changed();
    };
    this.keys = {
      Enter: () => !editor.hasCursor && this.accept(),
      "Shift+Enter": () => this.accept(),
      G: () => this.accept(),
      Escape: () => assist.drop(),
      Backspace: () => assist.back(),
      Delete: () => assist.back(),
      T: () => this.turn(),
    };
  }

  /** @param {"click" | "box" | "scribble"} form */
  take(form) {
    this.form = form;
    this.editor.useTool(this.name);
    this.editor.changed();
  }

  enter() {
    if (this.isReady) return;
    this.isReady = true;
    void this.assist.prepare();
  }

  exit() {
    this.assist.drop();
  }

  /** Toggle whether the next prompts mark the object or the background. */
  turn() {
    this.isNegative = !this.isNegative;
    this.editor.changed();
    return true;
  }

  /** Return a hint about the next possible actions. */
  advice() {
    const { assist, form } = this;
    if (assist.isAsking) return `Waiting for ${assist.segmenter} …`;
    if (assist.trouble) return assist.trouble;
    if (assist.answered) return "Enter turns the mask into a region; more prompts correct it; Esc discards it.";
    const sign = this.isNegative ? "the background" : "the object";
    if (form === "box") return "Draw a box around the object.";
    return form === "scribble" ? `Draw a line through ${sign}.` : `Click on ${sign}; right-click or long-press the background.`;
  }

  /** @param {Touch} touch */
  press(touch) {
    this.stroke = [touch.at];
    return this.form === "click" ? undefined : false;
  }

  /** @param {Touch} touch */
  drag(touch) {
    if (this.form === "scribble") this.stroke.push(touch.at);
    else if (this.form === "box") this.stroke = [this.stroke[0], touch.at];
    else this.stroke = [touch.at];
  }

  /** @param {Touch} touch */
  release(touch) {
    const [stroke, isPositive] = [this.stroke, !(this.isNegative || touch.isBox)];
    this.stroke = [];
    if (!stroke.length || this.editor.isReadOnly) return;
    if (this.form === "click") this.click(touch.at, isPositive);
    else if (this.form === "scribble") void this.assist.scribble([...stroke, touch.at].filter((at) => this.isInside(at)), isPositive);
    else if (this.isLarge(stroke[0], touch.at)) void this.assist.box(stroke[0], touch.at);
    else this.editor.say("Draw a box around the object: press at one corner, release at the opposite one.");
  }

  /**
   * A secondary click or a long press marks the background.
   * @param {Touch} touch
   */
  second(touch) {
    this.stroke = [];
    if (!this.editor.isReadOnly) this.click(touch.at, false);
  }

  cancel() {
    this.stroke = [];
  }

  /**
   * @param {Point} at
   * @param {boolean} isPositive
   */
  click(at, isPositive) {
    if (this.isInside(at)) void this.assist.click(at, isPositive);
    else this.editor.say("Click inside the picture.");
  }

  /** @param {Point} at */
  isInside([x, y]) {
    const [width, height] = this.editor.size;
    return x >= 0 && y >= 0 && x < width && y < height;
  }

  /**
   * @param {Point} from
   * @param {Point} to
   */
  isLarge(from, to) {
    const least = this.editor.inImage(LEAST_BOX_PX);
    return Math.abs(from[0] - to[0]) > least && Math.abs(from[1] - to[1]) > least;
  }

  /**
   * Turn each part of the mask that is large enough into a region at the front, all in one undo step. Select
   * the largest so that it can be named. Return whether there was a mask.
   */
  accept() {
    const { assist, editor } = this;
    if (!assist.answered) return false;
    const least = leastArea(editor.size);
    const polygons = assist.polygons().filter((polygon) => area(polygon) >= least);
    if (!polygons.length) {
      editor.refuse("small");
      return true;
    }
    const before = new Set(editor.scene.regions.map((region) => region.id));
    const first = editor.scene.nextRegion;
    const isDone = editor.edit("close", first, (steps) => {
      const refusals = polygons.reverse().map((polygon) => addRegion(steps, polygon)); // the largest comes last, in front
      return refusals.find((refusal) => refusal !== null) ?? null;
    });
    if (!isDone) return true;
    assist.drop();
    const [made] = editor.scene.regions.filter((region) => !before.has(region.id));
    editor.select(made.id);
    editor.onClosed(made.id);
    editor.say(polygons.length === 1 ? "A region was created; you can adjust its outline." : `${polygons.length} parts became regions.`);
    return true;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  draw(context, view) {
    this.drawMask(context, view);
    for (const prompt of this.assist.prompts) drawPrompt(context, view, prompt);
    const { stroke } = this;
    if (this.form === "box" && stroke.length > 1) drawPrompt(context, view, { kind: "box", from: stroke[0], to: stroke[1] });
    else if (this.form === "scribble" && stroke.length) drawPrompt(context, view, { kind: "scribble", points: stroke, is_positive: !this.isNegative });
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  drawMask(context, view) {
    const rings = this.assist.answered?.rings ?? [];
    if (!rings.length) return;
    context.beginPath();
    for (const ring of rings) {
      ring.forEach((at, place) => (place ? context.lineTo(...view.toScreen(at)) : context.moveTo(...view.toScreen(at))));
      context.closePath();
    }
    context.fillStyle = `${BLUE}59`;
    context.fill();
    outline(context, BLUE, this.assist.isAsking ? [6, 5] : []);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Prompt} prompt
 */
function drawPrompt(context, view, prompt) {
  context.beginPath();
  if (prompt.kind === "box") {
    const [x0, y0, x1, y1] = boxBetween(view.toScreen(prompt.from), view.toScreen(prompt.to));
    context.rect(x0, y0, x1 - x0, y1 - y0);
    return outline(context, BLUE, []);
  }
  const colour = prompt.is_positive ? BLUE : RED;
  if (prompt.kind === "scribble") {
    prompt.points.forEach((at, place) => (place ? context.lineTo(...view.toScreen(at)) : context.moveTo(...view.toScreen(at))));
    return outline(context, colour, prompt.is_positive ? [] : [2, 5], 4);
  }
  drawSign(context, view.toScreen(prompt.at), prompt.is_positive);
}

/**
 * Draw a disc with a plus or a minus, distinguishable without colour.
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 * @param {boolean} isPositive
 */
function drawSign(context, [x, y], isPositive) {
  context.arc(x, y, 8, 0, 2 * Math.PI);
  context.fillStyle = isPositive ? BLUE : RED;
  context.fill();
  outline(context, "#fff", [], 1.5);
  context.beginPath();
  context.moveTo(x - 4, y);
  context.lineTo(x + 4, y);
  if (isPositive) {
    context.moveTo(x, y - 4);
    context.lineTo(x, y + 4);
  }
  context.lineWidth = 2;
  context.strokeStyle = "#fff";
  context.stroke();
}

/**
 * Draw a line that is visible on any picture.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {number[]} dashes
 * @param {number} [width]
 */
function outline(context, colour, dashes, width = 2) {
  context.lineJoin = context.lineCap = "round";
  context.lineWidth = width + 2;
  context.strokeStyle = "#ffffffd0";
  context.stroke();
  context.setLineDash(dashes);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
  context.setLineDash([]);
}

/**
 * The actions of this tool, for the table of actions.
 * @type {import("./actions.js").Action[]}
 */
export const ASSISTING = [
  action("assist-click", "Prompt a segmenter with clicks", "E", "click"),
  action("assist-box", "Prompt a segmenter with a box", "Shift+E", "box"),
  action("assist-scribble", "Prompt a segmenter with a line", "R", "scribble"),
  { name: "assist-accept", title: "Turn the mask into a region", keys: ["G"], group: "Asking", when: hasAnswer, run: (editor) => void toolOf(editor)?.accept(),
    hint: () => "turn it into a region" },
  { name: "assist-turn", title: "Switch the next prompts between object and background", keys: ["T"], group: "Asking", when: isAsking, run: (editor) => void toolOf(editor)?.turn(),
    isOn: (editor) => Boolean(toolOf(editor)?.isNegative), hint: (editor) => (toolOf(editor)?.isNegative ? "mark the object" : "mark the background") },
  { name: "assist-back", title: "Remove the last prompt", keys: ["Backspace"], group: "Asking", when: hasPrompts, run: (editor) => void toolOf(editor)?.assist.back(),
    hint: () => "remove the last prompt" },
  { name: "assist-drop", title: "Discard the mask", keys: ["Escape"], group: "Asking", when: hasPrompts, run: (editor) => void toolOf(editor)?.assist.drop(),
    hint: () => "discard it" },
]; // prettier-ignore

/**
 * @param {string} name
 * @param {string} title
 * @param {string} key
 * @param {"click" | "box" | "scribble"} form
 * @returns {import("./actions.js").Action}
 */
function action(name, title, key, form) {
  return {
    name, title, keys: [key], group: "Asking", when: (editor) => toolOf(editor) !== null, run: (editor) => toolOf(editor)?.take(form),
    isOn: (editor) => isAsking(editor) && toolOf(editor)?.form === form,
  }; // prettier-ignore
}

/**
 * @param {Editor} editor
 * @returns {Assisting | null}
 */
function toolOf(editor) {
  return /** @type {Assisting | undefined} */ (/** @type {unknown} */ (editor.tools.get("assist"))) ?? null;
}

/** @param {Editor} editor */
function isAsking(editor) {
  return editor.tool.name === "assist";
}

/** @param {Editor} editor */
function hasPrompts(editor) {
  return isAsking(editor) && Boolean(toolOf(editor)?.assist.prompts.length);
}

/** @param {Editor} editor */
function hasAnswer(editor) {
  return isAsking(editor) && Boolean(toolOf(editor)?.assist.answered);
}
