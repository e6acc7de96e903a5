// The dialog in which people change the keys of actions.

import { find, keyCap } from "../common/dom.js";
import { keyOf, printed } from "../common/key-names.js";

/** @typedef {import("./actions.js").Action} Action */
/** @typedef {import("./own-keys.js").OwnKeys} OwnKeys */

/** These keys alone are not yet a shortcut. */
const MODIFIERS = ["Shift", "Control", "Alt", "Meta", "AltGraph", "Dead", "Process"];

export class KeysDialog {
  /**
   * @param {HTMLDialogElement} dialog
   * @param {OwnKeys} own
   * @param {() => void} onChange called after every change
   */
  constructor(dialog, own, onChange) {
    this.dialog = dialog;
    this.own = own;
    this.onChange = onChange;
    this.list = find("ul", HTMLElement, dialog);
    this.said = find("#own-keys-said", HTMLElement, dialog);
    /** @type {Action | null} the action that waits for a key */
    this.waiting = null;
    find("#keys-reset", HTMLButtonElement, dialog).addEventListener("click", () => {
      own.resetAll();
      this.update("All keys have been reset.");
    });
    // Escape would close the dialog, but here it only ends the wait for a key.
    dialog.addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  open() {
    this.waiting = null;
    this.update("Choose an action, then press its new key.");
    this.dialog.showModal();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { waiting, own } = this;
    if (!waiting || MODIFIERS.includes(event.key)) return;
    const key = keyOf(event);
    if (key.endsWith("Tab")) return this.stop("");
    event.preventDefault();
    event.stopPropagation();
    if (key === "Escape") return this.stop("Nothing was changed.");
    const conflicts = own.conflictsOf(waiting, key);
    if (conflicts === "fixed") return this.tell(`${shown(key)} has a fixed meaning; press another key.`);
    if (conflicts.length) return this.ask(waiting, key, conflicts);
    this.apply(waiting, key, []);
  }

  /**
   * Name the actions that have the key, and offer to take it from them.
   * @param {Action} action
   * @param {string} key
   * @param {Action[]} conflicts
   */
  ask(action, key, conflicts) {
    const names = conflicts.map((other) => `“${other.title}”`).join(" and ");
    this.tell(`${shown(key)} is the key of ${names}. `);
    const take = Object.assign(document.createElement("button"), { type: "button", textContent: "Use it here instead" });
    take.addEventListener("click", () => this.apply(action, key, conflicts));
    this.said.append(take);
    this.waiting = null;
    take.focus();
  }

  /**
   * @param {Action} action
   * @param {string} key
   * @param {Action[]} from
   */
  apply(action, key, from) {
    this.own.set(action, key, from);
    this.waiting = null;
    const lost = from.filter((other) => !other.keys.length).map((other) => `“${other.title}” has no key now.`);
    this.update([`“${action.title}” has the key ${shown(key)}.`, ...lost].join(" "));
    this.focusOn(action);
  }

  /** @param {string} text */
  stop(text) {
    const { waiting } = this;
    this.waiting = null;
    this.update(text);
    if (waiting) this.focusOn(waiting);
  }

  /** @param {Action} action */
  focusOn(action) {
    /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-name="${action.name}"] button`))?.focus();
  }

  /** @param {string} text */
  update(text) {
    this.tell(text);
    this.list.replaceChildren(...this.own.changeable().map((action) => this.line(action)));
    this.onChange();
  }

  /** @param {Action} action */
  line(action) {
    const line = document.createElement("li");
    line.dataset.name = action.name;
    const title = Object.assign(document.createElement("span"), { textContent: action.title });
    const change = Object.assign(document.createElement("button"), { type: "button" });
    change.setAttribute("aria-label", `Change the key of: ${action.title}`);
    if (action.keys.length) change.append(...action.keys.map(keyCap));
    else change.append("no key");
    change.addEventListener("click", () => {
      this.waiting = action;
      change.textContent = "press a key";
      this.tell(`Press the new key of “${action.title}”; Esc cancels.`);
    });
    line.append(title, change);
    if (this.own.isChanged(action)) {
      const reset = Object.assign(document.createElement("button"), { type: "button", textContent: "Reset" });
      reset.setAttribute("aria-label", `Reset the key of: ${action.title}`);
      reset.addEventListener("click", () => {
        this.own.reset(action);
        this.update(`“${action.title}” has its usual key again.`);
        this.focusOn(action);
      });
      line.append(reset);
    }
    return line;
  }

  /** @param {string} text */
  tell(text) {
    this.said.textContent = text;
  }
}

/**
 * Show the keys of the actions on the buttons of the page.
 * @param {Iterable<HTMLElement>} buttons with data-action
 * @param {(name: string) => string} keyFor
 */
export function retitle(buttons, keyFor) {
  for (const button of buttons) {
    const label = button.getAttribute("aria-label");
    const key = keyFor(button.dataset.action ?? "");
    if (label) button.title = key ? `${label} (${shown(key)})` : label;
  }
}

/** @param {string} key */
function shown(key) {
  return printed(key).join(" ");
}
