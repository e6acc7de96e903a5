// The undo stack of a scene; it survives a reload together with the scene's document.
//
//   const history = new History(scene);
//   history.run("add vertex", null, (steps) => addVertex(steps, at));  // {done, refusal}; a rejection rolls back
//   const live = history.start("move", id);                            // a drag: the last `set` wins
//   live.set((steps) => movePoints(steps, points, dx, dy));            // shown even if rejected, and reported
//   live.commit();                                                     // keeps the last valid change
//   history.undo(); history.redo();                                    // {kind, region} or null
//   history.onEdit = ({kind, region}) => save();                       // after every run, commit, undo, redo
//   History.read(scene, history.toJSON());                             // empty when it belongs to another scene

import { Steps, inverse } from "./scene-changes.js";
import { hasAttributes } from "./scene.js";
import { markEdited } from "./proposals.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene-changes.js").Change} Change */
/** @typedef {{kind: string, region: string | null, changes: Change[]}} Edit */
/** @typedef {{kind: string, region: string | null, way: "do" | "undo" | "redo"}} Told */
/** @typedef {(steps: Steps) => string | null} Act returns the reason for a rejection, or null */

const VERSION = 1;

export class History {
  /** @type {Edit[]} */
  #done = [];
  /** @type {Edit[]} */
  #undone = [];
  /** @type {Live | null} */
  #live = null;
  /** @type {(told: Told) => void} */
  onEdit = () => {};

  /** @param {Scene} scene */
  constructor(scene) {
    this.scene = scene;
  }

  get canUndo() {
    return this.#done.length > 0;
  }

  get canRedo() {
    return this.#undone.length > 0;
  }

  /** Whether a gesture is in progress. */
  get isLive() {
    return this.#live !== null;
  }

  /**
   * Replace the id of a region in all steps.
   * @param {string} from
   * @param {string} to
   */
  renameRegion(from, to) {
    const renamed = (/** @type {Edit} */ edit) => renamedEdit(edit, from, to);
    this.#done = this.#done.map(renamed);
    this.#undone = this.#undone.map(renamed);
  }

  /**
   * Apply a change to the scene as one undo step.
   * @param {string} kind
   * @param {string | null} region
   * @param {Act} act
   */
  run(kind, region, act) {
    const live = this.start(kind, region);
    const refusal = live.set(act);
    const done = this.#done.length;
    live.commit();
    return { done: this.#done.length > done, refusal };
  }

  /**
   * Begin a gesture, such as a drag, that replaces its change repeatedly until it ends.
   * @param {string} kind
   * @param {string | null} region
   */
  start(kind, region) {
    this.#live?.cancel();
    this.#live = new Live(this.scene, region, this.#done.at(-1)?.changes ?? [], (steps) => {
      this.#live = null;
      // A merge also takes over which outlines a person drew, so do not mark its changes as drawn.
      if (kind !== "merge") markEdited(steps);
      if (steps.changes.length) this.#note({ kind, region: steps.about, changes: steps.changes });
    });
    return this.#live;
  }

  /** Undo the last edit. */
  undo() {
    this.#live?.cancel();
    const edit = this.#done.pop();
    if (!edit) return null;
    for (const change of [...edit.changes].reverse()) this.scene.apply(inverse(change));
    this.#undone.push(edit);
    return this.#tell(edit, "undo");
  }

  /** Redo the edit that was undone last. */
  redo() {
    this.#live?.cancel();
    const edit = this.#undone.pop();
    if (!edit) return null;
    for (const change of edit.changes) this.scene.apply(change);
    this.#done.push(edit);
    return this.#tell(edit, "redo");
  }

  /**
   * Return an object to store as JSON within a byte limit; if necessary, drop the edits that are the most steps
   * of undo or redo away.
   */
  toJSON(mostBytes = 2e6) {
    let left = mostBytes - 100;
    const fits = (/** @type {Edit} */ edit) => (left -= sizeOf(edit)) >= 0;
    const undone = newest(this.#undone, fits);
    const done = newest(this.#done, fits);
    return { version: VERSION, stamp: stampOf(this.scene), done, undone };
  }

  /**
   * Return the history that `toJSON` wrote; empty if it belongs to a different scene or version.
   * @param {Scene} scene
   * @param {any} json
   */
  static read(scene, json) {
    const history = new History(scene);
    if (json?.version === VERSION && json.stamp === stampOf(scene)) {
      history.#done = [...json.done];
      history.#undone = [...json.undone];
    }
    return history;
  }

  /** @param {Edit} edit */
  #note(edit) {
    this.#done.push(edit);
    this.#undone = [];
    this.#tell(edit, "do");
  }

  /**
   * @param {Edit} edit
   * @param {Told["way"]} way
   */
  #tell({ kind, region }, way) {
    this.onEdit({ kind, region, way });
    return { kind, region };
  }
}

