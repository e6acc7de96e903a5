// How the picture is displayed: brightness and contrast, or window and level for 16-bit pictures. The
// picture itself and the drawing never change.

import { firstWindow } from "../../../reports/viewer/window-level.js";

/** @typedef {import("../../../reports/viewer/window-level.js").Levels} Levels */
/** @typedef {import("../../../reports/viewer/window-level.js").Window} Window */
/** @typedef {{brightness: number, contrast: number, window: Window | null}} Settings */

/** Limit of brightness and contrast in both directions. */
export const MOST = 100;
/** Brightness or contrast that doubles the factor of the filter. */
const DOUBLES = 50;
const STEP = 10;
/** Share of the initial window's width by which one step moves the level. */
const LEVEL_SHARE = 0.05;
const WIDTH_FACTOR = 1.15;

export class DisplaySettings {
  /**
   * @param {Levels | null} levels  null for an 8-bit picture
   * @param {unknown} [stored]  settings of an earlier visit
   */
  constructor(levels, stored) {
    this.levels = levels;
    /** @type {Settings} */
    this.settings = validSettings(stored, levels) ?? this.first();
  }

  /** @returns {Settings} */
  first() {
    return { brightness: 0, contrast: 0, window: this.levels && firstWindow(this.levels) };
  }

  get isChanged() {
    return JSON.stringify(this.settings) !== JSON.stringify(this.first());
  }

  reset() {
    this.settings = this.first();
  }

  /** @param {Partial<Settings>} changes */
  set(changes) {
    this.settings = { ...this.settings, ...changes };
  }

  /**
   * Brighten or darken the picture; if it has 16 bits, by its level.
   * @param {number} steps  negative to darken
   */
  brighten(steps) {
    const { window, brightness } = this.settings;
    if (!window || !this.levels) return this.set({ brightness: clamp(brightness + STEP * steps) });
    const range = Math.abs(this.levels.high - this.levels.low);
    this.set({ window: { ...window, level: window.level - steps * LEVEL_SHARE * range } });
  }

  /**
   * Raise or lower the contrast; if the picture has 16 bits, by the width of its window.
   * @param {number} steps  negative to lower it
   */
  sharpen(steps) {
    const { window, contrast } = this.settings;
    if (!window || !this.levels) return this.set({ contrast: clamp(contrast + STEP * steps) });
    const width = Math.max(Math.abs(this.levels.step), window.width * WIDTH_FACTOR ** -steps);
    this.set({ window: { ...window, width } });
  }

  /** The CSS filter of an 8-bit picture; "" if nothing is changed. */
  get filter() {
    const { brightness, contrast } = this.settings;
    if (!brightness && !contrast) return "";
    return `brightness(${factor(brightness)}) contrast(${factor(contrast)})`;
  }
}

/** @param {number} value */
function factor(value) {
  return Number((2 ** (value / DOUBLES)).toFixed(4));
}

/** @param {number} value */
function clamp(value) {
  return Math.min(MOST, Math.max(-MOST, value));
}

/**
 * Return stored settings if they are valid; null otherwise.
 * @param {any} stored
 * @param {Levels | null} levels
 * @returns {Settings | null}
 */
function validSettings(stored, levels) {
  if (stored === null || typeof stored !== "object") return null;
  const { brightness, contrast, window } = stored;
  const isPlain = [brightness, contrast].every((value) => Number.isFinite(value) && Math.abs(value) <= MOST);
  const isWindow = levels ? Number.isFinite(window?.level) && window.width > 0 : window === null;
  return isPlain && isWindow ? { brightness, contrast, window: levels ? { level: window.level, width: window.width } : null } : null;
}
