// Parts of a page that follow the server: filters apply without a button, and counts are fetched
// again when the reader returns to the page.
//
// A part is an element with an id and `data-live`. Forms with `data-filter` choose what the parts
// show. Without this script the forms have a button, and the browser loads the page again.

const TYPING_MS = 250;
const PARTS = "[data-live][id]";
let requests = 0;

/**
 * Replace the live parts of this page with those of the page at an address, by default this page's own address.
 * @param {string} address
 * @returns {Promise<boolean>} false if the server cannot be reached or sent another page
 */
export async function refreshParts(address = location.href) {
  const number = ++requests;
  const parts = [...document.querySelectorAll(PARTS)];
  for (const part of parts) part.setAttribute("aria-busy", "true");
  const text = await fetchPage(address);
  // A newer request is under way, and its parts are still marked as busy.
  if (number !== requests) return true;
  for (const part of parts) part.removeAttribute("aria-busy");
  if (text === null) return false;
  const page = new DOMParser().parseFromString(text, "text/html");
  if (parts.some((part) => part.id && !page.getElementById(part.id))) return false;
  for (const part of parts) replaceContents(part, /** @type {Element} */ (page.getElementById(part.id)));
  document.dispatchEvent(new CustomEvent("segarena:replaced"));
  return true;
}

/** @param {string} address */
async function fetchPage(address) {
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" }, credentials: "same-origin", cache: "no-store" });
    return answer.ok ? await answer.text() : null;
  } catch {
    return null;
  }
}

/**
 * Replace the contents of a part unless they are the same, and keep the focus on the same link.
 * @param {Element} part
 * @param {Element} newest
 */
function replaceContents(part, newest) {
  if (part.innerHTML === newest.innerHTML) return;
  const focused = document.activeElement;
  const link = focused && part.contains(focused) ? focused.getAttribute("href") : null;
  part.replaceChildren(...newest.childNodes);
  if (link === null) return;
  const same = [...part.querySelectorAll("a")].find((one) => one.getAttribute("href") === link && one.tabIndex >= 0);
  same?.focus();
}

/**
 * Return the address that a filter form leads to, without empty fields.
 * @param {HTMLFormElement} form
 */
function addressOf(form) {
  const address = new URL(form.action, location.href);
  address.search = "";
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && value.trim()) address.searchParams.set(name, value.trim());
  }
  return address;
}

/** @param {HTMLFormElement} form */
async function applyFilter(form) {
  const address = addressOf(form);
  history.replaceState(null, "", `${address.pathname}${address.search}`);
  // Open the address, because the server's error page gives the reason, such as an ended session.
  if (!(await refreshParts(address.href))) location.assign(address.href);
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-filter]"))) {
  let timer = 0;
  form.addEventListener("input", ({ target }) => {
    clearTimeout(timer);
    const isTyped = target instanceof HTMLInputElement && target.type === "search";
    timer = window.setTimeout(() => void applyFilter(form), isTyped ? TYPING_MS : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    void applyFilter(form);
  });
}

// Browsers show a page as it was left when the reader goes back to it or to its tab.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) void refreshParts();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") void refreshParts();
});
