// The viewer of rounds: it shows a sample, or the dialogues of several runs about a target, side by
// side at one zoom. This class keeps the current state; panes and captions display it. Pages extend
// it with their controls.

import { layersAt, roundsOf } from "./content.js";
import { writeCaption } from "./captions.js";
import { Panes } from "./panes.js";
import { indexAt, placesIn } from "./plane-geometry.js";
import { firstWindow, tableOf } from "./window-level.js";

/** @typedef {import("./content.js").Content} Content */
/** @typedef {import("./content.js").Dialogue} Dialogue */
/** @typedef {import("./window-level.js").Levels} Levels */
/** @typedef {import("./window-level.js").Window} Window */

/** Number of latest rounds whose clicks are numbered; earlier ones are dots. */
const NUMBERED = 4;

export class RoundViewer {
  /**
   * @param {HTMLElement} host  element of the panes
   * @param {import("./content.js").Source} source
   */
  constructor(host, source) {
    this.source = source;
    /** @type {Content | null} */
    this.content = null;
    this.round = 1;
    /**
     * Index of the current plane of each direction among the available ones.
     * @type {number[]}
     */
    this.places = [];
    /** @type {number[] | null} the position where all planes meet */
    this.cross = null;
    /** @type {Window | null} */
    this.window = null;
    /** @type {Uint8ClampedArray | null} */
    this.table = null;
    /** Displayed directions: "all", or the index of a single direction. */
    this.directions = "all";
    this.step = 1;
    /** The direction in which the user last moved. */
    this.moving = 0;
    this.isSpaceDown = false;
    /** @type {Map<number, string>} loading error of each direction */
    this.problems = new Map();
    this.panes = new Panes(this, host);
  }

  // Methods that pages override

  /** Whether panes fill the height of the window and react to pointers. */
  get fillsWindow() {
    return true;
  }

  /** Whether a finger on a picture that is not zoomed scrolls the page. */
  get scrollsByTouch() {
    return false;
  }

  /** Whether the target has separate panes next to those of the runs. */
  get showsTarget() {
    return true;
  }

  /**
   * Action of a drag on a volume: "cross", "window" or "pan".
   * @returns {string}
   */
  get dragTool() {
    return "pan";
  }

  /** @returns {{mode: import("./pane.js").Mode, opacity: number, marks: boolean}} */
  get settings() {
    return { mode: "fill", opacity: 0.45, marks: true };
  }

  /** Number of latest rounds whose clicks are numbered. */
  get numberedRounds() {
    return NUMBERED;
  }

  /**
   * Return whether the user has hidden a run.
   * @param {Dialogue} _dialogue
   */
  isHidden(_dialogue) {
    return false;
  }

  /**
   * Return further elements of a caption.
   * @param {Dialogue} _dialogue
   * @param {import("./content.js").Moment} _moment
   * @returns {HTMLElement[]}
   */
  captionExtras(_dialogue, _moment) {
    return [];
  }

  /**
   * React to a change of round, plane or window.
   * @param {Content} _content
   */
  onChange(_content) {}

  /** @param {string} _text position and value under the pointer */
  showReadout(_text) {}

  /** @param {string} _problem */
  showProblem(_problem) {}

  /** @param {"previous" | "next"} _which the neighbour that a swipe requests */
  go(_which) {}

  // State

  /**
   * Return the number of available planes of a direction.
   * @param {number} direction
   */
  placesIn(direction) {
    const plane = this.content?.planes[direction];
    return plane ? placesIn(plane) : 0;
  }

  /**
   * Return the displayed directions.
   * @returns {number[]}
   */
  get shownDirections() {
    const every = this.content?.planes.map((_, direction) => direction) ?? [];
    return this.directions === "all" ? every : every.filter((direction) => String(direction) === this.directions);
  }

  /** @returns {import("./pane.js").Look} */
  get look() {
    return {
      ...this.settings,
      numbered: this.numberedRounds,
      isLatestOnly: this.content?.shows_latest ?? false,
      cross: this.cross,
      objects: this.content?.objects.length ?? 0,
    };
  }

  /** Grey value of each voxel code in the current window. */
  get greyTable() {
    this.table ??= tableOf(/** @type {Levels} */ (this.content?.levels), /** @type {Window} */ (this.window));
    return this.table;
  }

