// Cache of server data within a memory limit: pictures of planes, and their masks. Prefetches
// likely next requests, at most two at a time, so that they never delay the current one.

import { decode } from "../common/run-lengths.js";
import { bitsIn } from "./window-level.js";

/** @typedef {import("./mask-painting.js").Objects} Objects */
/** @typedef {{bitmap: ImageBitmap | null, bits: Uint16Array | null, size: [number, number]}} PlanePicture  size: rows and columns */

const MOST_BYTES = 300e6;
const AHEAD_AT_ONCE = 2;

export class Store {
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
   * @param {string} sample
   * @param {number} direction
   * @param {number} index
   * @param {boolean} isVolume
   * @returns {Promise<PlanePicture>}
   */
  picture(sample, direction, index, isVolume) {
    return this.once(`picture ${direction} ${index} ${sample}`, async () => {
      const answer = await this.ask(`plane/${direction}/${index}?${new URLSearchParams({ sample })}`);
      const made = await pictureOf(await answer.blob(), isVolume);
      return { value: made, bytes: 4 * made.size[0] * made.size[1] };
    });
  }

  /**
   * Load the masks of several layers in one plane; cached ones are not requested again.
   * @param {string} place  the key of the place, encoded for a URL
   * @param {number} direction @param {number} index @param {string[]} names @param {[number, number]} size
   * @returns {Promise<Map<string, Objects>>}
   */
  async layers(place, direction, index, names, size) {
    const nameOf = (/** @type {string} */ name) => `layer ${direction} ${index} ${name} ${place}`;
    /** @type {Map<string, Objects>} cached layers, kept here because new ones may evict them */
    const found = new Map();
    for (const name of names) {
      const there = this.get(nameOf(name));
      if (there) found.set(name, there);
    }
    const lacking = names.filter((name) => !found.has(name));
    if (!lacking.length) return found;
    const address = `layers/${direction}/${index}?${place}&names=${lacking.join(",")}`;
    /** @type {Map<string, Objects>} */
    const come = await this.once(address, async () => {
      const told = await (await this.ask(address)).json();
      const made = lacking.map((name) => /** @type {[string, {value: Objects, bytes: number}]} */ ([name, decoded(told[name], size)]));
      for (const [name, layer] of made) this.keep(nameOf(name), layer);
      return { value: new Map(made.map(([name, { value }]) => [name, value])), bytes: 0 };
    });
    return new Map([...found, ...come]);
  }

  /**
   * Drop the cached masks of a place after a replay.
   * @param {string} place
   */
  forget(place) {
    for (const [name, { bytes }] of this.kept) {
      if (name.endsWith(` ${place}`)) {
        this.kept.delete(name);
        this.bytes -= bytes;
      }
    }
  }

  /**
   * Prefetch what is likely to be shown next; replaces the earlier prefetch queue.
   * @param {(() => Promise<any>)[]} wanted
   */
  askAhead(wanted) {
    this.ahead = wanted;
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
  async ask(path, options) {
    let answer;
    try {
      answer = await fetch(`${this.address}/${path}`, options);
    } catch {
      throw new Error("segarena look does not answer any more; start it again.");
    }
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => null);
    throw new Error(told?.message ?? `this cannot be shown (${answer.status}).`);
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
 * @param {Record<string, number[]>} layer
 * @param {[number, number]} size
 * @returns {{value: Objects, bytes: number}}
 */
function decoded(layer, size) {
  const objects = Object.entries(layer ?? {}).map(([number, counts]) => /** @type {[number, Uint8Array]} */ ([Number(number), decode(counts, size)]));
  return { value: new Map(objects), bytes: 100 + objects.length * size[0] * size[1] };
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
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return { bitmap: null, bits: bitsIn(context.getImageData(0, 0, width, height).data), size: [height, width] };
}
