// Log entries and times that are sent once; the server adds them up.

/**
 * @typedef {object} Entry  one entry of the action log
 * @property {number} at_ms
 * @property {string} kind
 * @property {string | null} region
 *
 * @typedef {object} News  unsent actions and times by region; sent once, added up by the server
 * @property {Entry[]} log
 * @property {Record<string, number>} time_ms
 * @property {Record<string, number>} active_ms
 */

/**
 * Return an empty record.
 * @returns {News}
 */
export function noNews() {
  return { log: [], time_ms: {}, active_ms: {} };
}

/**
 * Merge two records.
 * @param {News} first
 * @param {News} second
 * @returns {News}
 */
export function together(first, second) {
  const { log, time_ms, active_ms } = structuredClone(first);
  return { log: [...log, ...second.log], time_ms: add(time_ms, second.time_ms), active_ms: add(active_ms, second.active_ms) };
}

/**
 * Add times to sums, by region.
 * @param {Record<string, number>} sums
 * @param {Record<string, number>} more
 */
export function add(sums, more) {
  for (const [name, value] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}
