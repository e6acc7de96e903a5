// Checks that take a long time: the server responds with their progress, and the page asks again until
// they are finished.

/** @typedef {import("../common/api.js").Answer} Answer */
/** @typedef {{step: string, done: number, total: number, unit: string}} CheckProgress */

const CHECKING = 202;
const AGAIN_MS = 500;
/** Number of requests in a row that may fail after the checks have begun. */
const MOST_FAILURES = 8;
/** @type {Record<string, string>} */
const STEPS = {
  areas: "Filling regions",
  outlines: "Checking outlines",
  "hidden regions": "Looking for hidden regions",
  duplicates: "Looking for regions drawn twice",
  concavities: "Looking for missing hidden parts",
  borders: "Comparing borders",
};

/**
 * Repeat a request until the checks are finished, the request fails or nobody is waiting for it; return the
 * last answer. After the checks have begun, an unreachable or busy server ends this only if more than
 * MOST_FAILURES requests in a row fail.
 * @param {() => Promise<Answer>} ask
 * @param {(progress: CheckProgress | null) => void} onProgress
 * @param {() => boolean} isWaiting
 * @returns {Promise<Answer>}
 */
export async function askUntilChecked(ask, onProgress, isWaiting, pause_ms = AGAIN_MS) {
  let [failures, hasBegun] = [0, false];
  for (;;) {
    const answer = await ask();
    const isChecking = answer.status === CHECKING;
    const hasFailed = hasBegun && (answer.outcome === "away" || answer.outcome === "busy");
    failures = hasFailed ? failures + 1 : 0;
    if (!isWaiting() || failures > MOST_FAILURES || !(isChecking || hasFailed)) return answer;
    hasBegun = true;
    if (isChecking) onProgress(answer.body.progress);
    await new Promise((resolve) => setTimeout(resolve, Math.max(pause_ms, answer.wait_ms)));
  }
}

/**
 * Describe the progress of the checks.
 * @param {CheckProgress | null} progress  null while they wait for other drawings
 */
export function progressText(progress) {
  if (!progress) return "Waiting for the checks of other drawings";
  const { step, done, total, unit } = progress;
  return `${STEPS[step] ?? "Checking"}: ${done.toLocaleString("en")} of ${total.toLocaleString("en")} ${unit}`;
}
