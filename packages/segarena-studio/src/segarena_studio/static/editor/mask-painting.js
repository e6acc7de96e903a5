// Painting the mask of a region with a round brush, and converting the mask to an outline.
//
// A pixel is painted if its centre lies within the brush. The outline of a mask runs along its
// pixels and is simplified (Douglas and Peucker) by TOLERANCE_PX. Vertices away from the stroke stay
// the same, so that borders shared with neighbours are kept there.

import { area, boxOf, perimeter, project, segmentsMeet, signedArea, squaredFromSegment } from "../common/geometry.js";
import { fill } from "../common/polygon-spans.js";
import { maskToRings, simplify, simplifyLine } from "../common/run-lengths.js";
import { isSimple } from "./self-intersections.js";
import { LEAST_VERTICES } from "./outline-rules.js";

/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {{points: Point[], radius: number, isErasing: boolean}} Stroke in px of the picture */
/** @typedef {{left: number, top: number, width: number, height: number, mask: Uint8Array}} Raster a window of pixels */
/** @typedef {(number | Point)[]} Outline an index of a vertex that stays, or the place of a new one */

/** Largest distance of a removed vertex of the pixel outline from the simplified outline. */
export const TOLERANCE_PX = 1;
/** Distance from the stroke within which vertices may change. */
const MARGIN_PX = 3;
/** Largest distance of a kept vertex from the outline of the mask. */
const NEAR_PX = 1.5;
const MOST_PIXELS = 120e6;

/**
 * Paint a stroke as a new region in front of all. Return null, or the reason for a rejection.
 * @param {Steps} steps
 * @param {Stroke} stroke
 */
export function paintRegion(steps, stroke) {
  const raster = rasterOf([], stroke);
  if (!raster) return "large";
  const [outline] = ringsOf(raster);
  if (!outline) return "nothing";
  steps.addRegion(simplify(outline, TOLERANCE_PX).map((at) => steps.addPoint(at)), {}, 0);
  return null;
}

/**
 * Add a stroke to a region, or erase it. A region is one outline without holes, so erasing within it
 * is rejected ("hole"), and if a stroke cuts it in pieces, the largest one stays.
 * @param {Steps} steps
 * @param {string} id
 * @param {Stroke} stroke
 * @param {() => void} [onCut] called if pieces were dropped
 * @returns {string | null}
 */
export function paintOn(steps, id, stroke, onCut = () => {}) {
  const { scene } = steps;
  const region = scene.region(id);
  if (region.is_locked) return "locked";
  const isForward = signedArea(scene.polygon(id)) > 0;
  const ring = isForward ? region.ring : [...region.ring].reverse();
  const polygon = ring.map((point) => scene.points[point]);
  const raster = rasterOf(polygon, stroke);
  if (!raster) return "large";
  const before = raster.mask.slice();
  paint(raster, stroke);
  if (raster.mask.every((value, at) => value === before[at])) return "nothing";
  const rings = ringsOf(raster);
  if (!rings.length) return "empty";
  const earlier = ringsOf({ ...raster, mask: before });
  if (!stroke.isErasing && rings.length > earlier.length) return "apart";
  if (stroke.isErasing && isSameOutline(rings[0], earlier[0])) return "hole";
  if (stroke.isErasing && rings.length > earlier.length) onCut();
  const changed = outlineOf(polygon, rings[0], strokeBox(stroke, MARGIN_PX));
  const made = changed.map((vertex) => (typeof vertex === "number" ? ring[vertex] : steps.addPoint(vertex)));
  steps.splice(id, 0, region.ring.length, made);
  return null;
}

/**
 * Return the outline of a changed mask: vertices of the old outline outside a box stay, in one run;
 * the rest follows the mask.
 * @param {Polygon} old clockwise on the screen
 * @param {Polygon} traced the new mask's outline, clockwise on the screen
 * @param {Box} box where the mask has changed
 * @returns {Outline}
 */
export function outlineOf(old, traced, box) {
  const whole = simplify(traced, TOLERANCE_PX);
  const run = longestRunOutside(old, box);
  if (run.length < 2) return whole;
  const from = nearestSide(traced, old[run[run.length - 1]]);
  const to = nearestSide(traced, old[run[0]]);
  if (from.squared > NEAR_PX ** 2 || to.squared > NEAR_PX ** 2) return whole;
  /** @type {Polygon} */
  const bridge = [old[run[run.length - 1]]];
  const count = (to.side - from.side + traced.length) % traced.length;
  for (let step = 1; step <= count; step++) bridge.push(traced[(from.side + step) % traced.length]);
  bridge.push(old[run[0]]);
  const between = simplifyLine(bridge, TOLERANCE_PX).slice(1, -1);
  const polygon = [...run.map((at) => old[at]), ...between];
  // The bridge may have gone the wrong way round the outline, or cross the part that stays.
  const isWrong = Math.abs(area(polygon) - area(traced)) > perimeter(traced);
  if (isWrong || polygon.length < LEAST_VERTICES || !isSimple(polygon)) return whole;
  return [...run, ...between];
}

