// Messages for users when an edit to a scene is rejected.

/**
 * User-facing reason for each rejection code.
 * @type {Record<string, string>}
 */
export const REFUSALS = {
  crosses: "The outline would cross itself.",
  nothing: "There is nothing here to apply this to.",
  repeated: "There is already a vertex here.",
  few: "An outline needs at least four vertices.",
  small: "A region needs at least 600 image pixels, or a sixteenth of a tiny picture.",
  locked: "A region that contains this is locked; press L to unlock it.",
  large: "The region is too large to be painted; adjust its outline.",
  across: "This outline meets an outline of its region. Draw it inside the region for a hole, or outside for a further part.",
  covered: "A region in front covers this place. The region that you edit continues behind it, so there is no hole here.",
  joined: "Only regions whose outlines do not meet can be joined. If they meet, paint over the gap or the overlap instead.",
  outlines: "The border begins and ends on different outlines of the region. End it on the outline where it begins.",
  empty: "Nothing would be left of the region; delete it instead.",
  many: "A region can have at most 500 outlines.",
  taken: "This line is already drawn.",
  closed: "This scene cannot be changed.",
};
