// One person's drawing of one picture: regions in depth order, front first, with shared outline
// points.
//
// A region has one or more outlines, which do not cross: inside means inside an odd number of them, so
// that an outline within another one is a hole, and one outside the others is a further part. Its ring
// lists the points of all outlines, one outline after the other, and `starts` says where the second
// and later ones begin.
//
// A ring refers to points by index; a point in two rings is one vertex of both. `Scene` tracks the
// owners of each point and changes only through `Steps` (scene-changes.js), which records every
// change for undo (history.js). Outlines and boxes are cached until they change. Points are
// replaced, never mutated, so references to old points stay valid.
//
// In the frames of a video, regions with the same id are one track.
//
//   const scene = Scene.read(document);             // throws RangeError if the document is invalid
//   scene.polygon("r7"); scene.box("r7"); scene.owners(4); scene.edgeOwners(4, 9); scene.place("r7");
//   JSON.stringify(scene.toDocument());

import { boxOf } from "../common/geometry.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {number[]} Ring indexes of points */
/** @typedef {{name: string, is_stuff: boolean, is_hidden: boolean, is_locked: boolean}} Fields */
/** @typedef {Record<string, string | boolean>} Attributes values of the project's attributes; none that is empty or false */
/** @typedef {{ring: Ring, starts?: number[]}} Outlined starts: places in the ring at which further outlines begin; absent for one outline */
/** @typedef {"proposed" | "accepted"} Propagation whether a person has accepted an outline that was propagated from another frame */
/** @typedef {{id: string, attributes?: Attributes, propagation?: Propagation | ""} & Outlined & Fields} Region propagation: absent or "" if a person drew it */
/** @typedef {{version: 1, points: Point[], regions: Region[], next_id: number, open?: Ring}} SceneDocument */
/** @typedef {{region: Region, edge: number}} EdgeOwner edge: index of its first point in the ring */
/** @typedef {import("./scene-changes.js").Change} Change */
/** @typedef {{polygon: Polygon | null, outlines: Polygon[] | null, box: Box | null, revision: number}} Outline */

const FARTHEST = 1e9;
/**
 * The fields of a new region.
 * @type {Fields}
 */
export const PLAIN = { name: "", is_stuff: false, is_hidden: false, is_locked: false };

export class Scene {
  /** @type {Point[]} */
  points = [];
  /** @type {Region[]} front first */
  regions = [];
  /** Increases with every change. */
  revision = 0;
  /** The number of the next region; never decreases, so that ids are unique. */
  nextId = 1;
  /** The prefix of new ids; each frame of a video has its own, because an id names a track. */
  idPrefix = "r";

  /** @type {Region} the open outline shares points like any other region */
  #drawn = { id: "", ring: [], ...PLAIN };
  /** @type {Map<string, Region>} */
  #byId = new Map([["", this.#drawn]]);
  /** @type {Region[][]} the owners of each point */
  #owners = [];
  /** @type {Set<number>} points that no region uses */
  #free = new Set();
  /** @type {Map<string, Outline>} */
  #outlines = new Map();
  /** @type {{revision: number, edges: [number, number][]}} */
  #shared = { revision: -1, edges: [] };

  static empty() {
    return new Scene();
  }

  /** @param {any} document throws RangeError if it is not a scene */
  static read(document) {
    checkDocument(document);
    const scene = new Scene();
    scene.points = document.points.map((/** @type {Point} */ [x, y]) => [x, y]);
    scene.#owners = scene.points.map(() => []);
    for (const given of document.regions) {
      scene.#enter(copyOf({ ...PLAIN, ...given }), scene.regions.length);
    }
    scene.#setRing(scene.#drawn, document.open ?? [], []);
    scene.nextId = document.next_id;
    scene.#owners.forEach((owners, point) => owners.length || scene.#free.add(point));
    return scene;
  }

  /** @returns {SceneDocument} */
  toDocument() {
    const regions = this.regions.map(copyOf);
    const document = { version: /** @type {1} */ (1), points: [...this.points], regions, next_id: this.nextId };
    return this.open.length ? { ...document, open: [...this.open] } : document;
  }

