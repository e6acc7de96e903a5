// Unresolved comments in the dialog that finishes a picture, fetched anew each time it opens,
// because a reviewer may have added some in the meantime.

import { Talk } from "../common/api.js";

/** @typedef {{text: string, by: string, is_done: boolean}} Comment */

const scene = /** @type {HTMLElement} */ (document.getElementById("scene"));
const place = /** @type {HTMLElement} */ (document.getElementById("finish-comments"));
const talk = new Talk({ key: scene.dataset.key ?? "" });

/** @param {Comment[]} comments */
function show(comments) {
  const left = comments.filter((comment) => !comment.is_done);
  place.hidden = left.length === 0;
  const heading = /** @type {HTMLElement} */ (place.querySelector("h3"));
  heading.textContent = left.length === 1 ? "1 unresolved comment" : `${left.length} unresolved comments`;
  const list = /** @type {HTMLElement} */ (place.querySelector("ul"));
  list.replaceChildren(...left.map(lineOf));
}

/** @param {Comment} comment */
function lineOf(comment) {
  const line = document.createElement("li");
  const by = Object.assign(document.createElement("small"), { textContent: comment.by });
  line.append(comment.text, " ", by);
  return line;
}

document.getElementById("finish")?.addEventListener("click", async () => {
  const answer = await talk.ask("GET", `/studio/tasks/${scene.dataset.task}/comments`);
  // Offline, the drawing cannot be finished either, and the editor says so.
  if (answer.outcome === "done") show(answer.body.comments);
});
place.querySelector("button")?.addEventListener("click", () => {
  /** @type {HTMLDialogElement | null} */ (place.closest("dialog"))?.close();
  /** @type {HTMLElement | null} */ (document.querySelector("#notes input[type=checkbox]:not(:checked)"))?.focus();
});
