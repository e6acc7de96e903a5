// The viewer: one place, a sample or a dialogue about a target, with all runs side by side at one zoom.

import { noteOf } from "../../reports/rounds.js";
import { listen } from "./pointer.js";
import { View } from "./view.js";
import { drawCurve } from "./viewer-curve.js";
import { isInside, pointOf, positionOf, shownSize } from "./viewer-geometry.js";
import { Pane } from "./viewer-pane.js";
import { momentIn, roundsOf, valueText } from "./viewer-rounds.js";
import { Store } from "./viewer-store.js";
import { PRESETS, dragged, firstWindow, greys, short, tableOf } from "./viewer-window.js";

/** @typedef {import("./viewer-geometry.js").Plane} Plane */
/** @typedef {import("./viewer-rounds.js").Dialogue} Dialogue */
/** @typedef {import("./viewer-window.js").Window} Window */
/** @typedef {import("./viewer-window.js").Levels} Levels */
/** @typedef {[string, string, string, number]} Key  sample, target, user, repeat */
/** @typedef {{key: Key, kind: string, planes: Plane[], levels: Levels | null, objects: {number: number, id: string, label: string}[], has_ignored: boolean, dialogues: Dialogue[], notes: string[]}} Place */
/** @typedef {{around: {row: number | null, count: number, previous: Key | null, next: Key | null}, place: Place | null, problem: string}} Shown */
/** @typedef {{pane: Pane, direction: number, dialogue: Dialogue | null, figure: HTMLElement, caption: HTMLElement, stop: () => void, wanted: string}} Held */

const AHEAD = 12;
/** @type {import("./viewer-masks.js").Objects} */
const NONE = new Map();
const SWIPE_PX = 60;
const NARROW_PX = 500;
const PAN_PX = 60;
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** What stands above and below the panes, what a caption takes, and the least height of a pane. */
const [CHROME_PX, CAPTION_PX, LEAST_PX] = [215, 32, 220];
const MODES = ["fill", "lines", "errors", "plain"];
/**
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} kind
 * @param {ParentNode} [where]
 * @returns {T}
 */
