// The page of a study participant: trials one after the other, breaks between batches, the end.

import { Picture } from "../../../reports/viewer/zoomable-picture.js";
import { listen } from "../../../reports/viewer/pointer.js";
import { Disturbances } from "../common/strokes.js";
import { Talk } from "../common/api.js";
import { Cross } from "./keyboard-pointer.js";
import { endsOf, phaseAt, placed, taskOf, Trial } from "./trial.js";

const RETRY_MS = [500, 1000, 2000, 4000, 8000];
const BREATH_MS = 350;

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = element("content");
const [task, place, stage, words, panel, panelText] = ["task", "place", "stage", "words", "panel", "panel-text"].map(element);
const [go, stop] = ["go", "stop"].map((id) => /** @type {HTMLButtonElement} */ (element(id)));
const { address = "", key = "" } = main.dataset;
const talk = new Talk({ key });
/**
 * Prefetched pictures, by address.
 * @type {Map<string, Promise<Blob>>}
 */
const ahead = new Map();

run().catch((error) => say(`The study cannot continue: ${error.message}`));

async function run() {
  let next = await requestWithRetries("GET", "next");
  for (;;) {
    if (next.trial) {
      const feedback = await play(next);
      if (feedback) await showMessage(feedback === "right" ? "Correct." : "That was not correct. Look carefully at the next picture and try again.");
      next = await requestWithRetries("GET", "next");
    } else if (next.state === "ready") {
      next = await requestWithRetries("POST", (await showBreak(next)) ? "batch" : "finish");
    } else {
      end(next);
      return;
    }
  }
}

/**
 * Repeat a request until the server responds, because network failures are temporary. Throw on permanent errors.
 * @param {"GET" | "POST"} method
 * @param {string} what
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
async function requestWithRetries(method, what, body = {}) {
  for (let tries = 0; ; tries += 1) {
    const answer = await talk.ask(method, `${address}/${what}`, method === "GET" ? undefined : body);
    if (answer.outcome === "done") return answer.body;
    if (answer.outcome === "conflict") return {}; // the next request returns the current state
    if (answer.outcome !== "away" && answer.outcome !== "busy") throw new Error(answer.message);
    say("No connection to the server. The study continues automatically.");
    await pause(Math.max(answer.wait_ms, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]));
  }
}

/**
 * Fetch a picture, with retries.
 * @param {string} address
 */
async function loadPictureWithRetries(address) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await loadPicture(address);
    } catch {
      say("The picture has not arrived yet. The study continues automatically.");
      await pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
    }
  }
}

/**
 * Run a trial and send its result.
 * @param {any} told
 * @returns {Promise<string>}
 */
async function play(told) {
  panel.hidden = true;
  stage.hidden = false;
  say("");
  place.textContent = told.is_training ? `Practice ${told.place} of ${told.of}` : `${told.place} of ${told.of}, batch ${told.batch} of ${told.batches}`;
  const [shown, target] = await Promise.all([loadPictureWithRetries(told.picture), told.target && loadPictureWithRetries(told.target)]);
  say("");
  const picture = new Picture(stage, { label: "The picture", margin: 0 });
  const disturbances = new Disturbances();
  try {
    const { elapsed_s = 0 } = await requestWithRetries("POST", `trials/${told.trial}/begin`);
    const answer = await timed(told, picture, shown, target, performance.now() - 1000 * elapsed_s, disturbances);
    for (const address of [told.ahead?.picture, told.ahead?.target]) if (address) loadPicture(address).catch(() => {});
    say("");
    const { feedback = "" } = await requestWithRetries("POST", `trials/${told.trial}`, answer);
    return feedback;
  } finally {
    disturbances.end();
    picture.close();
  }
}

/**
 * Run the phases of a trial; return the participant's input.
 * @param {any} told @param {Picture} picture @param {Blob} shown @param {Blob | null} target @param {number} began
 * @param {Disturbances} disturbances
 */
async function timed(told, picture, shown, target, began, disturbances) {
  const times = { free_ms: 0, shown_ms: 0, blocked_ms: 0 };
  /** @type {() => void} */
  let done = () => {};
  const isDone = new Promise((resolve) => (done = () => resolve(undefined)));
  const trial = new Trial({
    kind: told.kind,
    toImage: (point) => placed(picture.view.toImage(point), picture.size, told.size, told.is_turned),
    corner: () => {
      const { left, top } = stage.getBoundingClientRect();
      return [left, top];
    },
    onChange: () => picture.redraw(),
    onDone: () => done(),
  });
  const cross = new Cross(picture.overlay, trial, { isPoint: told.kind === "click", onMove: () => picture.redraw() });
  picture.overlay.tabIndex = 0;
  picture.onDraw = (context, view) => paint(context, (point) => view.toScreen(placed(point, told.size, picture.size, told.is_turned)), trial, cross);
  const stopListening = listen(picture.overlay, {
    press: (sample, clicks) => (trial.press(sample, clicks), false),
    drag: (samples) => trial.drag(samples),
    release: (sample) => trial.release(sample),
    cancel: () => trial.cancel(),
  });
  picture.overlay.focus({ preventScroll: true });
  for (const [phase, end] of endsOf(told.seconds)) {
    if (phaseAt(told.seconds, performance.now() - began) !== phase) continue;
    await show(picture, told, phase, phase === "shown" ? target : shown);
    const from = performance.now();
    await until(began + end);
    times[/** @type {"free_ms"} */ (`${phase}_ms`)] = tenth(performance.now() - from);
  }
  await show(picture, told, "answer", shown);
  trial.allow(performance.now());
  await isDone;
  stage.dataset.phase = "over";
  say("Thank you.");
  await pause(BREATH_MS); // the second press of a double tap still counts
  stopListening();
  cross.close();
  return trial.answer(times, { ...disturbances.counts }, (picture.view.scale * picture.size[0]) / told.size[0]);
}

