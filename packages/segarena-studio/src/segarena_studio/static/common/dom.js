// Find elements of a page, and create buttons and keys.

import { printed } from "./key-names.js";

/**
 * Return an element that the page's template must contain.
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} kind
 * @param {ParentNode} where
 * @returns {T}
 */
export function find(selector, kind, where) {
  const found = where.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`);
  return found;
}

/**
 * @param {string} className
 * @param {string} text
 * @param {string} label
 * @returns {HTMLButtonElement}
 */
export function button(className, text, label) {
  const made = Object.assign(document.createElement("button"), { type: "button", className, textContent: text });
  if (label) made.setAttribute("aria-label", label);
  return made;
}

/**
 * Create a button with an icon from the page's icon sheet.
 * @param {string} name
 * @param {string} title
 * @param {string} [key]
 * @returns {HTMLButtonElement}
 */
export function icon(name, title, key) {
  const made = button("icon", "", title);
  made.title = key ? `${title} (${printed(key).join(" ")})` : title;
  made.append(drawn(name));
  return made;
}

/** @param {string} name */
export function drawn(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", "0 0 24 24");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/**
 * @param {string} text
 * @param {string} title
 * @param {string} key
 * @param {() => void} press
 * @returns {HTMLButtonElement}
 */
export function labelButton(text, title, key, press) {
  const made = button("", text, "");
  made.title = key ? `${title} (${printed(key).join(" ")})` : title;
  if (title !== text) made.setAttribute("aria-label", title.toLowerCase().includes(text.toLowerCase()) ? title : `${text}: ${title}`);
  made.addEventListener("click", press);
  return made;
}

/**
 * Create an element that looks like a keyboard key.
 * @param {string} key
 * @returns {HTMLElement}
 */
export function keyCap(key) {
  const all = document.createElement("span");
  all.className = "caps";
  all.append(...printed(key).map((part) => Object.assign(document.createElement("kbd"), { textContent: part })));
  return all;
}
