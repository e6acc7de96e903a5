// Proposals: regions whose outlines a segmenter propagated from another frame of a video. A person
// accepts them, corrects them, or deletes them; a corrected one counts as drawn.

import { squaredFromOutline } from "../common/geometry.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene-changes.js").Change} Change */
/** @typedef {import("./scene-changes.js").Steps} Steps */

/** A vertex this close to the line between its neighbours does not change an outline; positions are rounded to 0.01 px. */
const ON_LINE_PX2 = 0.001;

/**
 * Return the ids of the proposals among some regions, or among all.
 * @param {Scene} scene
 * @param {string[]} [ids]
 */
export function proposalsIn(scene, ids = scene.regions.map(({ id }) => id)) {
  return ids.filter((id) => scene.region(id).propagation === "proposed");
}

/**
 * Accept proposals.
 * @param {Steps} steps
 * @param {string[]} ids
 */
export function acceptProposals(steps, ids) {
  const proposals = proposalsIn(steps.scene, ids);
  if (!proposals.length) return "nothing";
  for (const id of proposals) steps.setPropagation(id, "accepted");
  return null;
}

/**
 * Mark as drawn those propagated regions whose outlines were changed.
 * @param {Steps} steps the changes, which have been applied
 */
export function markEdited(steps) {
  const { scene } = steps;
  // A new vertex may reuse the index of an earlier one, which then seems to have moved.
  const inserted = new Set(steps.changes.flatMap((change) => (change[0] === "ring" ? change[4] : [])));
  const edited = new Set(steps.changes.flatMap((change) => editedBy(scene, change, inserted)));
  for (const id of edited) if (scene.has(id) && scene.region(id).propagation) steps.setPropagation(id, "");
}

/**
 * Return the ids of the regions whose outlines a change has moved.
 * @param {Scene} scene
 * @param {Change} change
 * @param {Set<number>} inserted the vertices that were inserted together with the change
 * @returns {string[]}
 */
function editedBy(scene, change, inserted) {
  if (change[0] === "outlines") return [change[1]];
  if (change[0] === "point" && change[2] && change[3] && !inserted.has(change[1])) return scene.owners(change[1]).map(({ id }) => id);
  if (change[0] !== "ring") return [];
  const [, id, , removed, added] = change;
  // Drawing a neighbour along a region adds vertices to the region's sides but does not move the sides.
  const isOnLine = removed.length === 0 && scene.has(id) && added.every((point) => isOnOutlineWithout(scene, id, point, added));
  return isOnLine ? [] : [id];
}

/**
 * Whether a point lies on the outline of a region without some of its points.
 * @param {Scene} scene
 * @param {string} id
 * @param {number} point
 * @param {number[]} without
 */
function isOnOutlineWithout(scene, id, point, without) {
  const others = scene.region(id).ring.filter((each) => !without.includes(each));
  if (others.length < 2) return false;
  return squaredFromOutline(others.map((each) => scene.points[each]), scene.points[point]) < ON_LINE_PX2;
} // prettier-ignore