  /** The ring of the open outline; empty if nothing is being drawn. */
  get open() {
    return this.#drawn.ring;
  }

  /**
   * Return the region with this id; throw RangeError if there is none.
   * @param {string} id
   */
  region(id) {
    const region = this.#byId.get(id);
    if (!region) throw new RangeError(`expected the id of a region, got ${id}`);
    return region;
  }

  /** The id of the next region. */
  get nextRegion() {
    return `${this.idPrefix}${this.nextId}`;
  }

  /** @param {string} id */
  has(id) {
    return id !== "" && this.#byId.has(id);
  }

  /**
   * Return the index in the depth order, 0 for the front.
   * @param {string} id
   */
  place(id) {
    return this.regions.indexOf(this.region(id));
  }

  /**
   * Return the vertices of a region, those of one outline after the other; the same array until they
   * change.
   * @param {string} id
   */
  polygon(id) {
    const outline = this.#outline(id);
    return (outline.polygon ??= this.region(id).ring.map((point) => this.points[point]));
  }

  /**
   * Return the outlines of a region; the same array until they change.
   * @param {string} id
   */
  outlines(id) {
    const outline = this.#outline(id);
    return (outline.outlines ??= splitAt(this.polygon(id), this.region(id).starts));
  }

  openPolygon() {
    return this.polygon("");
  }

  /**
   * Return the bounding box of a region.
   * @param {string} id
   */
  box(id) {
    const outline = this.#outline(id);
    return (outline.box ??= boxOf(this.polygon(id)));
  }

  /**
   * Return a number that increases when a region's outline changes, for invalidating caches.
   * @param {string} id
   */
  revisionOf(id) {
    return this.#outline(id).revision;
  }

  /**
   * Return the regions that share a point.
   * @param {number} point
   */
  owners(point) {
    return this.#owners[point].filter((region) => region !== this.#drawn);
  }

  /**
   * Whether several regions, or a region and the open outline, share a point.
   * @param {number} point
   */
  isShared(point) {
    return this.#owners[point].length > 1;
  }

  /**
   * Return the regions that have a side between two points.
   * @param {number} a
   * @param {number} b
   * @returns {EdgeOwner[]}
   */
  edgeOwners(a, b) {
    return this.owners(a).flatMap((region) => {
      const edge = edgeBetween(region, a, b);
      return edge < 0 ? [] : [{ region, edge }];
    });
  }

