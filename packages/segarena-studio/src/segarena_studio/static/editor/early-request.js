// The request for the drawing, sent before the modules of the editor are loaded: it is as large as all of them, so it
// uses the connection while they wait for each other.

import { Talk } from "../common/api.js";

/** @typedef {(received: number, total: number) => void} OnProgress */

const root = document.getElementById("scene");
const { task = "", key = "", person = "0", hasAssistants } = root?.dataset ?? {};
/** @type {[number, number]} bytes of the drawing so far and in all */
let progress = [0, 0];
/** @type {OnProgress} */
let listener = () => {};

export const talk = new Talk({ key, person: Number(person) });

/** @type {(answer: Promise<import("../common/api.js").Answer>) => void} */
let answer = () => {};

/**
 * The server's description of the task, with the drawing.
 * @type {Promise<import("../common/api.js").Answer>}
 */
export const earlyAnswer = new Promise((resolve) => (answer = resolve));

/** Send the request, and load the modules that the editor will import if the drawing names segmenters. */
export function requestDrawing() {
  const onProgress = (/** @type {[number, number]} */ ...now) => {
    progress = now;
    listener(...now);
  };
  answer(talk.ask("GET", `/studio/tasks/${task}/draft?packed=1`, undefined, { onProgress }));
  // The editor imports them itself, and reports a failure.
  if (hasAssistants) void Promise.all([import("./assistant.js"), import("./assist-tool.js")]).catch(() => {});
}

/**
 * Report the progress of the request.
 * @param {OnProgress} onProgress
 */
export function watchEarlyAnswer(onProgress) {
  listener = onProgress;
  onProgress(...progress);
}
