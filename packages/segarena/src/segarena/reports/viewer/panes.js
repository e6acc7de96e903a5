// The grid of panes: a row for the target and for each run, a column for each direction; all panes
// of a direction share one zoom.

import { View } from "./viewport.js";
import { pointOf, shownSize } from "./plane-geometry.js";
import { listenToPane } from "./pane-pointer.js";
import { decodedPicture } from "./embedded-source.js";
import { Pane } from "./pane.js";
import { cssOf } from "./palette.js";
import { layersAt, momentIn } from "./content.js";
import { writeCaption } from "./captions.js";
import { greys } from "./window-level.js";

/** @typedef {import("./round-viewer.js").RoundViewer} RoundViewer */
/** @typedef {import("./content.js").Content} Content */
/** @typedef {import("./content.js").Dialogue} Dialogue */
/** @typedef {import("./content.js").Outlines} Outlines */
/**
 * @typedef {object} Slot  a pane with the dialogue and direction that it shows
 * @property {Pane} pane
 * @property {number} direction
 * @property {Dialogue | null} dialogue  null for the pane of the target
 * @property {HTMLElement} figure
 * @property {HTMLElement} caption
 * @property {() => void} stop  stop listening to pointers
 * @property {string} requested  the plane and round requested last
 * @property {CanvasImageSource | null} heat
 */

/** @type {Outlines} */
const NOTHING = new Map();
/** Heights in pixels: all elements around the panes, a caption, and the minimum of a pane. */
const [SURROUNDINGS_PX, CAPTION_PX, LEAST_PX] = [215, 32, 220];
const [WIDTH_OF_ONE_PX, MOST_IN_A_ROW] = [250, 4];
const FIT_MARGIN_PX = 4;

export class Panes {
  /**
   * @param {RoundViewer} viewer
   * @param {HTMLElement} host
   */
  constructor(viewer, host) {
    this.viewer = viewer;
    this.host = host;
    /** @type {Slot[]} */
    this.slots = [];
    this.isFresh = true;
    /** Whether to zoom to the target as soon as it has loaded. */
    this.wantsTarget = false;
    new ResizeObserver(() => {
      if (this.slots.length) this.layOut();
    }).observe(host);
  }

  clear() {
    for (const slot of this.slots) {
      slot.stop();
      slot.pane.close();
    }
    this.slots = [];
    this.host.replaceChildren();
  }

  /**
   * Build a row of panes for the target and for each run, with a pane for each direction.
   * @param {Content} content
   * @param {boolean} keepsViews
   */
  build(content, keepsViews) {
    const views = new Map(keepsViews ? this.slots.map((slot) => [slot.direction, slot.pane.picture.view]) : []);
    this.clear();
    /** @type {(Dialogue | null)[]} */
    const rows = [...content.dialogues];
    if (this.viewer.showsTarget || !rows.length) rows.unshift(null);
    for (const dialogue of rows) {
      for (const direction of this.viewer.shownDirections) {
        const view = views.get(direction) ?? new View();
        views.set(direction, view);
        this.slots.push(this.makeSlot(content, dialogue, direction, view));
      }
      if (!dialogue) for (const example of content.examples) this.host.append(exampleFigure(example));
    }
    this.isFresh = !keepsViews;
    this.layOut();
    this.host.classList.toggle("is-volume", content.kind === "volume");
  }

