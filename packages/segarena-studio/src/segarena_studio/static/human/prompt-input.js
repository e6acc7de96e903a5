// Input of a person at a seat, by pointer or by keyboard: prompts of a round, choices, and
// navigation.

import { cssOf } from "../../../reports/viewer/palette.js";
import { listen } from "../../../reports/viewer/pointer.js";
import { FAR, KEYS, actsOf } from "./keyboard.js";
import { onPlane, positionOf } from "./masks.js";
import { make, the, valueOf } from "./page-elements.js";
import { colourOf, drawCursor, drawLine, drawPrompt } from "./painting.js";
import { Round, nameOf } from "./round.js";
import { Strokes } from "../common/strokes.js";

/** @typedef {[number, number]} Point */
/** @typedef {import("./sample-view.js").Sight} Sight */
/** @typedef {import("./pane.js").SeatPane} SeatPane */
/**
 * @typedef {object} Does  callbacks to the page
 * @property {() => boolean} mayDraw
 * @property {() => void} changed  called when the unsent prompts have changed
 * @property {() => void} drew  called when a prompt is complete
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
    /** @type {import("./round.js").Prompt[][]} */
    this.given = [];
    /** @type {Set<string>} */
    this.pointers = new Set();
    /** @type {Point | null} keyboard cursor, in pixels of the main plane */
    this.cursor = null;
    /** @type {SeatPane | null} pane of the current stroke */
    this.pane = null;
    /** @type {Point[]} points of the line or box in progress */
    this.line = [];
    this.isDrawing = false;
    this.strokes = this.freshStrokes();
    sight.onDraw = (context, pane) => this.draw(context, pane);
    sight.onPane = (pane) => this.hear(pane);
    this.listen();
  }

  freshStrokes() {
    const inHand = () => this.pane ?? this.sight.main;
    const corner = () => {
      const { left, top } = inHand().picture.overlay.getBoundingClientRect();
      return /** @type {Point} */ ([left, top]);
    };
    return new Strokes((point) => inHand().toPlane(point), { corner, since: performance.now() });
  }

  /** Reset the state of the previous seat. */
  clear() {
    [this.object, this.given, this.round, this.cursor, this.pane] = [1, [], new Round([1, 1]), null, null];
  }

  /**
   * Begin a round.
   * @param {import("./round.js").Prompt[]} prompts  prompts restored from a draft
   * @param {string[]} pointers
   * @param {import("./round.js").Prompt[][]} given  prompts of the previous rounds
   */
  beginRound(prompts, pointers, given) {
    this.round = new Round(this.sight.about.shape, prompts);
    this.pointers = new Set(pointers);
    this.given = given;
    this.strokes = this.freshStrokes();
    this.showDrawn();
    this.sight.redraw();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {SeatPane} pane
   */
  draw(context, pane) {
    const { several } = this.sight;
    const toScreen = (/** @type {Point} */ point) => pane.toScreen(point);
    const colours = { positive: cssOf("--pos"), negative: cssOf("--neg") };
    for (const prompts of this.given) {
      for (const prompt of prompts ?? []) drawPrompt(context, toScreen, prompt, pane.place, { isNew: false, several, colours });
    }
    for (const prompt of this.round.prompts) drawPrompt(context, toScreen, prompt, pane.place, { isNew: true, several, colours });
    if (pane === this.pane) this.drawLine(context, several ? colourOf(this.object) : this.isPositive ? colours.positive : colours.negative);
    const isMain = pane === this.sight.main && document.activeElement === pane.picture.overlay;
    if (this.cursor && isMain) drawCursor(context, toScreen(this.cursor));
  }

  /**
   * Draw the prompt in progress.
   * @param {CanvasRenderingContext2D} context
   * @param {string} hue
   */
  drawLine(context, hue) {
    const { line, pane } = this;
    if (line.length < 2 || !pane) return;
    const [[x0, y0], [x1, y1]] = [line[0], line[line.length - 1]];
    /** @type {Point[]} */
    const points = this.tool === "box" ? [[x0, y0], [x1, y0], [x1, y1], [x0, y1]] : line;
    drawLine(context, points.map((point) => pane.toScreen(point)), hue, this.tool !== "scribble");
  }

  showDrawn() {
    the("drawn").replaceChildren(...this.round.prompts.map((prompt) => make("li", {}, nameOf(prompt))));
  }

  /** @param {string} pointer */
  drew(pointer) {
    this.pointers.add(pointer);
    this.does.changed();
    this.showDrawn();
    this.sight.redraw();
    this.does.drew();
  }

  /**
   * @param {number} index
   * @param {SeatPane} [pane]
   */
  goTo(index, pane = this.sight.main) {
    if (!this.isDrawing) this.sight.goTo(index, pane);
  }

  /** @param {number} direction */
  look(direction) {
    if (this.isDrawing) return;
    this.cursor = null;
    this.sight.look(direction);
  }

  /**
   * @param {Point} point
   * @param {boolean} isPositive
   * @param {string} pointer
   */
  click(point, isPositive, pointer) {
    const pane = this.pane ?? this.sight.main;
    if (this.does.mayDraw() && this.round.click(pane.place, point, isPositive, this.object)) this.drew(pointer);
  }

  /**
   * Move the other planes of a volume to a point of this one.
   * @param {SeatPane} pane
   * @param {Point} point
   */
  goThrough(pane, [x, y]) {
    const { shape } = this.sight.about;
    const position = positionOf(shape, pane.axis, pane.index, [Math.floor(x), Math.floor(y)]);
    if (this.sight.cross && this.round.isInside(position)) this.sight.setCross(position);
  }

  /** @param {Point} point */
  begin(point) {
    this.line = [point];
    this.isDrawing = true;
  }

  /** @param {string} pointer */
  finish(pointer) {
    const { line, tool, object } = this;
    const { place } = this.pane ?? this.sight.main;
    this.drop();
    const isDrawn =
      tool === "box"
        ? this.round.box(place, line[0], line[line.length - 1], object)
        : this.round.line(tool, place, line, this.sight.several || this.isPositive, object);
    if (isDrawn) this.drew(pointer);
    else this.does.tell("That was too short: drag to draw.");
    this.sight.redraw();
  }

  /** Clear the stroke in progress. */
  drop() {
    [this.line, this.isDrawing] = [[], false];
  }

  undo() {
    if (!this.does.mayDraw()) return;
    if (this.isDrawing) this.drop();
    else if (this.round.undo()) this.strokes.undo();
    this.does.changed();
    this.showDrawn();
    this.sight.redraw();
  }

  /**
   * @param {"first" | "last"} which
   * @param {string} pointer
   */
  limit(which, pointer) {
    if (!this.does.mayDraw() || !this.sight.about.kinds.includes("limits")) return;
    if (this.round.limit(this.sight.main.place, which, this.object)) this.drew(pointer);
  }

  /**
   * Listen to pointers on a pane.
   * @param {SeatPane} pane
   */
  hear(pane) {
    const { picture } = pane;
    const pointOf = (/** @type {{x: number, y: number}} */ { x, y }) => pane.toPlane([x, y]);
    pane.stopListening = listen(picture.overlay, {
      press: (sample, clicks) => {
        if (!this.does.mayDraw() || (this.isDrawing && pane !== this.pane)) return false;
        [this.pane, this.cursor] = [pane, null];
        this.goThrough(pane, pointOf(sample));
        if (this.tool === "look") return;
        this.strokes.press(sample, clicks);
        this.strokes.strokes[this.strokes.strokes.length - 1].place = pane.place;
        if (this.tool !== "click") this.begin(pointOf(sample));
      },
      drag: (samples) => {
        if (pane !== this.pane) return;
        if (this.tool === "look") return this.goThrough(pane, pointOf(samples[samples.length - 1]));
        this.strokes.drag(samples);
        if (!this.isDrawing) return;
        for (const sample of samples) this.line.push(pointOf(sample));
        picture.redraw();
      },
      release: (sample) => {
        if (pane !== this.pane) return; // the stroke belongs to another pane
        this.strokes.release(sample);
        if (this.isDrawing) this.finish(sample.kind);
        else if (this.tool === "click") this.click(pointOf(sample), this.isPositive, sample.kind);
      },
      cancel: () => {
        if (pane !== this.pane) return;
        this.strokes.cancel();
        this.drop();
        picture.redraw();
      },
      second: (sample) => {
        if (this.tool !== "click" || this.sight.several || !this.does.mayDraw()) return;
        this.pane = pane;
        this.goThrough(pane, pointOf(sample));
        this.strokes.press(sample);
        this.strokes.strokes[this.strokes.strokes.length - 1].place = pane.place;
        this.strokes.release(sample);
        this.click(pointOf(sample), !this.isPositive, sample.kind);
      },
      pan: (dx, dy) => picture.panBy(dx, dy),
      zoom: (point, factor) => picture.zoomAbout(point, factor),
      wheel: (_, dy, event) => {
        if (!this.sight.about || this.sight.about.kind === "image" || event.ctrlKey) return false;
        if (dy) this.goTo(pane.index + Math.sign(dy), pane);
        return true;
      },
    });
    picture.overlay.addEventListener("keydown", (event) => this.key(event));
  }

  listen() {
    the("send").onclick = () => this.does.send(false);
    the("undo").onclick = () => this.undo();
    the("done").onclick = () => this.does.send(true);
    the("pause").onclick = () => this.does.pause();
    the("fit").onclick = () => this.sight.fit();
    the("first").onclick = () => this.limit("first", "mouse");
    the("last").onclick = () => this.limit("last", "mouse");
    the("earlier").onclick = () => this.goTo(this.sight.main.index - 1);
    the("later").onclick = () => this.goTo(this.sight.main.index + 1);
    the("play").onclick = () => this.sight.play();
    the("index").oninput = () => this.goTo(Number(valueOf("index")));
    the("controls").addEventListener("change", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    the("keys").append(...KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
  }

  /** @param {HTMLInputElement} input */
  chosen(input) {
    if (input.name === "tool") this.tool = input.value;
    if (input.name === "sign") this.isPositive = input.value === "1";
    if (input.name === "object") this.object = Number(input.value);
    if (input.name === "direction") this.look(Number(input.value));
    this.sight.redraw();
  }

  /**
   * Select the next option of a group, as a click on it would.
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

  /** @param {string} direction */
  lookBy(direction) {
    const input = /** @type {HTMLInputElement | null} */ (document.querySelector(`[name=direction][value='${direction}']`));
    if (!input) return;
    input.checked = true;
    this.chosen(input);
    this.sight.focus();
  }

  /**
   * Return the centre for zooming by keyboard: the cursor, or else the middle of the pane.
   * @returns {Point}
   */
  get middle() {
    const { main } = this.sight;
    const [width, height] = main.picture.screen;
    return this.cursor ? main.toScreen(this.cursor) : [width / 2, height / 2];
  }

  /**
   * @param {number} dx  steps to the right on the screen
   * @param {number} dy
   */
  moveCursor(dx, dy) {
    const { main } = this.sight;
    const [height, width] = main.plane.size;
    const way = main.plane.is_turned ? -1 : 1;
    if (!this.cursor) this.cursor = this.startOfCursor();
    else {
      const [x, y] = this.cursor;
      this.cursor = [Math.min(width - 0.5, Math.max(0.5, x + way * dx)), Math.min(height - 0.5, Math.max(0.5, y + way * dy))];
    }
    if (this.isDrawing) this.line.push(this.cursor);
    this.goThrough(main, this.cursor);
    main.picture.redraw();
  }

  /**
   * Return the point where all planes meet, or else the middle of the pane.
   * @returns {Point}
   */
  startOfCursor() {
    const { main, cross } = this.sight;
    const [height, width] = main.plane.size;
    const [x, y] = cross ? onPlane(cross, main.axis).point : [Math.floor(width / 2), Math.floor(height / 2)];
    return [x + 0.5, y + 0.5];
  }

  pressKey() {
    if (!this.does.mayDraw()) return;
    if (!this.cursor) return this.moveCursor(0, 0);
    if (this.tool === "look") return;
    this.pane = this.sight.main;
    if (this.tool === "click") this.click(this.cursor, this.isPositive, "keyboard");
    else if (this.isDrawing) this.finish("keyboard");
    else this.begin(this.cursor);
  }
}
