// A place in the viewer, in the server's JSON format: a sample, or a dialogue about one of its
// targets.

/** @typedef {[string, string, string, number]} Key  sample, target, user, repeat */

/**
 * @typedef {object} Place
 * @property {Key} key
 * @property {string} kind  "image", "volume" or "video"
 * @property {import("./plane-geometry.js").Plane[]} planes  of each direction
 * @property {import("./window-level.js").Levels | null} levels  grey levels, for volumes only
 * @property {{number: number, id: string, label: string}[]} objects
 * @property {boolean} has_ignored
 * @property {import("./dialogue.js").Dialogue[]} dialogues  one per run
 * @property {string[]} notes
 */

/**
 * @typedef {object} Shown  a place within the filtered list; null with a problem
 * @property {{row: number | null, count: number, previous: Key | null, next: Key | null}} around
 * @property {Place | null} place
 * @property {string} problem
 */

/**
 * Encode the key of a place for a URL.
 * @param {Key} key
 */
export function addressOf([sample, target, user, repeat]) {
  return new URLSearchParams({ sample, target, user, repeat: String(repeat) }).toString();
}
