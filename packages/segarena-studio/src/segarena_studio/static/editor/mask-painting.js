// Painting the mask of a region with a round brush, and converting the mask to outlines.
//
// A pixel is painted if its centre lies within the brush. The outlines of a mask run along its
// pixels and are simplified (Douglas and Peucker) by TOLERANCE_PX. Vertices away from the stroke stay
// the same, so that borders shared with neighbours are kept there.

import { area, boxOf, contains, isHole, outlinesContain, perimeter, project, segmentsMeet, signedArea, squaredFromSegment } from "../common/geometry.js";
import { fill } from "../common/polygon-spans.js";
import { maskToBorders, simplify, simplifyLine } from "../common/run-lengths.js";
import { areSimple, isSimple } from "./self-intersections.js";
import { isCovered, LEAST_VERTICES, MOST_OUTLINES } from "./outline-rules.js";
import { ringsOf } from "./scene.js";

/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {{points: Point[], radius: number, isErasing: boolean}} Stroke in px of the picture */
/** @typedef {{left: number, top: number, width: number, height: number, mask: Uint8Array}} Raster a window of pixels */
/** @typedef {{ring: number[], polygon: Polygon}} OldOutline points of the scene, and their places */
/** @typedef {(number | Point)[]} Outline an index of a vertex that stays, or the place of a new one */

/** Largest distance between the simplified outline and a removed vertex of the pixel outline. */
export const TOLERANCE_PX = 1;
/** Distance from the stroke within which vertices may change. */
const MARGIN_PX = 3;
/** Largest distance of a kept vertex from the outline of the mask. */
const NEAR_PX = 1.5;
/** Smaller parts and holes that a stroke leaves behind count as accidental, in square px. */
const LEAST_PART_PX = 16;
const MOST_PIXELS = 120e6;

/**
 * Paint a stroke as a new region in front of all others. Return null, or the reason for a rejection.
 * @param {Steps} steps
 * @param {Stroke} stroke
 */
export function paintRegion(steps, stroke) {
  const raster = rasterOf([], stroke);
  if (!raster) return "large";
  paint(raster, stroke, 1);
  const [outline] = bordersOf(raster);
  if (!outline) return "nothing";
  steps.addRegion(simplify(outline, TOLERANCE_PX).map((at) => steps.addPoint(at)), {}, 0);
  return null;
}

/**
 * Add a stroke to a region, or erase it from the region. Erasing can cut holes, and cut the region into parts.
 * Painting can add parts and make holes smaller; it fills an empty gap that it newly encloses. Erasing a
 * hole that regions in front cover is rejected ("covered"): the erased region continues behind them.
 * Return null, or the reason for a rejection.
 * @param {Steps} steps
 * @param {string} id
 * @param {Stroke} stroke
 * @returns {string | null}
 */
export function paintOn(steps, id, stroke) {
  const { scene } = steps;
  const region = scene.region(id);
  if (region.is_locked) return "locked";
  const box = strokeBox(stroke, MARGIN_PX);
  const all = ringsOf(region).map((ring) => ({ ring, polygon: ring.map((point) => scene.points[point]) }));
  // Outlines away from the stroke stay. If the stroke is inside an odd number of them, painting clears
  // pixels in the mask of the other outlines, and erasing sets them.
  const away = all.filter(({ polygon }) => isAway(polygon, box));
  const near = orientedOutlines(all.filter((one) => !away.includes(one)));
  const [staying, changing] = [away, near].map((outlines) => outlines.map(({ polygon }) => polygon));
  const raster = rasterOf(changing, stroke);
  if (!raster) return "large";
  const before = raster.mask.slice();
  const value = stroke.isErasing === outlinesContain(staying, stroke.points[0]) ? 1 : 0;
  paint(raster, stroke, value);
  if (raster.mask.every((pixel, at) => pixel === before[at])) return "nothing";
  separateCorners(raster, value);
  const borders = bordersOf(raster).filter((border) => area(border) >= LEAST_PART_PX);
  const isHoleNow = (/** @type {Polygon} */ border) => !outlinesContain([...staying, ...borders], pixelsInside(border)[0]);
  const isNewHole = (/** @type {Polygon} */ border) => isHoleNow(border) && !pixelsInside(border).some((at) => isInHole(scene.outlines(id), at));
  const newHoles = borders.filter(isNewHole);
  if (stroke.isErasing && newHoles.some((border) => isCovered(scene, id, border))) return "covered";
  const isEmptyInside = (/** @type {Polygon} */ border) => ![...staying, ...borders].some((other) => other !== border && contains(border, other[0]));
  const surrounded = stroke.isErasing ? [] : newHoles.filter(isEmptyInside);
  const traced = borders.filter((border) => !surrounded.includes(border));
  if (!traced.length && !away.length) return "empty";
  if (traced.length + away.length > MOST_OUTLINES) return "many";
  const earlier = new Set(bordersOf({ ...raster, mask: before }).map(keyOf));
  const changed = keepVertices(near, traced, { box, staying, earlier });
  const rings = changed.map((outline) => outline.map((vertex) => (typeof vertex === "number" ? vertex : steps.addPoint(vertex))));
  steps.setOutlines(id, [...away.map(({ ring }) => ring), ...rings]);
  return null;
}

