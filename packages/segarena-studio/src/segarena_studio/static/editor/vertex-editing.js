// Adjusting outlines: a vertex is one object for all regions that share it. To move, delete or insert acts on all of them, unless
// `only` names a region that is to have a vertex of its own (the Alt key).
//
// Each function changes the scene by the given steps (history.js) and says why it may not, or null:
//   "crosses"  an outline would meet itself that did not before    "few"     fewer than four vertices would be left
//   "repeated" the vertex is there already                         "locked"  a region that has it is locked
//   "nothing"  there is nothing to do it to

import { isSimple } from "./self-intersections.js";
import { boxOf, isSame, rounded, squaredFromSegment } from "../common/geometry.js";
import { LEAST_VERTICES } from "./outline-rules.js";
import { edgeBetween } from "./scene.js";

/** @typedef {import("../common/viewport.js").Point} Point */
/** @typedef {import("../common/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {import("./snapping.js").Target} Target */
/** @typedef {{only?: string | null}} Only */

const SAME_PX = 0.001;

/**
 * Move vertices together.
 * @param {Steps} steps
 * @param {Iterable<number>} points
 * @param {number} dx
 * @param {number} dy
 * @param {Only & {size?: Size | null}} options size: what is in a picture of this size stays in it
 */
export function movePoints(steps, points, dx, dy, { only = null, size = null } = {}) {
  const { scene } = steps;
  const free = unlocked(scene, points, only);
  if (!free.length) return "locked";
  return unlessCrossing(scene, ownersOf(scene, free, only), () => {
    const moved = only === null ? free : detach(steps, only, free);
    const [right, down] = size ? withinFrame(scene, moved, [dx, dy], size) : [dx, dy];
    for (const point of moved) {
      const [x, y] = scene.points[point];
      steps.movePoint(point, [x + right, y + down]);
    }
    return null;
  });
}

/**
 * Move a vertex to what it snaps to: onto another vertex, with which it becomes one, or onto a side, whose regions then share it.
 * @param {Steps} steps
 * @param {number} point
 * @param {Target} target
 * @param {Only} options
 */
export function movePointTo(steps, point, target, { only = null } = {}) {
  const { scene } = steps;
  if (!unlocked(scene, [point], only).length) return "locked";
  return unlessCrossing(scene, ownersOf(scene, [point], only), () => {
    const [moved] = only === null ? [point] : detach(steps, only, [point]);
    if (target.point !== null) return target.point === moved ? null : weld(steps, moved, target.point);
    steps.movePoint(moved, target.at);
    if (target.region !== null) insertAtNearest(steps, target.region, moved);
    return null;
  });
}

/**
 * Insert a vertex into a side, for all regions that have it.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} edge place of the side's first point in the region's ring
 * @param {Point} at
 * @param {Only} options
 */
export function insertVertex(steps, id, edge, at, { only = null } = {}) {
  const { scene } = steps;
  const { ring } = scene.region(id);
  const [a, b] = [ring[edge], ring[(edge + 1) % ring.length]];
  const regions = only === null ? scene.edgeOwners(a, b).map(({ region }) => region) : [scene.region(only)];
  if (regions.some((region) => region.is_locked)) return "locked";
  if ([a, b].some((end) => isNear(scene.points[end], at))) return "repeated";
  return unlessCrossing(scene, regions, () => {
    insertBetween(steps, a, b, steps.addPoint(at), new Set(regions));
    return null;
  });
}

/**
 * Delete vertices, of all regions that have them. Those that cannot go stay; it is refused when none can.
 * @param {Steps} steps
 * @param {Iterable<number>} points
 * @param {Only} options
 */
export function deletePoints(steps, points, { only = null } = {}) {
  const { scene } = steps;
  const free = unlocked(scene, points, only);
  if (!free.length) return "locked";
  if (deleteTogether(steps, free, only) === null) return null;
  const refusals = free.map((point) => deleteTogether(steps, [point], only));
  return refusals.includes(null) ? null : refusals[0];
}

/**
 * Give a region vertices of its own where it shared them.
 * @param {Steps} steps
 * @param {string} id
 * @param {Iterable<number>} points
 */
export function splitPoints(steps, id, points) {
  const { scene } = steps;
  if (scene.region(id).is_locked) return "locked";
  const shared = [...points].filter((point) => scene.isShared(point) && scene.owners(point).length > 1);
  if (!shared.length) return "nothing";
  detach(steps, id, shared);
  return null;
}

/**
 * Make one vertex of two, at the place of the second.
 * @param {Steps} steps
 * @param {number} point
 * @param {number} into
 */
export function weld(steps, point, into) {
  const { scene } = steps;
  const owners = scene.owners(point);
  if (point === into || owners.some((region) => region.ring.includes(into))) return "repeated";
  if (owners.some((region) => region.is_locked)) return "locked";
  return unlessCrossing(scene, owners, () => {
    for (const { id, ring } of owners) steps.splice(id, ring.indexOf(point), 1, [into]);
    const place = scene.open.indexOf(point);
    if (place >= 0) steps.splice("", place, 1, [into]);
    return null;
  });
}

/**
 * A point of a region's outline as a vertex: the one that is there, or a new one in the nearest side that stays sound, for all
 * regions that have the side. The outline keeps its shape, so this holds for locked regions too.
 * @param {Steps} steps
 * @param {string} id
 * @param {Point} at
 */
