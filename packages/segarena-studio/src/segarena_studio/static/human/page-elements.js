// Access to the elements of the annotation page.

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
