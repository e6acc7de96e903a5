// Drawing a region: add vertices one by one, free or shared with neighbours, until the outline is
// closed.
//
// Each function applies its change through `steps` (history.js) and returns null, or the reason for
// a rejection:
//   "repeated"  the vertex is there already           "crosses"       the outline would intersect itself
//   "taken"     the outline already has that line     "few", "small"  too little to close
//   "nothing"   there is nothing to change            "locked"        the region is locked
//   "outlines"  the points lie on different outlines  "across"        it meets an outline of the region
//   "covered"   regions in front cover the hole       "many"          the region has too many outlines

import { shareOnEdge } from "./vertex-editing.js";
import { lineMeets } from "./self-intersections.js";
import { isSame, squaredFromOutline } from "../common/geometry.js";
import { refusalOfClosing, refusalOfOutline, refusalOfVertex } from "./outline-rules.js";
import { arcs, sharedRegion, ways } from "./border-tracing.js";
import { ringsOf } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {import("./snapping.js").Target} Target */

const ON_LINE_PX2 = 0.0001;

/**
 * Add a vertex at the pointer; the first one starts the outline.
 * @param {Steps} steps
 * @param {Point} at
 */
export function addVertex(steps, at) {
  const refusal = refusalOfVertex(steps.scene, at);
  if (refusal) return refusal;
  append(steps, [steps.addPoint(at)]);
  return null;
}

/**
 * Add a vertex at a snap target, which becomes a vertex of the neighbour too. If the previous
 * vertex also belongs to the neighbour, copy their common border along the shorter arc.
 * @param {Steps} steps
 * @param {Target} target
 */
export function addSnapped(steps, target) {
  const { scene } = steps;
  if (target.kind === "edge" && isOnOpen(scene, target.at)) return "taken";
  const last = scene.open.at(-1);
  const point = pointOf(steps, target);
  if (scene.open.includes(point)) return "repeated";
  const region = last === undefined ? null : sharedRegion(scene, last, point, target.region);
  if (last === undefined || region === null) return extend(steps, [[point]]);
  const found = ways(scene, region, last, point);
  return extend(steps, found.length > 1 ? found.slice(0, -1) : found); // straight only if no arc is free
}

/**
 * Trace a region's border from one position on it to another; both become vertices of the region.
 * The start is added too unless it is the vertex drawn last. If the end is the vertex drawn first,
 * the outline is ready to be closed.
 * @param {Steps} steps
 * @param {string} id
 * @param {Point} start
 * @param {Point} end
 * @param {{isLonger?: boolean}} options
 */
export function addTrace(steps, id, start, end, { isLonger = false } = {}) {
  const { scene } = steps;
  const [from, to] = [start, end].map((at) => shareOnEdge(steps, id, at));
  if (from === to) return "repeated";
  if (sharedRegion(scene, from, to, id) !== id) return "outlines";
  if (scene.open.at(-1) !== from) {
    const refusal = extend(steps, [[from]]);
    if (refusal) return refusal;
  }
  const way = arcs(scene, id, from, to)[isLonger ? "longer" : "shorter"].slice(1);
  return extend(steps, [to === scene.open[0] ? way.slice(0, -1) : way]);
}

/**
 * Replace the piece traced in the last step with the next alternative: the other arc, the straight
 * line, and then the first arc again.
 * @param {Steps} steps
 */
export function turnArc(steps) {
  const { scene } = steps;
  const piece = [...steps.before].reverse().find((change) => change[0] === "ring" && change[1] === "");
  if (piece?.[0] !== "ring" || piece[2] === 0) return "nothing";
  const [from, drawn] = [scene.open[piece[2] - 1], piece[4]];
  const to = drawn[drawn.length - 1];
  const region = to === undefined ? null : sharedRegion(scene, from, to);
  if (region === null || piece[2] + drawn.length !== scene.open.length) return "nothing";
  steps.splice("", piece[2], drawn.length, []);
  const found = ways(scene, region, from, to);
  const now = found.findIndex((way) => way.join() === drawn.join());
  return extend(steps, [...found.slice(now + 1), ...found.slice(0, now)]);
}

/**
 * Remove the last vertex.
 * @param {Steps} steps
 */
export function removeLastVertex(steps) {
  const { open } = steps.scene;
  if (!open.length) return "nothing";
  steps.splice("", open.length - 1, 1, []);
  return null;
}

/**
 * Close the outline and make it the frontmost region.
 * @param {Steps} steps
 * @param {{size: Size}} options size: of the picture
 */
export function closeOpen(steps, { size }) {
  const refusal = refusalOfClosing(steps.scene, size);
  if (refusal) return refusal;
  const ring = [...steps.scene.open];
  steps.splice("", 0, ring.length, []);
  steps.addRegion(ring, {}, 0);
  return null;
}

/**
 * Close the outline and add it to a region: as a hole if it lies inside, as a further part if it lies
 * outside. Rejections: "locked", "few", "crosses", "many", "across", "covered".
 * @param {Steps} steps
 * @param {string} id
 */
export function closeInto(steps, id) {
  const { scene } = steps;
  const region = scene.region(id);
  if (region.is_locked) return "locked";
  const refusal = refusalOfOutline(scene, id);
  if (refusal) return refusal;
  const ring = [...scene.open];
  steps.splice("", 0, ring.length, []);
  steps.setOutlines(id, [...ringsOf(region), ring]);
  return null;
}

/**
 * Discard the open outline.
 * @param {Steps} steps
 */
export function discardOpen(steps) {
  const { open } = steps.scene;
  if (!open.length) return "nothing";
  steps.splice("", 0, open.length, []);
  return null;
}

/**
 * Return the point at a snap target: an existing point, or a new one.
 * @param {Steps} steps
 * @param {Target} target
 */
function pointOf(steps, target) {
  if (target.point !== null) return target.point;
  if (target.region !== null) return shareOnEdge(steps, target.region, target.at);
  return coinciding(steps.scene, target.at) ?? steps.addPoint(target.at);
}

/**
 * Return a vertex of any region at exactly this position; null if there is none.
 * @param {Scene} scene
 * @param {Point} at
 */
function coinciding(scene, at) {
  for (const { ring } of scene.regions) {
    const found = ring.find((point) => isSame(scene.points[point], at));
    if (found !== undefined) return found;
  }
  return null;
}

/**
 * Append the first candidate line that does not cross the open outline.
 * @param {Steps} steps
 * @param {Ring[]} found
 */
function extend(steps, found) {
  const refusals = found.map((way) => refusalOfWay(steps.scene, way));
  const place = refusals.indexOf(null);
  if (place < 0) return refusals[0] ?? "nothing";
  append(steps, found[place]);
  return null;
}

/**
 * @param {Scene} scene
 * @param {Ring} way
 */
function refusalOfWay(scene, way) {
  const line = [...scene.openPolygon()];
  const taken = new Set(scene.open);
  for (const point of way) {
    const at = scene.points[point];
    if (taken.has(point) || line.some((before) => isSame(before, at))) return "repeated";
    if (line.length && lineMeets(line, at)) return "crosses";
    line.push(at);
  }
  return null;
}

/**
 * @param {Steps} steps
 * @param {Ring} points
 */
function append(steps, points) {
  steps.splice("", steps.scene.open.length, 0, points);
}

/**
 * Whether a point lies on the open outline, including its closing side.
 * @param {Scene} scene
 * @param {Point} at
 */
function isOnOpen(scene, at) {
  return squaredFromOutline(scene.openPolygon(), at) < ON_LINE_PX2;
}
