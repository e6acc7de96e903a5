// A person in the place of a simulated user: take a seat, see what the model made of the target, say what is wrong, round by round.

import { Picture } from "./picture.js";
import { listen } from "./pointer.js";
import { Strokes, screenNow } from "./strokes.js";
import { Talk, newId } from "./talk.js";
import { Clock } from "./seat-clock.js";
import { Masks, inSpace, planeSize } from "./seat-masks.js";
import { colourOf, drawCursor, drawLine, drawOutlines, drawPrompt, fillOf, outlinesOf } from "./seat-painting.js";
import { Round, nameOf } from "./seat-round.js";

/** @typedef {[number, number]} Point */

const WAIT_MS = 2000;
const POLL_MS = 400;
const MOST_WAIT_MS = 8000;
const FRAME_MS = 1000 / 24;
const TOOL_NAMES = { click: "Click", box: "Box", scribble: "Scribble", lasso: "Lasso" };
const KEYS = [
  ["Arrows", "move the cursor; with Shift by ten"],
  ["Space", "click; begin and end a box or a line"],
  ["X", "what you mark: belongs to it, or does not"],
  ["T", "next tool"],
  ["O", "next object"],
  ["PgUp, PgDn", "slice or frame; or turn the wheel"],
  ["1 2 3", "look across slices, rows, columns"],
  ["[ and ]", "first and last slice here"],
  ["Backspace", "undo"],
  ["Enter", "send"],
  ["G", "good enough: nothing is left to correct"],
  ["P", "pause"],
  ["+ − 0", "zoom, whole picture; or pinch"],
];

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
function the(id) {
  return /** @type {T} */ (document.getElementById(id));
}

/** @param {number} ms */
function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {string} name
 * @param {Record<string, string>} [given]
 * @param {...(Node | string)} inside
 */
