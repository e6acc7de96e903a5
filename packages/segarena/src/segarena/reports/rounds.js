// Which answer is drawn when the slider stands at a round, and what is said of it: in the galleries of reports, where everything
// is in the page, and in the viewer, which asks for it. Reports take it as a script beside others, the viewer as a module.

/**
 * @typedef {object} Moment
 * @property {number} at  the round of this dialogue; its last one where it ended before
 * @property {number} last  the round whose answer is drawn; 0 where there is none until here
 * @property {boolean} isEnded  whether it ended before the round that is asked for
 */

/**
 * @param {number} rounds  that a dialogue had
 * @param {number[]} kept  rounds after which its answer is there
 * @param {number} now  the round that is asked for
 * @returns {Moment}
 */
export function momentOf(rounds, kept, now) {
  const at = Math.min(now, rounds);
  return { at, last: Math.max(0, ...kept.filter((round) => round <= at)), isEnded: at < now };
}

/**
 * What is said beside the value; nothing where the answer is drawn as it was after the round that is asked for.
 * @param {Moment} moment
 * @param {string} word  what a round is called
 */
export function noteOf({ at, last, isEnded }, word) {
  const ended = isEnded ? `ended after ${word} ${at}` : "";
  const earlier = last ? `drawn as it was after ${word} ${last}; ${at} was not kept` : "no answer was kept until here";
  return [ended, last === at || !at ? "" : earlier].filter(Boolean).join("; ");
}
