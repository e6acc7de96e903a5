// The grid of panes: a row for the target and for each run, a column for each direction; all panes
// of a direction share one zoom.

import { View } from "../common/viewport.js";
import { pointOf, shownSize } from "./plane-geometry.js";
import { hear } from "./pointer.js";
import { Pane } from "./pane.js";
import { addressOf } from "./sample-info.js";
import { layersAt, momentIn } from "./dialogue.js";
import { greys } from "./window-level.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./sample-info.js").Place} Place */
/** @typedef {import("./dialogue.js").Dialogue} Dialogue */
/**
 * @typedef {object} Held  a pane with the dialogue and direction that it shows
 * @property {Pane} pane
 * @property {number} direction
 * @property {Dialogue | null} dialogue  null for the pane of the target
 * @property {HTMLElement} figure
 * @property {HTMLElement} caption
 * @property {() => void} stop  stop listening to pointers
 * @property {string} wanted  the plane and round requested last
 */

/** @type {import("./mask-painting.js").Objects} */
const NONE = new Map();
/** Heights in pixels: what surrounds the panes, a caption, and the minimum of a pane. */
const [CHROME_PX, CAPTION_PX, LEAST_PX] = [215, 32, 220];
const [WIDTH_OF_ONE_PX, MOST_BESIDE] = [250, 4];

export class Panes {
  /**
   * @param {Viewer} viewer
   * @param {HTMLElement} host
   */
  constructor(viewer, host) {
    this.viewer = viewer;
    this.host = host;
    /** @type {Held[]} */
    this.held = [];
    this.isFresh = true;
    /** Whether to zoom to the target as soon as it has loaded. */
    this.wantsTarget = false;
    new ResizeObserver(() => {
      if (this.held.length) this.layOut();
    }).observe(host);
  }

  clear() {
    for (const held of this.held) {
      held.stop();
      held.pane.close();
    }
    this.held = [];
    this.host.replaceChildren();
  }

  /**
   * Build a row of panes for the target and for each run, with a pane for each direction.
   * @param {Place} place
   * @param {boolean} keepsViews
   */
  build(place, keepsViews) {
    const views = new Map(keepsViews ? this.held.map((held) => [held.direction, held.pane.picture.view]) : []);
    this.clear();
    /** @type {(Dialogue | null)[]} */
    const rows = [...(this.viewer.showsTarget || !place.dialogues.length ? [null] : []), ...place.dialogues];
    for (const dialogue of rows) {
      for (const direction of this.viewer.shownDirections) {
        const view = views.get(direction) ?? new View();
        views.set(direction, view);
        this.held.push(this.makePane(place, dialogue, direction, view));
      }
    }
    this.isFresh = !keepsViews;
    this.layOut();
    this.host.classList.toggle("is-volume", place.kind === "volume");
  }

  /**
   * Fit as many panes side by side as there is room for, with a height that lets two rows fit in
   * the window.
   */
  layOut() {
    const directions = this.viewer.shownDirections;
    const rows = this.held.length / directions.length;
    const width = this.host.clientWidth || 1000;
    const most = Math.max(1, Math.floor(width / WIDTH_OF_ONE_PX));
    const columns = directions.length > 1 ? Math.min(directions.length, most) : Math.min(rows, most, MOST_BESIDE);
    const lines = Math.ceil(this.held.length / columns);
    this.host.style.setProperty("--columns", String(columns));
    const { planes } = /** @type {Place} */ (this.viewer.place);
    const tallest = Math.max(...directions.map((direction) => shownSize(planes[direction])).map(([across, down]) => down / across));
    const room = (window.innerHeight - CHROME_PX) / Math.min(lines, 2) - CAPTION_PX;
    const needed = (width / columns) * tallest;
    this.host.style.setProperty("--height", `${Math.round(Math.max(LEAST_PX, Math.min(room, needed)))}px`);
  }

  /**
   * @param {Place} place @param {Dialogue | null} dialogue @param {number} direction @param {View} view
   * @returns {Held}
   */
  makePane(place, dialogue, direction, view) {
    const { viewer } = this;
    const plane = place.planes[direction];
    const figure = document.createElement("figure");
    figure.className = `pane${dialogue ? "" : " target"}`;
    const host = document.createElement("div");
    host.className = "frame";
    const name = dialogue ? dialogue.label : place.objects.length ? "target" : "sample";
    const label = [dialogue ? `prediction of ${name}` : name, plane.name === "frame" ? "" : plane.name].filter(Boolean).join(", ");
    const caption = document.createElement("figcaption");
    figure.append(host, caption);
    this.host.append(figure);
    const pane = new Pane(host, plane, view, {
      label,
      isTarget: !dialogue,
      look: () => viewer.look,
      crossOf: (own) => (viewer.cross && viewer.shownDirections.length > 1 ? pointOf(own, viewer.cross) : null),
    });
    /** @type {Held} */
    const held = { pane, direction, dialogue, figure, caption, stop: () => {}, wanted: "" };
    pane.picture.onView = () => this.follow(held);
    held.stop = hear(viewer, held, host);
    return held;
  }

