// Merging a revision that another tab has saved into the drawing on the screen, region by region.
//
// Both drawings come from a common earlier one. A region that only one side has changed is taken
// from that side; a region that both have changed differently is a conflict. Vertices that regions
// share stay shared.

import { isSame } from "./equality.js";
import { ringsOf } from "./scene.js";
import { isDocument, regionsById } from "./scene-patch.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").SceneDocument} SceneDocument */
/** @typedef {import("./scene-changes.js").Steps} Steps */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {"none" | "mine" | "theirs"} Preference  which side decides regions that both have changed */

/** The id of the outline that is still being drawn. */
const OPEN = "";
/** @type {("name" | "is_stuff")[]} */
const CONTENT = ["name", "is_stuff"];
/** @type {("is_hidden" | "is_locked")[]} whether a region is shown or locked matters to one tab only */
const VIEW = ["is_hidden", "is_locked"];

/**
 * Merge the other revision into the editor, as one undo step. Return whether that was possible: "busy"
 * while the user is dragging something.
 * @param {Editor} editor
 * @param {SceneDocument} ancestor the drawing that both come from
 * @param {any} theirs
 * @param {Preference} preference with "none", a conflict changes nothing
 * @param {(from: string, to: string) => void} [onRename] called for each region that gets another id
 * @returns {"merged" | "conflict" | "busy"}
 */
export function mergeRevision(editor, ancestor, theirs, preference, onRename = () => {}) {
  if (!isDocument(ancestor) || !isDocument(theirs)) return "conflict";
  if (editor.isHolding || editor.history.isLive) return "busy";
  const { scene, history } = editor;
  if (preference === "none" && conflictsOf(ancestor, scene.toDocument(), theirs).length) return "conflict";
  scene.nextId = Math.max(scene.nextId, theirs.next_id);
  for (const from of repeatedIds(ancestor, scene.toDocument(), theirs)) {
    const to = scene.nextRegion;
    scene.nextId += 1;
    scene.renameRegion(from, to);
    history.renameRegion(from, to);
    if (editor.selected === from) editor.selected = to;
    onRename(from, to);
  }
  const before = scene.revision;
  history.run("merge", null, (steps) => mergeScene(steps, ancestor, theirs, preference));
  if (scene.revision !== before) editor.chosen.clear();
  if (scene.open.length && editor.tool.name !== "draw") editor.useTool("draw");
  editor.changed();
  return "merged";
}

/**
 * Return the ids of regions that both sides have changed differently, "" for the open outline.
 * @param {SceneDocument} ancestor
 * @param {SceneDocument} mine
 * @param {SceneDocument} theirs
 */
export function conflictsOf(ancestor, mine, theirs) {
  const [base, own, other] = [ancestor, mine, theirs].map((document) => new Side(document, ancestor));
  const ids = [OPEN, ...base.regions.keys()];
  const isOrderSame = isSameOrder(own, other);
  return ids.filter((id) => {
    const isMovedTwice = own.moved.has(id) && other.moved.has(id) && !isOrderSame;
    return isMovedTwice || (!own.isSame(base, id) && !other.isSame(base, id) && !own.isSame(other, id));
  });
}

/**
 * Return the ids that both sides gave to different new regions: ids are consecutive numbers in
 * every tab.
 * @param {SceneDocument} ancestor
 * @param {SceneDocument} mine
 * @param {SceneDocument} theirs
 */
function repeatedIds(ancestor, mine, theirs) {
  const [base, own, other] = [ancestor, mine, theirs].map((document) => new Side(document, ancestor));
  return [...own.regions.keys()].filter((id) => !base.regions.has(id) && other.regions.has(id) && !own.isSame(other, id));
}

/**
 * Apply the changes of the other revision to the scene.
 * @param {Steps} steps
 * @param {SceneDocument} ancestor
 * @param {SceneDocument} theirs
 * @param {Preference} preference
 */
