// The request for the drawing, sent while the modules of the editor are still loading.

import { Talk } from "../common/api.js";

/** @typedef {(received: number, total: number) => void} OnProgress */

const root = document.getElementById("scene");
const { task = "", key = "", person = "0" } = root?.dataset ?? {};
/** @type {[number, number]} bytes of the drawing so far and in all */
let progress = [0, 0];
/** @type {OnProgress} */
let listener = () => {};

export const talk = new Talk({ key, person: Number(person) });

/** The server's description of the task, with the drawing. */
export const earlyAnswer = talk.ask("GET", `/studio/tasks/${task}/draft`, undefined, {
  onProgress: (...now) => {
    progress = now;
    listener(...now);
  },
});

/**
 * Report the progress of the request.
 * @param {OnProgress} onProgress
 */
export function watchEarlyAnswer(onProgress) {
  listener = onProgress;
  onProgress(...progress);
}
