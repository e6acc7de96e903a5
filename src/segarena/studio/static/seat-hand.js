// What a person's hand does at a seat, by any pointer or by keys alone: prompts of a round, choices, where they look.

import { cssOf } from "./palette.js";
import { listen } from "./pointer.js";
import { FAR, KEYS, actsOf } from "./seat-keys.js";
import { planeSize } from "./seat-masks.js";
import { make, the, valueOf } from "./seat-page.js";
import { colourOf, drawCursor, drawLine, drawPrompt } from "./seat-painting.js";
import { Round, nameOf } from "./seat-round.js";
import { Strokes } from "./strokes.js";

/** @typedef {[number, number]} Point */
/** @typedef {import("./seat-sight.js").Sight} Sight */
/**
 * @typedef {object} Does  what the page does for a hand
 * @property {() => boolean} mayDraw
 * @property {() => void} changed  what is drawn has changed
 * @property {() => void} drew  a prompt is complete
 * @property {(isEnd: boolean) => void} send
 * @property {() => void} pause
 * @property {(text: string) => void} tell
 */

export class Hand {
  /**
   * @param {Sight} sight
   * @param {Does} does
   */
  constructor(sight, does) {
    this.sight = sight;
    this.does = does;
    this.tool = "click";
    this.isPositive = true;
    this.object = 1;
    this.round = new Round([1, 1]);
    /** @type {import("./seat-round.js").Prompt[][]} */
    this.given = [];
    /** @type {Set<string>} */
    this.pointers = new Set();
    /** @type {Point | null} of the keyboard, in pixels of the plane */
    this.cursor = null;
    /** @type {Point[]} of a line or a box that is being drawn */
    this.line = [];
    this.isDrawing = false;
    this.strokes = this.freshStrokes();
    sight.onDraw = (context) => this.draw(context);
    this.listen();
  }

  freshStrokes() {
    const { picture } = this.sight;
    const corner = () => {
      const { left, top } = picture.overlay.getBoundingClientRect();
      return /** @type {Point} */ ([left, top]);
    };
    return new Strokes((point) => picture.view.toImage(point), { corner, since: performance.now() });
  }

  /** Forget the seat before. */
  clear() {
    [this.object, this.given, this.round, this.cursor] = [1, [], new Round([1, 1]), null];
  }

  /**
   * Begin a round.
   * @param {import("./seat-round.js").Prompt[]} prompts  that were drawn already
   * @param {string[]} pointers
   * @param {import("./seat-round.js").Prompt[][]} given  in the rounds before
   */
  beginRound(prompts, pointers, given) {
    this.round = new Round(this.sight.about.shape, prompts);
    this.pointers = new Set(pointers);
    this.given = given;
    this.strokes = this.freshStrokes();
    this.showDrawn();
    this.sight.picture.redraw();
  }

  /** @param {CanvasRenderingContext2D} context */
  draw(context) {
    const { several, place } = this.sight;
    const toScreen = (/** @type {Point} */ point) => this.sight.toScreen(point);
    const colours = { positive: cssOf("--pos"), negative: cssOf("--neg") };
    for (const prompts of this.given) {
      for (const prompt of prompts ?? []) drawPrompt(context, toScreen, prompt, place, { isNew: false, several, colours });
    }
    for (const prompt of this.round.prompts) drawPrompt(context, toScreen, prompt, place, { isNew: true, several, colours });
    this.drawLine(context, several ? colourOf(this.object) : this.isPositive ? colours.positive : colours.negative);
    if (this.cursor && document.activeElement === this.sight.picture.overlay) drawCursor(context, toScreen(this.cursor));
  }

  /**
   * What is being drawn.
   * @param {CanvasRenderingContext2D} context
   * @param {string} hue
   */
  drawLine(context, hue) {
    if (this.line.length < 2) return;
    let points = this.line;
    if (this.tool === "box") {
      const [[x0, y0], [x1, y1]] = [points[0], points[points.length - 1]];
      points = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    }
    drawLine(context, points.map((point) => this.sight.toScreen(point)), hue, this.tool !== "scribble");
  }

  showDrawn() {
    the("drawn").replaceChildren(...this.round.prompts.map((prompt) => make("li", {}, nameOf(prompt))));
  }

  /** @param {string} pointer */
  drew(pointer) {
    this.pointers.add(pointer);
    this.does.changed();
    this.showDrawn();
    this.sight.picture.redraw();
    this.does.drew();
  }

  /** @param {number} index */
  goTo(index) {
    if (!this.isDrawing) this.sight.goTo(index);
  }

  /** @param {number} axis */
  look(axis) {
    if (this.isDrawing) return;
    this.cursor = null;
    this.sight.look(axis);
  }

  /**
   * @param {Point} point
   * @param {boolean} isPositive
   * @param {string} pointer
   */
  click(point, isPositive, pointer) {
    if (this.does.mayDraw() && this.round.click(this.sight.place, point, isPositive, this.object)) this.drew(pointer);
  }

  /** @param {Point} point */
  begin(point) {
    this.line = [point];
    this.isDrawing = true;
  }

  /** @param {string} pointer */
  finish(pointer) {
    const { line, tool, object } = this;
    const { place } = this.sight;
    this.line = [];
    this.isDrawing = false;
    const isDrawn =
      tool === "box"
        ? this.round.box(place, line[0], line[line.length - 1], object)
        : this.round.line(tool, place, line, this.sight.several || this.isPositive, object);
    if (isDrawn) this.drew(pointer);
    else this.does.tell("That was too short: drag to draw.");
    this.sight.picture.redraw();
  }

