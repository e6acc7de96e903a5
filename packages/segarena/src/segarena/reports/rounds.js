// Choose the answer to draw at a round of the slider, and its note: for report galleries, which
// embed all answers, and for the viewer, which requests them. Reports embed this file as a script,
// the viewer imports it as a module.

/**
 * @typedef {object} Moment
 * @property {number} at  the round of this dialogue, at most its last one
 * @property {number} last  the round whose answer is drawn; 0 if there is none so far
 * @property {boolean} isEnded  whether it ended before the requested round
 */

/**
 * @param {number} rounds  number of rounds in the dialogue
 * @param {number[]} kept  rounds whose answer was saved
 * @param {number} now  the requested round
 * @returns {Moment}
 */
export function momentOf(rounds, kept, now) {
  const at = Math.min(now, rounds);
  return { at, last: Math.max(0, ...kept.filter((round) => round <= at)), isEnded: at < now };
}

/**
 * Return the note beside the value; empty if the drawn answer is that of the requested round.
 * @param {Moment} moment
 * @param {string} word  display name of a round
 */
export function noteOf({ at, last, isEnded }, word) {
  const ended = isEnded ? `ended after ${word} ${at}` : "";
  const earlier = last ? `drawn as it was after ${word} ${last}; ${at} was not kept` : "no answer was kept until here";
  return [ended, last === at || !at ? "" : earlier].filter(Boolean).join("; ");
}
