// Cached painting of the regions that are not being edited; they are repainted only when they, the
// view or a setting change, and after edits only around the regions that changed. If there are too many for one frame,
// painting is spread over several frames, and meanwhile the previous result is shown moved and
// scaled, so that the pointer never waits.

import { colourOf } from "./region-colours.js";
import { boxOf, isSame } from "../common/geometry.js";
import { meet, Sheet } from "./canvas-paths.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./canvas-paths.js").Shapes} Shapes */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./canvas-paths.js").Box} Box */
/** @typedef {[number, number]} Point */
/** @typedef {CanvasRenderingContext2D} Context */
/** @typedef {{revision: number, box: Box, polygon: import("../common/geometry.js").Polygon, starts: string, propagation: string}} Outline  what is painted of a region */

const FRAME_MS = 17;
/** Opacity of filled regions. */
export const FILL_ALPHA = 0.6;
/** Opacity of the hatches of unselected regions, low enough to keep the picture visible. */
const HIDDEN_ALPHA = 0.4;
/** Minimum number of steps per frame, used while the pointer moves or is down; a region takes up to three. */
const FEWEST = 6;
/** Maximum number of steps per frame. */
const MOST = 120;
/** Number of regions in view up to which they are repainted even while the view moves. */
const AT_ONCE = 24;
/** Time without movement after which the view counts as idle, in ms. */
const REST_MS = 120;
/**
 * With more regions in view, only the unoccluded parts of outlines are painted, because dashes
 * could not be distinguished.
 */
const MOST_DASHED = 80;
/** How far lines and numbers reach beyond the box of their region, in screen px. */
const LINE_REACH = 4;
const NUMBER_REACH = 24;

/** The painted layers and the view that they were painted for. */
class Leaf {
  key = "";
  /** The view and the settings. */
  look = "";
  isDashed = false;
  scale = 1;
  /** @type {[number, number]} */
  offset = [0, 0];
  /** The ids of all regions in depth order, as one text; empty if their numbers are not shown. */
  order = "";
  /** The regions in the layers, front first. @type {Map<string, Outline>} */
  outlines = new Map();
  /** Regions that were held when the layers were painted, and are therefore missing. @type {Set<string>} */
  held = new Set();
  /** The drag during which the layers were painted. @type {import("./history.js").Live | null} */
  drag = null;
  lines = new Sheet();
  numbers = new Sheet();
}

export class Resting {
  /**
   * @param {Editor} editor
   * @param {Shapes} shapes
   */
  constructor(editor, shapes) {
    this.editor = editor;
    this.shapes = shapes;
    this.shown = new Leaf();
    this.next = new Leaf();
    this.borders = new Sheet();
    this.hidden = new Sheet();
    /** @type {Generator<void> | null} */
    this.work = null;
    this.place = "";
    /** Number of regions to paint per frame. */
    this.pace = 24;
    this.lastFrame = 0;
    this.hasPainted = false;
    this.movedAt = 0;
    this.timer = 0;
    this.cursor = editor.cursor;
    /** Whether only boxes of the shown layers are repainted. */
    this.isPatch = false;
    /** The part of the canvas to repaint, in its pixels; null for all of it. @type {Box | null} */
    this.lineBox = null;
    /** The same for the numbers. @type {Box | null} */
    this.numberBox = null;
  }