  undo() {
    if (!this.does.mayDraw()) return;
    if (this.isDrawing) [this.line, this.isDrawing] = [[], false];
    else if (this.round.undo()) this.strokes.undo();
    this.does.changed();
    this.showDrawn();
    this.sight.picture.redraw();
  }

  /**
   * @param {"first" | "last"} which
   * @param {string} pointer
   */
  limit(which, pointer) {
    if (!this.does.mayDraw() || !this.sight.about.kinds.includes("limits")) return;
    if (this.round.limit(this.sight.place, which, this.object)) this.drew(pointer);
  }

  listen() {
    listen(this.sight.picture.overlay, {
      press: (sample, clicks) => {
        if (!this.does.mayDraw()) return false;
        this.cursor = null;
        this.strokes.press(sample, clicks);
        if (this.tool !== "click") this.begin(this.sight.toPlane([sample.x, sample.y]));
      },
      drag: (samples) => {
        this.strokes.drag(samples);
        if (!this.isDrawing) return;
        for (const { x, y } of samples) this.line.push(this.sight.toPlane([x, y]));
        this.sight.picture.redraw();
      },
      release: (sample) => {
        this.strokes.release(sample);
        if (this.isDrawing) this.finish(sample.kind);
        else if (this.tool === "click") this.click(this.sight.toPlane([sample.x, sample.y]), this.isPositive, sample.kind);
      },
      cancel: () => {
        this.strokes.cancel();
        [this.line, this.isDrawing] = [[], false];
        this.sight.picture.redraw();
      },
      second: (sample) => {
        if (this.tool !== "click" || this.sight.several) return;
        this.strokes.press(sample);
        this.strokes.release(sample);
        this.click(this.sight.toPlane([sample.x, sample.y]), !this.isPositive, sample.kind);
      },
      pan: (dx, dy) => this.sight.picture.panBy(dx, dy),
      zoom: (point, factor) => this.sight.picture.zoomAbout(point, factor),
      wheel: (_, dy, event) => {
        if (!this.sight.about || this.sight.about.kind === "image" || event.ctrlKey) return false;
        if (dy) this.goTo(this.sight.index + Math.sign(dy));
        return true;
      },
    });
    this.sight.picture.overlay.addEventListener("keydown", (event) => this.key(event));
    the("send").onclick = () => this.does.send(false);
    the("undo").onclick = () => this.undo();
    the("done").onclick = () => this.does.send(true);
    the("pause").onclick = () => this.does.pause();
    the("fit").onclick = () => this.sight.picture.fit();
    the("first").onclick = () => this.limit("first", "mouse");
    the("last").onclick = () => this.limit("last", "mouse");
    the("earlier").onclick = () => this.goTo(this.sight.index - 1);
    the("later").onclick = () => this.goTo(this.sight.index + 1);
    the("play").onclick = () => this.sight.play();
    the("index").oninput = () => this.goTo(Number(valueOf("index")));
    for (const name of ["bright", "contrast"]) the(name).oninput = () => void this.sight.turnTo();
    the("controls").addEventListener("change", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    the("keys").append(...KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
  }

  /** @param {HTMLInputElement} input */
  chosen(input) {
    if (input.name === "tool") this.tool = input.value;
    if (input.name === "sign") this.isPositive = input.value === "1";
    if (input.name === "object") this.object = Number(input.value);
    if (input.name === "axis") this.look(Number(input.value));
    this.sight.picture.redraw();
  }

  /**
   * Choose the next of a group, as if it were clicked.
   * @param {string} name
   */
  next(name) {
    const inputs = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(`#controls [name=${name}]`)]);
    const chosen = inputs[(inputs.findIndex((input) => input.checked) + 1) % inputs.length];
    if (!chosen) return;
    chosen.checked = true;
    this.chosen(chosen);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.sight.about) return;
    const act = actsOf(this, event.shiftKey ? FAR : 1)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {string} axis */
  lookBy(axis) {
    if (this.sight.about.kind !== "volume") return;
    const input = /** @type {HTMLInputElement} */ (document.querySelector(`[name=axis][value='${axis}']`));
    input.checked = true;
    this.chosen(input);
  }

  /**
   * Where keys zoom about: the cursor, else the middle.
   * @returns {Point}
   */
  get middle() {
    const [width, height] = this.sight.picture.screen;
    return this.cursor ? this.sight.toScreen(this.cursor) : [width / 2, height / 2];
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  moveCursor(dx, dy) {
    const [width, height] = planeSize(this.sight.about.shape, this.sight.axis);
    const [x, y] = this.cursor ?? [Math.floor(width / 2) + 0.5, Math.floor(height / 2) + 0.5];
    const isFirst = this.cursor === null;
    this.cursor = isFirst ? [x, y] : [Math.min(width - 0.5, Math.max(0.5, x + dx)), Math.min(height - 0.5, Math.max(0.5, y + dy))];
    if (this.isDrawing) this.line.push(this.cursor);
    this.sight.picture.redraw();
  }

  pressKey() {
    if (!this.does.mayDraw()) return;
    if (!this.cursor) return this.moveCursor(0, 0);
    if (this.tool === "click") this.click(this.cursor, this.isPositive, "keyboard");
    else if (this.isDrawing) this.finish("keyboard");
    else this.begin(this.cursor);
  }
}
