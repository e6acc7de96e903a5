// Upload files one after the other: this works for thousands, and a rejected file does not stop the
// others.
import { refreshParts } from "./live-parts.js";

/**
 * The server's response to an upload.
 * @typedef {{new: number, known: number, refused: string[], same: string[], notes: string[]}} Added
 */

const KINDS = /\.(jpe?g|png|webp|tiff?|bmp|pgm|ppm|dcm)$/i;

/**
 * Send one file.
 * @param {HTMLFormElement} form
 * @param {File} file
 * @returns {Promise<Added>}
 */
async function send(form, file) {
  const body = new FormData();
  const key = /** @type {HTMLInputElement} */ (form.elements.namedItem("key"));
  body.append("key", key.value);
  body.append("pictures", file, nameOf(file));
  try {
    const answer = await fetch(form.action, {method: "POST", body, headers: {accept: "application/json"}});
    const told = await answer.json();
    if ("refused" in told) return told;
    return {new: 0, known: 0, same: [], notes: [], refused: [`${file.name}: ${told.message ?? answer.status}`]};
  } catch {
    return {new: 0, known: 0, same: [], notes: [], refused: [`${file.name}: the server did not answer; send the file again`]};
  }
}

/**
 * Return the name of a file, including the chosen folder: the frames of a video share a folder.
 * @param {File} file
 */
function nameOf(file) {
  return file.webkitRelativePath || file.name;
}

/**
 * Reject a file or a dropped folder without sending it, because its name is not that of a picture.
 * @param {File} file
 * @returns {Added}
 */
function notAPicture(file) {
  return {new: 0, known: 0, same: [], notes: [], refused: [`${file.name}: expected JPEG, PNG, WebP, TIFF, BMP, PNM or DICOM; choose other files`]};
}

/**
 * Send files and show progress.
 * @param {HTMLFormElement} form
 * @param {File[]} files
 */
async function sendAll(form, files) {
  const shown = /** @type {HTMLElement} */ (form.querySelector("[data-progress]"));
  const bar = /** @type {HTMLProgressElement} */ (shown.querySelector("progress"));
  const words = /** @type {HTMLElement} */ (shown.querySelector("p"));
  const refused = /** @type {HTMLElement} */ (form.querySelector("[data-refused]"));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
  if (button.disabled) return; // an upload is already running
  shown.hidden = false;
  button.disabled = true;
  refused.replaceChildren();
  const sum = {new: 0, known: 0, refused: 0};
  for (const [place, file] of files.entries()) {
    words.textContent = `${place + 1} of ${files.length}: ${file.name}`;
    const told = KINDS.test(file.name) ? await send(form, file) : notAPicture(file);
    sum.new += told.new;
    sum.known += told.known;
    sum.refused += told.refused.length;
    for (const line of [...told.refused, ...told.same, ...told.notes]) {
      const item = document.createElement("li");
      item.textContent = line;
      refused.append(item);
    }
    bar.value = (place + 1) / files.length;
  }
  const known = sum.known ? `, ${sum.known} existed already` : "";
  words.textContent = `${sum.new} added${known}${sum.refused ? `, ${sum.refused} rejected` : ""}.`;
  button.disabled = false;
  form.reset();
  if (sum.new) void refreshParts();
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-upload]"))) {
  const inputs = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input[type=file]")]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const files = inputs.flatMap((input) => [...(input.files ?? [])]);
    // Skip other files in a chosen folder, such as hidden ones, without an error.
    void sendAll(form, files.filter((file) => !file.webkitRelativePath || KINDS.test(file.name)));
  });
  // Only one of the inputs is required.
  form.addEventListener("change", () => {
    const isChosen = inputs.some((input) => input.files?.length);
    for (const input of inputs) input.required = !isChosen && input === inputs[0];
  });
}

// Files may be dropped anywhere, because the browser would otherwise open files dropped outside the form.
const target = /** @type {HTMLFormElement | null} */ (document.querySelector("form[data-upload]"));

/** @param {DragEvent} event */
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!target || !hasFiles(/** @type {DragEvent} */ (event))) return;
    event.preventDefault();
    target.classList.toggle("over", kind === "dragover");
  });
}

document.addEventListener("drop", (event) => {
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!target || !files.length) return;
  const around = target.closest("details");
  if (around) around.open = true;
  target.scrollIntoView({ block: "nearest" });
  void sendAll(target, files);
});
