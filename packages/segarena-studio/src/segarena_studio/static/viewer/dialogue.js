// A dialogue in the server's JSON format.

/**
 * @typedef {object} Dialogue  the record of one run at a place
 * @property {string} label
 * @property {number} number  number of the run
 * @property {Record<string, number | null>[]} values  after each round
 * @property {any[][]} prompts  prompts of each round
 * @property {number[]} seconds  time that each round's answer took
 * @property {number[]} kept  rounds whose mask was saved
 * @property {number[]} held_again  rounds whose masks come from a replay
 * @property {string} failure
 */

import { momentOf } from "../../../reports/rounds.js";

/**
 * @param {Pick<Dialogue, "prompts" | "kept" | "held_again">} dialogue
 * @param {number} now  the requested round
 */
export function momentIn(dialogue, now) {
  return momentOf(dialogue.prompts.length, [...dialogue.kept, ...dialogue.held_again], now);
}

/**
 * Return the largest number of rounds among the dialogues.
 * @param {Dialogue[]} dialogues
 */
export function roundsOf(dialogues) {
  return Math.max(0, ...dialogues.map((dialogue) => dialogue.prompts.length));
}

/**
 * Return the server's names of the masks drawn at a place after a round.
 * @param {Pick<import("./sample-info.js").Place, "dialogues" | "has_ignored">} place
 * @param {number} round
 */
export function layersAt({ dialogues, has_ignored }, round) {
  const moments = dialogues.map((dialogue) => ({ dialogue, moment: momentIn(dialogue, round) }));
  const answers = moments.filter(({ moment }) => moment.last).map(({ dialogue, moment }) => `${dialogue.number}.${moment.last}`);
  return ["target", ...(has_ignored ? ["ignored"] : []), ...answers];
}

/**
 * Return the first metric value after a round, with its name.
 * @param {Dialogue} dialogue
 * @param {number} at
 */
export function valueText(dialogue, at) {
  const [first] = Object.entries(dialogue.values[at - 1] ?? {}).filter(([, value]) => value !== null);
  return first ? `${first[0]} ${Number(first[1]).toFixed(3)}` : "–";
}