/**
 * @param {Picture} picture
 * @param {any} told
 * @param {import("./trial.js").Phase} phase
 * @param {Blob | null} image
 */
async function show(picture, told, phase, image) {
  const areWords = phase === "shown" && told.words;
  words.hidden = !areWords;
  words.textContent = areWords ? told.words : "";
  if (image) {
    await picture.setImage(image);
  }
  stage.dataset.phase = phase;
  picture.base.style.visibility = areWords ? "hidden" : "";
  say(taskOf(phase, told.kind, told.goal));
  await new Promise((resolve) => requestAnimationFrame(resolve));
}

/**
 * Draw the strokes so far, and the keyboard cross.
 * @param {CanvasRenderingContext2D} context
 * @param {(point: [number, number]) => [number, number]} toScreen
 * @param {Trial} trial
 * @param {Cross} cross
 */
function paint(context, toScreen, trial, cross) {
  for (const [colour, width] of /** @type {[string, number][]} */ ([["#000a", 5], ["#fff", 2]])) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = context.lineCap = "round";
    context.beginPath();
    for (const { points } of trial.strokes.strokes) drawShape(context, trial.kind, points.map(([x, y]) => toScreen([x, y])));
    if (cross.at) {
      const [x, y] = cross.at;
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 4 * dx, y + 4 * dy);
        context.lineTo(x + 14 * dx, y + 14 * dy);
      }
    }
    context.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} kind
 * @param {[number, number][]} places
 */
function drawShape(context, kind, places) {
  const [[x, y], [x1, y1]] = [places[0], places[places.length - 1]];
  if (kind === "box") context.rect(x, y, x1 - x, y1 - y);
  else if (kind === "click") {
    context.moveTo(x + 6, y);
    context.arc(x, y, 6, 0, 2 * Math.PI);
  } else {
    context.moveTo(x, y);
    for (const [px, py] of places) context.lineTo(px, py);
    if (kind === "lasso") context.closePath();
  }
}

/**
 * Return a picture, prefetched if possible; reject on failure.
 * @param {string} address
 * @returns {Promise<Blob>}
 */
function loadPicture(address) {
  const known = ahead.get(address);
  if (known) return known;
  const coming = fetch(address, { credentials: "same-origin" }).then((answer) => {
    if (!answer.ok) throw new Error(`the picture could not be loaded: ${answer.status}`);
    return answer.blob();
  });
  for (const old of [...ahead.keys()].slice(0, -6)) ahead.delete(old);
  ahead.set(address, coming);
  coming.catch(() => ahead.delete(address));
  return coming;
}

/**
 * Show a message until it is confirmed.
 * @param {string} text
 */
async function showMessage(text) {
  await showPanel([text], "Next", "");
}

/**
 * Show a break between batches; return whether to continue.
 * @param {any} next
 */
async function showBreak(next) {
  place.textContent = "";
  const isFirst = next.batch === 0;
  const more = isFirst ? "The study begins now." : next.batch < next.batches ? "You have finished a batch. Take a break if you like." : "You have finished all tasks.";
  const text = isFirst ? "You will see a picture, then the target, then the picture again. Then mark the target." : "";
  return showPanel([more, text], next.batch < next.batches ? "Continue" : "Finish", isFirst ? "" : "Stop here");
}

/**
 * Show a panel with one or two buttons; return whether the first was pressed.
 * @param {string[]} texts @param {string} yes @param {string} no
 * @returns {Promise<boolean>}
 */
function showPanel(texts, yes, no) {
  stage.hidden = words.hidden = true;
  panel.hidden = false;
  panelText.replaceChildren(...texts.filter(Boolean).map(paragraph));
  go.textContent = yes;
  go.hidden = false;
  stop.textContent = no;
  stop.hidden = !no;
  say("");
  go.focus();
  return new Promise((resolve) => {
    go.onclick = () => resolve(true);
    stop.onclick = () => resolve(false);
  });
}

/**
 * Show the end page with the completion code.
 * @param {any} next
 */
function end(next) {
  stage.hidden = words.hidden = true;
  panel.hidden = false;
  go.hidden = stop.hidden = true;
  place.textContent = "";
  const texts = next.state === "failed" ? ["Too many practice answers were not correct, so the study ends here. Thank you for trying."] : ["That is all. Thank you!"];
  panelText.replaceChildren(...texts.map(paragraph));
  if (next.code) {
    panelText.append(paragraph("Your completion code for the platform that sent you here:"));
    const code = document.createElement("pre");
    code.className = "code";
    code.tabIndex = 0;
    code.textContent = next.code;
    panelText.append(code);
  }
  if (next.return_link) {
    const link = document.createElement("a");
    link.className = "main";
    link.href = next.return_link;
    link.textContent = "Back to the platform that sent you here";
    panelText.append(link);
  }
  main.dataset.state = next.state;
  say("");
}

/** @param {string} text */
function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/** @param {string} text */
function say(text) {
  if (task.textContent !== text) task.textContent = text;
}

/** @param {number} moment time from performance.now() */
async function until(moment) {
  while (performance.now() < moment) await pause(Math.max(0, Math.min(moment - performance.now(), 1000)));
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @param {number} value */
function tenth(value) {
  return Math.round(value * 10) / 10;
}
