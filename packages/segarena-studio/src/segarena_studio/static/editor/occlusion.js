// Occlusion between regions: overlaps, visible and hidden areas, in pixels of the full-resolution
// picture. `update` recomputes only what has changed since the last call.

import { boxesMeet } from "../common/geometry.js";
import { fill, sharedPixels, uncovered, uncoveredPixels } from "../common/polygon-spans.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("../common/polygon-spans.js").Spans} Spans */
/** @typedef {{revision: number, spans: Spans, overlaps: Map<string, number>, seen: {at: number, key: string, pixels: number} | null}} Entry  at: the revision of the scene */

const DUPLICATE_IOU = 0.9;

export class Depth {
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  #revision = -1;

  /**
   * @param {Scene} scene
   * @param {Size} size of the picture
   */
  constructor(scene, size) {
    this.scene = scene;
    this.size = size;
  }

  /** Whether `update` has nothing to do, so that queries are quick. */
  get isCurrent() {
    return this.#revision === this.scene.revision;
  }

  /** Process the changes of the scene. Every query calls this itself. */
  update() {
    if (this.isCurrent) return;
    for (const id of this.#changed()) this.#fill(id);
    this.#revision = this.scene.revision;
  }

  /**
   * Process some changes of the scene, so that the page stays responsive. Return whether all have been processed, and
   * all visible areas computed.
   * @param {number} limit_ms
   */
  updateSome(limit_ms) {
    const until = performance.now() + limit_ms;
    if (!this.isCurrent) {
      for (const id of this.#changed()) {
        this.#fill(id);
        if (performance.now() > until) return false;
      }
      this.#revision = this.scene.revision;
    }
    for (const { id } of this.scene.regions) {
      if (this.#entry(id).seen?.at === this.#revision) continue;
      this.visiblePx(id);
      if (performance.now() > until) return false;
    }
    return true;
  }

  /** Return the regions whose outlines have changed, and forget those that no longer exist. */
  #changed() {
    const { scene } = this;
    for (const id of this.#entries.keys()) if (!scene.has(id)) this.#forget(id);
    return scene.regions.map(({ id }) => id).filter((id) => this.#entries.get(id)?.revision !== scene.revisionOf(id));
  }

  /**
   * Return the area of the full extent, in pixels.
   * @param {string} id
   */
  areaPx(id) {
    return this.#entry(id).spans.area;
  }

  /**
   * Return the visible area, which no region in front covers, in pixels.
   * @param {string} id
   */
  visiblePx(id) {
    const entry = this.#entry(id);
    const { revision } = this.scene;
    if (entry.seen?.at === revision) return entry.seen.pixels;
    const front = this.inFrontOf(id);
    const key = [entry.revision, ...front.map((one) => `${one}.${this.#entry(one).revision}`)].join(" ");
    if (entry.seen?.key === key) entry.seen.at = revision;
    else entry.seen = { at: revision, key, pixels: front.length ? uncoveredPixels(entry.spans, this.#spansOf(front)) : entry.spans.area };
    return entry.seen.pixels;
  }

  /**
   * Return the hidden fraction, 0 to 1; 0 for a region without pixels.
   * @param {string} id
   */
  occlusion(id) {
    const whole = this.areaPx(id);
    return whole ? (whole - this.visiblePx(id)) / whole : 0;
  }

  /**
   * Return the overlap of the full extents of two regions, in pixels.
   * @param {string} a
   * @param {string} b
   */
  overlapPx(a, b) {
    return a === b ? this.areaPx(a) : this.#entry(a).overlaps.get(b) ?? 0;
  }

  /**
   * Return the regions that overlap a region, front first.
   * @param {string} id
   */
  overlapping(id) {
    const { overlaps } = this.#entry(id);
    return this.scene.regions.filter((region) => overlaps.has(region.id)).map((region) => region.id);
  }

  /**
   * Return the regions that hide part of a region, front first.
   * @param {string} id
   */
  inFrontOf(id) {
    const { overlaps } = this.#entry(id);
    const front = [];
    for (const region of this.scene.regions) {
      if (region.id === id) break;
      if (overlaps.has(region.id)) front.push(region.id);
    }
    return front;
  }

  /**
   * Return all overlapping pairs, each as [front, behind].
   * @returns {[string, string][]}
   */
  pairs() {
    return this.scene.regions.flatMap(({ id }) => {
      return this.inFrontOf(id).map((front) => /** @type {[string, string]} */ ([front, id]));
    });
  }

  /**
   * Return the visible part as a flat list of spans: row, first column, end.
   * @param {string} id
   */
  visibleSpans(id) {
    return uncovered(this.#entry(id).spans, this.#spansOf(this.inFrontOf(id)));
  }

  /**
   * Return the hidden part in the same format.
   * @param {string} id
   */
  hiddenSpans(id) {
    const { spans } = this.#entry(id);
    return uncovered(spans, [asSpans(this.visibleSpans(id), spans)]);
  }

  /**
   * Return pairs that look like duplicates of one region, with their IoU, front first.
   * @returns {[string, string, number][]}
   */
  duplicates() {
    /** @type {[string, string, number][]} */
    const found = [];
    for (const [front, behind] of this.pairs()) {
      const shared = this.overlapPx(front, behind);
      const iou = shared / (this.areaPx(front) + this.areaPx(behind) - shared);
      if (iou > DUPLICATE_IOU) found.push([front, behind, iou]);
    }
    return found;
  }

  /** @param {string} id */
  #entry(id) {
    this.update();
    const entry = this.#entries.get(id);
    if (!entry) throw new RangeError(`expected the id of a region, got ${id}`);
    return entry;
  }

  /** @param {string[]} ids */
  #spansOf(ids) {
    return ids.map((id) => this.#entry(id).spans);
  }

  /** @param {string} id */
  #fill(id) {
    this.#forget(id);
    const spans = fill(this.scene.outlines(id), this.size);
    const overlaps = new Map();
    for (const [other, entry] of this.#entries) {
      const isNear = boxesMeet(this.scene.box(id), this.scene.box(other));
      const shared = isNear ? sharedPixels(spans, entry.spans) : 0;
      if (!shared) continue;
      overlaps.set(other, shared);
      entry.overlaps.set(id, shared);
    }
    this.#entries.set(id, { revision: this.scene.revisionOf(id), spans, overlaps, seen: null });
  }

  /** @param {string} id */
  #forget(id) {
    for (const other of this.#entries.get(id)?.overlaps.keys() ?? []) this.#entries.get(other)?.overlaps.delete(id);
    this.#entries.delete(id);
  }
}

/**
 * Return spans in the flat format of `uncovered`, as rows aligned with those of another region.
 * @param {Int32Array} found
 * @param {Spans} rows
 * @returns {Spans}
 */
function asSpans(found, rows) {
  const starts = new Int32Array(rows.starts.length);
  const ends = new Int32Array((found.length / 3) * 2);
  for (let at = 0; at < found.length; at += 3) {
    starts[found[at] - rows.top + 1] += 2;
    ends.set(found.subarray(at + 1, at + 3), (at / 3) * 2);
  }
  for (let row = 1; row < starts.length; row++) starts[row] += starts[row - 1];
  return { top: rows.top, starts, ends, area: 0 };
}