/**
 * Return outlines clockwise on the screen, and counterclockwise if they are holes in the others.
 * @param {OldOutline[]} outlines
 * @returns {OldOutline[]}
 */
function orientedOutlines(outlines) {
  const polygons = outlines.map(({ polygon }) => polygon);
  return outlines.map((outline, index) => {
    const isRight = signedArea(outline.polygon) > 0 !== isHole(polygons, index);
    if (isRight) return outline;
    return { ring: [...outline.ring].reverse(), polygon: [...outline.polygon].reverse() };
  });
}

/**
 * Whether a point lies in a hole of a region.
 * @param {Polygon[]} outlines
 * @param {Point} at
 */
function isInHole(outlines, at) {
  return !outlinesContain(outlines, at) && outlines.some((outline) => contains(outline, at));
}

/**
 * Return the outlines of a changed mask, keeping as many vertices of the old outlines as possible. If
 * outlines would meet, they are simplified less.
 * @param {OldOutline[]} old
 * @param {Polygon[]} traced borders of the new mask, largest first
 * @param {{box: Box, staying: Polygon[], earlier: Set<string>}} context box: where the mask has changed;
 *   staying: other outlines of the region; earlier: keys of the borders of the old mask
 * @returns {Outline[]} with points of the scene as numbers
 */
function keepVertices(old, traced, { box, staying, earlier }) {
  const unused = new Set(old);
  /** @type {Outline[]} */
  const made = [];
  for (const border of traced) {
    const kept = firstKept(unused, border, box);
    if (kept) made.push(kept);
    // A thin part of an old outline may have separate borders, which that outline already contains.
    else if (!earlier.has(keyOf(border))) made.push(simplify(border, TOLERANCE_PX));
  }
  /** @type {Map<number, Point>} */
  const places = new Map();
  for (const { ring, polygon } of old) ring.forEach((point, at) => places.set(point, polygon[at]));
  const polygons = made.map((outline) => outline.map((vertex) => (typeof vertex === "number" ? /** @type {Point} */ (places.get(vertex)) : vertex)));
  if (areSimple([...staying, ...polygons])) return made;
  // Thin walls between outlines need more detail. The borders of the mask itself never meet.
  for (let tolerance = TOLERANCE_PX / 2; tolerance > 0.01; tolerance /= 2) {
    const finer = traced.map((border) => simplify(border, tolerance));
    if (areSimple([...staying, ...finer])) return finer;
  }
  return traced;
}

/**
 * Return an outline along a border that keeps vertices of an old outline, and remove that outline from
 * `unused`; null if no old outline follows the border.
 * @param {Set<OldOutline>} unused
 * @param {Polygon} border
 * @param {Box} box where the mask has changed
 * @returns {Outline | null}
 */
function firstKept(unused, border, box) {
  for (const one of unused) {
    if (signedArea(one.polygon) > 0 !== signedArea(border) > 0) continue;
    const outline = outlineOf(one.polygon, border, box);
    if (!outline.some((vertex) => typeof vertex === "number")) continue;
    unused.delete(one);
    return outline.map((vertex) => (typeof vertex === "number" ? one.ring[vertex] : vertex));
  }
  return null;
}

/**
 * Whether all sides of an outline lie outside a box.
 * @param {Polygon} polygon
 * @param {Box} box
 */
function isAway(polygon, box) {
  return polygon.every((start, at) => !meetsBox(start, polygon[(at + 1) % polygon.length], box));
}

