// Saving when the page is left or the user returns to it.

/** @typedef {import("../editor/saving.js").Saving} Saving */

/**
 * Trigger saving when the page is left, hidden, shown or focused again, and when the network is back. Let the
 * browser ask before the page is left if unsaved work is not safe.
 * @param {Saving} saving
 * @param {Window} [page]
 * @returns {() => void} stops listening
 */
export function watchPage(saving, page = window) {
  const leave = () => {
    saving.isLeaving = true;
    saving.retry();
    saving.isLeaving = false;
  };
  const back = () => saving.retry();
  const look = () => (page.document.visibilityState === "hidden" ? leave() : back());
  /** @param {BeforeUnloadEvent} event */
  const ask = (event) => {
    if (!saving.isSafe) event.preventDefault();
  };
  page.addEventListener("online", back);
  page.addEventListener("focus", back);
  page.addEventListener("pagehide", leave);
  page.addEventListener("beforeunload", ask);
  page.document.addEventListener("visibilitychange", look);
  return () => {
    page.removeEventListener("online", back);
    page.removeEventListener("focus", back);
    page.removeEventListener("pagehide", leave);
    page.removeEventListener("beforeunload", ask);
    page.document.removeEventListener("visibilitychange", look);
  };
}