export function shareOnEdge(steps, id, at) {
  const { scene } = steps;
  const place = /** @type {Point} */ (at.map(rounded));
  const there = scene.region(id).ring.find((point) => isNear(scene.points[point], at));
  if (there !== undefined) return there;
  const point = steps.addPoint(place);
  insertAtNearest(steps, id, point);
  return point;
}

/**
 * Insert a point into the side of a region that is nearest to it and stays sound, for all regions that have the side.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} point
 */
function insertAtNearest(steps, id, point) {
  const { scene } = steps;
  const { ring } = scene.region(id);
  if (ring.includes(point)) return;
  const at = scene.points[point];
  const polygon = scene.polygon(id);
  const distances = polygon.map((start, edge) => squaredFromSegment(at, start, polygon[(edge + 1) % polygon.length]));
  const wasSimple = isSimple(polygon);
  for (const edge of [...distances.keys()].sort((one, other) => distances[one] - distances[other])) {
    if (wasSimple && !isSimple([...polygon.slice(0, edge + 1), at, ...polygon.slice(edge + 1)])) continue;
    insertBetween(steps, ring[edge], ring[(edge + 1) % ring.length], point);
    return;
  }
}

/**
 * Put a point between two others wherever they follow each other.
 * @param {Steps} steps
 * @param {number} a
 * @param {number} b
 * @param {number} point
 * @param {Set<Region> | null} [regions] these alone
 */
function insertBetween(steps, a, b, point, regions = null) {
  const { scene } = steps;
  for (const { region, edge } of scene.edgeOwners(a, b)) {
    if ((!regions || regions.has(region)) && !region.ring.includes(point)) steps.splice(region.id, edge + 1, 0, [point]);
  }
  const edge = edgeBetween(scene.open, a, b);
  if (!regions && edge >= 0 && edge < scene.open.length - 1) steps.splice("", edge + 1, 0, [point]);
}

/**
 * @param {Steps} steps
 * @param {number[]} points
 * @param {string | null} only
 */
function deleteTogether(steps, points, only) {
  const { scene } = steps;
  const gone = new Set(points);
  const owners = ownersOf(scene, points, only);
  const left = owners.map(({ ring }) => ring.filter((point) => !gone.has(point)));
  if (left.some((ring) => ring.length < LEAST_VERTICES)) return "few";
  const spoilt = owners.some(({ id }, index) => {
    return isSimple(scene.polygon(id)) && !isSimple(left[index].map((point) => scene.points[point]));
  });
  if (spoilt) return "crosses";
  for (const { id } of owners) {
    const { ring } = scene.region(id);
    for (let place = ring.length - 1; place >= 0; place--) if (gone.has(ring[place])) steps.splice(id, place, 1, []);
  }
  return null;
}

/**
 * Give a region its own copies of points that it shares; says what its points are then.
 * @param {Steps} steps
 * @param {string} id
 * @param {number[]} points
 */
function detach(steps, id, points) {
  const { scene } = steps;
  return points.map((point) => {
    const place = scene.region(id).ring.indexOf(point);
    if (place < 0 || !scene.isShared(point)) return point;
    const own = steps.addPoint(scene.points[point]);
    steps.splice(id, place, 1, [own]);
    return own;
  });
}

/**
 * Do something, and say whether outlines meet themselves then that did not.
 * @param {Scene} scene
 * @param {Region[]} regions
 * @param {() => string | null} act
 */
function unlessCrossing(scene, regions, act) {
  const simple = regions.filter(({ id }) => isSimple(scene.polygon(id)));
  return act() ?? (simple.every(({ id }) => isSimple(scene.polygon(id))) ? null : "crosses");
}

/**
 * The points that may be changed.
 * @param {Scene} scene
 * @param {Iterable<number>} points
 * @param {string | null} only
 */
function unlocked(scene, points, only) {
  const distinct = [...new Set(points)];
  if (only === null) return distinct.filter((point) => !scene.owners(point).some((region) => region.is_locked));
  const { ring, is_locked } = scene.region(only);
  return is_locked ? [] : distinct.filter((point) => ring.includes(point));
}

/**
 * The regions that a change of points is about.
 * @param {Scene} scene
 * @param {number[]} points
 * @param {string | null} only
 */
function ownersOf(scene, points, only) {
  return only === null ? [...new Set(points.flatMap((point) => scene.owners(point)))] : [scene.region(only)];
}

/**
 * As much of a move as leaves points in the picture that are in it.
 * @param {Scene} scene
 * @param {number[]} points
 * @param {Point} move
 * @param {Size} size
 */
function withinFrame(scene, points, move, size) {
  const box = boxOf(points.map((point) => scene.points[point]));
  return move.map((way, axis) => {
    const [least, most] = [Math.min(0, -box[axis]), Math.max(0, size[axis] - box[axis + 2])];
    return Math.min(Math.max(way, least), most);
  });
}

/**
 * @param {Point} one
 * @param {Point} other
 */
function isNear(one, other) {
  return isSame(one, other) || Math.abs(one[0] - other[0]) + Math.abs(one[1] - other[1]) < SAME_PX;
}