  /**
   * Continue painting and show the most recent complete result. Return the regions that the caller
   * has to paint: the held ones, and those that were held when the result was painted.
   * @param {Context} context
   * @param {View} view
   * @param {Set<string>} held regions that follow the pointer
   */
  show(context, view, held) {
    const { scene, settings, tool } = this.editor;
    const regions = scene.regions.filter((region) => !region.is_hidden && !held.has(region.id));
    const place = [context.canvas.width, context.canvas.height, view.scale, ...view.offset].join("|");
    if (place !== this.place) this.movedAt = performance.now();
    this.place = place;
    const look = [place, settings.fills, settings.hatches, settings.numbers].join("|");
    const key = `${look}|${this.stateOf(regions)}`;
    if (key !== this.shown.key) {
      this.keepPace();
      const { inView: window } = view;
      const inView = regions.filter((region) => meet(scene.box(region.id), window));
      if (inView.length > AT_ONCE && performance.now() - this.movedAt < REST_MS) this.wait();
      else {
        const drag = held.size ? /** @type {any} */ (tool).live : null;
        // Until its end, a drag needs only one painting: a vertex that follows the pointer snaps to further regions and
        // away from them, but these get at most a vertex on their outline.
        const isOfDrag = (/** @type {Leaf} */ leaf) => drag !== null && leaf.drag === drag && leaf.look === look;
        const isBegun = this.work !== null && (this.next.key === key || isOfDrag(this.next));
        if (!isBegun && !isOfDrag(this.shown)) this.begin(context, view, inView, { key, look, held, drag });
        if (this.work) this.goOn(this.isHandBusy() ? FEWEST : this.pace);
        else this.hasPainted = false;
      }
    } else this.hasPainted = false;
    this.lay(context, view, this.shown.lines);
    return new Set([...held, ...this.shown.held]);
  }

