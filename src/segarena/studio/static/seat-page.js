// The elements of the page at a seat.

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
export function the(id) {
  return /** @type {T} */ (document.getElementById(id));
}

/** @param {string} id */
export function valueOf(id) {
  return /** @type {HTMLInputElement} */ (the(id)).value;
}

/** @param {number} ms */
export function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * @param {string} name
 * @param {Record<string, string>} [given]
 * @param {...(Node | string)} inside
 */
export function make(name, given = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/**
 * A colour of the style sheet.
 * @param {string} name
 */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Red, green, blue of a colour of the style sheet.
 * @param {string} name
 */
export function rgb(name) {
  const value = parseInt(colour(name).slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
