// The sample on the annotation page: one pane, or for a volume three, one per axis, whose slices all
// pass through the same position.

import { cut, Masks, middleOf } from "./masks.js";
import { sixteenBits } from "../common/sixteen-bits.js";
import { the, wait } from "./page-elements.js";
import { SeatPane } from "./pane.js";
import { firstWindow, greys, tableOf } from "../../../reports/viewer/window-level.js";

/** @typedef {[number, number]} Point */
/** @typedef {import("../../../reports/viewer/window-level.js").Window} Window */

const FRAME_MS = 1000 / 24;
const MOST_FRAMES = 120;

export class Sight {
  constructor() {
    /** @type {any} constant data of the seat */
    this.about = null;
    /** @type {(what: string) => string} */
    this.address = (what) => what;
    this.answers = 0;
    this.hasAnswer = false;
    /** @type {object | null} token of the running playback */
    this.playing = null;
    this.target = new Masks([], [1, 1]);
    this.prediction = new Masks([], [1, 1]);
    /** @type {Masks | null} */
    this.ignore = null;
    /** @type {Uint16Array | null} */
    this.voxels = null;
    /** @type {Window | null} window of a volume */
    this.window = null;
    this.greys = new Uint8ClampedArray(0);
    /** @type {number[] | null} the position where all planes of a volume meet */
    this.cross = null;
    /** @type {Map<number, Promise<ImageBitmap>>} */
    this.frames = new Map();
    /** @type {SeatPane[]} */
    this.panes = [];
    /** Index of the main pane, which the keyboard and the slider control. */
    this.direction = 0;
    /** @type {(context: CanvasRenderingContext2D, pane: SeatPane) => void} draws the overlay */
    this.onDraw = () => {};
    /** @type {(pane: SeatPane) => void} called for each new pane */
    this.onPane = () => {};
    /** @type {(text: string) => void} reports a loading error */
    this.onTrouble = () => {};
  }

  /** The main pane. */
  get main() {
    return this.panes[this.direction];
  }

  /**
   * Switch to another sample; start where most of the target is visible.
   * @param {any} about
   * @param {(what: string) => string} address
   */
  async show(about, address) {
    this.stop();
    this.address = address;
    this.target = new Masks(about.target, about.shape);
    this.ignore = about.ignore ? new Masks([about.ignore], about.shape) : null;
    this.frames.clear();
    this.voxels = about.kind === "volume" ? sixteenBits(await (await fetched(address("voxels"))).arrayBuffer()) : null;
    this.about = about;
    this.build();
    this.answer([]);
    const start = middleOf(this.target);
    for (const pane of this.panes) pane.index = start[pane.axis];
    this.cross = this.voxels ? start : null;
    if (about.levels) this.setTable(firstWindow(about.levels));
    await this.showAll(false);
  }

  /** Build a pane for each direction. */
  build() {
    const host = the("picture");
    for (const pane of this.panes) pane.close();
    this.direction = 0;
    this.panes = this.about.planes.map((/** @type {import("../../../reports/viewer/plane-geometry.js").Plane} */ plane) => new SeatPane(host, plane, this));
    host.classList.toggle("has-three", this.panes.length > 1);
    for (const pane of this.panes) {
      pane.setMain(pane === this.main);
      this.onPane(pane);
    }
  }

  /**
   * Show another answer of the model.
   * @param {number[][]} counts  empty before the first answer
   */
  answer(counts) {
    const size = this.about.shape.reduce((/** @type {number} */ all, /** @type {number} */ one) => all * one, 1);
    const nothing = this.about.target.map(() => [size]);
    this.hasAnswer = counts.length > 0;
    this.answers += 1;
    this.prediction = new Masks(this.hasAnswer ? counts : nothing, this.about.shape);
    this.redraw();
  }

  redraw() {
    for (const pane of this.panes) pane.picture.redraw();
  }

  fit() {
    for (const pane of this.panes) pane.picture.fit();
  }

  get several() {
    return this.about.target.length > 1;
  }

  focus() {
    this.main.picture.overlay.focus({ preventScroll: true });
  }

