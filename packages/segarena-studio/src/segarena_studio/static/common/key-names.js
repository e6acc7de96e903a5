// Keys as people read them: "D", "Shift+A", "Ctrl+Z", "ArrowUp", "?". Which key was pressed, and how it is printed.

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
 * The key of an event with its modifiers, in the order Ctrl, Alt, Shift. Command counts as Ctrl. Shift is named for letters and
 * for keys that write nothing; "?" is just "?". On keyboards of other scripts the key's place counts.
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
 * The keys that one holds and presses, as they are printed.
 * @param {string} key
 * @returns {string[]}
 */
export function printed(key) {
  const parts = key === "+" ? ["+"] : key.endsWith("++") ? [...key.slice(0, -2).split("+"), "+"] : key.split("+");
  return parts.map((part) => PRINTED.get(part) ?? part);
}

/**
 * Whether an element takes the key for itself: text that is being written, a button that is being pressed.
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
