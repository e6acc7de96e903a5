// Operations on whole regions: add and delete, depth order, names and flags.
//
// Each function applies its change through `steps` (history.js). Those that return no ids return null, or the
// reason for a rejection: "locked", "few", "nothing", "many" (outlines), "joined" (outlines meet).

import { isSame, rounded } from "../common/geometry.js";
import { LEAST_VERTICES, MOST_OUTLINES } from "./outline-rules.js";
import { PLAIN, ringsOf } from "./scene.js";
import { areSimple } from "./self-intersections.js";

/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {import("./scene.js").Fields} Fields */
/** @typedef {(a: string, b: string) => boolean} Overlaps */

/**
 * Add a polygon, such as one proposed by a model, as a region with its own vertices.
 * @param {Steps} steps
 * @param {Polygon} polygon
 * @param {Partial<Fields>} [fields]
 */
export function addRegion(steps, polygon, fields = {}, place = 0) {
  const outline = withoutRepeats(polygon);
  if (outline.length < LEAST_VERTICES) return "few";
  steps.addRegion(outline.map((at) => steps.addPoint(at)), fields, place);
  return null;
}

/**
 * @param {Steps} steps
 * @param {string} id
 */
export function deleteRegion(steps, id) {
  if (steps.scene.region(id).is_locked) return "locked";
  steps.removeRegion(id);
  return null;
}

/**
 * Delete regions together.
 * @param {Steps} steps
 * @param {string[]} ids
 */
export function deleteRegions(steps, ids) {
  return firstRefusal(ids, (id) => deleteRegion(steps, id));
}

/**
 * Join regions into one with all their outlines, with the place and the name of the frontmost one.
 * An outline within another one becomes a hole.
 * @param {Steps} steps
 * @param {string[]} ids front first
 */
export function joinRegions(steps, ids) {
  const { scene } = steps;
  const regions = ids.map((id) => scene.region(id));
  if (regions.length < 2) return "nothing";
  if (regions.some((region) => region.is_locked)) return "locked";
  const outlines = ids.flatMap((id) => scene.outlines(id));
  if (outlines.length > MOST_OUTLINES) return "many";
  if (!areSimple(outlines)) return "joined";
  const rings = regions.flatMap(ringsOf).map((ring) => [...ring]);
  for (const id of ids.slice(1)) steps.removeRegion(id);
  steps.setOutlines(ids[0], rings);
  return null;
}

/**
 * Move whole regions. Borders between moved regions stay shared. A border shared with any other
 * region is split: the other region keeps its copy in place.
 * @param {Steps} steps
 * @param {string[]} ids
 * @param {number} dx
 * @param {number} dy
 */
export function moveOutlines(steps, ids, dx, dy) {
  const { scene } = steps;
  const moved = new Set(ids.map((id) => scene.region(id)));
  if ([...moved].some((region) => region.is_locked)) return "locked";
  /** @type {Map<number, number>} the point of the moved regions in place of each of their points */
  const own = new Map();
  for (const point of new Set([...moved].flatMap(({ ring }) => ring))) {
    const staying = scene.owners(point).some((region) => !moved.has(region)) || scene.open.includes(point);
    const [x, y] = scene.points[point];
    if (staying) own.set(point, steps.addPoint([x + dx, y + dy]));
    else steps.movePoint(point, [x + dx, y + dy]);
  }
  for (const region of moved) {
    steps.setOutlines(region.id, ringsOf(region).map((ring) => ring.map((point) => own.get(point) ?? point)));
  }
  return null;
}

/**
 * Copy regions, each directly in front of its original, with their names and without shared
 * vertices; the copies share the borders that their originals share with each other.
 * @param {Steps} steps
 * @param {string[]} ids
 * @param {number} by distance of the copies to the right and down
 * @returns {string[]} the ids of the copies, in the order of their originals
 */
export function duplicateRegions(steps, ids, by) {
  const { scene } = steps;
  /** @type {Map<number, number>} */
  const copies = new Map();
  return ids.map((id) => {
    const { ring, starts, name, is_stuff, attributes } = scene.region(id);
    const copied = ring.map((point) => {
      const [x, y] = scene.points[point];
      const copy = copies.get(point) ?? steps.addPoint([x + by, y + by]);
      copies.set(point, copy);
      return copy;
    });
    return steps.addRegion(copied, { starts, name, is_stuff, attributes }, scene.place(id));
  });
}

/**
 * Add the regions of another drawing in front of all others, in their order and with their common borders.
 * @param {Steps} steps
 * @param {import("./scene.js").SceneDocument} document
 * @param {[number, number]} scale factors of x and y, if the other picture has another size
 * @param {{isTrack?: boolean}} options isTrack: the copies keep their ids, as the same objects in another
 *   frame of a video; regions whose ids this drawing already has are left out
 * @returns {string[]} the ids of the new regions, front first
 */
export function copyRegions(steps, document, scale, { isTrack = false } = {}) {
  /** @type {Map<number, number>} */
  const copies = new Map();
  const copied = isTrack ? document.regions.filter(({ id }) => !steps.scene.has(id)) : document.regions;
  return copied.map(({ id, ring, starts, name, is_stuff, attributes }, place) => {
    const points = ring.map((point) => {
      const [x, y] = document.points[point];
      const copy = copies.get(point) ?? steps.addPoint([x * scale[0], y * scale[1]]);
      copies.set(point, copy);
      return copy;
    });
    if (!isTrack) return steps.addRegion(points, { starts, name, is_stuff, attributes }, place);
    steps.restoreRegion({ ...PLAIN, id, ring: points, starts, name, is_stuff, attributes }, place);
    return id;
  });
}