  /**
   * Return the pixels of the current plane of a pane.
   * @param {SeatPane} pane
   * @returns {Promise<ImageBitmap>}
   */
  async sourceOf(pane) {
    // The picture closes the bitmap it is given, so pass a copy of the cached frame.
    if (!this.voxels) return createImageBitmap(await this.frame(pane.index));
    const bits = cut(this.voxels, this.about.shape, pane.axis, pane.index);
    if (pane.plane.is_turned) bits.reverse();
    const [height, width] = pane.plane.size;
    return createImageBitmap(new ImageData(greys(bits, this.greys), width, height));
  }

  async showAll(keepsView = true) {
    this.showSlider();
    await Promise.all(this.panes.map((pane) => pane.show(keepsView)));
  }

  /**
   * Load the selected planes. Report a failure; the next visit fetches the plane again. Return whether all were
   * loaded.
   * @param {SeatPane[]} panes
   */
  async turnTo(panes) {
    this.showSlider();
    try {
      await Promise.all(panes.map((pane) => pane.show()));
      return true;
    } catch {
      this.onTrouble("This picture could not be loaded because the server cannot be reached. View another one and come back.");
      return false;
    }
  }

  /**
   * Return a frame; cache it and its neighbours for a while.
   * @param {number} index
   * @returns {Promise<ImageBitmap>}
   */
  frame(index) {
    const wanted = this.kept(index);
    for (const near of [index + 1, index - 1]) if (near >= 0 && near < this.main.count) this.kept(near).catch(() => {});
    return wanted;
  }

  /**
   * Return a frame and make it the newest in the cache; drop it if loading fails.
   * @param {number} index
   * @returns {Promise<ImageBitmap>}
   */
  kept(index) {
    const { frames } = this;
    const coming = frames.get(index) ?? fetched(this.address(`picture/${index}`)).then(async (answer) => createImageBitmap(await answer.blob()));
    frames.delete(index);
    frames.set(index, coming);
    coming.catch(() => frames.get(index) === coming && frames.delete(index));
    for (const oldest of frames.keys()) if (frames.size > MOST_FRAMES) frames.delete(oldest);
    return coming;
  }

  /** @param {Window} window */
  setTable(window) {
    this.window = window;
    this.greys = tableOf(this.about.levels, window);
  }

  /**
   * Set which values are black and white.
   * @param {Window} window
   */
  setWindow(window) {
    this.setTable(window);
    void this.turnTo(this.panes);
  }

  /**
   * Move all planes of a volume to a position.
   * @param {number[]} position
   */
  setCross(position) {
    if (!this.cross) return;
    this.cross = position;
    const moved = this.panes.filter((pane) => pane.index !== position[pane.axis]);
    for (const pane of moved) pane.index = position[pane.axis];
    this.redraw();
    if (moved.length) void this.turnTo(moved);
  }

  showSlider() {
    const { plane, index, count } = this.main;
    const slider = /** @type {HTMLInputElement} */ (the("index"));
    slider.max = String(count - 1);
    slider.value = String(index);
    const name = plane.name === "frame" ? "Frame" : `${plane.name[0]?.toUpperCase() ?? ""}${plane.name.slice(1)} slice`;
    the("index-name").textContent = `${name} ${index + 1} of ${count}`;
  }

  /**
   * @param {number} index
   * @param {SeatPane} [pane]
   */
  goTo(index, pane = this.main) {
    const wanted = Math.min(pane.count - 1, Math.max(0, index));
    if (wanted === pane.index) return;
    pane.index = wanted;
    if (this.cross) this.cross = this.cross.map((place, axis) => (axis === pane.axis ? wanted : place));
    this.redraw();
    void this.turnTo([pane]);
  }

  /**
   * Make another direction the main one.
   * @param {number} direction
   */
  look(direction) {
    if (direction === this.direction || !this.panes[direction]) return;
    this.direction = direction;
    for (const pane of this.panes) pane.setMain(pane === this.main);
    this.showSlider();
  }

  async play() {
    if (this.playing) return this.stop();
    const mine = (this.playing = {});
    the("play").textContent = "Stop";
    while (this.playing === mine) {
      const began = performance.now();
      this.main.index = (this.main.index + 1) % this.main.count;
      if (!(await this.turnTo(this.panes)) && this.playing === mine) this.stop();
      await wait(Math.max(0, FRAME_MS - (performance.now() - began)));
    }
  }

  stop() {
    this.playing = null;
    the("play").textContent = "Play";
  }
}

/**
 * Fetch an address; throw on failure.
 * @param {string} address
 */
async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the picture could not be loaded: ${answer.status}`);
  return answer;
}
