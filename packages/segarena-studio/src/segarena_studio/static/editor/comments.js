// The conversation about the picture: project guidelines, reasons for its return, and comments
// pinned to positions. All of it is rendered as plain text.

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {{id: number | string, text: string, by: string, at: [number, number] | null, region: string | null, is_done: boolean}} Comment */

/**
 * Return whether there is something to do: a reason for the return, or an unresolved comment.
 * @param {HTMLElement} place
 * @param {Editor} editor
 * @param {import("../common/api.js").Talk} talk
 * @param {string} task
 * @param {any} told the server's description of the task
 * @returns {boolean}
 */
export function showNotes(place, editor, talk, task, told) {
  const { comments = [], said = "", project = {} } = told;
  offerReopening(talk, task);
  if (said) place.append(note(`Returned: ${said}`));
  comments.forEach((/** @type {Comment} */ comment, /** @type {number} */ index) => place.append(commentNote(comment, index + 1, editor, talk, task)));
  if (project.guide) place.append(guide(project.guide));
  markPlaces(editor, comments);
  return Boolean(said) || comments.some((/** @type {Comment} */ comment) => !comment.is_done);
}

/** @param {string} text */
function note(text) {
  const made = document.createElement("div");
  made.append(Object.assign(document.createElement("p"), { textContent: text }));
  return made;
}

/**
 * Offer to reopen a finished picture.
 * @param {import("../common/api.js").Talk} talk
 * @param {string} task
 */
function offerReopening(talk, task) {
  const button = document.getElementById("reopen");
  button?.addEventListener("click", async () => {
    const answer = await talk.ask("POST", `/studio/tasks/${task}/reopen`, {});
    if (answer.outcome === "done") location.reload();
    else button.textContent = answer.message;
  });
}

/**
 * @param {Comment} comment
 * @param {number} number as on its pin
 * @param {Editor} editor
 * @param {import("../common/api.js").Talk} talk
 * @param {string} task
 */
function commentNote(comment, number, editor, talk, task) {
  const made = note(comment.text);
  const by = Object.assign(document.createElement("small"), { textContent: `Comment ${number}, ${comment.by}` });
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: comment.is_done });
  box.addEventListener("change", async () => {
    const answer = await talk.ask("POST", `/studio/tasks/${task}/comments/${comment.id}/done`, { is_done: box.checked });
    if (answer.outcome !== "done") box.checked = !box.checked;
    comment.is_done = box.checked;
    editor.picture.redraw();
  });
  label.append(box, "Resolved");
  made.append(by, label);
  const { at } = comment;
  if (at) {
    const go = Object.assign(document.createElement("button"), { type: "button", textContent: "Show the position" });
    go.addEventListener("click", () => editor.showBox([at[0] - 60, at[1] - 60, at[0] + 60, at[1] + 60], 40));
    made.append(go);
  }
  return made;
}

/** @param {string} text */
function guide(text) {
  const made = document.createElement("details");
  made.append(Object.assign(document.createElement("summary"), { textContent: "Guidelines of this project" }));
  made.append(Object.assign(document.createElement("p"), { textContent: text }));
  return made;
}

/**
 * Show markers on the picture where comments are pinned.
 * @param {Editor} editor
 * @param {Comment[]} comments
 */
function markPlaces(editor, comments) {
  const draw = editor.picture.onDraw;
  editor.picture.onDraw = (context, view) => {
    draw(context, view);
    comments.forEach(({ at, is_done }, index) => {
      if (!at || is_done) return;
      const [x, y] = view.toScreen(at);
      context.beginPath();
      context.moveTo(x, y);
      context.arc(x, y - 20, 11, 0.75 * Math.PI, 2.25 * Math.PI);
      context.closePath();
      context.fillStyle = "#ffe14d";
      context.strokeStyle = "#101214";
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
      context.fillStyle = "#101214";
      context.font = "700 12px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(String(index + 1), x, y - 16);
    });
  };
}
