// Reversible changes of a scene, which make each user action one undo step (history.js).

import { isSame } from "./equality.js";
import { rounded } from "../common/geometry.js";
import { copyOf, PLAIN } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Fields} Fields */
/** @typedef {import("./scene.js").Attributes} Attributes */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {import("./scene.js").Scene} Scene */
/**
 * One reversible change: the position of a point before and after (null: absent), a splice of a
 * ring ("" is the open outline), a region added or removed with its index, a move in the order, a
 * field.
 * @typedef {["point", number, Point | null, Point | null]
 *   | ["ring", string, number, Ring, Ring]
 *   | ["add", number, Region]
 *   | ["remove", number, Region]
 *   | ["move", number, number]
 *   | ["set", string, keyof Fields | "attributes", string | boolean | Attributes, string | boolean | Attributes]} Change
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
   * Replace points of a ring; "" is the open outline.
   * @param {string} id
   * @param {number} at
   * @param {number} count
   * @param {Ring} inserted
   */
  splice(id, at, count, inserted) {
    const removed = this.scene.region(id).ring.slice(at, at + count);
    if (removed.length || inserted.length) this.#do(["ring", id, at, removed, inserted]);
  }

  /**
   * Add a region that consists of existing points.
   * @param {Ring} ring
   * @param {Partial<Fields> & {attributes?: Attributes}} fields
   * @param {number} place
   */
  addRegion(ring, fields, place) {
    const id = `r${this.scene.nextId++}`;
    this.#do(["add", place, copyOf({ id, ring, ...PLAIN, ...fields })]);
    this.about = id;
    return id;
  }

  /**
   * Add a region that has an id already.
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
  if (change[0] === "add") return ["remove", change[1], change[2]];
  if (change[0] === "remove") return ["add", change[1], change[2]];
  if (change[0] === "move") return ["move", change[2], change[1]];
  return ["set", change[1], change[2], change[4], change[3]];
}
