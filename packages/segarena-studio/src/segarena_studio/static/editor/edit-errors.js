// Messages for users when an edit to a scene is rejected.

/**
 * User-facing reason for each rejection code.
 * @type {Record<string, string>}
 */
export const REFUSALS = {
  crosses: "The outline would cross itself.",
  nothing: "There is nothing to do it to here.",
  repeated: "There is a vertex here already.",
  few: "A region needs at least four vertices.",
  small: "A region needs at least 600 image pixels.",
  locked: "A region that has this is locked; L unlocks it.",
  taken: "This line is drawn already.",
  closed: "This scene is not open for changes.",
};
