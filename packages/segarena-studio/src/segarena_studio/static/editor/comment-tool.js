// Comments by a reviewer in the read-only editor: choose a position in the picture, write, send.

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */

/** Chooses the position of the comment that is being written. */
export class Commenting {
  name = "comment";
  title = "Choose the position of a comment";
  /** @type {Point | null} */
  at = null;

  /**
   * @param {Editor} editor
   * @param {() => void} onPlace called when a position is chosen
   */
  constructor(editor, onPlace) {
    this.editor = editor;
    this.onPlace = onPlace;
  }

  advice() {
    return "Click where the comment belongs.";
  }

  /**
   * The release counts, so that a finger can slide to the position.
   * @param {import("./editor.js").Touch} touch
   */
  release({ at }) {
    const [width, height] = this.editor.picture.size;
    const isInside = at[0] >= 0 && at[1] >= 0 && at[0] <= width && at[1] <= height;
    if (!isInside) return;
    this.at = [Math.round(at[0]), Math.round(at[1])];
    this.onPlace();
  }
}

/**
 * Connect the form of the read-only editor, if the page has one.
 * @param {Editor} editor
 * @param {import("../common/api.js").Talk} talk
 * @param {string} task
 */
export function offerCommenting(editor, talk, task) {
  const form = /** @type {HTMLFormElement | null} */ (document.getElementById("comment-form"));
  if (!form) return;
  const choose = /** @type {HTMLButtonElement} */ (document.getElementById("comment-place"));
  const place = /** @type {HTMLElement} */ (document.getElementById("comment-at"));
  const failed = /** @type {HTMLElement} */ (document.getElementById("comment-failed"));
  // On a phone the panel with the form covers the picture, so it closes until a position is chosen.
  const panel = /** @type {HTMLElement} */ (document.getElementById("side"));
  const toggle = /** @type {HTMLButtonElement} */ (document.getElementById("list-open"));
  let isPanelBack = false;
  const tool = new Commenting(editor, () => {
    if (isPanelBack) toggle.click();
    isPanelBack = false;
    place.textContent = `At ${tool.at?.[0]}, ${tool.at?.[1]}.`;
    editor.useTool("adjust");
    /** @type {HTMLElement} */ (form.elements.namedItem("text")).focus();
  });
  editor.addTool(tool);
  editor.listeners.add(() => choose.setAttribute("aria-pressed", String(editor.tool === tool)));
  choose.addEventListener("click", () => {
    editor.useTool("comment");
    isPanelBack = panel.classList.contains("is-open");
    if (isPanelBack) toggle.click();
    editor.picture.overlay.focus();
  });
  const draw = editor.picture.onDraw;
  editor.picture.onDraw = (context, view) => {
    draw(context, view);
    if (tool.at) drawCross(context, view.toScreen(tool.at));
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text")).value;
    const region = tool.at ? (editor.regionsAt(tool.at)[0] ?? "") : "";
    const answer = await talk.ask("POST", `/studio/tasks/${task}/comments`, { text, at: tool.at, region });
    if (answer.outcome === "done") return location.reload();
    failed.hidden = false;
    failed.textContent = answer.message || "The comment was not saved; try again.";
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 */
function drawCross(context, [x, y]) {
  for (const [width, colour] of /** @type {[number, string][]} */ ([[5, "#101214"], [2, "#ffe14d"]])) {
    context.beginPath();
    context.moveTo(x - 12, y);
    context.lineTo(x + 12, y);
    context.moveTo(x, y - 12);
    context.lineTo(x, y + 12);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }
}
