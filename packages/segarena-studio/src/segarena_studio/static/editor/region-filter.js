// The filter of the list of regions: by words in the name, and by state.

/** @typedef {import("./scene.js").Region} Region */
/** @typedef {"" | "unnamed" | "hidden" | "locked" | "thing" | "stuff"} Choice */

/** @type {Record<Exclude<Choice, "">, (region: Region) => boolean>} */
const CHOICES = {
  unnamed: (region) => region.name === "",
  hidden: (region) => region.is_hidden,
  locked: (region) => region.is_locked,
  thing: (region) => !region.is_stuff,
  stuff: (region) => region.is_stuff,
};

export class RegionFilter {
  text = "";
  /** @type {Choice} */
  choice = "";

  /** Whether the filter may hide regions. */
  get isActive() {
    return this.text.trim() !== "" || this.choice !== "";
  }

  /**
   * Whether the list shows a region. Its name must contain every word, in any order and case; a whole number
   * also matches the region at that position in the depth order.
   * @param {Region} region
   * @param {number} place 0 for the front
   */
  shows(region, place) {
    if (this.choice !== "" && !CHOICES[this.choice](region)) return false;
    const text = folded(this.text);
    if (/^\d+$/.test(text) && place + 1 === Number(text)) return true;
    const name = folded(region.name);
    return text.split(/\s+/).every((word) => name.includes(word));
  }
}

/** @param {string} text */
function folded(text) {
  return text.trim().normalize("NFC").toLowerCase();
}