  /**
   * Apply the view of one pane to all panes of its direction.
   * @param {Held} moved
   */
  follow(moved) {
    for (const held of this.held) {
      if (held === moved || held.direction !== moved.direction) continue;
      held.pane.picture.isImageStale = true;
      held.pane.picture.redraw();
    }
  }

  /** The first visible pane of each direction; the others follow changes of its view. */
  get leading() {
    return this.held.filter((held, place) => this.held.findIndex((other) => other.direction === held.direction) === place);
  }

  /** @param {number} factor */
  zoom(factor) {
    for (const { pane } of this.leading) {
      const [width, height] = pane.picture.screen;
      pane.picture.zoomAbout([width / 2, height / 2], factor);
    }
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    for (const { pane } of this.leading) pane.picture.panBy(dx, dy);
  }

  fit() {
    for (const { pane } of this.leading) pane.picture.fit();
  }

  showTarget() {
    for (const { pane } of this.leading) pane.showTarget();
  }

  /**
   * Repaint what has already loaded.
   * @param {(held: Held) => boolean} [isMeant]
   */
  redraw(isMeant = () => true) {
    for (const held of this.held) if (isMeant(held)) held.pane.picture.redraw();
  }

  /**
   * Update the panes of a direction to the sliders; content that has not loaded yet follows when it
   * arrives. Return the error that keeps it from being shown, "" on success, null if another
   * request replaced this one meanwhile.
   * @param {Place} place
   * @param {number} direction
   * @returns {Promise<string | null>}
   */
  async show(place, direction) {
    const { viewer } = this;
    const index = viewer.indices[direction];
    const { round } = viewer;
    const panes = this.held.filter((held) => held.direction === direction);
    const wanted = `${index} ${round}`;
    for (const held of panes) held.wanted = wanted;
    const isCurrent = (/** @type {Held} */ held) => this.held.includes(held) && held.wanted === wanted;
    try {
      const [picture, layers] = await Promise.all([
        viewer.store.picture(place.key[0], direction, index, place.kind === "volume"),
        viewer.store.layers(addressOf(place.key), direction, index, layersAt(place, round), place.planes[direction].size),
      ]);
      for (const held of panes.filter(isCurrent)) {
        await this.showPicture(held, picture, index);
        if (isCurrent(held)) showLayers(held, layers, index, round);
      }
      const first = panes.find(isCurrent);
      if (first && this.wantsTarget) {
        this.wantsTarget = false;
        first.pane.showTarget();
      }
      return first ? "" : null;
    } catch (error) {
      if (!panes.some(isCurrent)) return null;
      for (const held of panes) {
        held.figure.dataset.picture = "";
        held.pane.blank();
      }
      return error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * @param {Held} held
   * @param {import("./plane-store.js").PlanePicture} picture
   * @param {number} index
   */
  async showPicture(held, picture, index) {
    const { window } = this.viewer;
    const now = `${index} ${window ? `${window.level} ${window.width}` : ""}`;
    const { dataset } = held.figure;
    if (dataset.picture === now) return;
    dataset.picture = now;
    const keepsView = dataset.fitted === "yes" || !this.isFresh;
    const bitmap = await this.bitmapOf(picture);
    // Another plane, window or place may have been requested meanwhile.
    if (dataset.picture !== now || !this.held.includes(held)) return bitmap.close();
    await held.pane.setImage(bitmap, keepsView && held.pane.picture.view.imageSize[0] > 1);
    dataset.fitted = "yes";
  }

  /**
   * @param {import("./plane-store.js").PlanePicture} picture
   * @returns {Promise<ImageBitmap>}
   */
  async bitmapOf({ bitmap, bits, size }) {
    if (bitmap) return createImageBitmap(bitmap);
    const pixels = greys(/** @type {Uint16Array} */ (bits), this.viewer.greyTable);
    return createImageBitmap(new ImageData(pixels, size[1], size[0]));
  }
}

/**
 * @param {Held} held
 * @param {Map<string, import("./mask-painting.js").Objects>} layers
 * @param {number} index
 * @param {number} round
 */
function showLayers({ dialogue, pane }, layers, index, round) {
  const moment = dialogue ? momentIn(dialogue, round) : null;
  pane.setDrawn({
    index,
    target: layers.get("target") ?? NONE,
    ignored: layers.get("ignored") ?? NONE,
    answer: dialogue && moment?.last ? (layers.get(`${dialogue.number}.${moment.last}`) ?? null) : null,
    prompts: dialogue?.prompts ?? [],
    round: moment?.at ?? 0,
  });
}
