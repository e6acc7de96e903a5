// The review page: a scene, highlighting of its regions, and comments at positions in the picture.

import { Talk } from "../common/api.js";
import { askUntilChecked, progressText } from "../editor/check-progress.js";

const board = /** @type {SVGSVGElement} */ (document.querySelector("[data-scene]"));
const form = /** @type {HTMLFormElement | null} */ (document.querySelector("form[data-comment]"));
const NAMESPACE = "http://www.w3.org/2000/svg";
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** Step of the keyboard cursor, as a share of the picture, without and with Shift. */
const [NEAR, FAR] = [0.01, 0.08];

/**
 * Position of the comment being written, in pixels of the picture.
 * @type {[number, number] | null}
 */
let place = null;
/**
 * Id of the region at that position.
 * @type {string}
 */
let region = "";
/** Id of the region that stays highlighted, or "". */
let kept = "";
/** Key under which the session keeps a selector of what gets the focus after a reload. */
const FOCUS_KEY = "segarena-review-focus";

const talk = new Talk({ key: form?.dataset.key ?? "" });

/**
 * Send data to the server; reload the page on success, or show the error.
 * @param {string} address
 * @param {object} told
 * @param {string} selector  of the element that gets the focus after the reload
 */
async function tell(address, told, selector) {
  const answer = await talk.ask("POST", address, told);
  if (answer.outcome === "done") {
    sessionStorage.setItem(FOCUS_KEY, selector);
    return location.reload();
  }
  const failed = /** @type {HTMLElement} */ (form?.querySelector("[data-failed]"));
  failed.hidden = false;
  failed.textContent = answer.message;
}

/**
 * Highlight a region wherever it appears.
 * @param {string} id
 */
function point(id) {
  for (const one of document.querySelectorAll("[data-region]")) {
    one.classList.toggle("chosen", id !== "" && one instanceof Element && one.getAttribute("data-region") === id);
  }
}

/**
 * Place the marker of a new comment.
 * @param {number} x
 * @param {number} y
 */
function mark(x, y) {
  board.querySelector(".pin.new")?.remove();
  const box = board.viewBox.baseVal;
  const pin = document.createElementNS(NAMESPACE, "g");
  pin.setAttribute("class", "pin new");
  pin.setAttribute("transform", `translate(${x} ${y}) scale(${Math.max(box.width, box.height) / 55})`);
  const circle = document.createElementNS(NAMESPACE, "circle");
  circle.setAttribute("r", "0.85");
  const text = document.createElementNS(NAMESPACE, "text");
  text.textContent = "+";
  pin.append(circle, text);
  board.append(pin);
}

for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll(".tools input"))) {
  input.addEventListener("change", () => {
    if (input.name === "how") board.setAttribute("class", input.value);
    else board.setAttribute("data-when", input.value);
  });
}

for (const item of document.querySelectorAll("aside [data-region], [data-scene] [data-region]")) {
  const id = item.getAttribute("data-region") ?? "";
  item.addEventListener("pointerenter", () => point(id));
  item.addEventListener("pointerleave", () => point(kept));
  const button = item.querySelector("button[aria-pressed]");
  button?.addEventListener("focus", () => point(id));
  button?.addEventListener("blur", () => point(kept));
  button?.addEventListener("click", () => keep(kept === id ? "" : id));
}

/**
 * Keep a region highlighted, for fingers and keys, which do not hover; "" for none.
 * @param {string} id
 */
function keep(id) {
  kept = id;
  for (const button of document.querySelectorAll("aside [data-region] button[aria-pressed]")) {
    button.setAttribute("aria-pressed", String(id !== "" && button.closest("[data-region]")?.getAttribute("data-region") === id));
  }
  point(id);
}

/**
 * Attach the comment to a position and to the region visible there.
 * @param {number} x
 * @param {number} y
 * @param {DOMMatrix} matrix  from the picture to the screen
 */
function choose(x, y, matrix) {
  const { width, height } = board.viewBox.baseVal;
  if (!form || x < 0 || y < 0 || x > width || y > height) return;
  place = [Math.round(10 * x) / 10, Math.round(10 * y) / 10];
  const seen = new DOMPoint(x, y).matrixTransform(matrix);
  const there = document.elementsFromPoint(seen.x, seen.y).find((one) => one.hasAttribute("data-region"));
  region = there?.getAttribute("data-region") ?? "";
  mark(place[0], place[1]);
  const told = /** @type {HTMLElement} */ (form.querySelector("[data-at]"));
  told.textContent = `At ${Math.round(x)}, ${Math.round(y)}${region ? `: ${there?.textContent?.trim()}` : ""}.`;
}

function write() {
  if (place) /** @type {HTMLTextAreaElement} */ (form?.elements.namedItem("text")).focus();
}

board.addEventListener("click", (event) => {
  const matrix = board.getScreenCTM();
  if (!matrix) return;
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  choose(at.x, at.y, matrix);
  write();
});

board.addEventListener("keydown", (event) => {
  const matrix = board.getScreenCTM();
  const way = WAYS[event.key];
  if (event.key === "Enter") write();
  if (!matrix || !way) return;
  event.preventDefault();
  const { width, height } = board.viewBox.baseVal;
  const [x, y] = place ?? [width / 2, height / 2];
  const step = (event.shiftKey ? FAR : NEAR) * Math.max(width, height);
  choose(x + way[0] * step, y + way[1] * step, matrix);
});

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("text")).value;
  void tell(form.dataset.place ?? "", {text, at: place, region}, "form[data-comment] textarea");
});

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-settle]"))) {
  button.hidden = !form; // resolving a comment requires the right to comment
  button.addEventListener("click", () => {
    void tell(`${form?.dataset.place}/${button.dataset.settle}/done`, {is_done: button.dataset.done === "yes"}, `[data-settle="${button.dataset.settle}"]`);
  });
}

// Buttons are shown by now, and what is hidden cannot be focused.
const refocused = sessionStorage.getItem(FOCUS_KEY);
sessionStorage.removeItem(FOCUS_KEY);
if (refocused) /** @type {HTMLElement | null} */ (document.querySelector(refocused))?.focus({preventScroll: true});

const checking = /** @type {HTMLElement | null} */ (document.querySelector("[data-checking]"));

/**
 * Show the progress of the checks, and their results once there are any.
 * @param {HTMLElement} place
 */
async function watchChecks(place) {
  const said = /** @type {HTMLElement} */ (place.querySelector("span"));
  const bar = /** @type {HTMLProgressElement} */ (place.querySelector("progress"));
  const answer = await askUntilChecked(
    () => talk.ask("GET", place.dataset.checking ?? ""),
    (progress) => {
      said.textContent = progressText(progress);
      if (progress) bar.value = progress.done / progress.total;
    },
    () => true,
  );
  bar.hidden = true;
  // A reader who has begun to write reloads the page later.
  const hasText = [...document.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
  if (answer.outcome === "done" && !hasText) return location.reload();
  said.textContent = answer.outcome === "done" ? "The drawing has been checked. Reload the page to see the problems." : answer.message;
}

if (checking) void watchChecks(checking);
