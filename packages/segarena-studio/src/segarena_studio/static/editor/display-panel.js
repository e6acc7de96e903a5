// The sliders and keys for the display of the picture. This browser remembers the settings for each picture.

import { ACTIONS } from "./actions.js";
import { sixteenBits } from "../common/sixteen-bits.js";
import { DisplaySettings } from "./display-settings.js";
import { PRESETS, firstWindow, greys, presetsOf, short, tableOf } from "../../../reports/viewer/window-level.js";

/** @typedef {import("../../../reports/viewer/zoomable-picture.js").Picture} Picture */
/** @typedef {import("./actions.js").Action} Action */
/** @typedef {import("../../../reports/viewer/window-level.js").Window} Window */
/** @typedef {import("../../../reports/viewer/window-level.js").Levels & {is_inverted: boolean}} DeepLevels */

/** Keys from left to right: darker, brighter, less contrast, more contrast, reset. */
const KEYS = ["5", "6", "7", "8", "9"];

export class DisplayPanel {
  /**
   * @param {HTMLElement} place
   * @param {Picture} picture
   * @param {string} task
   */
  constructor(place, picture, task) {
    this.place = place;
    this.picture = picture;
    this.storageKey = `segarena-display-${task}`;
    this.display = new DisplaySettings(null, stored(this.storageKey));
    /** @type {{codes: Uint16Array, levels: DeepLevels} | null} the values of a 16-bit picture, once they are loaded */
    this.deep = null;
    this.isRendering = false;
    this.isStale = false;
    for (const name of /** @type {const} */ (["brightness", "contrast"])) {
      this.input(name).addEventListener("input", () => this.change(() => this.display.set({ [name]: Number(this.input(name).value) })));
    }
    place.querySelector("[data-reset]")?.addEventListener("click", () => this.change(() => this.display.reset()));
    ACTIONS.splice(ACTIONS.findIndex((action) => action.name === "nearer"), 0, ...this.actions());
    this.apply();
  }

  /** @returns {Action[]} */
  actions() {
    const does = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ key, /** @type {() => void} */ run) =>
      ({ name, title, keys: [key], group: "View", run: () => this.change(run) });
    return [
      { name: "display", title: "Show or hide the sliders of brightness and contrast", keys: ["Shift+W"], group: "View",
        run: (editor) => this.toggle(editor), isOn: () => !this.place.hidden },
      does("darker", "Darker", KEYS[0], () => this.display.brighten(-1)),
      does("brighter", "Brighter", KEYS[1], () => this.display.brighten(1)),
      does("softer", "Less contrast", KEYS[2], () => this.display.sharpen(-1)),
      does("sharper", "More contrast", KEYS[3], () => this.display.sharpen(1)),
      does("as-it-was", "Reset brightness and contrast", KEYS[4], () => this.display.reset()),
    ]; // prettier-ignore
  }

  /** @param {import("./editor.js").Editor} editor */
  toggle(editor) {
    this.place.hidden = !this.place.hidden;
    editor.changed();
  }

  /** @param {string} name */
  input(name) {
    return /** @type {HTMLInputElement} */ (this.place.querySelector(`[name=${name}]`));
  }

  /** @param {() => void} act */
  change(act) {
    act();
    store(this.storageKey, this.display.isChanged ? this.display.settings : null);
    this.apply();
  }

  /**
   * Display a 16-bit picture with window and level from now on.
   * @param {ArrayBuffer} values  16 bits per pixel, low byte first
   * @param {DeepLevels} levels
   */
  useValues(values, levels) {
    this.deep = { codes: sixteenBits(values), levels };
    this.display = new DisplaySettings(levels, stored(this.storageKey));
    const wide = Math.abs(levels.high - levels.low);
    const set = (/** @type {Partial<Window>} */ changes) =>
      this.change(() => this.display.settings.window && this.display.set({ window: { ...this.display.settings.window, ...changes } }));
    const [level, width] = [this.input("level"), this.input("width")];
    Object.assign(level, { min: levels.low - wide, max: levels.high + wide, step: "any" });
    Object.assign(width, { min: Math.min(Math.abs(levels.step), wide / 200), max: 2 * wide, step: "any" });
    level.addEventListener("input", () => set({ level: Number(level.value) }));
    width.addEventListener("input", () => set({ width: Math.max(1e-6, Number(width.value)) }));
    const preset = /** @type {HTMLSelectElement} */ (this.place.querySelector("[name=preset]"));
    preset.append(...presetsOf(levels).map((name) => new Option(name)));
    preset.addEventListener("change", () => set(PRESETS[preset.value] ?? firstWindow(levels)));
    this.apply();
  }

  /** Render the picture with the current window, and again if the window has changed meanwhile. */
  async render() {
    if (this.isRendering) return void (this.isStale = true);
    this.isRendering = true;
    do {
      this.isStale = false;
      const { window } = this.display.settings;
      if (!this.deep || !window) break;
      const table = tableOf(this.deep.levels, window);
      if (this.deep.levels.is_inverted) for (let place = 0; place < table.length; place++) table[place] = 255 - table[place];
      const [width, height] = this.picture.size;
      const image = new ImageData(greys(this.deep.codes, table), width, height);
      await this.picture.setImage(await createImageBitmap(image), { size: [width, height], keepsView: true });
    } while (this.isStale);
    this.isRendering = false;
  }

  apply() {
    const { brightness, contrast, window } = this.display.settings;
    if (window) {
      for (const [name, value] of Object.entries(window)) {
        this.input(name).value = String(value);
        const told = /** @type {HTMLElement} */ (this.place.querySelector(`[data-told=${name}]`));
        told.textContent = short(value);
      }
      void this.render();
      return;
    }
    this.picture.base.style.filter = this.display.filter;
    for (const [name, value] of Object.entries({ brightness, contrast })) {
      this.input(name).value = String(value);
      const told = /** @type {HTMLElement} */ (this.place.querySelector(`[data-told=${name}]`));
      told.textContent = `${value > 0 ? "+" : ""}${value}`;
    }
    this.picture.onView(); // the overview of the picture shows the same brightness
    this.picture.redraw();
  }
}

/** @param {string} key */
function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null; // storage is disabled or damaged
  }
}

/**
 * @param {string} key
 * @param {object | null} value  null forgets it
 */
function store(key, value) {
  try {
    if (value) localStorage.setItem(key, JSON.stringify(value));
    else localStorage.removeItem(key);
  } catch {
    // Storage is disabled or full; the settings last until the page is closed.
  }
}
