// A place that the viewer shows, as the server tells it: a sample, or a dialogue about a target of it.

/** @typedef {[string, string, string, number]} Key  sample, target, user, repeat */

/**
 * @typedef {object} Place
 * @property {Key} key
 * @property {string} kind  "image", "volume" or "video"
 * @property {import("./plane-geometry.js").Plane[]} planes  of each direction
 * @property {import("./window-level.js").Levels | null} levels  of volumes
 * @property {{number: number, id: string, label: string}[]} objects
 * @property {boolean} has_ignored
 * @property {import("./dialogue.js").Dialogue[]} dialogues  one of each run
 * @property {string[]} notes
 */

/**
 * @typedef {object} Shown  a place among those that were asked for; null with what is the matter
 * @property {{row: number | null, count: number, previous: Key | null, next: Key | null}} around
 * @property {Place | null} place
 * @property {string} problem
 */

/**
 * The key of a place as an address has it.
 * @param {Key} key
 */
export function addressOf([sample, target, user, repeat]) {
  return new URLSearchParams({ sample, target, user, repeat: String(repeat) }).toString();
}