  /**
   * Lay out the panes. If the viewer fills the window, put the panes of all directions side by
   * side, or up to four panes of a single direction, if they fit, and make them low enough for two
   * rows. Otherwise give all panes the shape of a picture of the first direction.
   */
  layOut() {
    const { planes } = /** @type {Content} */ (this.viewer.content);
    const directions = this.viewer.shownDirections;
    const shapes = directions.map((direction) => shownSize(planes[direction]));
    if (!this.viewer.fillsWindow) {
      this.host.style.setProperty("--shape", `${shapes[0][0]} / ${shapes[0][1]}`);
      return;
    }
    const count = this.host.children.length;
    const width = this.host.clientWidth || 1000;
    const most = Math.max(1, Math.floor(width / WIDTH_OF_ONE_PX));
    const columns = directions.length > 1 ? Math.min(directions.length, most) : Math.min(count, most, MOST_IN_A_ROW);
    const lines = Math.ceil(count / columns);
    this.host.style.setProperty("--columns", String(columns));
    const tallest = Math.max(...shapes.map(([across, down]) => down / across));
    const room = (window.innerHeight - SURROUNDINGS_PX) / Math.min(lines, 2) - CAPTION_PX;
    const needed = (width / columns) * tallest;
    this.host.style.setProperty("--height", `${Math.round(Math.max(LEAST_PX, Math.min(room, needed)))}px`);
  }

  /**
   * @param {Content} content
   * @param {Dialogue | null} dialogue
   * @param {number} direction
   * @param {View} view
   * @returns {Slot}
   */
  makeSlot(content, dialogue, direction, view) {
    const { viewer } = this;
    const plane = content.planes[direction];
    const figure = document.createElement("figure");
    figure.className = `pane${dialogue ? "" : " target"}${dialogue?.is_grey ? " grey" : ""}`;
    if (dialogue?.is_run) figure.dataset.run = dialogue.label;
    figure.hidden = Boolean(dialogue && viewer.isHidden(dialogue));
    const host = document.createElement("div");
    host.className = "frame";
    const name = dialogue ? dialogue.label : content.has_truth ? "target" : "sample";
    const label = [dialogue?.is_run ? `prediction of ${name}` : name, plane.name === "frame" ? "" : plane.name].filter(Boolean).join(", ");
    const caption = document.createElement("figcaption");
    figure.append(host, caption);
    this.host.append(figure);
    const pane = new Pane(host, plane, view, {
      label,
      isTarget: !dialogue,
      margin: viewer.fillsWindow ? FIT_MARGIN_PX : 0,
      look: () => viewer.look,
      crossOf: (own) => (viewer.cross && viewer.shownDirections.length > 1 ? pointOf(own, viewer.cross) : null),
    });
    /** @type {Slot} */
    const slot = { pane, direction, dialogue, figure, caption, stop: () => {}, requested: "", heat: null };
    if (viewer.fillsWindow) slot.stop = listenToPane(viewer, slot, host);
    pane.picture.onView = () => {
      // A finger on a whole picture scrolls the page; on an enlarged one it moves the picture.
      if (viewer.scrollsByTouch && viewer.fillsWindow) host.style.touchAction = view.isFitted ? "pan-y" : "none";
      this.follow(slot);
    };
    writeCaption(viewer, content, slot);
    return slot;
  }

  /**
   * Apply the view of one pane to all panes of its direction.
   * @param {Slot} moved
   */
  follow(moved) {
    for (const slot of this.slots) {
      if (slot === moved || slot.direction !== moved.direction) continue;
      slot.pane.picture.isImageStale = true;
      slot.pane.picture.redraw();
    }
  }

