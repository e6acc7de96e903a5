// Messages for users when an edit to a scene is rejected.

/**
 * User-facing reason for each rejection code.
 * @type {Record<string, string>}
 */
export const REFUSALS = {
  crosses: "The outline would cross itself.",
  nothing: "There is nothing here to apply this to.",
  repeated: "There is already a vertex here.",
  few: "A region needs at least four vertices.",
  small: "A region needs at least 600 image pixels.",
  locked: "A region that contains this is locked; press L to unlock it.",
  taken: "This line is already drawn.",
  closed: "This scene cannot be changed.",
};
