// Pictures and masks that a page embeds in the content of its viewers.

import { bitsIn } from "./window-level.js";

/** @typedef {import("./content.js").Content} Content */
/** @typedef {import("./content.js").Outlines} Outlines */
/** @typedef {import("./content.js").PlanePicture} PlanePicture */

export class EmbeddedSource {
  constructor() {
    /** @type {Map<string, Promise<PlanePicture>>} */
    this.pictures = new Map();
    /** @type {Map<Record<string, string>, Outlines>} */
    this.outlines = new Map();
  }

  /**
   * @param {Content} content
   * @param {number} direction
   * @param {number} place
   * @returns {Promise<PlanePicture>}
   */
  picture(content, direction, place) {
    const address = content.planes[direction].pictures?.[place] ?? "";
    let picture = this.pictures.get(address);
    if (!picture) this.pictures.set(address, (picture = loadPicture(address, content.kind === "volume")));
    return picture;
  }

  /**
   * @param {Content} content
   * @param {number} direction
   * @param {number} place
   * @param {string[]} names
   * @returns {Promise<Map<string, Outlines>>}
   */
  async layers(content, direction, place, names) {
    const { layers } = content.planes[direction];
    const found = new Map();
    for (const name of names) {
      const embedded = layers?.[name]?.[place];
      if (embedded) found.set(name, this.outlinesIn(embedded));
    }
    return found;
  }

  /**
   * Return the same map for the same layer, so that panes recognise it.
   * @param {Record<string, string>} embedded
   */
  outlinesIn(embedded) {
    let outlines = this.outlines.get(embedded);
    if (!outlines) this.outlines.set(embedded, (outlines = outlinesOf(embedded)));
    return outlines;
  }
}

/**
 * @param {Record<string, string>} layer
 * @returns {Outlines}
 */
export function outlinesOf(layer) {
  return new Map(Object.entries(layer).map(([number, data]) => [Number(number), data]));
}

/**
 * @param {string} address
 * @param {boolean} isVolume
 * @returns {Promise<PlanePicture>}
 */
async function loadPicture(address, isVolume) {
  const image = await decodedPicture(address);
  const { naturalWidth: width, naturalHeight: height } = image;
  if (!isVolume) return { bitmap: image, bits: null, size: [height, width] };
  return { bitmap: null, bits: bitsIn(pixelsOf(image, width, height), 1), size: [height, width] };
}

/**
 * Decode a picture through an element, because the page's policy forbids requests.
 * @param {string} address
 */
export async function decodedPicture(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}

/**
 * @param {CanvasImageSource} image
 * @param {number} width
 * @param {number} height
 */
export function pixelsOf(image, width, height) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height).data;
}
