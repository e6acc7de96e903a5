// A dialogue as the server tells it.

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

import { momentOf } from "../../../reports/rounds.js";

/**
 * @param {Pick<Dialogue, "prompts" | "kept" | "held_again">} dialogue
 * @param {number} now  the round that is asked for
 */
export function momentIn(dialogue, now) {
  return momentOf(dialogue.prompts.length, [...dialogue.kept, ...dialogue.held_again], now);
}

/**
 * The most rounds that any of them had.
 * @param {Dialogue[]} dialogues
 */
export function roundsOf(dialogues) {
  return Math.max(0, ...dialogues.map((dialogue) => dialogue.prompts.length));
}

/**
 * The names of the masks that are drawn at a place after a round, as the server has them.
 * @param {Pick<import("./sample-info.js").Place, "dialogues" | "has_ignored">} place
 * @param {number} round
 */
export function layersAt({ dialogues, has_ignored }, round) {
  const moments = dialogues.map((dialogue) => ({ dialogue, moment: momentIn(dialogue, round) }));
  const answers = moments.filter(({ moment }) => moment.last).map(({ dialogue, moment }) => `${dialogue.number}.${moment.last}`);
  return ["target", ...(has_ignored ? ["ignored"] : []), ...answers];
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