export function mergeScene(steps, ancestor, theirs, preference) {
  const { scene } = steps;
  const [base, own, other] = [ancestor, scene.toDocument(), theirs].map((document) => new Side(document, ancestor));
  const isTheirs = (/** @type {string} */ id) => !other.isSame(base, id) && (own.isSame(base, id) || preference === "theirs");
  const ids = new Set([...base.regions.keys(), ...other.regions.keys()]);
  const taken = [...ids].filter((id) => isTheirs(id) && !own.isSame(other, id));
  for (const id of taken) if (!other.regions.has(id)) steps.removeRegion(id);
  const order = mergedOrder(own, other, new Set(taken), preference);
  const present = taken.filter((id) => other.regions.has(id));
  const isOpenTaken = isTheirs(OPEN);
  const points = new PointMap(steps, other, new Set(isOpenTaken ? [...present, OPEN] : present));
  for (const id of present) takeRegion(steps, id, other, points, order);
  if (isOpenTaken) steps.splice(OPEN, 0, scene.open.length, points.ringOf(OPEN));
  takeView(steps, base, other);
  order.forEach((id, place) => steps.moveRegion(id, place));
  return null;
}

/**
 * @param {Steps} steps
 * @param {string} id
 * @param {Side} other
 * @param {PointMap} points
 * @param {string[]} order
 */
function takeRegion(steps, id, other, points, order) {
  const region = /** @type {Region} */ (other.regions.get(id));
  const ring = points.ringOf(id);
  const { scene } = steps;
  if (!scene.has(id)) {
    const ahead = new Set(order.slice(0, order.indexOf(id)));
    const place = scene.regions.filter((each) => ahead.has(each.id)).length;
    return steps.restoreRegion({ ...region, ring }, place);
  }
  steps.setOutlines(id, ringsOf({ ring, starts: region.starts }));
  for (const field of CONTENT) steps.set(id, field, region[field]);
  steps.setAttributes(id, region.attributes ?? {});
  steps.setPropagation(id, region.propagation ?? "");
}

/**
 * @param {Steps} steps
 * @param {Side} base
 * @param {Side} other
 */
function takeView(steps, base, other) {
  for (const [id, theirs] of other.regions) {
    const before = base.regions.get(id);
    if (!before || !steps.scene.has(id)) continue;
    for (const field of VIEW) {
      const isUntouched = steps.scene.region(id)[field] === before[field];
      if (theirs[field] !== before[field] && isUntouched) steps.set(id, field, theirs[field]);
    }
  }
}

/**
 * Return the ids of all regions of the result, front first: my order; a region that the other
 * side added or moved comes after the region that precedes it there.
 * @param {Side} own
 * @param {Side} other
 * @param {Set<string>} taken
 * @param {Preference} preference
 */
function mergedOrder(own, other, taken, preference) {
  const theirs = [...other.regions.keys()];
  const isMine = (/** @type {string} */ id) => own.regions.has(id) && !(taken.has(id) && !other.regions.has(id));
  const order = [...own.regions.keys()].filter(isMine);
  theirs.forEach((id, place) => {
    const isNew = taken.has(id) && !own.regions.has(id);
    const isMoved = other.moved.has(id) && isMine(id) && (!own.moved.has(id) || preference === "theirs");
    if (!isNew && !isMoved) return;
    if (isMoved) order.splice(order.indexOf(id), 1);
    let ahead = place - 1;
    while (ahead >= 0 && !order.includes(theirs[ahead])) ahead -= 1;
    order.splice(ahead < 0 ? 0 : order.indexOf(theirs[ahead]) + 1, 0, id);
  });
  return order;
}

/** One of the drawings, for comparison by region. */
class Side {
  /**
   * @param {SceneDocument} document
   * @param {SceneDocument} ancestor
   */
  constructor(document, ancestor) {
    this.document = document;
    this.regions = regionsById(document);
    const before = ancestor.regions.map(({ id }) => id).filter((id) => this.regions.has(id));
    const kept = new Set(before);
    /** The regions that changed their place in the order. */
    this.moved = movedIn(before, [...this.regions.keys()].filter((id) => kept.has(id)));
  }

