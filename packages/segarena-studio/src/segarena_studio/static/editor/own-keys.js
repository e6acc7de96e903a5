// Keys that a person has chosen for the actions of the editor, stored in this browser.

import { ACTIONS } from "./actions.js";

/** @typedef {import("./actions.js").Action} Action */
/** @typedef {{getItem: (name: string) => string | null, setItem: (name: string, value: string) => void, removeItem: (name: string) => void}} Store  like localStorage */

/** Groups of actions that work with one tool only, so that different groups may use the same key. */
const TOOL_GROUPS = ["Drawing", "Painting", "Asking", "Adjusting"];
/** Keys with a fixed meaning in the editor, in the browser, or for moving the focus. */
const FIXED = /^(Ctrl\+|Alt\+|Shift\+)*(Arrow(Left|Right|Up|Down)|Enter|Escape|Space|Tab)$|^\?$|^F\d+$|^Ctrl\+(Shift\+)?[NTWQR]$/;
/** Actions whose keys stay. */
const FIXED_ACTIONS = ["press", "escape"];

/**
 * Return the browser's storage, or one that stores nothing if the browser denies access.
 * @returns {Store}
 */
export function browserStore() {
  try {
    return localStorage;
  } catch {
    return { getItem: () => null, setItem: () => {}, removeItem: () => {} };
  }
}

/** @type {Map<string, string[]>} the keys of each action before any change */
const defaults = new Map();

export class OwnKeys {
  /**
   * Apply the stored keys to the table of actions.
   * @param {Store} store
   * @param {string} person
   * @param {Action[]} [actions]
   */
  constructor(store, person, actions = ACTIONS) {
    this.store = store;
    this.name = `segarena-keys-${person}`;
    this.actions = actions;
    for (const action of actions) if (!defaults.has(action.name)) defaults.set(action.name, action.keys);
    this.load();
  }

  /** Apply the stored keys, including those that another tab has stored since. */
  load() {
    const own = this.read();
    for (const action of this.changeable()) action.keys = own[action.name] ?? this.defaultsOf(action);
  }

  /** The actions whose keys can be changed. */
  changeable() {
    return this.actions.filter((action) => action.group !== "" && !FIXED_ACTIONS.includes(action.name));
  }

  /** @param {Action} action */
  defaultsOf(action) {
    return defaults.get(action.name) ?? [];
  }

  /** @param {Action} action */
  isChanged(action) {
    return action.keys.join(" ") !== this.defaultsOf(action).join(" ");
  }

  /**
   * Return why an action cannot get a key: "fixed" if the key is reserved, otherwise the actions that conflict; [] if it
   * is free.
   * @param {Action} action
   * @param {string} key
   * @returns {"fixed" | Action[]}
   */
  conflictsOf(action, key) {
    if (FIXED.test(key)) return "fixed";
    return this.actions.filter((other) => other !== action && other.keys.includes(key) && this.meet(action, other, key));
  }

  /**
   * Whether a key would be ambiguous if two actions had it.
   * @param {Action} one
   * @param {Action} other
   * @param {string} key
   */
  meet(one, other, key) {
    const areApart = one.group !== other.group && TOOL_GROUPS.includes(one.group) && TOOL_GROUPS.includes(other.group);
    // The table itself gives some keys two meanings, depending on the situation.
    const isUsual = this.defaultsOf(one).includes(key) && this.defaultsOf(other).includes(key);
    return !areApart && !isUsual;
  }

  /**
   * Replace the keys of an action with one key, and remove this key from other actions.
   * @param {Action} action
   * @param {string} key
   * @param {Action[]} from
   */
  set(action, key, from = []) {
    action.keys = [key];
    for (const other of from) other.keys = other.keys.filter((each) => each !== key);
    this.keep();
  }

  /**
   * Restore the default keys of an action, and remove them from actions that got them meanwhile.
   * @param {Action} action
   */
  reset(action) {
    action.keys = this.defaultsOf(action);
    for (const key of action.keys) {
      const conflicts = this.conflictsOf(action, key);
      if (conflicts === "fixed") continue;
      for (const other of conflicts) other.keys = other.keys.filter((each) => each !== key);
    }
    this.keep();
  }

  resetAll() {
    for (const action of this.actions) action.keys = this.defaultsOf(action);
    this.keep();
  }

  keep() {
    const changed = this.changeable().filter((action) => this.isChanged(action));
    const own = Object.fromEntries(changed.map((action) => [action.name, action.keys]));
    try {
      if (changed.length) this.store.setItem(this.name, JSON.stringify(own));
      else this.store.removeItem(this.name);
    } catch {
      // If the browser stores nothing, the keys last until the page is closed.
    }
  }

  /** @returns {Record<string, string[]>} */
  read() {
    try {
      const own = JSON.parse(this.store.getItem(this.name) ?? "{}");
      const valid = Object.entries(own ?? {}).filter(([, keys]) => Array.isArray(keys) && keys.every((key) => typeof key === "string" && key !== ""));
      return Object.fromEntries(valid);
    } catch {
      return {};
    }
  }
}
