// Disagreements between two drawings of a picture, from the server's comparison, as a list and by
// region.

/**
 * @typedef {object} Comparison
 * @property {{one: string, other: string, iou: number, has_same_name: boolean | null}[]} matches
 * @property {{id: string, nearest: string, iou: number}[]} only_one
 * @property {{id: string, nearest: string, iou: number}[]} only_other
 * @property {{front: string, behind: string}[]} orders
 * @property {number} order_pairs
 *
 * @typedef {object} Disagreement
 * @property {"alone" | "iou" | "order" | "name"} kind
 * @property {string} text
 * @property {string} detail
 * @property {string[]} regions  ids, as aligned by `alignDocument`
 *
 * @typedef {{annotator: string, nameOf: (id: string) => string}} Side
 */

/**
 * Return the second document with the ids of the first one for matched regions, so that the same
 * thing has the same colour and the same id in both. The ids of the other regions cannot occur in the
 * first document.
 * @param {any} document
 * @param {Comparison} comparison
 * @param {string} task  the task of the second document
 */
export function alignDocument(document, comparison, task) {
  const ids = alignedIds(comparison, task);
  const regions = document.regions.map((/** @type {any} */ region) => ({ ...region, id: ids.get(region.id) ?? region.id, is_hidden: false }));
  return { ...document, regions };
}

/**
 * Return the aligned id of each region of the second document.
 * @param {Comparison} comparison
 * @param {string} task
 * @returns {Map<string, string>}
 */
function alignedIds({ matches, only_other }, task) {
  /** @type {[string, string][]} */
  const matched = matches.map(({ one, other }) => [other, one]);
  /** @type {[string, string][]} */
  const alone = only_other.map(({ id }) => [id, `t${task}-${id}`]);
  return new Map([...matched, ...alone]);
}

/**
 * List the disagreements, the most serious kind first.
 * @param {Comparison} comparison
 * @param {number} threshold  matched regions with a smaller IoU are listed
 * @param {Side} one
 * @param {Side} other
 * @param {string} task  the task of the second drawing
 * @returns {Disagreement[]}
 */
export function listDisagreements(comparison, threshold, one, other, task) {
  const { matches, only_one, only_other, orders } = comparison;
  const aligned = alignedIds(comparison, task);
  const near = (/** @type {Side} */ side, /** @type {{nearest: string, iou: number}} */ { nearest, iou }) =>
    nearest ? `nearest: ${side.nameOf(nearest)}, IoU ${iou.toFixed(2)}` : "nothing overlaps it";
  return [
    ...only_one.map((region) => entry("alone", `Only ${one.annotator}: ${one.nameOf(region.id)}`, near(other, region), [region.id])),
    ...only_other.map((region) => entry("alone", `Only ${other.annotator}: ${other.nameOf(region.id)}`, near(one, region), [aligned.get(region.id) ?? region.id])),
    ...matches
      .filter(({ iou }) => iou < threshold)
      .sort((a, b) => a.iou - b.iou)
      .map((match) => entry("iou", `IoU ${match.iou.toFixed(2)}: ${one.nameOf(match.one)}`, `${other.annotator}: ${other.nameOf(match.other)}`, [match.one])),
    ...orders.map(({ front, behind }) =>
      entry("order", `Order: ${one.nameOf(front)}, ${one.nameOf(behind)}`, `${one.annotator} has the first in front, ${other.annotator} the second`, [front, behind]),
    ),
    ...matches
      .filter(({ has_same_name }) => has_same_name === false)
      .map((match) => entry("name", `Name: ${one.nameOf(match.one)}`, `${other.annotator}: ${other.nameOf(match.other)}`, [match.one])),
  ];
}

/**
 * Describe how well two drawings match.
 * @param {Comparison} comparison
 */
export function summaryOf({ matches, only_one, only_other, orders, order_pairs }) {
  const regions = 2 * matches.length + only_one.length + only_other.length;
  if (!regions) return "Both drawings are empty.";
  const f = ((2 * matches.length) / regions).toFixed(2);
  const order = order_pairs ? `; order agrees in ${order_pairs - orders.length} of ${order_pairs} overlapping pairs` : "";
  return `${matches.length} matched regions, F ${f}${order}.`;
}

/**
 * @param {Disagreement["kind"]} kind
 * @param {string} text
 * @param {string} detail
 * @param {string[]} regions
 * @returns {Disagreement}
 */
function entry(kind, text, detail, regions) {
  return { kind, text, detail, regions };
}