  /**
   * @param {string} id
   * @returns {Ring}
   */
  ring(id) {
    return (id === OPEN ? this.document.open : this.regions.get(id)?.ring) ?? [];
  }

  /**
   * Whether a region is the same on two sides, or missing on both. Coordinates are compared,
   * because indices may differ.
   * @param {Side} other
   * @param {string} id
   */
  isSame(other, id) {
    const [own, theirs] = [this.regions.get(id), other.regions.get(id)];
    if (id !== OPEN && (!own || !theirs)) return own === theirs;
    if (own && theirs && CONTENT.some((field) => own[field] !== theirs[field])) return false;
    if (!isSame(own?.attributes ?? {}, theirs?.attributes ?? {})) return false;
    if ((own?.propagation ?? "") !== (theirs?.propagation ?? "")) return false;
    if (!isSame(own?.starts ?? [], theirs?.starts ?? [])) return false;
    const [ring, counterpart] = [this.ring(id), other.ring(id)];
    return ring.length === counterpart.length && ring.every((point, at) => isSamePlace(this.document.points[point], other.document.points[counterpart[at]]));
  }
}

/** Maps points of the other drawing to points of this one; a point without a counterpart is added. */
class PointMap {
  /**
   * @param {Steps} steps
   * @param {Side} other
   * @param {Set<string>} taken ids of the regions whose outline is taken from them
   */
  constructor(steps, other, taken) {
    this.steps = steps;
    this.other = other;
    this.taken = taken;
    /** @type {Map<number, number>} */
    this.known = new Map();
    /** @type {Map<number, string[]>} the regions of each of their points */
    this.owners = new Map();
    for (const id of [OPEN, ...other.regions.keys()]) {
      for (const point of other.ring(id)) this.owners.set(point, [...(this.owners.get(point) ?? []), id]);
    }
  }

  /**
   * Return the ring of a region of the other drawing as points of this one.
   * @param {string} id
   */
  ringOf(id) {
    return this.other.ring(id).map((point) => {
      const found = this.known.get(point) ?? this.find(point) ?? this.steps.placePoint(this.other.document.points[point]);
      this.known.set(point, found);
      return found;
    });
  }

  /**
   * Return my point at the place of one of their points, if both belong to the same regions; undefined
   * if there is none.
   * @param {number} point
   */
  find(point) {
    const { scene } = this.steps;
    const at = this.other.document.points[point];
    const owners = this.owners.get(point) ?? [];
    const there = owners.filter((id) => id === OPEN || scene.has(id));
    // Outlines that stay come first: their vertices must not be duplicated.
    const sorted = [...there.filter((id) => !this.taken.has(id)), ...there.filter((id) => this.taken.has(id))];
    for (const id of sorted) {
      const found = scene.region(id).ring.find((each) => isSamePlace(scene.points[each], at));
      const isSplit = (/** @type {Region} */ region) => this.other.regions.has(region.id) && !owners.includes(region.id);
      if (found !== undefined && !scene.owners(found).some(isSplit)) return found;
    }
    return undefined;
  }
}

/**
 * @param {Side} own
 * @param {Side} other
 */
function isSameOrder(own, other) {
  const mine = [...own.regions.keys()].filter((id) => other.regions.has(id));
  const theirs = [...other.regions.keys()].filter((id) => own.regions.has(id));
  return mine.every((id, place) => id === theirs[place]);
}

/**
 * Return a smallest set of ids that must have moved: all except a longest increasing subsequence.
 * @param {string[]} before
 * @param {string[]} after the same ids
 */
function movedIn(before, after) {
  const place = new Map(before.map((id, index) => [id, index]));
  const places = after.map((id) => place.get(id) ?? 0);
  /** @type {number[]} the index in `after` of the smallest end of a chain of each length */
  const ends = [];
  /** @type {number[]} */
  const previous = [];
  places.forEach((value, index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[ends[middle]] < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? ends[low - 1] : -1;
    ends[low] = index;
  });
  const moved = new Set(after);
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index]) moved.delete(after[index]);
  return moved;
}

/**
 * @param {Point} a
 * @param {Point} b
 */
function isSamePlace(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}
