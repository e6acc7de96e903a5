// Problems in a scene that can be detected while drawing, with the same kinds and limits as the
// checks before finishing, which detect more (segarena.systems.scenes.checks.single_annotation_checks).

import { firstCrossing, firstMeeting } from "./self-intersections.js";
import { boxHolds, contains, convexHull, isHole, isSame } from "../common/geometry.js";
import { labelPlace } from "./region-labels.js";
import { leastArea, LEAST_VERTICES } from "./outline-rules.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./occlusion.js").Depth} Depth */
/** @typedef {{kind: string, severity: "error" | "warning", regions: string[], at: Point | null, message: string}} Fault */

const SPIKE_COSINE = Math.cos((8 * Math.PI) / 180);
const LEAST_VISIBLE = 0.02;

/** @type {WeakMap<Polygon, Fault[]>} problems per outline; outlines are never changed in place */
const known = new WeakMap();

/**
 * Return all problems: those of single regions first, front to back, then those of pairs.
 * @param {Scene} scene
 * @param {Depth} depth
 * @returns {Fault[]}
 */
export function check(scene, depth) {
  return [...checkInSteps(scene, depth)].flat();
}

/**
 * Yield all problems in the same order, those of one region at a time, so that the caller can pause.
 * @param {Scene} scene
 * @param {Depth} depth
 * @returns {Generator<Fault[]>}
 */
export function* checkInSteps(scene, depth) {
  for (const region of scene.regions) yield checkRegion(scene, region, depth);
  yield depth.duplicates().map(([front, behind, iou]) => {
    const message = `expected one region, got two of IoU ${iou.toFixed(2)}; delete one`;
    return fault("duplicate", [front, behind], labelPlace(scene.outlines(front)), message);
  });
}

/**
 * @param {Scene} scene
 * @param {Region} region
 * @param {Depth} depth
 * @returns {Fault[]}
 */
function checkRegion(scene, region, depth) {
  const outlines = scene.outlines(region.id);
  const first = scene.polygon(region.id)[0] ?? null;
  const found = outlines.flatMap((polygon) => {
    const faults = known.get(polygon) ?? checkOutline(region.id, polygon);
    known.set(polygon, faults);
    return faults;
  });
  const meeting = firstMeeting(outlines);
  if (meeting) {
    const message = "expected outlines that do not meet each other, got two that do; adjust one of them here";
    found.push(fault("self-intersection", [region.id], meeting, message));
  }
  if (region.propagation === "proposed") {
    found.unshift(fault("proposed", [region.id], first, "expected proposals to be accepted, corrected or deleted, got one that nobody has decided on yet"));
  }
  if (!region.name.trim()) {
    found.unshift(fault("unnamed", [region.id], first, "expected a name, found none; name the region"));
  }
  const area = depth.areaPx(region.id);
  const least = leastArea(depth.size);
  if (area > 0 && area < least) {
    const message = `expected at least ${Math.ceil(least)} pixels, got ${area}; regions this small are not annotated`;
    found.push(fault("small", [region.id], labelPlace(outlines), message));
  }
  return area ? [...found, ...checkVisible(scene, region, depth)] : found;
}

/**
 * @param {string} id
 * @param {Polygon} polygon
 * @returns {Fault[]}
 */
function checkOutline(id, polygon) {
  const distinct = polygon.filter((at, index) => !isSame(at, polygon[(index + 1) % polygon.length]));
  const found = [];
  if (distinct.length < polygon.length) {
    const message = `expected distinct vertices, got ${polygon.length - distinct.length} repeated`;
    const again = polygon.find((at, index) => isSame(at, polygon[(index + 1) % polygon.length])) ?? null;
    found.push(fault("repeated-vertex", [id], again, message, "warning"));
  }
  if (convexHull(distinct).length < 3) {
    const message = `expected an area above 0, got ${distinct.length} distinct vertices that enclose none; draw the outline again`;
    return [...found, fault("degenerate", [id], polygon[0] ?? null, message)];
  }
  if (distinct.length < LEAST_VERTICES) {
    const message = `expected at least ${LEAST_VERTICES} vertices, got ${distinct.length}; draw it in more detail`;
    found.push(fault("few-vertices", [id], polygon[0], message));
  }
  const crossing = firstCrossing(distinct);
  if (crossing) {
    const message = "expected an outline that does not cross or touch itself, got one that does; redraw it here";
    found.push(fault("self-intersection", [id], crossing.at, message));
  }
  const spikes = distinct.filter((_, index) => isSpike(distinct, index));
  if (spikes.length) {
    const message = `expected corners of more than 8 degrees, got ${spikes.length} sharper`;
    found.push(fault("spike", [id], spikes[0], message, "warning"));
  }
  return found;
}

/**
 * @param {Polygon} polygon
 * @param {number} index
 */
function isSpike(polygon, index) {
  const [x, y] = polygon[index];
  const before = polygon[(index + polygon.length - 1) % polygon.length];
  const after = polygon[(index + 1) % polygon.length];
  const [backX, backY, onX, onY] = [before[0] - x, before[1] - y, after[0] - x, after[1] - y];
  return backX * onX + backY * onY > SPIKE_COSINE * Math.hypot(backX, backY) * Math.hypot(onX, onY);
}

/**
 * @param {Scene} scene
 * @param {Region} region
 * @param {Depth} depth
 * @returns {Fault[]}
 */
function checkVisible(scene, { id }, depth) {
  const outlines = scene.outlines(id);
  const holder = scene.regions.slice(0, scene.place(id)).find((front) => holds(scene, front.id, id));
  if (holder) {
    const message = `expected this region in front of region ${holder.id}, which contains and hides this one; check the order`;
    return [fault("contained", [holder.id, id], labelPlace(outlines), message)];
  }
  const [seen, whole] = [depth.visiblePx(id), depth.areaPx(id)];
  if (seen > LEAST_VISIBLE * whole) return [];
  const message = `expected a larger visible part, got ${seen} of ${whole} pixels; check the order`;
  return [fault("hidden", [id], labelPlace(outlines), message, seen ? "warning" : "error")];
}

/**
 * Whether an outline of a region contains all vertices of another region. Vertices do not show whether a
 * region is visible through a hole, so this is false for regions with holes; the visible pixels show it.
 * @param {Scene} scene
 * @param {string} outer
 * @param {string} inner
 */
function holds(scene, outer, inner) {
  const [box, [left, top, right, bottom]] = [scene.box(outer), scene.box(inner)];
  if (!boxHolds(box, [left, top]) || !boxHolds(box, [right, bottom])) return false; // most pairs are far apart
  const outlines = scene.outlines(outer);
  if (outlines.some((_, index) => isHole(outlines, index)) || firstMeeting(outlines)) return false;
  return outlines.some((outline) => scene.polygon(inner).every((at) => contains(outline, at)));
}

/**
 * @param {string} kind
 * @param {string[]} regions
 * @param {Point | null} at
 * @param {string} message
 * @param {Fault["severity"]} [severity]
 * @returns {Fault}
 */
function fault(kind, regions, at, message, severity = "error") {
  return { kind, severity, regions, at, message };
}