  /**
   * Set the content without drawing it yet; keep the parts of the state that still apply.
   * @param {Content} content
   * @param {number} round
   */
  setContent(content, round) {
    const before = this.content;
    const [sample, target] = content.key;
    const rounds = roundsOf(content.dialogues);
    const isSameSample = before?.key[0] === sample && before.planes.length === content.planes.length;
    const isSameTarget = isSameSample && before?.key[1] === target;
    this.content = content;
    this.problems.clear();
    this.round = Math.max(Math.min(1, rounds), Math.min(rounds, Math.round(round) || 1));
    if (!isSameTarget) this.begin(content);
    if (content.levels && (!this.window || !isSameSample)) this.setWindow(firstWindow(content.levels), false);
    return { rounds, isSameTarget };
  }

  /**
   * Select the initial plane of each direction, and in a volume the position where these meet.
   * @param {Content} content
   */
  begin(content) {
    this.places = content.planes.map((plane) => plane.first);
    this.cross = null;
    // If a page embeds only some planes, the planes through a position may be missing.
    if (content.kind === "volume" && content.planes.every((plane) => !plane.indices.length)) {
      this.cross = [0, 0, 0];
      for (const plane of content.planes) this.cross[/** @type {number} */ (plane.axis)] = plane.first;
    }
  }

  /**
   * Build the panes again.
   * @param {boolean} [keepsViews]
   */
  rebuild(keepsViews = true) {
    if (!this.content) return;
    this.panes.build(this.content, keepsViews);
    this.refresh();
  }

  /** Update all panes to the current state. */
  refresh(only = this.shownDirections) {
    const { content } = this;
    if (!content) return;
    for (const direction of only) void this.refreshDirection(content, direction);
    this.panes.redraw((slot) => !only.includes(slot.direction));
    for (const slot of this.panes.slots) writeCaption(this, content, slot);
    this.onChange(content);
  }

  /**
   * @param {Content} content
   * @param {number} direction
   */
  async refreshDirection(content, direction) {
    const problem = await this.panes.show(content, direction);
    if (problem === null || content !== this.content) return;
    this.problems.set(direction, problem);
    this.showProblem([...this.problems.values()].find(Boolean) ?? "");
  }

  /**
   * Return loaders of the pictures and masks that are likely to be shown next, the likeliest first.
   * @param {Content} content
   * @param {number} ahead  number of planes
   */
  nextLoads(content, ahead) {
    const { source } = this;
    /** @type {(() => Promise<any>)[]} */
    const loads = [];
    const direction = this.shownDirections.includes(this.moving) ? this.moving : (this.shownDirections[0] ?? 0);
    for (let far = 1; far <= ahead; far++) {
      const place = this.places[direction] + far * this.step;
      if (place < 0 || place >= this.placesIn(direction)) break;
      loads.push(() => source.picture(content, direction, place));
      loads.push(() => source.layers(content, direction, place, layersAt(content, this.round)));
    }
    for (const round of [this.round - 1, this.round + 1].filter((one) => one >= 1)) {
      for (const shown of this.shownDirections) {
        loads.splice(2, 0, () => source.layers(content, shown, this.places[shown], layersAt(content, round)));
      }
    }
    return loads;
  }

  // Actions

  /** @param {number} round */
  setRound(round) {
    const rounds = roundsOf(this.content?.dialogues ?? []);
    const now = Math.min(Math.max(round, Math.min(1, rounds)), rounds);
    if (now === this.round) return;
    this.round = now;
    this.refresh();
  }

  /**
   * Show another plane of a direction.
   * @param {number} direction
   * @param {number} place
   */
  setPlace(direction, place) {
    const plane = this.content?.planes[direction];
    if (!plane) return;
    const now = Math.min(Math.max(place, 0), placesIn(plane) - 1);
    if (now === this.places[direction]) return;
    this.step = Math.sign(now - this.places[direction]);
    this.places[direction] = now;
    if (this.cross && plane.axis !== null) this.cross[plane.axis] = indexAt(plane, now);
    this.moving = direction;
    this.refresh(this.shownDirections.filter((one) => one === direction));
  }

  /**
   * Move all planes to a position.
   * @param {number[]} position
   */
  setCross(position) {
    this.cross = position;
    for (const [direction, plane] of (this.content?.planes ?? []).entries()) {
      const place = position[/** @type {number} */ (plane.axis)];
      if (place !== this.places[direction]) this.step = Math.sign(place - this.places[direction]) || 1;
      this.places[direction] = place;
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
    if (refreshes) this.refresh();
  }
}
