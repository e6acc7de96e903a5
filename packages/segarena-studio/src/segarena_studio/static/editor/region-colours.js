// A colour for each region, derived from the number in its id, so that it is stable when other
// regions are added or removed. The first eight are distinguishable with any kind of colour
// blindness (those of Okabe and Ito, with brown instead of black); lighter and darker variants
// follow.

/** @typedef {[number, number, number]} Rgb */

/** @type {Rgb[]} */
const HUES = [
  [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [240, 228, 66], [120, 50, 20],
];
/** @type {[Rgb, number][]} the colours mixed into the hues, and their share */
const KIN = [[[0, 0, 0], 0], [[255, 255, 255], 0.45], [[0, 0, 0], 0.4]];
/** @type {Record<"light" | "dark", {page: Rgb, towards: Rgb}>} */
const THEMES = { light: { page: [255, 255, 255], towards: [0, 0, 0] }, dark: { page: [20, 20, 24], towards: [255, 255, 255] } };
const LEAST_CONTRAST = 3;

/**
 * Return the colours of a region: for its fill, for an outline that stands out from the page, and
 * for text on the fill.
 * @param {string} id
 * @param {boolean} isDark
 */
export function colourOf(id, isDark) {
  const number = numberOf(id);
  const [partner, share] = KIN[Math.floor(number / HUES.length) % KIN.length];
  const fill = mixed(HUES[number % HUES.length], partner, share);
  return { fill: css(fill), stroke: css(standingOut(fill, isDark)), text: css(textOn(fill)) };
}

/** @param {string} id */
function numberOf(id) {
  const digits = /\d+$/.exec(id);
  if (digits) return Math.max(0, Number(digits[0]) - 1) % (HUES.length * KIN.length);
  return [...id].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7);
}

/**
 * Shift a colour away from the page colour until the contrast is sufficient.
 * @param {Rgb} colour
 * @param {boolean} isDark
 */
function standingOut(colour, isDark) {
  const { page, towards } = THEMES[isDark ? "dark" : "light"];
  let share = 0;
  while (contrast(mixed(colour, towards, share), page) < LEAST_CONTRAST) share += 0.05;
  return mixed(colour, towards, share);
}

/**
 * @param {Rgb} fill
 * @returns {Rgb}
 */
function textOn(fill) {
  return contrast(fill, [0, 0, 0]) >= contrast(fill, [255, 255, 255]) ? [0, 0, 0] : [255, 255, 255];
}

/**
 * Return the contrast ratio defined by WCAG 2, 1 to 21.
 * @param {Rgb} one
 * @param {Rgb} other
 */
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** @param {Rgb} colour */
function luminance(colour) {
  const [red, green, blue] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * @param {Rgb} one
 * @param {Rgb} other
 * @param {number} share share of the other colour
 * @returns {Rgb}
 */
function mixed(one, other, share) {
  const [red, green, blue] = one.map((value, band) => Math.round(value + (other[band] - value) * Math.min(share, 1)));
  return [red, green, blue];
}

/** @param {Rgb} colour */
function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}
