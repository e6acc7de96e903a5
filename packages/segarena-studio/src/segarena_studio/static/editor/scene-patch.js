// Patches of drafts: a save sends the differences to the server's revision instead of the whole
// drawing. `annotation/draft_patch.py` applies them on the server.
//
//   const patch = diffScenes(before, after);    // null if a patch cannot express the differences
//   patchScene(before, patch);                  // a document equal to `after`

import { isSame } from "./equality.js";

/** @typedef {import("./scene.js").SceneDocument} SceneDocument */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */

/**
 * @typedef {object} ScenePatch
 * @property {number} length  number of points of the new document
 * @property {[number, Point][]} points  index and position of each changed or added point
 * @property {Region[]} regions  changed and added regions, whole
 * @property {string[]} removed
 * @property {string[] | null} order  ids of all regions, front first; null if no region was added or moved
 * @property {number} next_id
 * @property {Ring} open
 *
 * @typedef {object} ListPatch  a slice of the old list, followed by added entries
 * @property {number} first
 * @property {number} count
 * @property {any[]} added
 *
 * @typedef {{version: number, stamp: number, done: ListPatch, undone: ListPatch}} HistoryPatch
 * @typedef {{scene: ScenePatch, history: HistoryPatch | null}} DraftPatch
 */

const FIELDS = ["version", "points", "regions", "next_id", "open"];

/**
 * Return the patch from one draft to another; null if it cannot express the differences.
 * @param {import("./saving.js").Content} before
 * @param {import("./saving.js").Content} after
 * @returns {DraftPatch | null}
 */
export function diffDrafts(before, after) {
  const scene = diffScenes(before.scene, after.scene);
  return scene && { scene, history: after.history ? diffHistories(before.history, after.history) : null };
}

/**
 * Return the patch from one document to another; null if it cannot express the differences.
 * @param {any} before
 * @param {any} after
 * @returns {ScenePatch | null}
 */
export function diffScenes(before, after) {
  if (!isDocument(before) || !isDocument(after)) return null;
  const known = regionsById(before);
  const present = regionsById(after);
  const remaining = [...known.keys()].filter((id) => present.has(id));
  const order = [...present.keys()];
  return {
    length: after.points.length,
    points: changedPoints(before.points, after.points),
    regions: after.regions.filter((region) => !isSameRegion(known.get(region.id), region)),
    removed: [...known.keys()].filter((id) => !present.has(id)),
    order: remaining.length === order.length && remaining.every((id, place) => id === order[place]) ? null : order,
    next_id: after.next_id,
    open: after.open ?? [],
  };
}

/**
 * Apply a patch.
 * @param {SceneDocument} document
 * @param {ScenePatch} patch
 * @returns {SceneDocument}
 */
export function patchScene(document, patch) {
  const points = document.points.slice(0, patch.length);
  for (const [index, at] of patch.points) points[index] = at;
  const regions = regionsById(document);
  for (const id of patch.removed) regions.delete(id);
  for (const region of patch.regions) regions.set(region.id, region);
  const order = patch.order ?? [...regions.keys()];
  const ordered = order.map((id) => /** @type {Region} */ (regions.get(id)));
  /** @type {SceneDocument} */
  const made = { version: 1, points, regions: ordered, next_id: patch.next_id };
  return patch.open.length ? { ...made, open: patch.open } : made;
}

/** @param {SceneDocument} document */
export function regionsById(document) {
  return new Map(document.regions.map((region) => [region.id, region]));
}

/**
 * Whether a value is a document without fields that only other programs know.
 * @param {any} value
 * @returns {value is SceneDocument}
 */
export function isDocument(value) {
  return value?.version === 1 && Array.isArray(value.points) && Array.isArray(value.regions) && Object.keys(value).every((name) => FIELDS.includes(name));
}

/**
 * @param {Point[]} before
 * @param {Point[]} after
 */
function changedPoints(before, after) {
  /** @type {[number, Point][]} */
  const changed = [];
  after.forEach((at, index) => {
    const old = before[index];
    if (!old || old[0] !== at[0] || old[1] !== at[1]) changed.push([index, at]);
  });
  return changed;
}

/**
 * @param {Region | undefined} before
 * @param {Region} after
 */
function isSameRegion(before, after) {
  if (!before || before.ring.length !== after.ring.length) return false;
  const isSameRing = after.ring.every((point, place) => point === before.ring[place]);
  return isSameRing && isSame({ ...before, ring: null }, { ...after, ring: null });
}

/**
 * @param {any} before
 * @param {any} after
 * @returns {HistoryPatch}
 */
function diffHistories(before, after) {
  const { version, stamp, done, undone } = after;
  return { version, stamp, done: diffLists(before?.done ?? [], done), undone: diffLists(before?.undone ?? [], undone) };
}

/**
 * A history can lose steps at its beginning and at its end, and gains steps at its end.
 * @param {any[]} before
 * @param {any[]} after
 * @returns {ListPatch}
 */
function diffLists(before, after) {
  const first = after.length ? before.findIndex((step) => isSame(step, after[0])) : -1;
  if (first < 0) return { first: 0, count: 0, added: after };
  let count = 1;
  while (first + count < before.length && count < after.length && isSame(before[first + count], after[count])) count += 1;
  return { first, count, added: after.slice(count) };
}
