// Colours from the page's style sheet, light or dark, for use on canvases.

/** @type {Map<string, string>} */
const known = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  known.clear();
  for (const changed of listeners) changed();
});

/**
 * Listen for colour changes; call the returned function to stop.
 * @param {() => void} changed
 */
export function onColours(changed) {
  listeners.add(changed);
  return () => void listeners.delete(changed);
}

/** Number of the colours --o0, --o1, … in page.css. */
const OBJECT_COLOURS = 24;

/**
 * Return the name of the CSS variable with the colour of an object.
 * @param {number} number  from 1; colours repeat after 24 objects
 */
export function objectColour(number) {
  return `--o${(number - 1) % OBJECT_COLOURS}`;
}

/**
 * Return a colour in CSS syntax.
 * @param {string} name  name of a CSS variable, such as "--truth"
 */
export function cssOf(name) {
  let colour = known.get(name);
  if (!colour) known.set(name, (colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
  return colour;
}

/**
 * Return red, green and blue of a colour with three or six hex digits.
 * @param {string} name
 * @returns {[number, number, number]}
 */
export function rgbOf(name) {
  const digits = cssOf(name).replace("#", "");
  const whole = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  const [red, green, blue] = [0, 2, 4].map((at) => parseInt(whole.slice(at, at + 2), 16));
  return [red, green, blue];
}
