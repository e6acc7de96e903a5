// Cache of server data within a memory limit: pictures of planes, and their masks. Prefetches
// likely next requests, at most two at a time, so that they never delay the current one.

import { outlinesOf, pixelsOf } from "../../../reports/viewer/embedded-source.js";
import { bitsIn } from "../../../reports/viewer/window-level.js";
import { queryOf } from "./sample-info.js";

/** @typedef {import("../../../reports/viewer/content.js").Content} Content */
/** @typedef {import("../../../reports/viewer/content.js").Outlines} Outlines */
/** @typedef {import("../../../reports/viewer/content.js").PlanePicture} PlanePicture */

const MOST_BYTES = 300e6;
const BYTES_PER_CHARACTER = 2;
const AHEAD_AT_ONCE = 2;

export class PlaneStore {
  /** @param {string} address  address of the collection */
  constructor(address) {
    this.address = address;
    /**
     * Cache entries, the oldest first.
     * @type {Map<string, {value: any, bytes: number}>}
     */
    this.kept = new Map();
    this.bytes = 0;
    /** @type {Map<string, Promise<any>>} */
    this.coming = new Map();
    /** @type {(() => Promise<any>)[]} */
    this.ahead = [];
    this.busy = 0;
  }

  /**
   * @param {Content} content
   * @param {number} direction
   * @param {number} place
   * @returns {Promise<PlanePicture>}
   */
  picture(content, direction, place) {
    const sample = content.key[0];
    return this.once(`picture ${direction} ${place} ${sample}`, async () => {
      const answer = await this.request(`plane/${direction}/${place}?${new URLSearchParams({ sample })}`);
      const made = await pictureOf(await answer.blob(), content.kind === "volume");
      return { value: made, bytes: 4 * made.size[0] * made.size[1] };
    });
  }

  /**
   * Load the masks of several layers in one plane; cached ones are not requested again.
   * @param {Content} content @param {number} direction @param {number} place @param {string[]} names
   * @returns {Promise<Map<string, Outlines>>}
   */
  async layers(content, direction, place, names) {
    const key = queryOf(content.key);
    const nameOf = (/** @type {string} */ name) => `layer ${direction} ${place} ${name} ${key}`;
    /** @type {Map<string, Outlines>} cached layers, kept here because new ones may evict them */
    const found = new Map();
    for (const name of names) {
      const there = this.get(nameOf(name));
      if (there) found.set(name, there);
    }
    const lacking = names.filter((name) => !found.has(name));
    if (!lacking.length) return found;
    const address = `layers/${direction}/${place}?${key}&names=${lacking.join(",")}`;
    /** @type {Map<string, Outlines>} */
    const come = await this.once(address, async () => {
      const answer = await (await this.request(address)).json();
      const made = lacking.map((name) => /** @type {[string, {value: Outlines, bytes: number}]} */ ([name, decoded(answer[name])]));
      for (const [name, layer] of made) this.keep(nameOf(name), layer);
      return { value: new Map(made.map(([name, { value }]) => [name, value])), bytes: 0 };
    });
    return new Map([...found, ...come]);
  }

  /**
   * Drop the cached masks of a dialogue after a replay.
   * @param {string} key  of the dialogue, encoded for a URL
   */
  forget(key) {
    for (const [name, { bytes }] of this.kept) {
      if (name.endsWith(` ${key}`)) {
        this.kept.delete(name);
        this.bytes -= bytes;
      }
    }
  }

  /**
   * Prefetch what is likely to be shown next; replace the earlier prefetch queue.
   * @param {(() => Promise<any>)[]} loads
   */
  prefetch(loads) {
    this.ahead = loads;
    this.goOn();
  }

  goOn() {
    while (this.busy < AHEAD_AT_ONCE && this.ahead.length) {
      const next = /** @type {() => Promise<any>} */ (this.ahead.shift());
      this.busy++;
      next()
        .catch(() => {})
        .finally(() => {
          this.busy--;
          this.goOn();
        });
    }
  }

  /**
   * @param {string} path
   * @param {RequestInit} [options]
   */
  async request(path, options) {
    let answer;
    try {
      answer = await fetch(`${this.address}/${path}`, options);
    } catch {
      throw new Error("`segarena look` has stopped; start it again.");
    }
    if (answer.ok) return answer;
    const body = await answer.json().catch(() => null);
    throw new Error(body?.message ?? `this cannot be shown (${answer.status}).`);
  }

  /**
   * @param {string} name
   * @param {() => Promise<{value: any, bytes: number}>} make
   * @returns {Promise<any>}
   */
  async once(name, make) {
    const there = this.get(name);
    if (there !== undefined) return there;
    const known = this.coming.get(name);
    if (known) return known;
    const coming = make()
      .then((made) => {
        if (made.bytes) this.keep(name, made);
        return made.value;
      })
      .finally(() => this.coming.delete(name));
    this.coming.set(name, coming);
    return coming;
  }

  /** @param {string} name */
  get(name) {
    const there = this.kept.get(name);
    if (!there) return undefined;
    this.kept.delete(name);
    this.kept.set(name, there);
    return there.value;
  }

  /**
   * @param {string} name
   * @param {{value: any, bytes: number}} made
   */
  keep(name, made) {
    this.bytes += made.bytes - (this.kept.get(name)?.bytes ?? 0);
    this.kept.set(name, made);
    for (const [oldest, { bytes }] of this.kept) {
      if (this.bytes <= MOST_BYTES || oldest === name) break;
      this.kept.delete(oldest);
      this.bytes -= bytes;
    }
  }
}

/**
 * @param {Record<string, string> | undefined} layer
 * @returns {{value: Outlines, bytes: number}}
 */
function decoded(layer) {
  const value = outlinesOf(layer ?? {});
  let bytes = 100;
  for (const data of value.values()) bytes += BYTES_PER_CHARACTER * data.length;
  return { value, bytes };
}

/**
 * @param {Blob} blob
 * @param {boolean} isVolume
 * @returns {Promise<PlanePicture>}
 */
async function pictureOf(blob, isVolume) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  const { width, height } = bitmap;
  if (!isVolume) return { bitmap, bits: null, size: [height, width] };
  const bits = bitsIn(pixelsOf(bitmap, width, height), 2);
  bitmap.close();
  return { bitmap: null, bits, size: [height, width] };
}
