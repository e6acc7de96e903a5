// Colours of the page's style sheet, which has others in the dark, for what is painted on canvases.

/** @type {Map<string, string>} */
const known = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  known.clear();
  for (const changed of listeners) changed();
});

/**
 * Be told when the colours are others, until the returned function is called.
 * @param {() => void} changed
 */
export function onColours(changed) {
  listeners.add(changed);
  return () => void listeners.delete(changed);
}

/**
 * A colour as CSS writes it.
 * @param {string} name  of a variable, such as "--truth"
 */
export function cssOf(name) {
  let colour = known.get(name);
  if (!colour) known.set(name, (colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
  return colour;
}

/**
 * Red, green and blue of a colour that is written in three or six digits.
 * @param {string} name
 * @returns {[number, number, number]}
 */
export function rgbOf(name) {
  const digits = cssOf(name).replace("#", "");
  const whole = digits.length === 3 ? [...digits].map((digit) => digit + digit).join("") : digits;
  const [red, green, blue] = [0, 2, 4].map((at) => parseInt(whole.slice(at, at + 2), 16));
  return [red, green, blue];
}
