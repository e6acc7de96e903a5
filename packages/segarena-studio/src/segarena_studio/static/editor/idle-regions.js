// Cached painting of the regions that are not being edited; they are repainted only when they or
// the view change. If there are too many for one frame, painting is spread over several frames, and
// meanwhile the previous result is shown moved and scaled, so that the pointer never waits.

import { colourOf } from "./region-colours.js";
import { meet, Sheet } from "./canvas-paths.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./canvas-paths.js").Shapes} Shapes */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {CanvasRenderingContext2D} Context */

const FRAME_MS = 17;
/** Opacity of filled regions. */
export const FILL_ALPHA = 0.6;
/** Opacity of the hatches of unselected regions, low enough to keep the picture visible. */
const HIDDEN_ALPHA = 0.4;
/** Minimum number of regions painted per frame, used while the pointer moves. */
const FEWEST = 6;
/** Maximum number of regions painted per frame. */
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

/** The painted layers and the view that they were painted for. */
class Leaf {
  key = "";
  scale = 1;
  /** @type {[number, number]} */
  offset = [0, 0];
  /** Regions that were held when the layers were painted, and are therefore missing. @type {Set<string>} */
  held = new Set();
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
  }

  /**
   * Continue painting and show the most recent complete result. Return the regions that the caller
   * has to paint: the held ones, and those that were held when the result was painted.
   * @param {Context} context
   * @param {View} view
   * @param {Set<string>} held regions that follow the pointer
   */
  show(context, view, held) {
    const regions = this.editor.scene.regions.filter((region) => !region.is_hidden && !held.has(region.id));
    const place = [context.canvas.width, context.canvas.height, view.scale, ...view.offset].join("|");
    if (place !== this.place) this.movedAt = performance.now();
    this.place = place;
    const key = `${place}|${this.stateOf(regions)}`;
    if (key !== this.shown.key) {
      this.keepPace();
      const inView = regions.filter((region) => meet(this.editor.scene.box(region.id), view.inView));
      if (inView.length > AT_ONCE && performance.now() - this.movedAt < REST_MS) this.wait();
      else {
        if (!this.work || this.next.key !== key) this.begin(context, view, inView, key, held);
        this.goOn(this.isHandBusy() ? FEWEST : this.pace);
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
   * Return a key for everything visible of the regions except the view.
   * @param {Region[]} regions
   */
  stateOf(regions) {
    const { scene, settings } = this.editor;
    const outlines = regions.map((region) => `${region.id}.${scene.revisionOf(region.id)}`);
    const order = settings.numbers ? scene.regions.map((region) => region.id) : [];
    return [settings.fills, settings.hatches, settings.numbers, outlines, order].join("|");
  }

  /**
   * @param {Context} context
   * @param {View} view
   * @param {Region[]} regions
   * @param {string} key
   * @param {Set<string>} held
   */
  begin({ canvas }, view, regions, key, held) {
    Object.assign(this.next, { key, held, scale: view.scale, offset: [...view.offset] });
    const backFirst = [...regions].reverse();
    this.work = this.paint(canvas, /** @type {View} */ (Object.assign(Object.create(view), this.next)), backFirst);
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
      [this.shown, this.next] = [this.next, this.shown];
      return;
    }
    this.editor.picture.redraw();
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
   * @param {Region[]} regions
   */
  *paint(like, view, regions) {
    const { settings } = this.editor;
    const lines = this.next.lines.clear(like);
    if (settings.fills) yield* this.fill(like, view, regions);
    const [borders, hidden] = [this.borders, this.hidden].map((sheet) => sheet.clear(like));
    for (const context of [lines, borders, hidden]) this.shapes.inImage(context, view);
    for (const [place, { id }] of regions.entries()) {
      if (settings.hatches) this.hide(hidden, view, id, regions.slice(place + 1));
      if (regions.length <= MOST_DASHED) this.shapes.stroke(lines, view, id, { width: 1.25, dash: [4, 4] });
      erase(borders, this.shapes.path(id));
      this.shapes.stroke(borders, view, id);
      yield;
    }
    lines.globalAlpha = HIDDEN_ALPHA;
    layWhole(lines, this.hidden);
    lines.globalAlpha = 1;
    layWhole(lines, this.borders);
    const numbers = this.next.numbers.clear(like);
    for (const region of regions) {
      this.shapes.number(numbers, view, region);
      yield;
    }
  }

  /**
   * Paint the fills in depth order, so that a wrong order is visible; the composite is translucent.
   * @param {HTMLCanvasElement} like
   * @param {View} view
   * @param {Region[]} regions
   */
  *fill(like, view, regions) {
    const fills = this.borders.clear(like);
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