/** A change in progress: each `set` replaces the previous one. */
export class Live {
  #steps;
  /** @type {Steps} the last valid change */
  #sound;
  #region;
  #end;
  #isOver = false;

  /**
   * @param {Scene} scene
   * @param {string | null} region
   * @param {Change[]} before
   * @param {(steps: Steps) => void} end
   */
  constructor(scene, region, before, end) {
    this.#sound = this.#steps = new Steps(scene, region, before);
    this.#region = region;
    this.#end = end;
  }

  /**
   * Replace the previous change with this one; it stays visible even if it is rejected.
   * @param {Act} act
   */
  set(act) {
    const { scene, before } = this.#steps;
    this.#steps.takeBack();
    this.#steps = new Steps(scene, this.#region, before);
    const refusal = act(this.#steps);
    if (refusal === null) this.#sound = this.#steps;
    return refusal;
  }

  /** Keep the last valid change. */
  commit() {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#steps !== this.#sound) {
      this.#steps.takeBack();
      this.#sound.doAgain();
    }
    this.#end(this.#sound);
  }

  /** Roll back everything. */
  cancel() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#steps.takeBack();
    this.#end(new Steps(this.#steps.scene));
  }
}

/**
 * @param {Edit} edit
 * @param {string} from
 * @param {string} to
 * @returns {Edit} the same edit if the region does not occur in it
 */
function renamedEdit(edit, from, to) {
  const concerns = (/** @type {Change} */ change) => idOf(change) === from;
  if (edit.region !== from && !edit.changes.some(concerns)) return edit;
  const changes = edit.changes.map((change) => (concerns(change) ? renamedChange(change, to) : change));
  return { ...edit, region: edit.region === from ? to : edit.region, changes };
}

/**
 * Return the id of the region that a change concerns; null for points and moves.
 * @param {Change} change
 */
function idOf(change) {
  if (change[0] === "ring" || change[0] === "outlines" || change[0] === "set") return change[1];
  return change[0] === "add" || change[0] === "remove" ? change[2].id : null;
}

/**
 * @param {Change} change
 * @param {string} id
 * @returns {Change}
 */
function renamedChange(change, id) {
  if (change[0] === "ring") return ["ring", id, change[2], change[3], change[4]];
  if (change[0] === "outlines") return ["outlines", id, change[2], change[3]];
  if (change[0] === "set") return ["set", id, change[2], change[3], change[4]];
  if (change[0] === "add" || change[0] === "remove") return [change[0], change[1], { ...change[2], id }];
  return change;
}

/**
 * Return the longest tail of the list that fits.
 * @param {Edit[]} edits
 * @param {(edit: Edit) => boolean} fits
 */
function newest(edits, fits) {
  let first = edits.length;
  while (first > 0 && fits(edits[first - 1])) first -= 1;
  return edits.slice(first);
}

/** @type {WeakMap<Edit, number>} */
const sizes = new WeakMap();

/**
 * Size of an edit in the file, in bytes.
 * @param {Edit} edit
 */
function sizeOf(edit) {
  const size = sizes.get(edit) ?? new TextEncoder().encode(JSON.stringify(edit)).length + 1;
  sizes.set(edit, size);
  return size;
}

/**
 * Return a fingerprint that identifies a scene (FNV-1a over its whole content).
 * @param {Scene} scene
 */
function stampOf(scene) {
  const { points, regions, open, nextId } = scene;
  const named = regions.map(({ id, name, is_stuff, is_hidden, is_locked, attributes, starts, propagation }) => {
    /** @type {unknown[]} */
    const fields = [id, name, is_stuff, is_hidden, is_locked];
      // Drawings without attributes, further outlines and proposals have the same fingerprint as before these existed.
    if (hasAttributes(attributes)) fields.push(attributes);
    if (starts) fields.push(starts);
    if (propagation) fields.push(propagation);
    return fields;
  });
  const text = new TextEncoder().encode(JSON.stringify(named));
  const rings = [...regions.map(({ ring }) => ring), open];
  const numbers = new Float64Array(2 * points.length + rings.reduce((sum, ring) => sum + ring.length + 1, 1));
  let filled = 0;
  for (const [x, y] of points) {
    numbers[filled++] = x;
    numbers[filled++] = y;
  }
  for (const ring of rings) {
    numbers.set(ring, filled);
    numbers[filled + ring.length] = ring.length;
    filled += ring.length + 1;
  }
  numbers[filled] = nextId;
  return hashOf(new Uint32Array(numbers.buffer), hashOf(text, 0x811c9dc5)) >>> 0;
}

/**
 * @param {Uint8Array | Uint32Array} numbers
 * @param {number} hash of the preceding data
 */
function hashOf(numbers, hash) {
  for (let at = 0; at < numbers.length; at++) hash = Math.imul(hash ^ numbers[at], 0x01000193);
  return hash;
}