/**
 * Return the centre of the first pixel inside a border in each row, from the top.
 * @param {Polygon} border along pixel edges
 * @returns {Point[]}
 */
function pixelsInside(border) {
  const [x0, y0, x1, y1] = boxOf(border);
  const { starts, ends } = fill([border.map(([x, y]) => [x - x0, y - y0])], [x1 - x0, y1 - y0]);
  return Array.from(starts.subarray(0, -1), (start, row) => [x0 + ends[start] + 0.5, y0 + row + 0.5]);
}

/**
 * Return a key that is the same for equal borders.
 * @param {Polygon} border
 */
function keyOf(border) {
  return border.join(" ");
}

/**
 * Set or clear pixels until no two set pixels touch only at a corner, so that borders never meet.
 * @param {Raster} raster
 * @param {0 | 1} value of the changed pixels
 */
function separateCorners({ width, mask }, value) {
  let hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (let at = 0; at < mask.length - width - 1; at++) {
      if (at % width === width - 1) continue;
      const [a, b, c, d] = [at, at + 1, at + width, at + width + 1];
      if (mask[a] !== mask[d] || mask[b] !== mask[c] || mask[a] === mask[b]) continue;
      for (const pixel of mask[a] === value ? [b, c] : [a, d]) mask[pixel] = value;
      hasChanged = true;
    }
  }
}

/**
 * Return the outline of a changed mask: vertices of the old outline outside a box stay, in one run, and
 * the rest follows the mask. If no run can stay, all of the outline follows the mask.
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
 * Return the indices of the longest run of consecutive vertices between which no side meets a box, in order;
 * [] if no side of the polygon meets it.
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
 * Rasterize outlines into a window that has room for a stroke; null if it would be too large.
 * @param {Polygon[]} outlines
 * @param {Stroke} stroke
 * @returns {Raster | null}
 */
function rasterOf(outlines, stroke) {
  const around = strokeBox(stroke, 1);
  const box = boxOf([...outlines.flat(), [around[0], around[1]], [around[2], around[3]]]);
  const [left, top] = [Math.floor(box[0]) - 1, Math.floor(box[1]) - 1];
  const [width, height] = [Math.ceil(box[2]) + 1 - left, Math.ceil(box[3]) + 1 - top];
  if (width * height > MOST_PIXELS) return null;
  const mask = new Uint8Array(width * height);
  const raster = { left, top, width, height, mask };
  const shifted = outlines.map((outline) => outline.map(([x, y]) => /** @type {Point} */ ([x - left, y - top])));
  const spans = fill(shifted, [width, height]);
  for (let row = 0; row + 1 < spans.starts.length; row++) {
    const start = (spans.top + row) * width;
    for (let at = spans.starts[row]; at < spans.starts[row + 1]; at += 2) mask.fill(1, start + spans.ends[at], start + spans.ends[at + 1]);
  }
  return raster;
}

/**
 * Paint a stroke into a window: all pixels whose centre lies within the brush.
 * @param {Raster} raster
 * @param {Stroke} stroke
 * @param {0 | 1} value of the painted pixels
 */
function paint({ left, top, width, height, mask }, { points, radius }, value) {
  points.forEach((to, index) => {
    const from = points[Math.max(index - 1, 0)];
    const first = Math.max(Math.floor(Math.min(from[1], to[1]) - radius) - top, 0);
    const last = Math.min(Math.ceil(Math.max(from[1], to[1]) + radius) - top, height - 1);
    const start = Math.max(Math.floor(Math.min(from[0], to[0]) - radius) - left, 0);
    const end = Math.min(Math.ceil(Math.max(from[0], to[0]) + radius) - left, width - 1);
    for (let row = first; row <= last; row++) {
      for (let column = start; column <= end; column++) {
        const centre = /** @type {Point} */ ([left + column + 0.5, top + row + 0.5]);
        if (squaredFromSegment(centre, from, to) <= radius * radius) mask[row * width + column] = value;
      }
    }
  });
}

/**
 * Return the borders of a window's mask, largest first, in px of the picture: outer ones clockwise on
 * the screen, those of holes counterclockwise.
 * @param {Raster} raster
 * @returns {Polygon[]}
 */
function bordersOf({ left, top, width, height, mask }) {
  return maskToBorders(mask, [height, width]).map((ring) => ring.map(([x, y]) => [x + left, y + top]));
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
