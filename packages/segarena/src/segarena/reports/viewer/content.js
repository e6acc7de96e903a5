// The content of a viewer: a sample, or the dialogues of several runs about one of its targets.
// Python writes it as JSON (segarena.reports.viewer_content), and every viewer reads it.

/** @typedef {import("./plane-geometry.js").Plane} Plane */
/** @typedef {[string, string, string, number]} Key  sample, target, user, repeat */
/** @typedef {Map<number, string>} Outlines  SVG path data of each object, by its number from 1 */

/**
 * @typedef {object} Dialogue  the dialogue of one run, or another view of the sample
 * @property {string} label
 * @property {number} number  number of the run, from 0
 * @property {string} css  class of its colour
 * @property {string[]} captions  text next to the name after each round
 * @property {Record<string, number | null>[]} values  metrics after each round
 * @property {any[][]} prompts  prompts of each round
 * @property {number[]} seconds  time that each round's answer took
 * @property {number[]} stored  rounds whose answer was stored by the run
 * @property {number[]} replayed  rounds whose answer comes from a replay
 * @property {string} failure
 * @property {string} state  "solved", "unsolved", "failed" or ""
 * @property {boolean} is_run  whether it is the dialogue of a run, not another view of the sample
 * @property {boolean} is_grey  whether the picture is shown without colour
 * @property {string} heat  picture over the sample, in place of the answer's area
 * @property {string[]} charts  SVG of each round
 */

/** @typedef {{label: string, picture: string, size: [number, number], outline: string}} Example */

/**
 * @typedef {object} Content
 * @property {Key} key
 * @property {string} kind  "image", "volume" or "video"
 * @property {string} word  name of a round
 * @property {Plane[]} planes  of each direction
 * @property {import("./window-level.js").Levels | null} levels  grey levels, for volumes only
 * @property {{number: number, id: string, label: string}[]} objects
 * @property {boolean} has_ignored
 * @property {boolean} has_truth  whether the target is known
 * @property {boolean} shows_latest  whether only the prompts of the current round are drawn
 * @property {number[]} thresholds  marked levels of the curve
 * @property {Dialogue[]} dialogues
 * @property {Example[]} examples  pictures between the target and the runs
 * @property {string[]} notes
 */

/**
 * @typedef {object} Source  loads what a viewer draws
 * @property {(content: Content, direction: number, place: number) => Promise<PlanePicture>} picture
 * @property {(content: Content, direction: number, place: number, names: string[]) => Promise<Map<string, Outlines>>} layers
 */

/**
 * @typedef {object} PlanePicture  a bitmap, or for volumes the code of each voxel
 * @property {ImageBitmap | HTMLImageElement | null} bitmap
 * @property {Uint16Array | null} bits
 * @property {[number, number]} size  rows and columns
 */

/**
 * @typedef {object} Moment
 * @property {number} at  the round of this dialogue, at most its last one
 * @property {number} last  the round whose answer is drawn; 0 if there is none so far
 * @property {boolean} isEnded  whether it ended before the requested round
 */

/**
 * Choose which prediction of a dialogue to draw at a round.
 * @param {Pick<Dialogue, "prompts" | "captions" | "stored" | "replayed">} dialogue
 * @param {number} round  the requested round
 * @returns {Moment}
 */
export function momentIn(dialogue, round) {
  const at = Math.min(round, lastRoundOf(dialogue));
  const available = [...dialogue.stored, ...dialogue.replayed].filter((one) => one <= at);
  return { at, last: Math.max(0, ...available), isEnded: at < round };
}

/** @param {Pick<Dialogue, "prompts" | "captions" | "stored">} dialogue */
function lastRoundOf({ prompts, captions, stored }) {
  return Math.max(prompts.length, captions.length, ...stored);
}

/**
 * Return the note below the caption; empty if the drawn prediction belongs to the requested round.
 * @param {Moment} moment
 * @param {string} word  name of a round
 */
export function noteOf({ at, last, isEnded }, word) {
  const notes = [];
  if (isEnded) notes.push(`ended after ${word} ${at}`);
  if (at && !last) notes.push("no answer was stored up to this point");
  else if (last !== at) notes.push(`answer after ${word} ${last}; ${at} was not stored`);
  return notes.join("; ");
}

/**
 * Return the largest number of rounds among the dialogues.
 * @param {Dialogue[]} dialogues
 */
export function roundsOf(dialogues) {
  return Math.max(0, ...dialogues.map(lastRoundOf));
}

/**
 * Return the names of the mask layers that are drawn after a round.
 * @param {Pick<Content, "dialogues" | "has_ignored">} content
 * @param {number} round
 */
export function layersAt({ dialogues, has_ignored }, round) {
  const names = ["target"];
  if (has_ignored) names.push("ignored");
  for (const dialogue of dialogues) {
    const { last } = momentIn(dialogue, round);
    if (last) names.push(`${dialogue.number}.${last}`);
  }
  return names;
}
