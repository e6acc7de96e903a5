// The viewer shows one place, a sample or a dialogue about a target, with all runs side by side at
// one zoom. This class keeps the current state; panes and captions display it; controls, keys and
// pointers change it.

import { find } from "../common/dom.js";
import { Again } from "./replay.js";
import { Controls } from "./controls.js";
import { drawCurve } from "./value-curve.js";
import { hearKeys } from "./keyboard.js";
import { Panes } from "./panes.js";
import { addressOf } from "./sample-info.js";
import { Player } from "./playback.js";
import { layersAt, roundsOf } from "./dialogue.js";
import { Store } from "./plane-store.js";
import { firstWindow, tableOf } from "./window-level.js";
import { Words } from "./captions.js";

/** @typedef {import("./sample-info.js").Key} Key */
/** @typedef {import("./sample-info.js").Place} Place */
/** @typedef {import("./sample-info.js").Shown} Shown */
/** @typedef {import("./window-level.js").Levels} Levels */
/** @typedef {import("./window-level.js").Window} Window */

/** Number of planes to prefetch. */
const AHEAD = 12;

export class Viewer {
  /** @param {HTMLElement} root  the element whose `data-address` is that of the collection */
  constructor(root) {
    this.root = root;
    this.address = /** @type {string} */ (root.dataset.address);
    this.store = new Store(this.address);
    /** Query of the list from which the place was opened. */
    this.question = new URLSearchParams(location.search);
    for (const name of ["sample", "target", "user", "repeat", "round"]) this.question.delete(name);
    /** @type {Shown | null} */
    this.shown = null;
    /** @type {Key} */
    this.key = ["", "", "", 0];
    this.round = 1;
    /**
     * Current plane of each direction.
     * @type {number[]}
     */
    this.indices = [];
    /** @type {number[] | null} the position where all planes meet */
    this.cross = null;
    /** @type {Window | null} */
    this.window = null;
    /** @type {Uint8ClampedArray | null} */
    this.table = null;
    /** Displayed directions: "all", or the index of one. */
    this.directions = "all";
    this.step = 1;
    /** The direction in which the user last moved. */
    this.moving = 0;
    this.isSpaceDown = false;
    this.loading = 0;
    /** @type {Map<number, string>} loading error of each direction */
    this.problems = new Map();
    this.moveCursor = (/** @type {number} */ _round) => {};
    this.player = new Player(this);
    this.again = new Again(this);
    this.controls = new Controls(this, root);
    this.words = new Words(this);
    this.panes = new Panes(this, find(".panes", HTMLElement, root));
    hearKeys(this);
    for (const name of /** @type {("previous" | "next")[]} */ (["previous", "next"])) {
      find(`a.${name}`, HTMLAnchorElement, root).addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        this.go(name);
      });
    }
    const help = find("dialog.help", HTMLDialogElement, root);
    find("button.help", HTMLButtonElement, root).addEventListener("click", () => help.showModal());
  }

  get place() {
    return this.shown?.place ?? null;
  }

  /** Whether the target has panes of its own, beside those of the runs. */
  get showsTarget() {
    return this.controls.control("target").checked;
  }

  /**
   * Return the displayed directions.
   * @returns {number[]}
   */
  get shownDirections() {
    const every = this.place?.planes.map((_, direction) => direction) ?? [];
    return this.directions === "all" ? every : every.filter((direction) => String(direction) === this.directions);
  }

  /** @returns {import("./pane.js").Look} */
  get look() {
    return { ...this.controls.look, cross: this.cross, objects: this.place?.objects.length ?? 0 };
  }

  /** Grey value of each 16-bit code in the current window. */
  get greyTable() {
    this.table ??= tableOf(/** @type {Levels} */ (this.place?.levels), /** @type {Window} */ (this.window));
    return this.table;
  }

  /**
   * Show a place; at first, the one in the page's address.
   * @param {Key} key
   * @param {number} [round]
   */
  async load(key, round = Infinity) {
    const number = ++this.loading;
    this.player.pause();
    this.root.setAttribute("aria-busy", "true");
    const shown = await this.ask(key);
    if (number !== this.loading) return;
    this.root.removeAttribute("aria-busy");
    const before = this.place;
    this.shown = shown;
    this.key = key;
    this.problems.clear();
    this.words.tellProblem(shown.problem);
    this.words.tellAround(key, shown.around);
    this.words.tellNotes(shown.place?.notes ?? []);
    this.root.classList.toggle("is-bare", !shown.place);
    if (shown.place) return this.show(shown.place, before, round);
    this.panes.clear();
    this.words.clear();
  }

  /**
   * @param {Key} key
   * @returns {Promise<Shown>}
   */
  async ask(key) {
    try {
      return await (await this.store.ask(`place?${addressOf(key)}&${this.question}`)).json();
    } catch (error) {
      const around = { row: null, count: 0, previous: null, next: null };
      return { around, place: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /**
   * Show a place after another one; keep the state that both have in common.
   * @param {Place} place
   * @param {Place | null} before
   * @param {number} round
   */
  show(place, before, round) {
    const [sample, target] = place.key;
    const rounds = roundsOf(place.dialogues);
    const isSameSample = before?.key[0] === sample && before.planes.length === place.planes.length && this.indices.length === place.planes.length;
    const isSameTarget = isSameSample && before?.key[1] === target;
    this.round = Math.max(Math.min(1, rounds), Math.min(rounds, Math.round(round) || 1));
    if (!isSameTarget) this.begin(place);
    this.controls.fill(place, rounds); // first: sliders clamp values to their range
    if (place.levels && (!this.window || !isSameSample)) this.setWindow(firstWindow(place.levels), false);
    this.panes.wantsTarget = place.kind === "image" && Boolean(target) && !isSameTarget;
    this.panes.build(place, isSameTarget);
    this.words.tellObjects(place);
    this.moveCursor = drawCurve(find(".rounds", HTMLElement, this.root), place.dialogues, rounds, (chosen) => this.setRound(chosen));
    this.refresh();
  }

  /**
   * Start in the middle of the target.
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

  /**
   * Rebuild the panes of the same place.
   * @param {Place} place
   */
  rebuild(place) {
    this.directions = this.controls.control("directions").value;
    this.panes.build(place, true);
    this.refresh();
  }

  /** Update all panes to the sliders. */
  refresh(only = this.shownDirections) {
    const { place } = this;
    if (!place) return;
    for (const direction of only) void this.refreshDirection(place, direction);
    this.panes.redraw((held) => !only.includes(held.direction));
    this.words.tell(place);
    this.moveCursor(this.round);
    this.note(place);
    this.askAhead(place);
  }

  /**
   * @param {Place} place
   * @param {number} direction
   */
  async refreshDirection(place, direction) {
    const problem = await this.panes.show(place, direction);
    if (problem === null || place !== this.place) return;
    this.problems.set(direction, problem);
    this.words.tellProblem([...this.problems.values()].find(Boolean) ?? "");
  }

  /**
   * Prefetch the next planes in the direction of the last move.
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
      wanted.push(() => this.store.layers(addressOf(place.key), direction, index, layersAt(place, this.round), plane.size));
    }
    const rounds = [this.round - 1, this.round + 1].filter((round) => round >= 1);
    for (const round of rounds) {
      for (const shown of this.shownDirections) {
        wanted.splice(2, 0, () => this.store.layers(addressOf(place.key), shown, this.indices[shown], layersAt(place, round), place.planes[shown].size));
      }
    }
    this.store.askAhead(wanted);
  }

  /**
   * Update the page's address to the current place.
   * @param {Place} place
   */
  note(place) {
    const isLast = this.round === roundsOf(place.dialogues);
    const question = String(this.question);
    history.replaceState(null, "", `?${addressOf(this.key)}${question && `&${question}`}${isLast ? "" : `&round=${this.round}`}`);
  }

  // Actions

  /** @param {number} round */
  setRound(round) {
    const rounds = roundsOf(this.place?.dialogues ?? []);
    const now = Math.min(Math.max(round, Math.min(1, rounds)), rounds);
    if (now === this.round) return;
    this.round = now;
    this.refresh();
  }

  /**
   * Show another plane of a direction.
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
   * Move all planes to a position.
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
    this.controls.showWindow(window);
    if (refreshes) this.refresh();
  }

  /** @param {"previous" | "next"} which */
  go(which) {
    const key = this.shown?.around[which];
    if (key) void this.load(key);
  }
}
