// A page that is left, hidden, or come back to, and what that means for what is not saved yet.

/** @typedef {import("../editor/saving.js").Saving} Saving */

/**
 * Have a page's coming and going move its saving along.
 * @param {Saving} saving
 * @param {Window} [page]
 * @returns {() => void} what ends it
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
