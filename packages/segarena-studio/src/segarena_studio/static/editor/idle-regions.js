// Regions that rest, painted once and shown until they or the view change. Where there are too many for one frame they are painted
// over several, and meanwhile what was painted before is shown moved and scaled: the hand never waits for them.

import { colourOf } from "./region-colours.js";
import { meet, Sheet } from "./canvas-paths.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./canvas-paths.js").Shapes} Shapes */
/** @typedef {import("../common/viewport.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {CanvasRenderingContext2D} Context */

const FRAME_MS = 17;
/** Hatches of regions that are not selected leave the picture to be seen. */
const HIDDEN_ALPHA = 0.4;
/** Regions in a frame: while the hand moves, and at most; so many are painted at once even while the view moves. */
const FEWEST = 6;
const MOST = 120;
const AT_ONCE = 24;
/** The view rests when it has not moved for so long. */
const REST_MS = 120;
/** Of more regions in view only those parts of outlines are painted that nothing hides: dashes are not told apart there. */
const MOST_DASHED = 80;

/** What was painted, and for which view. */
class Leaf {
  key = "";
  scale = 1;
  /** @type {[number, number]} */
  offset = [0, 0];
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
    /** How many regions are painted in a frame. */
    this.pace = 24;
    this.lastFrame = 0;
    this.hasPainted = false;
    this.movedAt = 0;
    this.timer = 0;
    this.cursor = editor.cursor;
  }

  /**
   * Paint on; show what there is.
   * @param {Context} context
   * @param {View} view
   * @param {Set<string>} held regions that are painted elsewhere
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
        if (!this.work || this.next.key !== key) this.begin(context, view, inView, key);
        this.goOn(this.isHandBusy() ? FEWEST : this.pace);
      }
    } else this.hasPainted = false;
    this.lay(context, view, this.shown.lines);
  }

  /** Paint when the view rests. */
  wait() {
    this.work = null;
    this.hasPainted = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.editor.picture.redraw(), REST_MS);
  }

  /** Whether the pointer has moved since the last frame, or holds something. */
  isHandBusy() {
    const { cursor, isHolding } = this.editor;
    const hasMoved = cursor !== this.cursor;
    this.cursor = cursor;
    return hasMoved || isHolding;
  }

  /**
   * The numbers, above what is in the hand.
   * @param {Context} context
   * @param {View} view
   */
  showNumbers(context, view) {
    this.lay(context, view, this.shown.numbers);
  }

  /**
   * All that is seen of regions but where.
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
   */
  begin({ canvas }, view, regions, key) {
    Object.assign(this.next, { key, scale: view.scale, offset: [...view.offset] });
    const backFirst = [...regions].reverse();
    this.work = this.paint(canvas, /** @type {View} */ (Object.assign(Object.create(view), this.next)), backFirst);
  }

  /**
   * Some more regions; when all are painted they are shown.
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

  /** As many in a frame as it takes well. */
  keepPace() {
    const now = performance.now();
    const took = now - this.lastFrame;
    this.lastFrame = now;
    if (!this.hasPainted) return;
    if (took > 1.5 * FRAME_MS) this.pace = Math.max(FEWEST, Math.floor(this.pace / 2));
    else this.pace = Math.min(MOST, Math.ceil(this.pace * 1.1));
  }

  /**
   * Paint all, back to front, a region at each step.
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
   * Fills in their order, so that a wrong order is seen; together they let the picture through.
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
    context.globalAlpha = 0.6;
    layWhole(context, this.borders);
    context.globalAlpha = 1;
  }

  /**
   * What hides a region has its hatch, in place of that of regions farther behind.
   * @param {Context} hidden
   * @param {View} view
   * @param {string} id
   * @param {Region[]} above those in front of it
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
   * Show a sheet where its view was, seen from the view of now.
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
    context.imageSmoothingEnabled = false; // soon painted anew, and smoothing takes a third of the frame
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