  /** Postpone painting until the view is idle. */
  wait() {
    this.work = null;
    this.hasPainted = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.editor.picture.redraw(), REST_MS);
  }

  /** Whether the pointer has moved since the last frame or is pressed. */
  isHandBusy() {
    const { cursor, isHolding } = this.editor;
    const hasMoved = cursor !== this.cursor;
    this.cursor = cursor;
    return hasMoved || isHolding;
  }

  /**
   * Show the numbers, above the regions that are being moved.
   * @param {Context} context
   * @param {View} view
   */
  showNumbers(context, view) {
    this.lay(context, view, this.shown.numbers);
  }

  /**
   * Return a key for everything visible of the regions except the view and the settings.
   * @param {Region[]} regions
   */
  stateOf(regions) {
    const { scene } = this.editor;
    return [...regions.map((region) => `${region.id}.${scene.revisionOf(region.id)}${region.propagation ?? ""}`), this.order()].join("|");
  }

  /** Return all regions in depth order as one text if their numbers are shown. */
  order() {
    const { scene, settings } = this.editor;
    return settings.numbers ? scene.regions.map((region) => region.id).join() : "";
  }

  /**
   * Begin to paint the regions, or only those around changes if the shown layers differ in nothing else.
   * @param {Context} context
   * @param {View} view
   * @param {Region[]} regions in view
   * @param {Pick<Leaf, "key" | "look" | "held" | "drag">} of
   */
  begin({ canvas }, view, regions, of) {
    const { shown, next } = this;
    const { scene } = this.editor;
    const isDashed = regions.length <= MOST_DASHED;
    /** @type {Map<string, Outline>} */
    const outlines = new Map(regions.map((region) => [region.id, outlineOf(scene, region)]));
    Object.assign(next, of, { isDashed, outlines, order: this.order(), scale: view.scale, offset: [...view.offset] });
    const fixed = /** @type {View} */ (Object.assign(Object.create(view), { scale: view.scale, offset: [...view.offset] }));
    const changed = shown.look === next.look && shown.isDashed === isDashed ? changedBox(shown.outlines, outlines) : null;
    const around = (/** @type {number} */ reach) => changed && this.onCanvas(canvas, fixed, changed, reach);
    this.lineBox = around(LINE_REACH);
    this.numberBox = next.order === shown.order ? around(NUMBER_REACH) : null;
    this.isPatch = changed !== null;
    this.work = this.paint(canvas, fixed, [...regions].reverse());
  }

  /**
   * Return the part of a canvas around a box, in whole pixels.
   * @param {HTMLCanvasElement} canvas
   * @param {View} view
   * @param {Box} box in image px
   * @param {number} reach how much wider the part is, in screen px
   * @returns {Box}
   */
  onCanvas({ width, height }, view, [x0, y0, x1, y1], reach) {
    const { ratio } = this.editor.picture;
    const [left, top] = view.toScreen([x0, y0]);
    const [right, bottom] = view.toScreen([x1, y1]);
    const within = (/** @type {number} */ at, /** @type {number} */ most) => Math.min(Math.max(at, 0), most);
    return [
      within(Math.floor((left - reach) * ratio), width),
      within(Math.floor((top - reach) * ratio), height),
      within(Math.ceil((right + reach) * ratio), width),
      within(Math.ceil((bottom + reach) * ratio), height),
    ];
  }

  /**
   * Paint some more regions; when all are painted, show them.
   * @param {number} count
   */
  goOn(count) {
    this.hasPainted = this.work !== null;
    for (let left = count; left > 0 && this.work; left--) {
      if (!this.work.next().done) continue;
      this.work = null;
      this.finish();
      return;
    }
    this.editor.picture.redraw();
  }

  /** Show the layers that have been painted. */
  finish() {
    const { shown, next } = this;
    if (!this.isPatch) {
      [this.shown, this.next] = [next, shown];
      return;
    }
    const { width, height } = shown.lines.canvas;
    shown.lines.replace(next.lines, this.lineBox ?? [0, 0, width, height]);
    shown.numbers.replace(next.numbers, this.numberBox ?? [0, 0, width, height]);
    const { key, held, drag, outlines, order } = next;
    Object.assign(shown, { key, held, drag, outlines, order });
  }

  /** Adapt the number of regions per frame to the frame rate. */
  keepPace() {
    const now = performance.now();
    const took = now - this.lastFrame;
    this.lastFrame = now;
    if (!this.hasPainted) return;
    if (took > 1.5 * FRAME_MS) this.pace = Math.max(FEWEST, Math.floor(this.pace / 2));
    else this.pace = Math.min(MOST, Math.ceil(this.pace * 1.1));
  }

  /**
   * Paint all regions back to front, one per step.
   * @param {HTMLCanvasElement} like
   * @param {View} view
   * @param {Region[]} all
   */
  *paint(like, view, all) {
    const { settings } = this.editor;
    const regions = all.filter((region) => this.isIn(this.lineBox, like, view, region, LINE_REACH));
    const lines = this.next.lines.clear(like, this.lineBox);
    if (settings.fills) yield* this.fill(like, view, regions);
    const [borders, hidden] = [this.borders, this.hidden].map((sheet) => sheet.clear(like, this.lineBox));
    for (const context of [lines, borders, hidden]) this.shapes.inImage(context, view);
    for (const [place, { id }] of regions.entries()) {
      if (settings.hatches) this.hide(hidden, view, id, regions.slice(place + 1));
      if (this.next.isDashed) this.shapes.stroke(lines, view, id, { width: 1.25, dash: [4, 4] });
      erase(borders, this.shapes.path(id));
      this.shapes.stroke(borders, view, id);
      yield;
    }
    lines.globalAlpha = HIDDEN_ALPHA;
    layWhole(lines, this.hidden);
    lines.globalAlpha = 1;
    layWhole(lines, this.borders);
    const numbers = this.next.numbers.clear(like, this.numberBox);
    for (const region of all) {
      if (!this.isIn(this.numberBox, like, view, region, NUMBER_REACH)) continue;
      this.shapes.number(numbers, view, region);
      yield;
    }
  }

  /**
   * Whether a region may be seen in a part of the canvas.
   * @param {Box | null} box in pixels of the canvas; null for all of it
   * @param {HTMLCanvasElement} canvas
   * @param {View} view
   * @param {Region} region
   * @param {number} reach how far it is seen beyond its box, in screen px
   */
  isIn(box, canvas, view, { id }, reach) {
    return box === null || meet(box, this.onCanvas(canvas, view, this.editor.scene.box(id), reach));
  }

  /**
   * Paint the fills in depth order, so that a wrong order is visible; the composite is translucent.
   * @param {HTMLCanvasElement} like
   * @param {View} view
   * @param {Region[]} regions
   */
  *fill(like, view, regions) {
    const fills = this.borders.clear(like, this.lineBox);
    this.shapes.inImage(fills, view);
    for (const { id } of regions) {
      fills.fillStyle = colourOf(id, false).fill;
      fills.fill(this.shapes.path(id));
      yield;
    }
    const { context } = this.next.lines;
    context.globalAlpha = FILL_ALPHA;
    layWhole(context, this.borders);
    context.globalAlpha = 1;
  }

  /**
   * Hatch the hidden part of a region, replacing the hatches of regions farther behind.
   * @param {Context} hidden
   * @param {View} view
   * @param {string} id
   * @param {Region[]} above the regions in front of it
   */
  hide(hidden, view, id, above) {
    const { scene } = this.editor;
    const hiding = above.filter((region) => meet(scene.box(region.id), scene.box(id)));
    if (!hiding.length) return;
    const all = this.shapes.union(hiding);
    hidden.save();
    hidden.clip(this.shapes.path(id));
    erase(hidden, all);
    hidden.fillStyle = this.shapes.hatch(hidden, view, id);
    hidden.fill(all);
    hidden.restore();
  }

  /**
   * Show a cached sheet, transformed from its own view to the current view.
   * @param {Context} context in screen px
   * @param {View} view
   * @param {Sheet} sheet
   */
  lay(context, view, { canvas }) {
    const { ratio } = this.editor.picture;
    const { scale, offset } = this.shown;
    const factor = view.scale / scale;
    context.save();
    context.setTransform(factor, 0, 0, factor, ratio * (view.offset[0] - offset[0] * factor), ratio * (view.offset[1] - offset[1] * factor));
    context.imageSmoothingEnabled = false; // repainted soon, and smoothing takes a third of the frame time
    context.drawImage(canvas, 0, 0);
    context.restore();
  }
}

