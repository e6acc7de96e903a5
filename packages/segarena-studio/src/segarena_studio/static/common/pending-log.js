// What is told once and added up by the server: what was done, and the time that it took.

/**
 * @typedef {object} Entry  of the log of what was done
 * @property {number} at_ms
 * @property {string} kind
 * @property {string | null} region
 *
 * @typedef {object} News  what is told once and added up by the server: what was done, and the time that it took, by region
 * @property {Entry[]} log
 * @property {Record<string, number>} time_ms
 * @property {Record<string, number>} active_ms
 */

/**
 * Nothing new.
 * @returns {News}
 */
export function noNews() {
  return { log: [], time_ms: {}, active_ms: {} };
}

/**
 * What two told, as one.
 * @param {News} first
 * @param {News} second
 * @returns {News}
 */
export function together(first, second) {
  const { log, time_ms, active_ms } = structuredClone(first);
  return { log: [...log, ...second.log], time_ms: add(time_ms, second.time_ms), active_ms: add(active_ms, second.active_ms) };
}

/**
 * Add times to others, by region.
 * @param {Record<string, number>} sums
 * @param {Record<string, number>} more
 */
export function add(sums, more) {
  for (const [name, value] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}
