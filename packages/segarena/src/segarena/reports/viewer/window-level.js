// Window and level: voxels are transferred as codes of 8 or 16 bits; this module maps each code to a
// grey value.

/**
 * @typedef {object} Levels  value = offset + step * bits
 * @property {number} offset
 * @property {number} step
 * @property {number} low  black at first
 * @property {number} high  white at first
 * @property {string} modality
 */

/** @typedef {{level: number, width: number}} Window */

const STEPS = 65536;

/**
 * Level and width of common CT windows, in Hounsfield units.
 * @type {Record<string, Window>}
 */
export const PRESETS = {
  "soft tissue": { level: 40, width: 400 },
  lung: { level: -600, width: 1500 },
  bone: { level: 400, width: 1800 },
  brain: { level: 40, width: 80 },
  liver: { level: 60, width: 160 },
};

/** A volume whose initial window begins at or below this value counts as CT, whatever its modality. */
const AIR_HU = -200;

/**
 * Return the names of the presets available for a volume.
 * @param {Levels} levels
 */
export function presetsOf({ modality, low }) {
  return modality.toUpperCase() === "CT" || low <= AIR_HU ? Object.keys(PRESETS) : [];
}

/**
 * Return the initial window of a volume.
 * @param {Levels} levels
 * @returns {Window}
 */
export function firstWindow({ low, high }) {
  return { level: (low + high) / 2, width: Math.max(high - low, 1e-6) };
}

/**
 * Return the window after a drag: dragging to the right widens it, dragging down brightens; 400 px
 * span the initial window.
 * @param {Window} window @param {number} dx @param {number} dy @param {Levels} levels @returns {Window}
 */
export function dragged({ level, width }, dx, dy, levels) {
  const pace = (levels.high - levels.low) / 400;
  return { level: level - dy * pace, width: Math.max(levels.step, width + dx * pace) };
}

/**
 * Return the grey value of each 16-bit code.
 * @param {Levels} levels
 * @param {Window} window
 */
export function tableOf({ offset, step }, { level, width }) {
  const table = new Uint8ClampedArray(STEPS);
  const [low, slope] = [level - width / 2, 255 / width];
  for (let bits = 0; bits < STEPS; bits++) table[bits] = (offset + step * bits - low) * slope;
  return table;
}

/**
 * Read the code of each voxel of a slice from pixels: one byte in the red channel, or two bytes, the
 * high one in the red and the low one in the green channel.
 * @param {Uint8ClampedArray} pixels RGBA
 * @param {1 | 2} bytes
 */
export function bitsIn(pixels, bytes) {
  const bits = new Uint16Array(pixels.length / 4);
  for (let place = 0; place < bits.length; place++) {
    const red = pixels[4 * place];
    bits[place] = bytes === 1 ? red : (red << 8) | pixels[4 * place + 1];
  }
  return bits;
}

/**
 * Return a slice as grey RGBA pixels.
 * @param {Uint16Array} bits
 * @param {Uint8ClampedArray} table
 */
export function greys(bits, table) {
  const pixels = new Uint8ClampedArray(4 * bits.length);
  const words = new Uint32Array(pixels.buffer);
  for (let place = 0; place < bits.length; place++) words[place] = 0xff000000 | (table[bits[place]] * 0x010101);
  return pixels;
}

/** @param {number} value */
export function short(value) {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
