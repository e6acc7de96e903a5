// Outlines as cached canvas paths, rebuilt only when they change; strokes and hatches in region
// colours.

import { colourOf } from "./region-colours.js";
import { isHole, signedArea } from "../common/geometry.js";
import { labelPlace } from "./region-labels.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {[number, number, number, number]} Box */
/** @typedef {[number, number]} Point */
/** @typedef {CanvasRenderingContext2D} Context */
/** @typedef {{revision: number, path: Path2D, label: Point | null}} Shape */

export const HALO = "rgba(8, 14, 20, 0.62)";
/** Regions smaller than this on the screen show no number, in px. */
const LEAST_LABELLED = 26;
const HATCH = 9;
/** Lengths of the strokes and gaps of the outline of a proposal, in screen px. */
const PROPOSED = [9, 6];

export class Shapes {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {Map<string, Shape>} */
    this.shapes = new Map();
    /** @type {Map<string, CanvasPattern>} */
    this.hatches = new Map();
  }

  /**
   * Return the outline of a region, in image px.
   * @param {string} id
   */
  path(id) {
    return this.shape(id).path;
  }

  /**
   * @param {string} id
   * @returns {Shape}
   */
  shape(id) {
    const { scene } = this.editor;
    const revision = scene.revisionOf(id);
    const known = this.shapes.get(id);
    if (known?.revision === revision) return known;
    const path = new Path2D();
    const outlines = scene.outlines(id);
    outlines.forEach((outline, index) => {
      // Outlines of parts wind one way and those of holes the other, so that `union` can fill several regions as one path.
      const isReversed = signedArea(outline) < 0 !== isHole(outlines, index);
      const [first, ...others] = isReversed ? [...outline].reverse() : outline;
      if (!first) return;
      path.moveTo(first[0], first[1]);
      for (const [x, y] of others) path.lineTo(x, y);
      path.closePath();
    });
    const shape = { revision, path, label: null };
    this.shapes.set(id, shape);
    return shape;
  }

  /**
   * Return the union of several regions as one path.
   * @param {Region[]} regions
   */
  union(regions) {
    const all = new Path2D();
    for (const { id } of regions) all.addPath(this.path(id));
    return all;
  }

  /**
   * Draw the outline of a region with a dark underlay, so that it is visible on light and dark pictures. A line
   * with `dash` has no underlay. The outline of a proposal is always dashed; without `dash` its underlay is solid.
   * @param {Context} context in image px
   * @param {View} view
   * @param {string} id
   * @param {{width?: number, dash?: number[], colour?: string}} options
   */
  stroke(context, view, id, { width = 1.75, dash = [], colour = colourOf(id, false).stroke } = {}) {
    const path = this.path(id);
    const isProposed = this.editor.scene.region(id).propagation === "proposed";
    context.lineJoin = "round";
    if (!dash.length) {
      context.strokeStyle = HALO;
      context.lineWidth = (width + 1.75) / view.scale;
      context.stroke(path);
    }
    const pattern = isProposed && !dash.length ? PROPOSED : dash;
    context.setLineDash(pattern.map((length) => length / view.scale));
    context.strokeStyle = colour;
    context.lineWidth = width / view.scale;
    context.stroke(path);
    context.setLineDash([]);
  }

  /**
   * Return a hatch pattern in the region's colour with a dark line next to each line, for filling a path in
   * image px.
   * @param {Context} context
   * @param {View} view
   * @param {string} id
   */
  hatch(context, view, id) {
    const { stroke } = colourOf(id, false);
    const pattern = this.hatches.get(stroke) ?? patternOf(context, stroke);
    this.hatches.set(stroke, pattern);
    pattern.setTransform(new DOMMatrix().scale(1 / view.scale));
    return pattern;
  }

  /**
   * Write the region's position in the depth order onto the region.
   * @param {Context} context
   * @param {View} view
   * @param {Region} region
   */
  number(context, view, { id }) {
    const { scene, picture, settings } = this.editor;
    const [x0, y0, x1, y1] = scene.box(id);
    if (!settings.numbers || Math.max(x1 - x0, y1 - y0) * view.scale < LEAST_LABELLED) return;
    const shape = this.shape(id);
    shape.label ??= labelPlace(scene.outlines(id));
    const [x, y] = view.toScreen(shape.label);
    const { fill, text } = colourOf(id, false);
    const number = String(scene.place(id) + 1);
    context.save();
    context.setTransform(picture.ratio, 0, 0, picture.ratio, 0, 0);
    context.font = "600 12px system-ui, sans-serif";
    const half = Math.max(10, context.measureText(number).width / 2 + 6);
    context.beginPath();
    context.arc(x - half + 10, y, 10, 0.5 * Math.PI, 1.5 * Math.PI);
    context.arc(x + half - 10, y, 10, 1.5 * Math.PI, 0.5 * Math.PI);
    context.closePath();
    context.fillStyle = fill;
    context.strokeStyle = HALO;
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
    context.fillStyle = text;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(number, x, y + 0.5);
    context.restore();
  }

  /**
   * Transform a context so that it draws in image px from now on.
   * @param {Context} context
   * @param {View} view
   */
  inImage(context, view) {
    const pixels = this.editor.picture.ratio * view.scale;
    const [x, y] = view.offset;
    context.setTransform(pixels, 0, 0, pixels, this.editor.picture.ratio * x, this.editor.picture.ratio * y);
  }
}

/**
 * An off-screen canvas.
 */
export class Sheet {
  canvas = document.createElement("canvas");
  context = /** @type {Context} */ (this.canvas.getContext("2d"));
  #isClipped = false;

  /**
   * Give the canvas the size of another one, clear a box of it, and paint only in that box from now on.
   * @param {HTMLCanvasElement} like
   * @param {Box | null} [box] in whole pixels of the canvas; null for all of it
   */
  clear({ width, height }, box = null) {
    const { canvas, context } = this;
    if (this.#isClipped) context.restore();
    this.#isClipped = box !== null;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(1, 0, 0, 1, 0, 0);
    const [x0, y0, x1, y1] = box ?? [0, 0, width, height];
    context.clearRect(x0, y0, x1 - x0, y1 - y0);
    if (box) {
      context.save();
      context.beginPath();
      context.rect(x0, y0, x1 - x0, y1 - y0);
      context.clip();
    }
    return context;
  }

  /**
   * Replace a box of this canvas by that of another one of the same size.
   * @param {Sheet} other
   * @param {Box} box in whole pixels of the canvas
   */
  replace({ canvas }, [x0, y0, x1, y1]) {
    const { context } = this;
    const [width, height] = [x1 - x0, y1 - y0];
    if (width <= 0 || height <= 0) return;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(x0, y0, width, height);
    context.drawImage(canvas, x0, y0, width, height, x0, y0, width, height);
    context.restore();
  }
}

/**
 * @param {Box} a
 * @param {Box} b
 */
export function meet(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/**
 * @param {Context} context
 * @param {string} colour
 */
function patternOf(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH;
  const pen = /** @type {Context} */ (tile.getContext("2d"));
  pen.lineWidth = 1.3;
  for (const [ink, shift] of /** @type {[string, number][]} */ ([
    ["rgba(8, 14, 20, 0.4)", 1],
    [colour, 0],
  ])) {
    pen.strokeStyle = ink;
    for (const at of [-HATCH, 0, HATCH]) {
      pen.beginPath();
      pen.moveTo(at - 2 + shift, HATCH + 2);
      pen.lineTo(at + HATCH + 2 + shift, -2);
      pen.stroke();
    }
  }
  return /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
}
