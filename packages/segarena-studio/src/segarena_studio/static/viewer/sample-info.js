// A sample or dialogue within the filtered list of its collection, in the server's JSON format.

/** @typedef {import("../../../reports/viewer/content.js").Key} Key */

/**
 * @typedef {object} Position  position in the list; the row is null for a key that is not in it
 * @property {number | null} row
 * @property {number} count
 * @property {Key | null} previous
 * @property {Key | null} next
 */

/**
 * @typedef {object} Answer  content to show, or the problem that prevents it
 * @property {Position} around
 * @property {import("../../../reports/viewer/content.js").Content | null} content
 * @property {string} problem
 * @property {string} user_words  prompts of the user in words; "" if unknown
 */

/**
 * Encode a key for a URL.
 * @param {Key} key
 */
export function queryOf([sample, target, user, repeat]) {
  return new URLSearchParams({ sample, target, user, repeat: String(repeat) }).toString();
}