/**
 * Return the box around all regions that differ between two paintings, in image px; null if the order of other
 * regions differs. It is empty if nothing differs.
 * @param {Map<string, Outline>} before
 * @param {Map<string, Outline>} now
 * @returns {Box | null}
 */
export function changedBox(before, now) {
  const isInBoth = (/** @type {string} */ id) => before.has(id) && now.has(id);
  const [orderBefore, orderNow] = [before, now].map((outlines) => [...outlines.keys()].filter(isInBoth).join());
  if (orderBefore !== orderNow) return null;
  const differs = (/** @type {string} */ id) => !isSameOutline(before.get(id), now.get(id));
  const corners = [before, now].flatMap((outlines) => {
    return [...outlines].filter(([id]) => differs(id)).flatMap(([, { box: [x0, y0, x1, y1] }]) => /** @type {Point[]} */ ([[x0, y0], [x1, y1]])); // prettier-ignore
  });
  return corners.length ? boxOf(corners) : [0, 0, 0, 0];
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {Region} region
 * @returns {Outline}
 */
function outlineOf(scene, { id, starts, propagation = "" }) {
  return { revision: scene.revisionOf(id), box: scene.box(id), polygon: scene.polygon(id), starts: String(starts ?? ""), propagation };
}

/**
 * Whether two outlines look the same. A drag that snaps to a region and away again restores its outline under a new
 * revision.
 * @param {Outline} [one]
 * @param {Outline} [other]
 */
function isSameOutline(one, other) {
  if (!one || !other || one.starts !== other.starts || one.propagation !== other.propagation) return false;
  if (one.revision === other.revision) return true;
  return one.polygon.length === other.polygon.length && one.polygon.every((at, index) => isSame(at, other.polygon[index]));
}

/**
 * @param {Context} context
 * @param {Sheet} sheet
 */
function layWhole(context, sheet) {
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(sheet.canvas, 0, 0);
  context.restore();
}

/**
 * @param {Context} context
 * @param {Path2D} path
 */
function erase(context, path) {
  context.globalCompositeOperation = "destination-out";
  context.fillStyle = "#000";
  context.fill(path);
  context.globalCompositeOperation = "source-over";
}