/**
 * Return the longest run of consecutive vertices whose sides do not meet a box, in order.
 * @param {Polygon} polygon
 * @param {Box} box
 */
function longestRunOutside(polygon, box) {
  const count = polygon.length;
  const isSideOutside = polygon.map((start, at) => !meetsBox(start, polygon[(at + 1) % count], box));
  if (isSideOutside.every(Boolean)) return [];
  /** @type {number[]} */
  let longest = [];
  // Begin after a side that meets the box, so that no run is cut in two.
  const first = isSideOutside.indexOf(false) + 1;
  /** @type {number[]} */
  let run = [];
  for (let step = 0; step < count; step++) {
    const at = (first + step) % count;
    run.push(at);
    if (isSideOutside[at]) continue;
    if (run.length > longest.length) longest = run;
    run = [];
  }
  return longest.filter((at) => !holds(box, polygon[at]));
}

/**
 * @param {Point} a
 * @param {Point} b
 * @param {Box} box
 */
function meetsBox(a, b, box) {
  const [x0, y0, x1, y1] = box;
  if (holds(box, a) || holds(box, b)) return true;
  return segmentsMeet(a, b, [x0, y0], [x1, y1]) || segmentsMeet(a, b, [x0, y1], [x1, y0]);
}

/**
 * @param {Box} box
 * @param {Point} at
 */
function holds([x0, y0, x1, y1], [x, y]) {
  return x >= x0 && x <= x1 && y >= y0 && y <= y1;
}

/**
 * @param {Polygon} polygon
 * @param {Point} at
 */
function nearestSide(polygon, at) {
  let best = { side: 0, squared: Infinity };
  polygon.forEach((start, side) => {
    const { squared } = project(at, start, polygon[(side + 1) % polygon.length]);
    if (squared < best.squared) best = { side, squared };
  });
  return best;
}

/**
 * Rasterize a polygon into a window that has room for a stroke; null if it would be too large. For
 * an empty polygon, the stroke is painted already.
 * @param {Polygon} polygon
 * @param {Stroke} stroke
 * @returns {Raster | null}
 */
function rasterOf(polygon, stroke) {
  const around = strokeBox(stroke, 1);
  const box = polygon.length ? boxOf([...polygon, [around[0], around[1]], [around[2], around[3]]]) : around;
  const [left, top] = [Math.floor(box[0]) - 1, Math.floor(box[1]) - 1];
  const [width, height] = [Math.ceil(box[2]) + 1 - left, Math.ceil(box[3]) + 1 - top];
  if (width * height > MOST_PIXELS) return null;
  const mask = new Uint8Array(width * height);
  const raster = { left, top, width, height, mask };
  const spans = fill(polygon.map(([x, y]) => [x - left, y - top]), [width, height]);
  for (let row = 0; row + 1 < spans.starts.length; row++) {
    const start = (spans.top + row) * width;
    for (let at = spans.starts[row]; at < spans.starts[row + 1]; at += 2) mask.fill(1, start + spans.ends[at], start + spans.ends[at + 1]);
  }
  if (!polygon.length) paint(raster, stroke);
  return raster;
}

/**
 * Paint a stroke into a window: all pixels whose centre lies within the brush.
 * @param {Raster} raster
 * @param {Stroke} stroke
 */
function paint({ left, top, width, height, mask }, { points, radius, isErasing }) {
  points.forEach((to, index) => {
    const from = points[Math.max(index - 1, 0)];
    const first = Math.max(Math.floor(Math.min(from[1], to[1]) - radius) - top, 0);
    const last = Math.min(Math.ceil(Math.max(from[1], to[1]) + radius) - top, height - 1);
    const start = Math.max(Math.floor(Math.min(from[0], to[0]) - radius) - left, 0);
    const end = Math.min(Math.ceil(Math.max(from[0], to[0]) + radius) - left, width - 1);
    for (let row = first; row <= last; row++) {
      for (let column = start; column <= end; column++) {
        const centre = /** @type {Point} */ ([left + column + 0.5, top + row + 0.5]);
        if (squaredFromSegment(centre, from, to) <= radius * radius) mask[row * width + column] = isErasing ? 0 : 1;
      }
    }
  });
}

/**
 * Return the outer borders of a window's mask, largest first, in px of the picture.
 * @param {Raster} raster
 * @returns {Polygon[]}
 */
function ringsOf({ left, top, width, height, mask }) {
  return maskToRings(mask, [height, width]).map((ring) => ring.map(([x, y]) => [x + left, y + top]));
}

/**
 * @param {Stroke} stroke
 * @param {number} margin
 * @returns {Box}
 */
function strokeBox({ points, radius }, margin) {
  const [x0, y0, x1, y1] = boxOf(points);
  const by = radius + margin;
  return [x0 - by, y0 - by, x1 + by, y1 + by];
}

/**
 * @param {Polygon} one
 * @param {Polygon} other
 */
function isSameOutline(one, other) {
  return one.length === other.length && one.every(([x, y], at) => x === other[at][0] && y === other[at][1]);
}