  /**
   * Return the sides that several regions share, each once.
   * @returns {[number, number][]}
   */
  sharedEdges() {
    if (this.#shared.revision !== this.revision) this.#shared = { revision: this.revision, edges: this.#findShared() };
    return this.#shared.edges;
  }

  /** Return an unused point index for reuse, or else the index after the last one. */
  freePoint() {
    for (const point of this.#free) return point;
    return this.points.length;
  }

  /**
   * Reserve a point for a ring that is added next.
   * @param {number} point
   */
  reserve(point) {
    this.#free.delete(point);
  }

  /**
   * Apply one change.
   * @param {Change} change
   */
  apply(change) {
    this.revision += 1;
    if (change[0] === "point") this.#setPoint(change[1], change[3]);
    else if (change[0] === "ring") this.#splice(this.region(change[1]), change[2], change[3].length, change[4]);
    else if (change[0] === "outlines") this.#setRing(this.region(change[1]), change[3].flat(), startsOf(change[3]));
    else if (change[0] === "add") this.#enter(copyOf(change[2]), change[1]);
    else if (change[0] === "remove") this.#leave(change[1]);
    else if (change[0] === "move") this.regions.splice(change[2], 0, ...this.regions.splice(change[1], 1));
    else Object.assign(this.region(change[1]), { [change[2]]: change[4] });
  }

  /**
   * Give a region another id. The history does not record this, so rename the region there too.
   * @param {string} from
   * @param {string} to an unused id
   */
  renameRegion(from, to) {
    const region = this.region(from);
    this.revision += 1;
    this.#byId.delete(from);
    this.#outlines.delete(from);
    region.id = to;
    this.#byId.set(to, region);
    this.#touch(region);
  }

  #findShared() {
    /** @type {Map<number, number>} the number of occurrences of each side */
    const met = new Map();
    /** @type {[number, number][]} */
    const shared = [];
    for (const ring of this.regions.flatMap(ringsOf)) {
      let a = ring[ring.length - 1];
      for (const b of ring) {
        const key = Math.min(a, b) * this.points.length + Math.max(a, b);
        const times = this.isShared(a) && this.isShared(b) ? (met.get(key) ?? 0) + 1 : 0;
        if (times) met.set(key, times);
        if (times === 2) shared.push([a, b]);
        a = b;
      }
    }
    return shared;
  }

  /**
   * @param {number} point
   * @param {Point | null} at
   */
  #setPoint(point, at) {
    if (at === null) {
      this.points.length = this.#owners.length = point; // only the last point is ever removed
      this.#free.delete(point);
      return;
    }
    this.points[point] = at;
    const owners = (this.#owners[point] ??= []);
    if (!owners.length) this.#free.add(point);
    for (const owner of owners) this.#touch(owner);
  }

  /**
   * Replace points of a region with one outline.
   * @param {Region} region
   * @param {number} at
   * @param {number} count
   * @param {Ring} inserted
   */
  #splice(region, at, count, inserted) {
    const ring = [...region.ring];
    ring.splice(at, count, ...inserted);
    this.#setRing(region, ring, []);
  }

  /**
   * @param {Region} region
   * @param {Ring} ring
   * @param {number[]} starts
   */
  #setRing(region, ring, starts) {
    for (const point of region.ring) {
      const owners = this.#owners[point];
      owners.splice(owners.indexOf(region), 1);
      if (!owners.length) this.#free.add(point);
    }
    for (const point of ring) {
      this.#owners[point].push(region);
      this.#free.delete(point);
    }
    region.ring = ring;
    if (starts.length) region.starts = starts;
    else delete region.starts;
    this.#touch(region);
  }

  /**
   * @param {Region} region
   * @param {number} place
   */
  #enter(region, place) {
    const { ring, starts = [] } = region;
    region.ring = [];
    this.#byId.set(region.id, region);
    this.regions.splice(place, 0, region);
    this.#setRing(region, ring, starts);
  }

  /** @param {number} place */
  #leave(place) {
    const [region] = this.regions.splice(place, 1);
    this.#setRing(region, [], []);
    this.#byId.delete(region.id);
    this.#outlines.delete(region.id);
  }

  /** @param {Region} region */
  #touch(region) {
    this.#outlines.set(region.id, { polygon: null, outlines: null, box: null, revision: this.revision });
  }

  /**
   * @param {string} id
   * @returns {Outline}
   */
  #outline(id) {
    const outline = this.#outlines.get(id);
    if (outline) return outline;
    this.#touch(this.region(id));
    return this.#outline(id);
  }
}

/**
 * Return the index of the side between two points in a ring, in either direction; -1 if there is
 * none.
 * @param {Outlined} region
 * @param {number} a
 * @param {number} b
 */
export function edgeBetween(region, a, b) {
  const { ring } = region;
  const place = ring.indexOf(a);
  if (place < 0) return -1;
  if (ring[nextPlace(region, place)] === b) return place;
  const before = previousPlace(region, place);
  return ring[before] === b ? before : -1;
}

/**
 * Return the index of the next point on the same outline.
 * @param {Outlined} region
 * @param {number} place
 */
export function nextPlace({ ring, starts }, place) {
  if (!starts) return (place + 1) % ring.length;
  const [first, end] = boundsAt(ring.length, starts, place);
  return place + 1 < end ? place + 1 : first;
}

/**
 * Return the index of the previous point on the same outline.
 * @param {Outlined} region
 * @param {number} place
 */
