// Equality of values that JSON can express.

/**
 * Whether two values are equal.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function isSame(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && isSame(a[name], b[name]));
}