function find(selector, kind, where = document) {
  const found = where.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** @param {Key} key */
export function addressOf([sample, target, user, repeat]) {
  return new URLSearchParams({ sample, target, user, repeat: String(repeat) }).toString();
}

export class Viewer {
  /** @param {HTMLElement} root  the element with `data-address` of the collection */
  constructor(root) {
    this.root = root;
    this.address = /** @type {string} */ (root.dataset.address);
    this.store = new Store(this.address);
    /** What was asked of the list that the place was chosen from. */
    this.question = new URLSearchParams(location.search);
    for (const name of ["sample", "target", "user", "repeat", "round"]) this.question.delete(name);
    this.controls = find("form.controls", HTMLFormElement, root);
    this.panes = find(".panes", HTMLElement, root);
    this.problem = find(".problem", HTMLElement, root);
    /** @type {Shown | null} */
    this.shown = null;
    /** @type {Held[]} */
    this.held = [];
    this.round = 1;
    /**
     * The plane of each direction.
     * @type {number[]}
     */
    this.indices = [];
    /** @type {number[] | null} */
    this.cross = null;
    /** @type {Window | null} */
    this.window = null;
    /** @type {Uint8ClampedArray | null} */
    this.table = null;
    this.directions = "all";
    this.step = 1;
    /** The direction that was gone through last. */
    this.moving = 0;
    this.timer = 0;
    this.loading = 0;
    this.moveCursor = (/** @type {number} */ _round) => {};
    this.wire();
  }

  get place() {
    return this.shown?.place ?? null;
  }

  get word() {
    return this.root.dataset.word ?? "round";
  }

  /**
   * @param {string} name
   * @returns {any}
   */
  control(name) {
    return this.controls.elements.namedItem(name);
  }

  // What is shown

  /**
   * Show a place: that of the page's address at first.
   * @param {Key} key
   * @param {number} [round]
   */
  async load(key, round) {
    const number = ++this.loading;
    this.pause();
    this.root.setAttribute("aria-busy", "true");
    const address = addressOf(key);
    /** @type {Shown} */
    let shown;
    try {
      shown = await (await this.store.ask(`place?${address}&${this.question}`)).json();
    } catch (error) {
      shown = { around: { row: null, count: 0, previous: null, next: null }, place: null, problem: String(error instanceof Error ? error.message : error) };
    }
    if (number !== this.loading) return;
    this.root.removeAttribute("aria-busy");
    const before = this.place;
    this.shown = shown;
    this.key = key;
    this.problem.textContent = shown.problem;
    this.problem.hidden = !shown.problem;
    this.tellAround();
    this.tellNotes(shown.place?.notes ?? []);
    const place = shown.place;
    this.root.classList.toggle("is-bare", !place);
    if (!place) {
      this.clear();
      return;
    }
    const rounds = roundsOf(place.dialogues);
    const isSameSample = before?.key[0] === key[0] && before.planes.length === place.planes.length && this.indices.length === place.planes.length;
    this.round = Math.min(rounds, round ?? rounds);
    if (!isSameSample || !before || before.key[1] !== key[1]) this.begin(place);
    if (place.levels && (!this.window || !isSameSample)) this.setWindow(firstWindow(place.levels), false);
    this.fillControls(place, rounds);
    this.wantsTarget = place.kind === "image" && Boolean(key[1]) && (!before || before.key[1] !== key[1] || !isSameSample);
    this.build(place, isSameSample && before?.key[1] === key[1]);
    this.moveCursor = drawCurve(find(".rounds", HTMLElement, this.root), place.dialogues, rounds, (chosen) => this.setRound(chosen));
    this.refresh();
    this.note();
  }

  /**
   * Begin in the middle of the target.
   * @param {Place} place
   */
  begin(place) {
    this.indices = place.planes.map((plane) => plane.first);
    this.cross = null;
    if (place.kind === "volume") {
      this.cross = [0, 0, 0];
      for (const plane of place.planes) this.cross[/** @type {number} */ (plane.axis)] = plane.first;
    }
  }

  clear() {
    for (const held of this.held) {
      held.stop();
      held.pane.close();
    }
    this.held = [];
    this.panes.replaceChildren();
    for (const name of [".rounds", ".values tbody", ".legend"]) find(name, Element, this.root).replaceChildren();
  }

  /**
   * The directions that are shown.
   * @returns {number[]}
   */
  get shownDirections() {
    const every = this.place?.planes.map((_, direction) => direction) ?? [];
    return this.directions === "all" ? every : every.filter((direction) => String(direction) === this.directions);
  }

  /**
   * A row of panes for the target and for each run, a pane for each direction.
   * @param {Place} place
   * @param {boolean} keepsViews
   */
  build(place, keepsViews) {
    const views = new Map(keepsViews ? this.held.map((held) => [held.direction, held.pane.picture.view]) : []);
    this.clear();
    const directions = this.shownDirections;
    /** @type {(Dialogue | null)[]} */
    const rows = [...(this.control("target").checked || !place.dialogues.length ? [null] : []), ...place.dialogues];
    for (const dialogue of rows) {
      for (const direction of directions) {
        const view = views.get(direction) ?? new View();
        views.set(direction, view);
        this.held.push(this.makePane(place, dialogue, direction, view));
      }
    }
    this.isFresh = !keepsViews;
    this.layOut(rows.length, directions.length);
    this.panes.classList.toggle("is-volume", place.kind === "volume");
    this.tellObjects(place);
  }

  /**
   * @param {number} rows
   * @param {number} directions
   */
  layOut(rows, directions) {
    const width = this.panes.clientWidth || 1000;
    const most = Math.max(1, Math.floor(width / 250));
    const columns = directions > 1 ? Math.min(directions, most) : Math.min(rows, most, 4);
    const lines = Math.ceil((rows * directions) / columns);
    this.panes.style.setProperty("--columns", String(columns));
    const planes = /** @type {Place} */ (this.place).planes;
    const tallest = Math.max(...this.shownDirections.map((direction) => shownSize(planes[direction])).map(([across, down]) => down / across));
    const room = (window.innerHeight - CHROME_PX) / Math.min(lines, 2) - CAPTION_PX;
    const needed = (width / columns) * tallest;
    this.panes.style.setProperty("--height", `${Math.round(Math.max(LEAST_PX, Math.min(room, needed)))}px`);
  }

  /**
   * @param {Place} place
   * @param {Dialogue | null} dialogue
   * @param {number} direction
   * @param {View} view
   * @returns {Held}
   */
  makePane(place, dialogue, direction, view) {
    const plane = place.planes[direction];
    const figure = document.createElement("figure");
    figure.className = `pane${dialogue ? "" : " target"}`;
    const host = document.createElement("div");
    host.className = "frame";
    const name = dialogue ? dialogue.label : place.objects.length ? "target" : "sample";
    const label = [dialogue ? `prediction of ${name}` : name, plane.name === "frame" ? "" : plane.name].filter(Boolean).join(", ");
    const caption = document.createElement("figcaption");
    figure.append(host, caption);
    this.panes.append(figure);
    const pane = new Pane(host, plane, view, {
      label,
      isTarget: !dialogue,
      look: () => this.look,
      crossOf: (own) => (this.cross && this.shownDirections.length > 1 ? pointOf(own, this.cross) : null),
    });
    /** @type {Held} */
    const held = { pane, direction, dialogue, figure, caption, stop: () => {}, wanted: "" };
    pane.picture.onView = () => this.follow(held);
    held.stop = this.hear(held, host);
    return held;
  }

  /**
   * All panes of a direction show the same part.
   * @param {Held} moved
   */
  follow(moved) {
    for (const held of this.held) {
      if (held === moved || held.direction !== moved.direction) continue;
      held.pane.picture.isImageStale = true;
      held.pane.picture.redraw();
    }
  }

  /** @returns {import("./viewer-pane.js").Look} */
  get look() {
    const mode = this.control("mode").value;
    return {
      mode,
      opacity: Number(this.control("opacity").value),
      marks: this.control("marks").checked,
      cross: this.cross,
      objects: this.place?.objects.length ?? 0,
    };
  }

  /** Bring what is in the panes to where the sliders stand; what is not here yet takes its place when it comes. */
  refresh(only = this.shownDirections) {
    const place = this.place;
    if (!place) return;
    for (const direction of only) this.refreshDirection(place, direction);
    for (const held of this.held) if (!only.includes(held.direction)) held.pane.picture.redraw();
    this.tell();
    this.askAhead(place);
  }

  /**
   * @param {Place} place
   * @param {number} direction
   */
  async refreshDirection(place, direction) {
    const index = this.indices[direction];
    const panes = this.held.filter((held) => held.direction === direction);
    const round = this.round;
    const wanted = `${index} ${round}`;
    for (const held of panes) held.wanted = wanted;
    const isCurrent = (/** @type {Held} */ held) => this.held.includes(held) && held.wanted === wanted;
    try {
      const [picture, layers] = await Promise.all([
        this.store.picture(place.key[0], direction, index, place.kind === "volume"),
        this.store.layers(addressOf(place.key), direction, index, this.layerNames(place, round), place.planes[direction].size),
      ]);
      for (const held of panes.filter(isCurrent)) {
        await this.showPicture(held, picture, index);
        if (isCurrent(held)) this.showLayers(held, layers, index, round);
      }
      if (this.wantsTarget) panes.find(isCurrent)?.pane.showTarget();
      this.wantsTarget = false;
      this.problem.hidden = true;
    } catch (error) {
      if (!panes.some(isCurrent)) return;
      for (const held of panes) {
        held.figure.dataset.picture = "";
        held.pane.blank();
      }
      this.problem.textContent = error instanceof Error ? error.message : String(error);
      this.problem.hidden = false;
    }
  }

  /**
   * @param {Place} place
   * @param {number} round
   */
  layerNames(place, round) {
    const moments = place.dialogues.map((dialogue) => ({ dialogue, moment: momentIn(dialogue, round) }));
    const answers = moments.filter(({ moment }) => moment.last).map(({ dialogue, moment }) => `${dialogue.number}.${moment.last}`);
    return ["target", ...(place.has_ignored ? ["ignored"] : []), ...answers];
  }

  /**
   * @param {Held} held
   * @param {import("./viewer-store.js").PlanePicture} picture
   * @param {number} index
   */
  async showPicture(held, picture, index) {
    const now = `${index} ${this.window ? `${this.window.level} ${this.window.width}` : ""}`;
    if (held.figure.dataset.picture === now) return;
    held.figure.dataset.picture = now;
    const keepsView = held.figure.dataset.fitted === "yes" || !this.isFresh;
    await held.pane.setImage(await this.bitmapOf(picture), keepsView && held.pane.picture.view.imageSize[0] > 1);
    held.figure.dataset.fitted = "yes";
  }

  /**
   * @param {import("./viewer-store.js").PlanePicture} picture
   * @returns {Promise<ImageBitmap>}
   */
  async bitmapOf({ bitmap, bits, size }) {
    if (bitmap) return createImageBitmap(bitmap);
    const levels = this.place?.levels;
    if (levels && this.window) this.table ??= tableOf(levels, this.window);
    const pixels = greys(/** @type {Uint16Array} */ (bits), /** @type {Uint8ClampedArray} */ (this.table));
    return createImageBitmap(new ImageData(pixels, size[1], size[0]));
  }

  /**
   * @param {Held} held
   * @param {Map<string, import("./viewer-masks.js").Objects>} layers
   * @param {number} index
   * @param {number} round
   */
  showLayers(held, layers, index, round) {
    const { dialogue } = held;
    const moment = dialogue ? momentIn(dialogue, round) : null;
    held.pane.setDrawn({
      index,
      target: layers.get("target") ?? NONE,
      ignored: layers.get("ignored") ?? NONE,
      answer: dialogue && moment?.last ? (layers.get(`${dialogue.number}.${moment.last}`) ?? null) : null,
      prompts: dialogue?.prompts ?? [],
      round: moment?.at ?? 0,
    });
  }

  /**
   * What comes next in the direction that was gone last.
   * @param {Place} place
   */
  askAhead(place) {
    /** @type {(() => Promise<any>)[]} */
    const wanted = [];
    const direction = this.shownDirections.includes(this.moving) ? this.moving : (this.shownDirections[0] ?? 0);
    const plane = place.planes[direction];
    for (let far = 1; far <= AHEAD; far++) {
      const index = this.indices[direction] + far * this.step;
      if (index < 0 || index >= plane.count) break;
      wanted.push(() => this.store.picture(place.key[0], direction, index, place.kind === "volume"));
      wanted.push(() => this.store.layers(addressOf(place.key), direction, index, this.layerNames(place, this.round), plane.size));
    }
    const rounds = [this.round - 1, this.round + 1].filter((round) => round >= 1);
    for (const round of rounds) {
      for (const shown of this.shownDirections) {
        wanted.splice(2, 0, () => this.store.layers(addressOf(place.key), shown, this.indices[shown], this.layerNames(place, round), place.planes[shown].size));
      }
    }
    this.store.askAhead(wanted);
  }

  // What is said

  tell() {
    const place = this.place;
    if (!place) return;
    const rounds = roundsOf(place.dialogues);
    this.control("round").value = this.round;
    this.control("told-round").value = `${this.round} of ${rounds}`;
    this.control("round").setAttribute("aria-valuetext", `${this.word} ${this.round} of ${rounds}`);
    this.moveCursor(this.round);
    const moving = place.planes[0];
    if (place.kind === "video") {
      this.control("frame").value = this.indices[0];
      this.control("told-frame").value = `${this.indices[0] + 1} of ${moving.count}`;
    }
    for (const held of this.held) this.tellPane(held);
    this.tellValues(place);
    this.note();
  }

  /** @param {Held} held */
  tellPane({ dialogue, direction, caption }) {
    const place = /** @type {Place} */ (this.place);
    const plane = place.planes[direction];
    const where = plane.count > 1 ? `${plane.name} ${this.indices[direction] + 1} of ${plane.count}` : "";
    const name = document.createElement("span");
    name.className = dialogue ? `run c${dialogue.number % 7}` : "run";
    if (dialogue && place.dialogues.length > 1) name.append(Object.assign(document.createElement("i"), { className: "swatch" }));
    name.append(dialogue ? dialogue.label : place.objects.length ? "target" : "no target");
    const plate = Object.assign(document.createElement("span"), { className: "plate", textContent: where });
    caption.replaceChildren(name, plate);
    if (!dialogue) return;
    const moment = momentIn(dialogue, this.round);
    const value = Object.assign(document.createElement("b"), { className: "value", textContent: moment.at ? valueText(dialogue, moment.at) : "" });
    caption.append(value);
    const note = noteOf(moment, this.word);
    const again = dialogue.held_again.includes(moment.last) ? "held again" : "";
    if (note || again) caption.append(Object.assign(document.createElement("small"), { textContent: [note, again].filter(Boolean).join("; ") }));
    if (moment.at && moment.last !== moment.at) caption.append(this.againButton(dialogue));
    if (dialogue.failure) caption.append(Object.assign(document.createElement("p"), { className: "failed", textContent: `failed: ${dialogue.failure}` }));
  }

  /** @param {Dialogue} dialogue */
  againButton(dialogue) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Hold again" });
    button.title = `Ask ${dialogue.label} again with the same prompts, so that every ${this.word} can be seen`;
    button.addEventListener("click", () => this.holdAgain(dialogue, button));
    return button;
  }

  /**
   * @param {Dialogue} dialogue
   * @param {HTMLButtonElement} button
   */
  async holdAgain(dialogue, button) {
    const place = /** @type {Place} */ (this.place);
    button.disabled = true;
    button.textContent = "Holding again …";
    const body = JSON.stringify({ run: dialogue.number, key: place.key });
    const headers = { "content-type": "application/json", "x-form-key": this.root.dataset.key ?? "" };
    try {
      for (;;) {
        const { told } = await (await this.store.ask("again", { method: "POST", body, headers })).json();
        if (told !== null) {
          this.store.forget(addressOf(place.key));
          if (this.place === place) {
            await this.load(place.key, this.round);
            this.tellNotes([...(this.place?.notes ?? []), `${dialogue.label}: ${told}`]);
          }
          return;
        }
        await new Promise((done) => setTimeout(done, 400));
      }
    } catch (error) {
      this.tellNotes([error instanceof Error ? error.message : String(error)]);
      button.textContent = "Hold again";
      button.disabled = false;
    }
  }

  /**
   * A table of all values after the round.
   * @param {Place} place
   */
  tellValues(place) {
    const table = find(".values", HTMLTableElement, this.root);
    const moments = place.dialogues.map((dialogue) => ({ dialogue, at: momentIn(dialogue, this.round).at }));
    const names = [...new Set(moments.flatMap(({ dialogue, at }) => Object.keys(dialogue.values[at - 1] ?? {})))];
    const cell = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {string} */ css) =>
      Object.assign(document.createElement(kind), { textContent: text, className: css });
    const head = document.createElement("tr");
    head.append(cell("th", `after ${this.word} ${this.round}`, "text"), ...place.dialogues.map((dialogue) => cell("th", dialogue.label, "num")));
    for (const th of head.querySelectorAll("th")) th.scope = "col";
    find("thead", HTMLTableSectionElement, table).replaceChildren(head);
    const rows = names.map((name) => {
      const row = document.createElement("tr");
      row.append(cell("th", name, "text"), ...moments.map(({ dialogue, at }) => cell("td", numberText(dialogue.values[at - 1]?.[name]), "num")));
      row.querySelector("th")?.setAttribute("scope", "row");
      return row;
    });
    const seconds = document.createElement("tr");
    seconds.append(cell("th", "seconds", "text"), ...moments.map(({ dialogue, at }) => cell("td", dialogue.seconds[at - 1] ? dialogue.seconds[at - 1].toPrecision(3) : "–", "num")));
    seconds.querySelector("th")?.setAttribute("scope", "row");
    find("tbody", HTMLTableSectionElement, table).replaceChildren(...rows, ...(place.dialogues.length ? [seconds] : []));
    find(".details", HTMLElement, this.root).hidden = !place.dialogues.length;
  }

  /** @param {Place} place */
  tellObjects(place) {
    const legend = find(".legend", HTMLElement, this.root);
    const several = place.objects.length > 1;
    legend.replaceChildren(
      ...(several ? place.objects : []).map((object) => {
        const item = document.createElement("li");
        item.className = `c${(object.number - 1) % 7}`;
        item.append(document.createElement("i"), object.label || (new Set(place.objects.map(({ id }) => id)).size > 1 ? object.id : `object ${object.number}`));
        return item;
      }),
    );
    legend.hidden = !several;
  }

  tellAround() {
    const { around } = /** @type {Shown} */ (this.shown);
    const [sample, target, user, repeat] = /** @type {Key} */ (this.key);
    find("h1", HTMLElement, this.root).textContent = [sample, target].filter(Boolean).join(" / ");
    find(".who", HTMLElement, this.root).textContent = [user, repeat ? `repeat ${repeat}` : ""].filter(Boolean).join(", ");
    find(".at", HTMLElement, this.root).textContent = around.row === null ? `not among the ${around.count} that are asked for` : `${around.row + 1} of ${around.count}`;
    for (const [name, key] of /** @type {[string, Key | null][]} */ ([["previous", around.previous], ["next", around.next]])) {
      const link = find(`a.${name}`, HTMLAnchorElement, this.root);
      link.toggleAttribute("aria-disabled", !key);
      if (key) link.href = `${this.address}/view?${addressOf(key)}&${this.question}`;
      else link.removeAttribute("href");
    }
    const back = find("a.list", HTMLAnchorElement, this.root);
    back.href = `${this.address}?${this.question}`;
    document.title = `${[sample, target].filter(Boolean).join(" / ")} · segarena`;
  }

  /** @param {string[]} notes */
  tellNotes(notes) {
    const host = find(".notes", HTMLElement, this.root);
    host.replaceChildren(...notes.map((text) => Object.assign(document.createElement("p"), { className: "note", textContent: text })));
  }

  /** The address leads here again. */
  note() {
    const rounds = this.place ? roundsOf(this.place.dialogues) : 0;
    const round = this.round && this.round !== rounds ? `&round=${this.round}` : "";
    const question = String(this.question);
    history.replaceState(null, "", `?${addressOf(/** @type {Key} */ (this.key))}${question && `&${question}`}${round}`);
  }

  // What is done

  /** @param {number} round */
  setRound(round) {
    const rounds = roundsOf(this.place?.dialogues ?? []);
    const now = Math.min(Math.max(round, Math.min(1, rounds)), rounds);
    if (now === this.round) return;
    this.round = now;
    this.refresh();
  }

  /**
   * Go through the planes of a direction.
   * @param {number} direction
   * @param {number} index
   */
  setIndex(direction, index) {
    const plane = this.place?.planes[direction];
    if (!plane) return;
    const now = Math.min(Math.max(index, 0), plane.count - 1);
    if (now === this.indices[direction]) return;
    this.step = Math.sign(now - this.indices[direction]);
    this.indices[direction] = now;
    if (this.cross && plane.axis !== null) this.cross = this.cross.map((place, axis) => (axis === plane.axis ? now : place));
    this.moving = direction;
    this.refresh(this.shownDirections.filter((one) => one === direction));
  }

  /**
   * All planes go through a position.
   * @param {number[]} position
   */
  setCross(position) {
    this.cross = position;
    for (const [direction, plane] of (this.place?.planes ?? []).entries()) {
      const index = position[/** @type {number} */ (plane.axis)];
      if (index !== this.indices[direction]) this.step = Math.sign(index - this.indices[direction]) || 1;
      this.indices[direction] = index;
    }
    this.refresh();
  }

  /**
   * @param {Window} window
   * @param {boolean} [refreshes]
   */
  setWindow(window, refreshes = true) {
    this.window = window;
    this.table = null;
    this.control("told-window").value = `level ${short(window.level)}, width ${short(window.width)}`;
    this.control("level").value = String(window.level);
    this.control("width").value = String(window.width);
    if (refreshes) this.refresh();
  }

  /** @param {"previous" | "next"} which */
  go(which) {
    const key = this.shown?.around[which];
    if (key) this.load(key);
  }

  /** @param {number} factor */
  zoom(factor) {
    for (const direction of this.shownDirections) {
      const held = this.held.find((one) => one.direction === direction);
      if (!held) continue;
      const [width, height] = held.pane.picture.screen;
      held.pane.picture.zoomAbout([width / 2, height / 2], factor);
    }
  }

  /**
   * Show what lies in a direction.
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    for (const direction of this.shownDirections) this.held.find((one) => one.direction === direction)?.pane.picture.panBy(-PAN_PX * dx, -PAN_PX * dy);
  }

  fit() {
    for (const direction of this.shownDirections) this.held.find((one) => one.direction === direction)?.pane.picture.fit();
  }

  togglePlay() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    const plane = this.place?.planes[0];
    if (this.place?.kind !== "video" || !plane) return;
    this.control("play").textContent = "Pause";
    let isBusy = false;
    this.timer = window.setInterval(async () => {
      if (isBusy) return;
      isBusy = true;
      const place = this.place;
      const next = (this.indices[0] + 1) % plane.count;
      try {
        if (place) await this.store.picture(place.key[0], 0, next, false);
        if (this.timer) this.setIndex(0, next);
      } catch {
        this.pause();
      } finally {
        isBusy = false;
      }
    }, 1000 / Number(this.control("speed").value));
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.control("play").textContent = "Play";
  }

  // What is heard

  /**
   * @param {Held} held
   * @param {HTMLElement} host
   */
  hear(held, host) {
    const { pane } = held;
    const isVolume = this.place?.kind === "volume";
    /** @type {{x: number, y: number, kind: string} | null} */
    let from = null;
    let last = { x: 0, y: 0 };
    let turned = 0;
    const tool = () => this.control("drag").value;
    const moves = (/** @type {{x: number, y: number}} */ sample) => {
      if (isVolume && tool() === "cross") {
        this.setCross(positionOf(pane.plane, this.indices[held.direction], pane.picture.view.toImage([sample.x, sample.y])));
      } else if (isVolume && tool() === "window" && this.window && this.place?.levels) {
        this.setWindow(dragged(this.window, sample.x - last.x, sample.y - last.y, this.place.levels));
      }
      last = sample;
    };
    return listen(host, {
      pans: (sample) => this.isSpaceDown || sample.event.altKey || (!isVolume && sample.kind !== "touch") || (isVolume && tool() === "pan"),
      press: (sample) => {
        from = last = sample;
        if (isVolume && tool() === "cross") moves(sample);
        return false;
      },
      drag: (samples) => {
        const sample = samples[samples.length - 1];
        if (isVolume) moves(sample);
        else if (!pane.picture.view.isFitted) pane.picture.panBy(sample.x - last.x, sample.y - last.y);
        last = sample;
      },
      release: (sample) => {
        if (!isVolume && from && pane.picture.view.isFitted && Math.abs(sample.x - from.x) > SWIPE_PX && Math.abs(sample.x - from.x) > 2 * Math.abs(sample.y - from.y)) {
          this.go(sample.x < from.x ? "next" : "previous");
        }
        from = null;
      },
      pan: (dx, dy) => pane.picture.panBy(dx, dy),
      zoom: (point, factor) => pane.picture.zoomAbout(point, factor),
      wheel: (_dx, dy, event) => {
        if (!isVolume || event.ctrlKey || event.shiftKey) return false;
        turned += dy;
        const steps = Math.trunc(turned / 40);
        if (steps) {
          turned -= 40 * steps;
          this.setIndex(held.direction, this.indices[held.direction] - Math.sign(steps));
        }
        return true;
      },
      hover: (sample) => this.tellUnder(held, [sample.x, sample.y]),
      leave: () => (find(".under", HTMLElement, this.root).textContent = ""),
    });
  }

  /**
   * Say what is under the pointer.
   * @param {Held} held
   * @param {[number, number]} place
   */
  async tellUnder(held, place) {
    const { plane, picture } = held.pane;
    const point = picture.view.toImage(place);
    const told = find(".under", HTMLElement, this.root);
    if (!isInside(plane, point)) {
      told.textContent = "";
      return;
    }
    const position = positionOf(plane, this.indices[held.direction], point);
    const names = position.length === 2 ? ["row", "column"] : [this.place?.kind === "video" ? "frame" : "plane", "row", "column"];
    let text = names.map((name, axis) => `${name} ${position[axis]}`).join(", ");
    const levels = this.place?.levels;
    if (levels && this.place) {
      const { bits, size } = await this.store.picture(this.place.key[0], held.direction, this.indices[held.direction], true);
      const [column, row] = [Math.floor(point[0] / plane.edges[1]), Math.floor(point[1] / plane.edges[0])];
      if (bits) text += `: ${short(levels.offset + levels.step * bits[row * size[1] + column])}${levels.modality === "CT" ? " HU" : ""}`;
    }
    told.textContent = text;
  }

  wire() {
    this.control("target").checked = window.innerWidth >= NARROW_PX; // runs have its outline anyway
    this.isSpaceDown = false;
    this.wantsTarget = false;
    this.isFresh = true;
    this.controls.addEventListener("submit", (event) => event.preventDefault());
    this.controls.addEventListener("input", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    this.control("play").addEventListener("click", () => this.togglePlay());
    this.control("fit").addEventListener("click", () => this.fit());
    for (const name of /** @type {("previous" | "next")[]} */ (["previous", "next"])) {
      find(`a.${name}`, HTMLAnchorElement, this.root).addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        this.go(name);
      });
    }
    const help = find("dialog.help", HTMLDialogElement, this.root);
    find("button.help", HTMLButtonElement, this.root).addEventListener("click", () => help.showModal());
    document.addEventListener("keydown", (event) => {
      if (event.key === " ") this.isSpaceDown = true;
      if (this.pressed(event)) event.preventDefault();
    });
    document.addEventListener("keyup", (event) => {
      if (event.key === " ") this.isSpaceDown = false;
    });
    new ResizeObserver(() => {
      if (this.place) this.layOut(this.held.length / this.shownDirections.length, this.shownDirections.length);
    }).observe(this.panes);
  }

  /**
   * A control was used.
   * @param {HTMLInputElement} input
   */
  chosen(input) {
    const place = this.place;
    if (!place) return;
    if (input.name === "round") this.setRound(Number(input.value));
    else if (input.name === "frame") this.setIndex(0, Number(input.value));
    else if (input.name === "level" || input.name === "width") {
      this.setWindow({ level: Number(this.control("level").value), width: Math.max(1e-6, Number(this.control("width").value)) });
    } else if (input.name === "preset") {
      if (place.levels) this.setWindow(PRESETS[input.value] ?? firstWindow(place.levels));
    } else if (input.name === "speed" && this.timer) {
      this.pause();
      this.play();
    } else if (input.name === "directions" || input.name === "target") {
      this.directions = this.control("directions").value;
      this.build(place, true);
      this.refresh();
    } else for (const { pane } of this.held) pane.picture.redraw();
  }

  /**
   * @param {Place} place
   * @param {number} rounds
   */
  fillControls(place, rounds) {
    const shows = (/** @type {string} */ name, /** @type {boolean} */ isThere) => (find(`.for-${name}`, HTMLElement, this.controls).hidden = !isThere);
    this.control("round").max = String(rounds);
    this.control("round").min = String(Math.min(1, rounds));
    shows("rounds", rounds > 1);
    shows("video", place.kind === "video");
    shows("volume", place.kind === "volume");
    shows("runs", place.dialogues.length > 0);
    if (place.kind === "video") this.control("frame").max = String(place.planes[0].count - 1);
    if (!place.levels) return;
    const { low, high, step } = place.levels;
    const wide = high - low;
    Object.assign(this.control("level"), { min: low - wide, max: high + wide, step: "any" });
    Object.assign(this.control("width"), { min: Math.min(step, wide / 200), max: 2 * wide, step: "any" });
    const preset = this.control("preset");
    const isCt = place.levels.modality.toUpperCase() === "CT" || low <= -200;
    preset.replaceChildren(...["automatic", ...(isCt ? Object.keys(PRESETS) : [])].map((name) => new Option(name)));
    const directions = this.control("directions");
    directions.replaceChildren(new Option("all", "all"), ...place.planes.map((plane, direction) => new Option(plane.name, String(direction))));
    directions.value = this.directions;
  }

  /**
   * A key was pressed; returns whether it was one of ours.
   * @param {KeyboardEvent} event
   */
  pressed(event) {
    const at = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return false;
    const isText = at.matches("input:not([type=checkbox], [type=range]), textarea");
    const isOwn = at.matches("select, input[type=range]") && /^(Arrow|Home|End|Page)/.test(event.key);
    if (isText || isOwn || (event.key === " " && at.matches("button, a, input, summary, select"))) return false;
    const way = event.shiftKey ? WAYS[event.key] : undefined;
    if (way) this.pan(...way);
    if (way) return true;
    const act = this.keys[event.key] ?? this.keys[event.key.toLowerCase()];
    act?.();
    return Boolean(act);
  }

  /** @type {Record<string, () => void>} */
  get keys() {
    const first = this.shownDirections[0] ?? 0;
    const mode = (/** @type {string} */ name) => () => {
      this.control("mode").value = name;
      this.chosen(this.control("mode"));
    };
    const toggle = (/** @type {string} */ name) => () => {
      this.control(name).checked = !this.control(name).checked;
      this.chosen(this.control(name));
    };
    const next = (/** @type {string} */ name) => () => {
      const select = this.control(name);
      select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
      this.chosen(select);
    };
    const opacity = (/** @type {number} */ by) => () => {
      this.control("opacity").value = String(Number(this.control("opacity").value) + by);
      this.chosen(this.control("opacity"));
    };
    return {
      ArrowLeft: () => this.setRound(this.round - 1),
      ArrowRight: () => this.setRound(this.round + 1),
      Home: () => this.setRound(1),
      End: () => this.setRound(Infinity),
      ArrowUp: () => this.setIndex(first, this.indices[first] + 1),
      ArrowDown: () => this.setIndex(first, this.indices[first] - 1),
      ",": () => this.go("previous"),
      PageUp: () => this.go("previous"),
      ".": () => this.go("next"),
      PageDown: () => this.go("next"),
      " ": () => this.togglePlay(),
      "+": () => this.zoom(1.25),
      "=": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      0: () => this.fit(),
      z: () => this.held.filter((one) => one === this.held.find((other) => other.direction === one.direction)).forEach(({ pane }) => pane.showTarget()),
      "[": opacity(-0.1),
      "]": opacity(0.1),
      ...Object.fromEntries(MODES.map((name, at) => [String(at + 1), mode(name)])),
      m: toggle("marks"),
      t: toggle("target"),
      p: next("directions"),
      d: next("drag"),
      w: next("preset"),
      l: () => find("a.list", HTMLAnchorElement, this.root).click(),
      "?": () => find("dialog.help", HTMLDialogElement, this.root).showModal(),
    };
  }
}

/** @param {number | null | undefined} value */
function numberText(value) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4);
}

