// Editing outlines: a vertex is one object for all regions that share it. Moving, deleting or
// inserting it affects all of them, unless `only` names a region that gets its own vertex (the Alt
// key).
//
// Each function applies its change through `steps` (history.js) and, except for `shareOnEdge`, returns null, or
// the reason for a rejection:
//   "crosses"  a simple outline would cross itself    "few"     fewer than four vertices would be left
//   "repeated" the vertex already exists              "locked"  a region that contains it is locked
//   "nothing"  there is nothing to change

import { areSimple, isSimple } from "./self-intersections.js";
import { boxOf, isSame, rounded, squaredFromSegment } from "../common/geometry.js";
import { LEAST_VERTICES } from "./outline-rules.js";
import { edgeBetween, nextPlace, ringsOf } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {import("./snapping.js").Target} Target */
/** @typedef {{only?: string | null}} Only */

const SAME_PX = 0.001;

/**
 * Move vertices together; those of locked regions stay.
 * @param {Steps} steps
 * @param {Iterable<number>} points
 * @param {number} dx
 * @param {number} dy
 * @param {Only & {size?: Size | null}} options size: points inside a picture of this size stay inside
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
 * Move a vertex to a snap target: merge it with another vertex, or attach it to a side, whose
 * regions then share it.
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
 * Insert a vertex into a side, for all regions that have the side.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} edge index of the side's first point in the region's ring
 * @param {Point} at
 * @param {Only} options
 */
export function insertVertex(steps, id, edge, at, { only = null } = {}) {
  const { scene } = steps;
  const region = scene.region(id);
  const [a, b] = [region.ring[edge], region.ring[nextPlace(region, edge)]];
  const regions = only === null ? scene.edgeOwners(a, b).map((owner) => owner.region) : [scene.region(only)];
  if (regions.some((owner) => owner.is_locked)) return "locked";
  if ([a, b].some((end) => isNear(scene.points[end], at))) return "repeated";
  return unlessCrossing(scene, regions, () => {
    insertBetween(steps, a, b, steps.addPoint(at), new Set(regions));
    return null;
  });
}

/**
 * Delete vertices from all regions that have them. Vertices that cannot be deleted stay; the call
 * is rejected if none can.
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
 * Replace a region's shared vertices with its own copies.
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
 * Merge two vertices at the position of the second.
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
 * Return a point on a region's outline as a vertex: an existing one, or a new one inserted into the
 * nearest side that keeps the outline simple, for all regions that have the side. The shape does
 * not change, so this also works on locked regions.
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
 * Insert a point into the region's nearest side that keeps the outline simple, for all regions that
 * have the side.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} point
 */
function insertAtNearest(steps, id, point) {
  const { scene } = steps;
  const region = scene.region(id);
  const { ring } = region;
  if (ring.includes(point)) return;
  const at = scene.points[point];
  const polygon = scene.polygon(id);
  const distances = polygon.map((start, edge) => squaredFromSegment(at, start, polygon[nextPlace(region, edge)]));
  const wasSimple = areSimple(scene.outlines(id));
  for (const edge of [...distances.keys()].sort((one, other) => distances[one] - distances[other])) {
    const [from, to] = [ring[edge], ring[nextPlace(region, edge)]];
    if (wasSimple && !isSimple(outlineWith(scene, region, from, point))) continue;
    insertBetween(steps, from, to, point);
    return;
  }
}

/**
 * Return the outline on which a region has the point `after`, with another point inserted after it.
 * @param {Scene} scene
 * @param {Region} region
 * @param {number} after
 * @param {number} point
 */
function outlineWith(scene, region, after, point) {
  const ring = ringsOf(region).find((each) => each.includes(after)) ?? [];
  const place = ring.indexOf(after) + 1;
  return [...ring.slice(0, place), point, ...ring.slice(place)].map((each) => scene.points[each]);
}

/**
 * Insert a point between two others wherever they are adjacent.
 * @param {Steps} steps
 * @param {number} a
 * @param {number} b
 * @param {number} point
 * @param {Set<Region> | null} [regions] only these regions, if given
 */
function insertBetween(steps, a, b, point, regions = null) {
  const { scene } = steps;
  for (const { region, edge } of scene.edgeOwners(a, b)) {
    if ((!regions || regions.has(region)) && !region.ring.includes(point)) steps.splice(region.id, edge + 1, 0, [point]);
  }
  const edge = edgeBetween({ ring: scene.open }, a, b);
  if (!regions && edge >= 0 && edge < scene.open.length - 1) steps.splice("", edge + 1, 0, [point]);
}

/**
 * Delete points together. An outline without remaining points is deleted, unless it is the only one of
 * its region.
 * @param {Steps} steps
 * @param {number[]} points
 * @param {string | null} only
 */
function deleteTogether(steps, points, only) {
  const { scene } = steps;
  const gone = new Set(points);
  const owners = ownersOf(scene, points, only);
  const left = owners.map((region) => {
    const rings = ringsOf(region).map((ring) => ring.filter((point) => !gone.has(point)));
    return rings.filter((ring) => ring.length);
  });
  const isFew = (/** @type {number[][]} */ rings) => !rings.length || rings.some((ring) => ring.length < LEAST_VERTICES);
  if (left.some(isFew)) return "few";
  const spoilt = owners.some(({ id }, index) => {
    const outlines = left[index].map((ring) => ring.map((point) => scene.points[point]));
    return areSimple(scene.outlines(id)) && !areSimple(outlines);
  });
  if (spoilt) return "crosses";
  owners.forEach(({ id }, index) => steps.setOutlines(id, left[index]));
  return null;
}

/**
 * Delete the outline on which a region has a point: a hole or a part of the region.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} point
 */
export function deleteOutline(steps, id, point) {
  const region = steps.scene.region(id);
  if (region.is_locked) return "locked";
  const rings = ringsOf(region);
  const left = rings.filter((ring) => !ring.includes(point));
  if (rings.length < 2 || left.length === rings.length) return "nothing";
  steps.setOutlines(id, left);
  return null;
}

/**
 * Replace a region's shared points with its own copies; return its resulting points.
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
 * Apply a change. Return the reason if it is rejected, "crosses" if the outlines of a region that were simple
 * no longer are, or null.
 * @param {Scene} scene
 * @param {Region[]} regions
 * @param {() => string | null} act
 */
function unlessCrossing(scene, regions, act) {
  const simple = regions.filter(({ id }) => areSimple(scene.outlines(id)));
  return act() ?? (simple.every(({ id }) => areSimple(scene.outlines(id))) ? null : "crosses");
}

/**
 * Return the points that may be changed.
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
 * Return the regions affected by a change of points.
 * @param {Scene} scene
 * @param {number[]} points
 * @param {string | null} only
 */
function ownersOf(scene, points, only) {
  return only === null ? [...new Set(points.flatMap((point) => scene.owners(point)))] : [scene.region(only)];
}

/**
 * Limit a move so that points inside the picture stay inside.
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
