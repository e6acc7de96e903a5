// Reversible changes of a scene, which make each user action one undo step (history.js).

import { isSame } from "./equality.js";
import { rounded } from "../common/geometry.js";
import { copyOf, PLAIN, ringsOf } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Fields} Fields */
/** @typedef {import("./scene.js").Attributes} Attributes */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {import("./scene.js").Scene} Scene */
/**
 * One reversible change:
 * - `point`: a position before and after, null if absent;
 * - `ring`: a splice of a region's only outline, or of the open outline if the id is "";
 * - `outlines`: all outlines of a region before and after;
 * - `add`, `remove`: a region and its index;
 * - `move`: the old and the new index of a region;
 * - `set`: the values of a field before and after.
 *
 * @typedef {["point", number, Point | null, Point | null]
 *   | ["ring", string, number, Ring, Ring]
 *   | ["outlines", string, Ring[], Ring[]]
 *   | ["add", number, Region]
 *   | ["remove", number, Region]
 *   | ["move", number, number]
 *   | ["set", string, keyof Fields | "attributes" | "propagation", string | boolean | Attributes, string | boolean | Attributes]} Change
 */

/**
 * A recorder that applies changes to a scene and logs them. `about` is the region that they
 * concern.
 */
export class Steps {
  /** @type {Change[]} */
  changes = [];

  /**
   * @param {Scene} scene
   * @param {string | null} about
   * @param {Change[]} [before] the changes made just before
   */
  constructor(scene, about = null, before = []) {
    this.scene = scene;
    this.about = about;
    this.before = before;
  }

  /** @param {Change} change */
  #do(change) {
    this.scene.apply(change);
    this.changes.push(change);
  }

  /**
   * Add a point, to be used in a ring.
   * @param {Point} at
   */
  addPoint(at) {
    return this.placePoint([rounded(at[0]), rounded(at[1])]);
  }

  /**
   * Add a point without rounding its coordinates.
   * @param {Point} at
   */
  placePoint(at) {
    const point = this.scene.freePoint();
    this.#do(["point", point, this.scene.points[point] ?? null, [at[0], at[1]]]);
    this.scene.reserve(point);
    return point;
  }

  /**
   * @param {number} point
   * @param {Point} at
   */
  movePoint(point, at) {
    this.#do(["point", point, this.scene.points[point], [rounded(at[0]), rounded(at[1])]]);
  }

  /**
   * Replace points of one outline; "" is the open outline. Points inserted between two outlines are
   * added to the first outline.
   * @param {string} id
   * @param {number} at
   * @param {number} count
   * @param {Ring} inserted
   */
  splice(id, at, count, inserted) {
    const region = this.scene.region(id);
    if (region.starts) return this.#spliceOutline(region, at, count, inserted);
    const removed = region.ring.slice(at, at + count);
    if (removed.length || inserted.length) this.#do(["ring", id, at, removed, inserted]);
  }

  /**
   * @param {Region} region of several outlines
   * @param {number} at
   * @param {number} count
   * @param {Ring} inserted
   */
  #spliceOutline(region, at, count, inserted) {
    const rings = ringsOf(region).map((ring) => [...ring]);
    let first = 0;
    let index = 0;
    // A point that is inserted after the last one of an outline belongs to this outline.
    const isBefore = (/** @type {number} */ end) => (count ? at >= end : at > end);
    while (index + 1 < rings.length && isBefore(first + rings[index].length)) first += rings[index++].length;
    if (at + count > first + rings[index].length) throw new RangeError("expected points of one outline, got more");
    rings[index].splice(at - first, count, ...inserted);
    this.setOutlines(region.id, rings);
  }

  /**
   * Replace all outlines of a region; empty ones are dropped.
   * @param {string} id
   * @param {Ring[]} rings
   */
  setOutlines(id, rings) {
    const region = this.scene.region(id);
    const before = ringsOf(region);
    const after = rings.filter((ring) => ring.length);
    if (isSame(before, after)) return;
    if (before.length > 1 || after.length > 1) return this.#do(["outlines", id, before.map((ring) => [...ring]), after]);
    const [one, other] = [before[0], after[0] ?? []];
    const [first, last] = differenceOf(one, other);
    this.#do(["ring", id, first, one.slice(first, one.length - last), other.slice(first, other.length - last)]);
  }

  /**
   * Add a region that consists of existing points.
   * @param {Ring} ring
   * @param {Partial<Fields> & {attributes?: Attributes, starts?: number[]}} fields
   * @param {number} place
   */
  addRegion(ring, fields, place) {
    const id = this.scene.nextRegion;
    this.scene.nextId += 1;
    this.#do(["add", place, copyOf({ id, ring, ...PLAIN, ...fields })]);
    this.about = id;
    return id;
  }

  /**
   * Add a region that already has an id.
   * @param {Region} region
   * @param {number} place
   */
  restoreRegion(region, place) {
    this.#do(["add", place, copyOf({ ...PLAIN, ...region })]);
  }

  /** @param {string} id */
  removeRegion(id) {
    this.#do(["remove", this.scene.place(id), copyOf(this.scene.region(id))]);
  }

  /**
   * @param {string} id
   * @param {number} place
   */
  moveRegion(id, place) {
    const from = this.scene.place(id);
    if (from !== place) this.#do(["move", from, place]);
  }

  /**
   * @param {string} id
   * @param {keyof Fields} field
   * @param {string | boolean} value
   */
  set(id, field, value) {
    const before = this.scene.region(id)[field];
    if (before !== value) this.#do(["set", id, field, before, value]);
  }

  /**
   * @param {string} id
   * @param {Attributes} attributes
   */
  setAttributes(id, attributes) {
    const before = this.scene.region(id).attributes ?? {};
    if (!isSame(before, attributes)) this.#do(["set", id, "attributes", before, attributes]);
  }

  /**
   * @param {string} id
   * @param {import("./scene.js").Propagation | ""} value "" for an outline that a person drew
   */
  setPropagation(id, value) {
    const before = this.scene.region(id).propagation ?? "";
    if (before !== value) this.#do(["set", id, "propagation", before, value]);
  }

  /** Roll back all changes; they can be redone. */
  takeBack() {
    for (const change of [...this.changes].reverse()) this.scene.apply(inverse(change));
  }

  doAgain() {
    for (const change of this.changes) this.scene.apply(change);
  }
}

/**
 * Return the inverse of a change.
 * @param {Change} change
 * @returns {Change}
 */
export function inverse(change) {
  if (change[0] === "point") return ["point", change[1], change[3], change[2]];
  if (change[0] === "ring") return ["ring", change[1], change[2], change[4], change[3]];
  if (change[0] === "outlines") return ["outlines", change[1], change[3], change[2]];
  if (change[0] === "add") return ["remove", change[1], change[2]];
  if (change[0] === "remove") return ["add", change[1], change[2]];
  if (change[0] === "move") return ["move", change[2], change[1]];
  return ["set", change[1], change[2], change[4], change[3]];
}

/**
 * Return how many points two rings have in common at their beginning, and how many at their end.
 * @param {Ring} one
 * @param {Ring} other
 */
function differenceOf(one, other) {
  const most = Math.min(one.length, other.length);
  let first = 0;
  while (first < most && one[first] === other[first]) first += 1;
  let last = 0;
  while (last < most - first && one[one.length - 1 - last] === other[other.length - 1 - last]) last += 1;
  return [first, last];
}