function previousPlace({ ring, starts = [] }, place) {
  const [first, end] = boundsAt(ring.length, starts, place);
  return place > first ? place - 1 : end - 1;
}

/**
 * Return the first index of the outline that contains an index, and the index after its last one.
 * @param {number} length of the ring
 * @param {number[]} starts
 * @param {number} place
 */
function boundsAt(length, starts, place) {
  let first = 0;
  for (const start of starts) {
    if (start > place) return [first, start];
    first = start;
  }
  return [first, length];
}

/**
 * Return the outlines of a region as rings.
 * @param {Outlined} region
 * @returns {Ring[]}
 */
export function ringsOf({ ring, starts }) {
  return splitAt(ring, starts);
}

/**
 * Return the places at which the second and later rings begin in the ring that joins them.
 * @param {Ring[]} rings
 */
export function startsOf(rings) {
  /** @type {number[]} */
  const starts = [];
  let length = 0;
  for (const ring of rings) {
    if (length) starts.push(length);
    length += ring.length;
  }
  return starts;
}

/**
 * Split a list at some places; without any, the result contains the list itself.
 * @template T
 * @param {T[]} list
 * @param {number[]} [starts]
 */
function splitAt(list, starts = []) {
  if (!starts.length) return [list];
  return [0, ...starts].map((start, index) => list.slice(start, starts[index]));
}

/**
 * @param {Region} region
 * @returns {Region} a copy with its keys in canonical order
 */
export function copyOf({ id, ring, starts, name, is_stuff, is_hidden, is_locked, attributes, propagation }) {
  /** @type {Region} */
  const copy = { id, ring: [...ring], name, is_stuff, is_hidden, is_locked };
  if (starts?.length) copy.starts = [...starts];
  if (hasAttributes(attributes)) copy.attributes = { ...attributes };
  if (propagation) copy.propagation = propagation;
  return copy;
}

/**
 * Whether any attribute has a value.
 * @param {Attributes | undefined} attributes
 */
export function hasAttributes(attributes) {
  return typeof attributes === "object" && attributes !== null && Object.keys(attributes).length > 0;
}

/** @param {any} document */
function checkDocument(document) {
  const isWhole = document?.version === 1 && Array.isArray(document.points) && Array.isArray(document.regions);
  if (!isWhole) throw new RangeError("expected a scene of version 1 with points and regions, got something else");
  const isPlace = (/** @type {any} */ length) => Number.isFinite(length) && Math.abs(length) <= FARTHEST;
  if (!document.points.every((/** @type {any} */ at) => Array.isArray(at) && at.length === 2 && at.every(isPlace))) {
    throw new RangeError("expected points as pairs of numbers, got something else");
  }
  const isRing = (/** @type {any} */ ring) =>
    Array.isArray(ring) && ring.every((point) => Number.isInteger(point) && point >= 0 && point < document.points.length);
  const rings = [document.open ?? [], ...document.regions.map((/** @type {any} */ region) => region?.ring)];
  if (!rings.every(isRing)) throw new RangeError("expected rings of existing points, got something else");
  if (!document.regions.every(hasValidStarts)) throw new RangeError("expected outlines that begin within the ring, in order, got others");
  checkIds(document);
}

/** @param {any} region */
function hasValidStarts({ ring, starts = [] }) {
  const isAfter = (/** @type {any} */ start, /** @type {number} */ index) => Number.isInteger(start) && start > (starts[index - 1] ?? 0) && start < ring.length;
  return Array.isArray(starts) && starts.every(isAfter);
}

/** @param {any} document */
function checkIds({ regions, next_id }) {
  const ids = new Set(regions.map((/** @type {any} */ region) => region.id));
  const areText = [...ids].every((id) => typeof id === "string" && id !== "");
  if (ids.size !== regions.length || !areText) throw new RangeError("expected regions with distinct ids, got something else");
  if (!Number.isInteger(next_id)) throw new RangeError(`expected the number of the next region, got ${next_id}`);
}
