// Names of keys: "D", "Shift+A", "Ctrl+Z", "ArrowUp", "?". Map key events to names, and names to the text that
// is displayed.

const NAMES = new Map([
  [" ", "Space"],
  ["Esc", "Escape"],
  ["Del", "Delete"],
]);
const PRINTED = new Map([
  ["ArrowLeft", "←"],
  ["ArrowRight", "→"],
  ["ArrowUp", "↑"],
  ["ArrowDown", "↓"],
  ["Escape", "Esc"],
  ["Delete", "Del"],
  ["Backspace", "⌫"],
  ["Enter", "Enter"],
]);

/**
 * Return the key of an event with its modifiers, in the order Ctrl, Alt, Shift. Command counts as
 * Ctrl. Shift is included for letters and for keys without a character, so "?" has no Shift. With Alt
 * and on non-Latin keyboards, the physical key of a letter or digit counts.
 * @param {KeyboardEvent} event
 */
export function keyOf(event) {
  let key = NAMES.get(event.key) ?? event.key;
  const place = /^(?:Key|Digit)(.)$/.exec(event.code ?? "");
  if (place && key.length === 1 && (event.altKey || key.charCodeAt(0) > 127)) key = place[1];
  const isLetter = /^[a-z]$/i.test(key);
  if (isLetter) key = key.toUpperCase();
  const isShift = event.shiftKey && (isLetter || key.length > 1);
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${isShift ? "Shift+" : ""}${key}`;
}

/**
 * Return the keys of a combination, as displayed.
 * @param {string} key
 * @returns {string[]}
 */
export function printed(key) {
  const parts = key === "+" ? ["+"] : key.endsWith("++") ? [...key.slice(0, -2).split("+"), "+"] : key.split("+");
  return parts.map((part) => PRINTED.get(part) ?? part);
}

/**
 * Test whether the focused element handles the key itself, such as a text field or a button. An open dialog
 * handles all keys.
 * @param {EventTarget | null} target
 * @param {string} key
 */
export function isTaken(target, key) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog[open]")) return true;
  if (target instanceof HTMLInputElement && ["checkbox", "radio", "button", "range"].includes(target.type)) return key === "Space";
  if (target.isContentEditable || target.closest("input, textarea, select")) return true;
  return (key === "Enter" || key === "Space") && target.closest("button, a, summary, label") !== null;
}
