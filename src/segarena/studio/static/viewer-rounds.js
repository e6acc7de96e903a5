// Which answer is drawn when the slider stands at a round, and what the caption says of it.

/**
 * @typedef {object} Dialogue  what one run has about a place
 * @property {string} label
 * @property {number} number  of the run
 * @property {Record<string, number | null>[]} values  after each round
 * @property {any[][]} prompts  of each round
 * @property {number[]} seconds  of each round's answer
 * @property {number[]} kept  rounds after which the mask was kept
 * @property {number[]} held_again  rounds whose masks are there because it was held again
 * @property {string} failure
 */

/**
 * @typedef {object} Moment
 * @property {number} at  the round of this dialogue; its last one where it ended before
 * @property {number} last  the round whose answer is drawn; 0 where there is none until here
 * @property {boolean} isEnded  whether it ended before the round that is asked for
 */

/**
 * @param {{prompts: any[][], kept: number[], held_again?: number[]}} dialogue
 * @param {number} now  the round that is asked for
 * @returns {Moment}
 */
export function momentOf(dialogue, now) {
  const at = Math.min(now, dialogue.prompts.length);
  const there = [...dialogue.kept, ...(dialogue.held_again ?? [])].filter((round) => round <= at);
  return { at, last: Math.max(0, ...there), isEnded: at < now };
}

/**
 * The most rounds that any of them had.
 * @param {Dialogue[]} dialogues
 */
export function roundsOf(dialogues) {
  return Math.max(0, ...dialogues.map((dialogue) => dialogue.prompts.length));
}

/**
 * What is said beside the value.
 * @param {Moment} moment
 * @param {string} [word]  what a round is called
 */
export function noteOf({ at, last, isEnded }, word = "round") {
  const ended = isEnded ? `ended after ${word} ${at}` : "";
  const drawn = last === at || !at ? "" : last ? `drawn as it was after ${word} ${last}; ${at} was not kept` : "no answer was kept until here";
  return [ended, drawn].filter(Boolean).join("; ");
}

/**
 * The first value after a round with its name.
 * @param {Dialogue} dialogue
 * @param {number} at
 */
export function valueText(dialogue, at) {
  const [first] = Object.entries(dialogue.values[at - 1] ?? {}).filter(([, value]) => value !== null);
  return first ? `${first[0]} ${Number(first[1]).toFixed(3)}` : "–";
}