function make(name, given = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/**
 * A colour of the style sheet as red, green, blue.
 * @param {string} name
 */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * @param {string} hex
 * @returns {number[]}
 */
function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

class Seat {
  constructor() {
    const root = the("seat");
    this.run = String(root.dataset.run);
    this.talk = new Talk({ key: String(root.dataset.key), person: Number(root.dataset.person) });
    /** @type {any} what does not change at this seat */
    this.about = null;
    /** @type {any} how far the dialogue is */
    this.state = null;
    this.seat = "";
    this.axis = 0;
    this.index = 0;
    this.tool = "click";
    this.isPositive = true;
    this.object = 1;
    this.clock = new Clock();
    this.round = new Round([1, 1]);
    this.id = newId();
    /** @type {Set<string>} */
    this.pointers = new Set();
    /** @type {Point | null} of the keyboard, in pixels of the plane */
    this.cursor = null;
    /** @type {Point[]} of a line or a box that is being drawn */
    this.line = [];
    this.isDrawing = false;
    /** @type {Masks} */
    this.target = new Masks([], [1, 1]);
    /** @type {Masks} */
    this.prediction = new Masks([], [1, 1]);
    /** @type {Masks | null} */
    this.ignore = null;
    /** @type {Uint8Array | null} */
    this.voxels = null;
    /** @type {Map<number, Promise<ImageBitmap>>} */
    this.frames = new Map();
    /** @type {{key: string, fill: ImageBitmap | null, target: Path2D[], prediction: Path2D[]}} */
    this.painted = { key: "", fill: null, target: [], prediction: [] };
    this.isBusy = false;
    this.isPlaying = false;
    this.picture = new Picture(the("picture"), { label: "What is to be segmented, and what the model made of it" });
    this.picture.onDraw = (context, view) => this.draw(context, view);
    const overlay = this.picture.overlay;
    overlay.tabIndex = 0;
    overlay.setAttribute("role", "application");
    overlay.setAttribute("aria-describedby", "help");
    this.strokes = new Strokes((point) => this.picture.view.toImage(point), { corner: () => this.corner() });
    this.listen();
  }

  /**
   * Where the picture is on the screen.
   * @returns {Point}
   */
  corner() {
    const { left, top } = this.picture.overlay.getBoundingClientRect();
    return [left, top];
  }

  // Which seat.

  async take() {
    for (;;) {
      const answer = await this.talk.ask("POST", `/studio/seats/${this.run}/take`, {});
      if (answer.outcome === "done" && answer.body.seat) return this.sit(answer.body.seat);
      if (answer.outcome === "signed-out" || answer.outcome === "refused") return this.tell(this.why(answer));
      const done = answer.body.mine ? `You did ${answer.body.mine}. ` : "";
      if (answer.outcome !== "done") this.tell(this.why(answer));
      else if (answer.body.is_answered) this.tell(`${done}Nothing is free for you just now; this page looks again.`);
      else this.tell(`${done}The run stands still or is over; this page looks again.`);
      await wait(WAIT_MS);
    }
  }

  /** @param {string} seat */
  async sit(seat) {
    this.seat = seat;
    this.tell("One moment …");
    const [about, state] = await Promise.all([this.fetch("about"), this.fetch("state")]);
    this.about = about;
    const { shape } = about;
    this.target = new Masks(about.target, shape);
    this.ignore = about.ignore ? new Masks([about.ignore], shape) : null;
    [this.axis, this.object, this.voxels] = [0, 1, null];
    this.frames.clear();
    if (about.kind === "volume") {
      const answer = await fetch(this.address("voxels"));
      this.voxels = new Uint8Array(await answer.arrayBuffer());
    }
    const areas = inSpace(shape)[0] > 1 ? this.target.areas(0) : [1];
    this.index = areas.indexOf(Math.max(...areas));
    this.showControls();
    the("stage").hidden = the("controls").hidden = false;
    the("cover").hidden = true;
    this.clock = new Clock();
    this.clock.stop("loading");
    this.picture.measure();
    await this.showPlane(false);
    this.take_in(state);
    this.picture.overlay.focus({ preventScroll: true });
  }

  /**
   * Ask until it is there.
   * @param {string} what
   */
  async fetch(what) {
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(MOST_WAIT_MS, 2 * wait_ms)) {
      const answer = await this.talk.ask("GET", this.address(what));
      if (answer.outcome === "done") return answer.body;
      this.tell(this.why(answer));
      await wait(wait_ms);
    }
  }

  /** @param {string} what */
  address(what) {
    return `/studio/seats/${this.run}/${this.seat}/${what}`;
  }

  /** @param {import("./talk.js").Answer} answer */
  why(answer) {
    if (answer.outcome === "signed-out") return "Nobody is signed in here any more: open the link that the run printed, or sign in, again. What you gave is kept.";
    if (answer.outcome === "away") return "The server is not reached; this page tries again. What you gave is kept.";
    return answer.message;
  }

  // Rounds.

  /**
   * Go on from what the server knows.
   * @param {any} state
   */
  take_in(state) {
    this.state = state;
    this.isBusy = false;
    if (state.prediction.length) this.prediction = new Masks(state.prediction, this.about.shape);
    else this.prediction = new Masks(this.about.target.map(() => [inSpace(this.about.shape).reduce((all, one) => all * one, 1)]), this.about.shape);
    this.painted.key = "";
    const count = this.about.rounds >= 1000 ? "" : ` of ${this.about.rounds}`;
    the("round").textContent = state.is_over ? "" : `Round ${state.round}${count}`;
    this.showValues();
    if (state.is_waiting) return void this.poll();
    const drafted = this.drafted();
    this.round = new Round(this.about.shape, drafted.prompts);
    this.id = drafted.id;
    this.pointers = new Set(drafted.pointers);
    this.clock = new Clock(undefined, drafted.ms);
    if (document.hidden) this.clock.stop("hidden");
    this.strokes = new Strokes((point) => this.picture.view.toImage(point), { corner: () => this.corner(), since: performance.now() });
    /** @type {HTMLTextAreaElement} */ (the("note")).value = drafted.note;
    this.showDrawn();
    this.picture.redraw();
    if (state.is_over) this.end();
    else this.tell(this.task());
  }

  task() {
    const what = this.about.label ? `“${this.about.label}”` : "the outlined target";
    if (this.state.round === 1) return `Show the model ${what}.`;
    return this.about.shows.errors ? "What is missing and what is too much is coloured: mark what matters most." : "Mark what is wrong, or say that it is good enough.";
  }

  end() {
    this.clock.stop("sent");
    const rounds = this.state.given.filter((/** @type {any} */ each) => each).length;
    const why = this.state.failure ? `It ended early: ${this.state.failure}` : `${rounds} ${rounds === 1 ? "round" : "rounds"}. Thank you.`;
    this.tell("This dialogue is over.");
    the("controls").hidden = true;
    this.covered(`This dialogue is over. ${why}`, "Next one", () => this.take());
  }

  /**
   * @param {string} told
   * @param {string} name
   * @param {() => void} act
   */
  covered(told, name, act) {
    const button = the("cover-act");
    the("cover-told").textContent = told;
    button.textContent = name;
    button.onclick = () => {
      the("cover").hidden = true;
      act();
    };
    the("cover").hidden = false;
    button.focus();
  }

  pause() {
    if (!this.state || this.state.is_over || this.isBusy) return;
    this.clock.stop("paused");
    this.keepDraft();
    this.covered("Paused. The clock stands still, and what you drew is kept.", "Go on", () => {
      this.clock.go("paused");
      this.picture.overlay.focus({ preventScroll: true });
    });
  }

  /** @param {boolean} isEnd nothing is left to correct */
  async send(isEnd = false) {
    if (this.isBusy || !this.state || this.state.is_over || !the("cover").hidden) return;
    if (!isEnd && this.round.isEmpty) return this.tell("Nothing is drawn yet.");
    this.isBusy = true;
    this.clock.stop("sent");
    this.keepDraft();
    const body = {
      id: this.id,
      prompts: isEnd ? null : this.round.prompts,
      active_s: Math.round(1000 * this.clock.seconds) / 1000,
      pointer: [...this.pointers].sort().join("+"),
      note: /** @type {HTMLTextAreaElement} */ (the("note")).value,
      strokes: { screen: screenNow(this.picture.view.scale), strokes: this.strokes.strokes },
    };
    this.tell("The model works; the clock stands still.");
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(MOST_WAIT_MS, 2 * wait_ms)) {
      const answer = await this.talk.ask("PUT", this.address(`rounds/${this.state.round}`), body, { limit_ms: 40_000 });
      if (answer.outcome === "done") {
        localStorage.removeItem(this.draftName());
        return this.take_in(answer.body);
      }
      if (answer.outcome === "conflict") {
        localStorage.removeItem(this.draftName());
        this.take_in(await this.fetch("state"));
        return this.tell(answer.message);
      }
      if (answer.outcome === "refused") {
        this.isBusy = false;
        this.clock.go("sent");
        return this.tell(answer.message);
      }
      this.tell(this.why(answer));
      await wait(wait_ms);
    }
  }

  /** The answer takes long: look for it. */
  async poll() {
    this.isBusy = true;
    this.clock.stop("sent");
    let state = this.state;
    while (state.is_waiting) {
      this.tell(state.is_answered ? "The model works; the clock stands still." : "The run stands still; it goes on when it is started again. What you gave is kept.");
      await wait(POLL_MS);
      state = await this.fetch("state");
    }
    this.take_in(state);
  }

  // What is drawn and not given yet outlives the page.

  draftName() {
    return `seat:${this.run}:${this.seat}:${this.state.round}`;
  }

  keepDraft() {
    const note = /** @type {HTMLTextAreaElement} */ (the("note")).value;
    const draft = { id: this.id, prompts: this.round.prompts, ms: 1000 * this.clock.seconds, note, pointers: [...this.pointers] };
    localStorage.setItem(this.draftName(), JSON.stringify(draft));
  }

  /** @returns {{id: string, prompts: import("./seat-round.js").Prompt[], ms: number, note: string, pointers: string[]}} */
  drafted() {
    const empty = { id: newId(), prompts: [], ms: 0, note: "", pointers: [] };
    try {
      return { ...empty, ...JSON.parse(localStorage.getItem(this.draftName()) ?? "{}") };
    } catch {
      return empty;
    }
  }

  // What is seen.

  async showPlane(keepsView = true) {
    const index = this.index;
    const source = this.voxels ? await this.slice() : await this.frame(index);
    if (index !== this.index) return;
    const size = planeSize(this.about.shape, this.axis);
    await this.picture.setImage(await createImageBitmap(source), { size: this.stretched(size), keepsView });
    this.painted.key = "";
    this.clock.go("loading");
    this.showSlider();
    this.picture.redraw();
  }

  /**
   * A frame, kept for a while with its neighbours.
   * @param {number} index
   */
  frame(index) {
    for (const near of [index, index + 1, index - 1]) {
      if (near < 0 || near >= inSpace(this.about.shape)[0] || this.frames.has(near)) continue;
      this.frames.set(near, fetch(this.address(`picture/${near}`)).then(async (answer) => createImageBitmap(await answer.blob())));
      if (this.frames.size > 120) this.frames.delete(/** @type {number} */ (this.frames.keys().next().value));
    }
    return /** @type {Promise<ImageBitmap>} */ (this.frames.get(index));
  }

  /** A plane of a volume, with the brightness and contrast that were chosen. */
  slice() {
    const voxels = /** @type {Uint8Array} */ (this.voxels);
    const [, rows, columns] = this.about.shape;
    const [width, height] = planeSize(this.about.shape, this.axis);
    const image = new ImageData(width, height);
    const gain = 2 ** (Number(/** @type {HTMLInputElement} */ (the("contrast")).value) / 40);
    const shift = Number(/** @type {HTMLInputElement} */ (the("bright")).value) * 1.28;
    const strides = [[columns, 1], [rows * columns, 1], [rows * columns, columns]][this.axis];
    const start = this.index * [rows * columns, columns, 1][this.axis];
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        const grey = (voxels[start + y * strides[0] + x * strides[1]] - 128) * gain + 128 + shift;
        image.data[at] = image.data[at + 1] = image.data[at + 2] = grey;
        image.data[at + 3] = 255;
      }
    }
    return createImageBitmap(image);
  }

  /**
   * The size in which a plane is shown: voxels are not cubes.
   * @param {Point} size
   * @returns {Point}
   */
  stretched([width, height]) {
    const spacing = this.about.spacing;
    if (!spacing.length) return [width, height];
    const [down, across] = [[1, 2], [0, 2], [0, 1]][this.axis];
    return [width, (height * spacing[down]) / spacing[across]];
  }

  /**
   * Pixels of the plane per pixel of what is shown.
   * @returns {Point}
   */
  get stretch() {
    const size = planeSize(this.about.shape, this.axis);
    const shown = this.stretched(size);
    return [size[0] / shown[0], size[1] / shown[1]];
  }

  /**
   * @param {Point} point on the screen
   * @returns {Point} on the plane
   */
  toPlane(point) {
    const [x, y] = this.picture.view.toImage(point);
    return [x * this.stretch[0], y * this.stretch[1]];
  }

  /**
   * @param {Point} point on the plane
   * @returns {Point} on the screen
   */
  toScreen([x, y]) {
    return this.picture.view.toScreen([x / this.stretch[0], y / this.stretch[1]]);
  }

  get place() {
    return { axis: this.axis, index: this.index };
  }

  async paint() {
    const { about } = this;
    const target = this.target.plane(this.axis, this.index);
    const prediction = this.prediction.plane(this.axis, this.index);
    const ignore = this.ignore && this.ignore.plane(this.axis, this.index);
    const colours = { truth: rgb(colour("--truth")), missing: rgb(colour("--missing")), surplus: rgb(colour("--surplus")) };
    const hasAnswer = this.state.prediction.length > 0;
    const objects = about.target.length;
    const key = this.painted.key;
    const fill = await fillOf(target, prediction, ignore, {
      isHighlighted: about.shows.target === "highlight",
      showsErrors: about.shows.errors && hasAnswer,
      colours,
    });
    if (key !== this.painted.key) return fill.close();
    this.painted = { key, fill, target: outlinesOf(target, objects), prediction: hasAnswer ? outlinesOf(prediction, objects) : [] };
    this.picture.redraw();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./view.js").View} view
   */
  draw(context, view) {
    if (!this.state) return;
    const key = `${this.axis}:${this.index}:${this.state.round}`;
    if (this.painted.key !== key) {
      this.painted = { key, fill: null, target: [], prediction: [] };
      this.paint();
    }
    const { about, painted } = this;
    const several = about.target.length > 1;
    const scale = /** @type {Point} */ ([view.scale / this.stretch[0], view.scale / this.stretch[1]]);
    if (painted.fill) {
      context.imageSmoothingEnabled = false;
      context.drawImage(painted.fill, ...view.offset, this.picture.size[0] * view.scale, this.picture.size[1] * view.scale);
    }
    drawOutlines(context, view, scale, painted.prediction, (place) => (several ? colourOf(place + 1) : colour("--guess")), []);
    if (about.shows.target === "outline") {
      drawOutlines(context, view, scale, painted.target, (place) => (several ? colourOf(place + 1) : colour("--truth")), [7, 5]);
    }
    const toScreen = (/** @type {Point} */ point) => this.toScreen(point);
    const colours = { positive: colour("--pos"), negative: colour("--neg") };
    for (const prompts of this.state.given) {
      for (const prompt of prompts ?? []) drawPrompt(context, toScreen, prompt, this.place, { isNew: false, several, colours });
    }
    for (const prompt of this.round.prompts) drawPrompt(context, toScreen, prompt, this.place, { isNew: true, several, colours });
    this.drawLine(context, several ? colourOf(this.object) : this.isPositive ? colours.positive : colours.negative);
    if (this.cursor && document.activeElement === this.picture.overlay) drawCursor(context, this.toScreen(this.cursor));
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
    drawLine(context, points.map((point) => this.toScreen(point)), hue, this.tool !== "scribble");
  }

  // Controls.

  showControls() {
    const { about } = this;
    the("what").textContent = about.label || document.title.split(" · ")[0];
    const tools = about.kinds.filter((/** @type {string} */ kind) => kind in TOOL_NAMES);
    this.tool = tools[0];
    this.choices(the("tools"), "tool", tools.map((/** @type {keyof typeof TOOL_NAMES} */ kind) => [kind, TOOL_NAMES[kind]]), this.tool);
    the("tools").hidden = tools.length < 2;
    const several = about.target.length > 1;
    const objects = about.target.map((/** @type {unknown} */ _, /** @type {number} */ place) => [String(place + 1), String(place + 1)]);
    this.choices(the("objects"), "object", [...objects, ["0", "background"]], "1");
    for (const span of the("objects").querySelectorAll("span")) {
      const swatch = make("i", { class: "swatch full", "aria-hidden": "true" });
      swatch.style.setProperty("--swatch", colourOf(Number(span.textContent === "background" ? 0 : span.textContent)));
      span.prepend(swatch);
    }
    the("objects").hidden = !several;
    the("signs").hidden = several || !tools.some((/** @type {string} */ kind) => kind !== "box");
    the("planes").hidden = the("window").hidden = about.kind !== "volume";
    the("limits").hidden = !about.kinds.includes("limits");
    the("slider").hidden = about.kind === "image";
    the("play").hidden = about.kind !== "video";
    the("send").hidden = this.sendsAtOnce;
    /** @type {HTMLInputElement} */ (document.querySelector("[name=axis][value='0']")).checked = true;
    this.legend(several);
  }

  /** One click is a round: nothing waits for another one. */
  get sendsAtOnce() {
    return this.about.kind === "image" && this.about.kinds.length === 1 && this.about.kinds[0] === "click";
  }

  /**
   * @param {HTMLElement} group
   * @param {string} name
   * @param {string[][]} values
   * @param {string} chosen
   */
  choices(group, name, values, chosen) {
    for (const label of group.querySelectorAll("label")) label.remove();
    for (const [value, text] of values) {
      const input = /** @type {HTMLInputElement} */ (make("input", { type: "radio", name, value }));
      input.checked = value === chosen;
      group.append(make("label", {}, input, make("span", {}, text)));
    }
  }

  /** @param {boolean} several */
  legend(several) {
    const { shows } = this.about;
    const rows = [
      [shows.target === "outline" ? "swatch dashed" : "swatch full", colour("--truth"), "what is to be segmented"],
      ["swatch", colour("--guess"), "the model's answer"],
      ...(shows.errors ? [["swatch full", colour("--missing"), "missing"], ["swatch full", colour("--surplus"), "too much"]] : []),
    ];
    the("legend").replaceChildren(
      ...rows.map(([kind, hue, text]) => {
        const swatch = make("i", { class: kind, "aria-hidden": "true" });
        if (!several || kind === "swatch full") swatch.style.setProperty("--swatch", hue);
        return make("li", {}, swatch, text);
      }),
    );
  }

  showSlider() {
    const length = inSpace(this.about.shape)[this.axis];
    const slider = /** @type {HTMLInputElement} */ (the("index"));
    slider.max = String(length - 1);
    slider.value = String(this.index);
    const name = this.about.kind === "video" ? "Frame" : ["Slice", "Row", "Column"][this.axis];
    the("index-name").textContent = `${name} ${this.index + 1} of ${length}`;
  }

  showDrawn() {
    the("drawn").replaceChildren(...this.round.prompts.map((prompt) => make("li", {}, nameOf(prompt))));
  }

  showValues() {
    const told = Object.entries(this.state.values).filter(([, value]) => value !== null);
    the("values").hidden = told.length === 0;
    the("values").textContent = told.map(([name, value]) => `${name} ${Number(value).toFixed(3)}`).join(" · ");
  }

  /** @param {string} text */
  tell(text) {
    if (the("told").textContent !== text) the("told").textContent = text;
  }

  /** @param {number} index */
  goTo(index) {
    const last = inSpace(this.about.shape)[this.axis] - 1;
    const wanted = Math.min(last, Math.max(0, index));
    if (wanted === this.index || this.isDrawing) return;
    this.index = wanted;
    this.showPlane();
  }

  /** @param {number} axis */
  look(axis) {
    if (this.about.kind !== "volume" || axis === this.axis || this.isDrawing) return;
    this.axis = axis;
    const areas = this.target.areas(axis);
    this.index = areas.indexOf(Math.max(...areas));
    this.cursor = null;
    this.showPlane(false);
  }

  async play() {
    this.isPlaying = !this.isPlaying;
    the("play").textContent = this.isPlaying ? "Stop" : "Play";
    while (this.isPlaying) {
      const began = performance.now();
      const last = inSpace(this.about.shape)[0] - 1;
      this.index = this.index === last ? 0 : this.index + 1;
      await this.showPlane();
      await wait(Math.max(0, FRAME_MS - (performance.now() - began)));
    }
  }

  // Drawing, by any pointer and by keys.

  /** @param {string} pointer */
  drew(pointer) {
    this.pointers.add(pointer);
    this.keepDraft();
    this.showDrawn();
    this.picture.redraw();
    if (this.sendsAtOnce) this.send();
  }

  get mayDraw() {
    return this.state && !this.state.is_over && !this.isBusy && the("cover").hidden;
  }

  /**
   * @param {Point} point
   * @param {boolean} isPositive
   * @param {string} pointer
   */
  click(point, isPositive, pointer) {
    if (this.mayDraw && this.round.click(this.place, point, isPositive, this.object)) this.drew(pointer);
  }

  /** @param {Point} point */
  begin(point) {
    this.line = [point];
    this.isDrawing = true;
  }

  /** @param {string} pointer */
  finish(pointer) {
    const { line, tool, object, place } = this;
    this.line = [];
    this.isDrawing = false;
    const isDrawn =
      tool === "box"
        ? this.round.box(place, line[0], line[line.length - 1], object)
        : this.round.line(tool, place, line, this.about.target.length > 1 || this.isPositive, object);
    if (isDrawn) this.drew(pointer);
    else this.tell("That was too short: drag to draw.");
    this.picture.redraw();
  }

  undo() {
    if (this.isBusy) return;
    if (this.isDrawing) [this.line, this.isDrawing] = [[], false];
    else if (this.round.undo()) this.strokes.undo();
    this.keepDraft();
    this.showDrawn();
    this.picture.redraw();
  }

  /** @param {"first" | "last"} which */
  limit(which) {
    if (this.mayDraw && this.about.kinds.includes("limits") && this.round.limit(this.place, which, this.object)) this.drew("mouse");
  }

  listen() {
    listen(this.picture.overlay, {
      press: (sample, clicks) => {
        if (!this.mayDraw) return false;
        this.cursor = null;
        this.strokes.press(sample, clicks);
        if (this.tool !== "click") this.begin(this.toPlane([sample.x, sample.y]));
      },
      drag: (samples) => {
        this.strokes.drag(samples);
        if (!this.isDrawing) return;
        for (const { x, y } of samples) this.line.push(this.toPlane([x, y]));
        this.picture.redraw();
      },
      release: (sample) => {
        this.strokes.release(sample);
        if (this.isDrawing) this.finish(sample.kind);
        else if (this.tool === "click") this.click(this.toPlane([sample.x, sample.y]), this.isPositive, sample.kind);
      },
      cancel: () => {
        this.strokes.cancel();
        [this.line, this.isDrawing] = [[], false];
        this.picture.redraw();
      },
      second: (sample) => {
        if (this.tool !== "click" || this.about?.target.length > 1) return;
        this.strokes.press(sample);
        this.strokes.release(sample);
        this.click(this.toPlane([sample.x, sample.y]), !this.isPositive, sample.kind);
      },
      pan: (dx, dy) => this.picture.panBy(dx, dy),
      zoom: (point, factor) => this.picture.zoomAbout(point, factor),
      wheel: (_, dy, event) => {
        if (!this.about || this.about.kind === "image" || event.ctrlKey) return false;
        if (dy) this.goTo(this.index + Math.sign(dy));
        return true;
      },
    });
    this.picture.overlay.addEventListener("keydown", (event) => this.key(event));
    the("send").onclick = () => this.send();
    the("undo").onclick = () => this.undo();
    the("done").onclick = () => this.send(true);
    the("pause").onclick = () => this.pause();
    the("fit").onclick = () => this.picture.fit();
    the("first").onclick = () => this.limit("first");
    the("last").onclick = () => this.limit("last");
    the("earlier").onclick = () => this.goTo(this.index - 1);
    the("later").onclick = () => this.goTo(this.index + 1);
    the("play").onclick = () => this.play();
    the("index").oninput = () => this.goTo(Number(/** @type {HTMLInputElement} */ (the("index")).value));
    for (const name of ["bright", "contrast"]) the(name).oninput = () => this.showPlane();
    the("note").oninput = () => this.keepDraft();
    the("controls").addEventListener("change", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.clock.stop("hidden");
      else this.clock.go("hidden");
      if (this.state && !this.isBusy && !this.state.is_over) this.keepDraft();
    });
    window.addEventListener("pagehide", () => {
      if (this.state && !this.isBusy && !this.state.is_over) this.keepDraft();
    });
    the("keys").append(...KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
  }

  /** @param {HTMLInputElement} input */
  chosen(input) {
    if (input.name === "tool") this.tool = input.value;
    if (input.name === "sign") this.isPositive = input.value === "1";
    if (input.name === "object") this.object = Number(input.value);
    if (input.name === "axis") this.look(Number(input.value));
    this.picture.redraw();
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
    if (event.ctrlKey || event.metaKey || event.altKey || !this.about) return;
    const step = event.shiftKey ? 10 : 1;
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowLeft: () => this.moveCursor(-step, 0),
      ArrowRight: () => this.moveCursor(step, 0),
      ArrowUp: () => this.moveCursor(0, -step),
      ArrowDown: () => this.moveCursor(0, step),
      " ": () => this.pressKey(),
      x: () => this.next("sign"),
      t: () => this.next("tool"),
      o: () => this.next("object"),
      PageUp: () => this.goTo(this.index - 1),
      PageDown: () => this.goTo(this.index + 1),
      1: () => this.lookBy("0"),
      2: () => this.lookBy("1"),
      3: () => this.lookBy("2"),
      "[": () => this.limit("first"),
      "]": () => this.limit("last"),
      Backspace: () => this.undo(),
      Enter: () => void this.send(),
      g: () => void this.send(true),
      p: () => this.pause(),
      "+": () => this.picture.zoomAbout(this.middle, 1.3),
      "=": () => this.picture.zoomAbout(this.middle, 1.3),
      "-": () => this.picture.zoomAbout(this.middle, 1 / 1.3),
      0: () => this.picture.fit(),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** @param {string} axis */
  lookBy(axis) {
    if (this.about.kind !== "volume") return;
    const input = /** @type {HTMLInputElement} */ (document.querySelector(`[name=axis][value='${axis}']`));
    input.checked = true;
    this.chosen(input);
  }

  /**
   * Where keys zoom about: the cursor, else the middle.
   * @returns {Point}
   */
  get middle() {
    const [width, height] = this.picture.screen;
    return this.cursor ? this.toScreen(this.cursor) : [width / 2, height / 2];
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  moveCursor(dx, dy) {
    const [width, height] = planeSize(this.about.shape, this.axis);
    const [x, y] = this.cursor ?? [Math.floor(width / 2) + 0.5, Math.floor(height / 2) + 0.5];
    const isFirst = this.cursor === null;
    this.cursor = isFirst ? [x, y] : [Math.min(width - 0.5, Math.max(0.5, x + dx)), Math.min(height - 0.5, Math.max(0.5, y + dy))];
    if (this.isDrawing) this.line.push(this.cursor);
    this.picture.redraw();
  }

  pressKey() {
    if (!this.mayDraw) return;
    if (!this.cursor) return this.moveCursor(0, 0);
    if (this.tool === "click") this.click(this.cursor, this.isPositive, "keyboard");
    else if (this.isDrawing) this.finish("keyboard");
    else this.begin(this.cursor);
  }
}

new Seat().take();