/**
 * Move a region to an index in the depth order, 0 for the front.
 * @param {Steps} steps
 * @param {string} id
 * @param {number} place
 */
export function moveRegion(steps, id, place) {
  const last = steps.scene.regions.length - 1;
  const kept = Math.min(Math.max(place, 0), last);
  if (steps.scene.place(id) === kept) return "nothing";
  steps.moveRegion(id, kept);
  return null;
}

/**
 * Put one region in front of another with as few moves as possible, and if possible without
 * changing any other occlusion: either the first moves forward with the regions that hide it, or
 * the second moves back with the regions that it hides.
 * @param {Steps} steps
 * @param {string} front
 * @param {string} behind
 * @param {Overlaps} overlaps
 */
export function putBefore(steps, front, behind, overlaps) {
  const { scene } = steps;
  const [from, to] = [scene.place(behind), scene.place(front)];
  if (to < from) return "nothing";
  const between = scene.regions.slice(from + 1, to).map((region) => region.id);
  const forward = [...hiders(front, between, overlaps), front];
  const back = [behind, ...hidden(behind, between, overlaps)];
  // If a region that hides the first is itself hidden by the second, some other occlusion must
  // change: then move only the two.
  const isKnot = forward.some((id) => id !== front && overlaps(id, behind));
  if (isKnot) putBetween(steps, { front, behind, between, overlaps });
  else if (forward.length <= back.length) forward.forEach((id, index) => steps.moveRegion(id, from + index));
  else back.reverse().forEach((id, index) => steps.moveRegion(id, to - index));
  return null;
}

/**
 * Set the name or a flag. A locked region can only be unlocked, shown or hidden.
 * @param {Steps} steps
 * @param {string} id
 * @param {keyof Fields} field
 * @param {string | boolean} value
 */
export function setField(steps, id, field, value) {
  if (steps.scene.region(id).is_locked && field !== "is_locked" && field !== "is_hidden") return "locked";
  if (steps.scene.region(id)[field] === value) return "nothing";
  steps.set(id, field, value);
  return null;
}

/**
 * Set an attribute of a region; an empty or false value removes it.
 * @param {Steps} steps
 * @param {string} id
 * @param {string} name
 * @param {string | boolean} value
 */
export function setAttribute(steps, id, name, value) {
  const region = steps.scene.region(id);
  if (region.is_locked) return "locked";
  const { [name]: before = false, ...others } = region.attributes ?? {};
  if ((before || false) === (value || false)) return "nothing";
  steps.setAttributes(id, value ? { ...others, [name]: value } : others);
  return null;
}

/**
 * Set a field of several regions.
 * @param {Steps} steps
 * @param {string[]} ids
 * @param {keyof Fields} field
 * @param {string | boolean} value
 */
export function setFields(steps, ids, field, value) {
  const changing = ids.filter((id) => steps.scene.region(id)[field] !== value);
  if (!changing.length) return "nothing";
  return firstRefusal(changing, (id) => setField(steps, id, field, value));
}

/**
 * Apply a change to one region after another until one is rejected; return the reason, or null.
 * @param {string[]} ids
 * @param {(id: string) => string | null} change
 */
function firstRefusal(ids, change) {
  for (const id of ids) {
    const refusal = change(id);
    if (refusal !== null) return refusal;
  }
  return null;
}

/**
 * Return the regions of a list that hide the last one, directly or through others, front first.
 * @param {string} last
 * @param {string[]} between
 * @param {Overlaps} overlaps
 */
function hiders(last, between, overlaps) {
  /** @type {string[]} */
  const found = [];
  for (const id of [...between].reverse()) {
    if ([...found, last].some((other) => overlaps(id, other))) found.unshift(id);
  }
  return found;
}

/**
 * Return the regions of a list that the first one hides, directly or through others, front first.
 * @param {string} first
 * @param {string[]} between
 * @param {Overlaps} overlaps
 */
function hidden(first, between, overlaps) {
  /** @type {string[]} */
  const found = [];
  for (const id of between) if ([first, ...found].some((other) => overlaps(other, id))) found.push(id);
  return found;
}

/**
 * Move both regions to the meeting point at which they pass the fewest other regions that overlap
 * them.
 * @param {Steps} steps
 * @param {{front: string, behind: string, between: string[], overlaps: Overlaps}} pair
 */
function putBetween(steps, { front, behind, between, overlaps }) {
  const passed = (/** @type {number} */ meeting) =>
    between.filter((id, index) => overlaps(id, index < meeting ? behind : front)).length;
  const meetings = [...Array(between.length + 1).keys()];
  const best = meetings.reduce((least, meeting) => (passed(meeting) < passed(least) ? meeting : least), 0);
  const start = steps.scene.place(behind);
  steps.moveRegion(front, start + best + 1);
  steps.moveRegion(behind, start + best + 1);
}

/**
 * @param {Polygon} polygon
 * @returns {Polygon}
 */
function withoutRepeats(polygon) {
  const outline = polygon.map(([x, y]) => /** @type {Point} */ ([rounded(x), rounded(y)]));
  return outline.filter((at, index) => !isSame(at, outline[(index + 1) % outline.length]));
}