  /** The first pane of each direction; the others follow changes of its view. */
  get leading() {
    return this.slots.filter((slot, number) => this.slots.findIndex((other) => other.direction === slot.direction) === number);
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
   * @param {(slot: Slot) => boolean} [isMeant]
   */
  redraw(isMeant = () => true) {
    for (const slot of this.slots) if (isMeant(slot)) slot.pane.picture.redraw();
  }

  /**
   * Update the panes of a direction from the sliders; content that has not loaded yet follows when
   * it arrives. Return the error that prevented the update, "" on success, null if another
   * request has replaced this one.
   * @param {Content} content
   * @param {number} direction
   * @returns {Promise<string | null>}
   */
  async show(content, direction) {
    const { viewer } = this;
    const place = viewer.places[direction];
    const { round } = viewer;
    const slots = this.slots.filter((slot) => slot.direction === direction);
    const requested = `${place} ${round}`;
    for (const slot of slots) slot.requested = requested;
    const isCurrent = (/** @type {Slot} */ slot) => this.slots.includes(slot) && slot.requested === requested;
    try {
      const [picture, layers] = await Promise.all([
        viewer.source.picture(content, direction, place),
        viewer.source.layers(content, direction, place, layersAt(content, round)),
      ]);
      for (const slot of slots.filter(isCurrent)) {
        await this.showPicture(slot, picture, place);
        if (slot.dialogue?.heat) slot.heat ??= await decodedPicture(slot.dialogue.heat);
        if (isCurrent(slot)) showLayers(slot, layers, place, round);
      }
      const first = slots.find(isCurrent);
      if (first && this.wantsTarget) {
        this.wantsTarget = false;
        first.pane.showTarget();
      }
      return first ? "" : null;
    } catch (error) {
      if (!slots.some(isCurrent)) return null;
      for (const slot of slots) {
        slot.figure.dataset.picture = "";
        slot.pane.blank();
      }
      return error instanceof Error ? error.message : String(error);
    }
  }

  /**
   * @param {Slot} slot
   * @param {import("./content.js").PlanePicture} picture
   * @param {number} place
   */
  async showPicture(slot, picture, place) {
    const { window } = this.viewer;
    const now = `${place} ${window ? `${window.level} ${window.width}` : ""}`;
    const { dataset } = slot.figure;
    if (dataset.picture === now) return;
    dataset.picture = now;
    const keepsView = dataset.fitted === "yes" || !this.isFresh;
    const bitmap = await this.bitmapOf(picture);
    // Another plane, window or sample may have been requested meanwhile.
    if (dataset.picture !== now || !this.slots.includes(slot)) return bitmap.close();
    await slot.pane.setImage(bitmap, keepsView && slot.pane.picture.view.imageSize[0] > 1);
    dataset.fitted = "yes";
  }

  /**
   * @param {import("./content.js").PlanePicture} picture
   * @returns {Promise<ImageBitmap>}
   */
  async bitmapOf({ bitmap, bits, size }) {
    if (bitmap) return createImageBitmap(bitmap);
    const pixels = greys(/** @type {Uint16Array} */ (bits), this.viewer.greyTable);
    return createImageBitmap(new ImageData(pixels, size[1], size[0]));
  }
}

/**
 * @param {Slot} slot
 * @param {Map<string, Outlines>} layers
 * @param {number} place
 * @param {number} round
 */
function showLayers({ dialogue, pane, heat }, layers, place, round) {
  const moment = dialogue ? momentIn(dialogue, round) : null;
  pane.setDrawn({
    place,
    target: layers.get("target") ?? NOTHING,
    ignored: layers.get("ignored") ?? NOTHING,
    answer: dialogue && moment?.last ? (layers.get(`${dialogue.number}.${moment.last}`) ?? null) : null,
    heat,
    prompts: dialogue?.prompts ?? [],
    round: moment?.at ?? 0,
  });
}

/**
 * Return the figure of an example, such as a support image with its outlined mask.
 * @param {import("./content.js").Example} example
 */
function exampleFigure({ label, picture, size, outline }) {
  const figure = document.createElement("figure");
  figure.className = "pane target";
  const host = Object.assign(document.createElement("div"), { className: "frame" });
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * size[0], height: 2 * size[1] });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  const caption = Object.assign(document.createElement("figcaption"), { textContent: label });
  host.append(canvas);
  figure.append(host, caption);
  void decodedPicture(picture).then((image) => {
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(2, 2);
    context.drawImage(image, 0, 0, ...size);
    for (const [colour, width] of /** @type {[string, number][]} */ ([["#000000b3", 4.5], [cssOf("--truth"), 2]])) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke(new Path2D(outline));
    }
  });
  return figure;
}
