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
  large: "The region is too large to be painted; adjust its outline.",
  apart: "Paint that touches the region: a region is one outline. Esc deselects it, then you paint a new one.",
  hole: "A region has no holes: draw what is seen through the hole as a region in front of this one.",
  empty: "Nothing would be left of the region; delete it instead.",
  taken: "This line is already drawn.",
  closed: "This scene cannot be changed.",
};
