// The page of one picture: opens the picture and connects the editor, tools, list, hints and
// saving.

import { ACTIONS, actionOf, isOn, keyFor, run } from "./actions.js";
import { Conflict } from "./conflict-dialog.js";
import { DepthList } from "./depth-list.js";
import { DisplayPanel } from "./display-panel.js";
import { Drafts, Tabs } from "./local-drafts.js";
import { Adjusting } from "./adjust-tool.js";
import { Drawing } from "./draw-tool.js";
import { Painting } from "./painting.js";
import { Sweeping } from "./delete-tool.js";
import { Masking } from "./mask-tool.js";
import { Moving } from "./move-tool.js";
import { Tracing } from "./trace-tool.js";
import { earlyAnswer, talk, watchEarlyAnswer } from "./early-request.js";
import { Editor } from "./editor.js";
import { Faults, Finishing } from "./finish-panel.js";
import { fillHelp } from "./help-dialog.js";
import { KeysDialog, retitle } from "./keys-dialog.js";
import { Hints } from "./hint-line.js";
import { History } from "./history.js";
import { isTaken, keyOf } from "../common/key-names.js";
import { watchPage } from "../common/page-lifecycle.js";
import { Loupe } from "./loupe.js";
import { mergeRevision } from "./scene-merge.js";
import { browserStore, OwnKeys } from "./own-keys.js";
import { PicturePicker, videoOf } from "./picture-picker.js";
import { ListSearch } from "./list-search.js";
import { Minimap } from "./minimap.js";
import { NamePrompt } from "./name-prompt.js";
import { offerCommenting } from "./comment-tool.js";
import { showNotes } from "./comments.js";
import { openPicture } from "./open-picture.js";
import { fetchFile, previewIn, replacePreview, showProgress } from "./picture-loading.js";
import { icon } from "../common/dom.js";
import { Picture } from "../../../reports/viewer/zoomable-picture.js";
import { Saving } from "./saving.js";
import { Scene } from "./scene.js";
import { newId } from "../common/api.js";
import { Timing } from "./region-timing.js";

const TELL_VIEW_MS = 80;
const SAID_FOR_MS = 4000;
/** Frames follow each other more quickly than this, in ms, unless the page is hidden and paints none. */
const LONGEST_FRAME_MS = 100;

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
const part = (id) => /** @type {T} */ (document.getElementById(id));

/** @param {HTMLElement} root */
async function open(root) {
  const { task = "", person = "0" } = root.dataset;
  const [drafts, tabs, tab] = [new Drafts(), new Tabs(), newId()];
  void tabs.hold(tab);
  const frames = document.getElementById("timeline");
  // Modules that few pictures need are loaded on demand.
  const loadingVideo = frames ? import("./timeline.js") : null;
  tellOpening("Loading the drawing …");
  watchEarlyAnswer(tellOpening.bar);
  const opened = await openPicture({ talk, drafts, tabs, person: Number(person), task, earlyAnswer });
  if (!("content" in opened)) throw new Error(opened.message || "The picture could not be loaded.");
  const picture = new Picture(part("picture"), { label: "The picture and the drawing on it" });
  const display = new DisplayPanel(part("display-panel"), picture, task);
  const isPreview = await showPicture(root, picture);
  const scene = opened.content.scene ? Scene.read(opened.content.scene) : Scene.empty();
  /** @type {import("./timeline.js").Timeline | null} */
  let timeline = null;
  const video = await loadingVideo;
  if (video) {
    // Frames of a video must not give the same id to different objects.
    scene.idPrefix = `r${task}-`;
    ACTIONS.push(...video.videoActions(() => timeline));
  }
  const history = opened.content.history ? History.read(scene, opened.content.history) : new History(scene);
  const segmenters = opened.told?.is_open ? opened.told.segmenters ?? [] : [];
  const assistance = segmenters.length ? await loadAssistance() : null;
  if (assistance) offerAssist(segmenters, assistance.ASSISTING);
  const ownKeys = new OwnKeys(browserStore(), person);
  const editor = edit(picture, scene, history);
  if (assistance) {
    const assist = new assistance.Assist({ talk, task, segmenters });
    assistBy(editor, new assistance.Assisting(editor, assist), assist);
  }
  editor.isReadOnly = opened.told?.is_open === false;
  offerOwnKeys(editor, ownKeys);
  const list = new DepthList(part("regions"), editor, part("names"));
  list.labels = opened.told?.labels ?? [];
  list.attributes = opened.told?.attributes ?? [];
  const pictures = document.getElementById("pictures");
  const picker = pictures instanceof HTMLDialogElement ? new PicturePicker(pictures, editor, talk, task) : null;
  new ListSearch(part("list-search"), editor, list);
  new NamePrompt(/** @type {HTMLFormElement} */ (part("naming")), editor);
  /** @type {Conflict | null} */
  let conflict = null;
  const saving = new Saving({
    talk, drafts, person: Number(person), task, tab, start: opened.start, afterPaint,
    onState: (state) => {
      showSaved(state);
      conflict?.show(state);
    },
    content: () => ({ scene: scene.toDocument(), history: history.toJSON() }),
    merge: (ancestor, theirs, preference) => {
      const outcome = mergeRevision(editor, ancestor, theirs, preference, (from, to) => saving.renameRegion(from, to));
      if (outcome === "merged" && preference === "none") editor.say("Changes that were saved elsewhere were added to this drawing.");
      return outcome;
    },
  }); // prettier-ignore
  save(editor, saving);
  watchPage(saving);
  const faults = new Faults(part("faults"), editor);
  const finishing = new Finishing(editor, saving, talk, task, faults);
  // On narrow screens the notes are in the panel of the list, which is closed otherwise. Reviewers
  // open it themselves, because it covers the picture that they came to see.
  const isReview = document.getElementById("comment-form") !== null;
  if (opened.told && showNotes(part("notes"), editor, talk, task, opened.told) && !isReview) showList(true);
  offerCommenting(editor, talk, task);
  saving.mergeAtStart();
  conflict = new Conflict(/** @type {HTMLDialogElement} */ (part("conflict")), editor, saving);
  part("waiting").hidden = true;
  editor.useTool(scene.regions.length || editor.isReadOnly ? "adjust" : "draw");
  picture.moved();
  if (opened.isElsewhere) editor.say("Another tab of this browser has unsaved changes to this picture.");
  if (frames && video) {
    const opening = new video.Timeline(frames, editor, saving, talk, task);
    timeline = opening;
    finishing.finishOthers = (onStep) => opening.finishOthers(onStep);
    if (picker) picker.video = videoOf(part("picture-name").textContent ?? "");
    void opening.open();
  }
  root.dataset.ready = "true";
  if (root.dataset.deep) void loadValues(display, task);
  else if (isPreview) void loadFullPicture(picture, task);
  return { editor, saving, talk, task, root };
}

/**
 * Say what the page is waiting for.
 * @param {string} text
 */
function tellOpening(text) {
  part("opening").textContent = text;
  tellOpening.bar(0, 0);
}
tellOpening.bar = (/** @type {number} */ received, /** @type {number} */ total) => {
  showProgress(/** @type {HTMLProgressElement} */ (part("opening-bar")), received, total);
};

/**
 * Show the preview of the picture if there is one, otherwise the picture. Return whether it is the
 * preview.
 * @param {HTMLElement} root
 * @param {Picture} picture
 */
async function showPicture(root, picture) {
  const { task = "", width, height } = root.dataset;
  tellOpening("Loading the picture …");
  const preview = await previewIn(document.getElementById("preview"));
  const source = preview ?? (await fetchFile(addressOf(task), tellOpening.bar));
  await picture.setImage(source, { size: [Number(width), Number(height)] });
  return preview !== null;
}

/**
 * @param {Picture} picture
 * @param {string} task
 */
async function loadFullPicture(picture, task) {
  const [place, bar] = [part("full-picture"), /** @type {HTMLProgressElement} */ (part("full-bar"))];
  place.hidden = false;
  try {
    await replacePreview(picture, addressOf(task), (received, total) => showProgress(bar, received, total));
    place.hidden = true;
  } catch {
    part("full-text").textContent = "Only a preview can be shown: the picture cannot be decoded.";
    bar.hidden = true;
  }
}

/**
 * Load the values of a 16-bit picture, for window and level.
 * @param {DisplayPanel} display
 * @param {string} task
 */
async function loadValues(display, task) {
  const place = document.getElementById("full-picture");
  if (place) place.hidden = false;
  try {
    const response = await fetch(`/studio/tasks/${task}/values`);
    if (!response.ok) throw new Error(String(response.status));
    display.useValues(await response.arrayBuffer(), JSON.parse(response.headers.get("segarena-levels") ?? ""));
    if (place) place.hidden = true;
    part("scene").dataset.hasValues = "true";
  } catch {
    if (place) part("full-text").textContent = "Only a preview can be shown: the picture could not be loaded.";
    else part("said").textContent = "Window and level are not available: the values could not be loaded.";
  }
}

/** @param {string} task */
function addressOf(task) {
  return `/studio/tasks/${task}/picture`;
}

async function loadAssistance() {
  const [assistant, tool] = await Promise.all([import("./assistant.js"), import("./assist-tool.js")]);
  return { ...assistant, ...tool };
}

/**
 * Set up the buttons and keys that prompt segmenters.
 * @param {string[]} segmenters
 * @param {import("./actions.js").Action[]} actions
 */
function offerAssist(segmenters, actions) {
  const ways = [["assist-click", "wand", "Click"], ["assist-box", "ask-box", "Box"], ["assist-scribble", "scribble", "Scribble"]]; // prettier-ignore
  for (const [name, drawing, label] of ways) {
    const action = actions.find((each) => each.name === name);
    const button = icon(drawing, action?.title ?? "", action?.keys[0]);
    button.dataset.action = name;
    button.dataset.label = label;
    button.setAttribute("aria-pressed", "false");
    part("assist-tools").append(button);
  }
  ACTIONS.splice(ACTIONS.findIndex((action) => action.name === "vertex"), 0, ...actions);
  part("assist-choice").append(...segmenters.map((name) => new Option(name)));
}

/**
 * @param {Editor} editor
 * @param {import("./assist-tool.js").Assisting} tool
 * @param {import("./assistant.js").Assist} assist
 */
function assistBy(editor, tool, assist) {
  editor.addTool(tool);
  const choice = /** @type {HTMLSelectElement} */ (part("assist-choice"));
  choice.addEventListener("change", () => assist.choose(choice.value));
  editor.listeners.add(() => (part("assist-by").hidden = editor.tool.name !== "assist"));
}

/**
 * Set up the editor, its tools and the views of it.
 * @param {Picture} picture
 * @param {Scene} scene
 * @param {History} history
 */
function edit(picture, scene, history) {
  const editor = new Editor(picture, scene, history);
  editor.addTool(new Drawing(editor));
  editor.addTool(new Tracing(editor));
  editor.addTool(new Adjusting(editor));
  editor.addTool(new Moving(editor));
  editor.addTool(new Masking(editor));
  editor.addTool(new Sweeping(editor));
  new Painting(editor);
  new Loupe(part("loupe"), editor);
  const minimap = new Minimap(part("minimap"), picture);
  let telling = 0;
  const tellView = () => {
    telling = 0;
    minimap.update();
    const zoom = `${Math.round(100 * picture.view.scale)} %`;
    // Writing the same text again would lay the page out.
    if (part("zoom").textContent !== zoom) part("zoom").textContent = zoom;
  };
  picture.onView = () => {
    editor.point(editor.cursor);
    if (!telling) telling = window.setTimeout(tellView, TELL_VIEW_MS); // in every frame it would force a layout
  };
  new Hints(part("hints"), editor);
  picture.overlay.tabIndex = 0;
  picture.overlay.setAttribute("role", "application");
  say(editor);
  listenToKeys(editor);
  listenToButtons(editor);
  return editor;
}

/** @param {Editor} editor */
function say(editor) {
  let timer = 0;
  editor.say = (text) => {
    part("said").textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => (part("said").textContent = ""), SAID_FOR_MS);
  };
}

/** @param {Editor} editor */
function listenToKeys(editor) {
  const host = part("picture");
  const hold = (/** @type {boolean} */ isHeld) => {
    editor.isSpaceHeld = isHeld;
    host.toggleAttribute("data-pans", isHeld);
  };
  document.addEventListener("pointerdown", () => (part("scene").dataset.by = "pointer"), { capture: true });
  document.addEventListener("keydown", (event) => {
    const key = keyOf(event);
    if (key === "Tab" || editor.hasCursor) part("scene").dataset.by = "keys";
    if (event.isComposing || isTaken(event.target, key)) return;
    if (key === "Enter" && event.repeat) return event.preventDefault();
    if (key === "?") part("help-open").click();
    else if (key === "Space") hold(true);
    else if (!editor.tool.keys?.[key]?.()) {
      const action = actionOf(editor, key);
      if (!action) return;
      action.run(editor);
    }
    event.preventDefault();
  });
  document.addEventListener("keyup", (event) => {
    if (event.key === " ") hold(false);
  });
  window.addEventListener("blur", () => hold(false));
}

/**
 * Set up the tool bar and the buttons that open dialogs.
 * @param {Editor} editor
 */
function listenToButtons(editor) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(".scene button[data-action]")]);
  for (const button of buttons) button.addEventListener("click", () => run(editor, button.dataset.action ?? ""));
  editor.listeners.add(() => {
    for (const button of buttons) showState(button, editor);
    part("picture").dataset.tool = editor.tool.name;
    const { length } = editor.scene.regions;
    part("count").textContent = String(length);
    part("nothing").hidden = length > 0;
    part("end-front").hidden = part("end-back").hidden = length === 0;
  });
  part("help-open").addEventListener("click", () => /** @type {HTMLDialogElement} */ (part("help")).showModal());
  listenToList(editor);
}

/**
 * Let people change keys; hints, help and buttons then show the new ones.
 * @param {Editor} editor
 * @param {OwnKeys} own
 */
function offerOwnKeys(editor, own) {
  const show = () => {
    fillHelp(part("keys"));
    retitle(document.querySelectorAll(".scene button[data-action]"), keyFor);
    editor.changed();
  };
  const dialog = new KeysDialog(/** @type {HTMLDialogElement} */ (part("own-keys")), own, show);
  part("own-keys-open").addEventListener("click", () => dialog.open());
  window.addEventListener("storage", () => {
    own.load();
    show();
  });
  show();
}

/**
 * Let the list be toggled on narrow screens.
 * @param {Editor} editor
 */
function listenToList(editor) {
  part("list-open").addEventListener("click", () => showList(!part("side").classList.contains("is-open")));
  part("list-close").addEventListener("click", () => {
    showList(false);
    part("list-open").focus();
  });
  editor.picture.overlay.addEventListener("pointerdown", () => showList(false));
  editor.onSearch = () => showList(true);
  editor.onShowBox = () => showList(false);
}

/**
 * Open or close the panel of the list on narrow screens; on wide ones it is always open.
 * @param {boolean} isOpen
 */
function showList(isOpen) {
  part("side").classList.toggle("is-open", isOpen);
  part("list-open").setAttribute("aria-expanded", String(isOpen));
}

/**
 * @param {HTMLButtonElement} button
 * @param {Editor} editor
 */
function showState(button, editor) {
  const { action = "" } = button.dataset;
  if (button.hasAttribute("aria-pressed")) button.setAttribute("aria-pressed", String(isOn(editor, action)));
  if (action === "undo") button.disabled = !editor.history.canUndo;
  if (action === "redo") button.disabled = !editor.history.canRedo;
}

/**
 * Store and save every edit; save a finished region immediately.
 * @param {Editor} editor
 * @param {Saving} saving
 */
function save(editor, saving) {
  const timing = new Timing((region, time_ms, active_ms) => saving.spent(region, time_ms, active_ms));
  const now = () => editor.selected ?? editor.scene.nextRegion;
  editor.history.onEdit = (told) => {
    timing.did(told.region ?? now());
    const done = { kind: told.way === "do" ? told.kind : told.way, region: told.region };
    if (told.way === "do" && told.kind === "close") saving.finished(done);
    else saving.edited(done);
  };
  for (const name of ["pointermove", "pointerdown", "keydown"]) {
    document.addEventListener(name, () => timing.did(now()), { passive: true, capture: true });
  }
  const look = () => (timing.isActive = document.hasFocus() && !document.hidden);
  for (const name of ["focus", "blur"]) window.addEventListener(name, look);
  document.addEventListener("visibilitychange", look);
  look();
}

/**
 * Wait until the next frame has been painted, or for a moment if the page paints none.
 * @returns {Promise<void>}
 */
function afterPaint() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, LONGEST_FRAME_MS);
  });
}

/** @param {import("./saving.js").State} state */
function showSaved({ kind, text }) {
  const place = part("saved");
  place.className = `saved saved-${kind}`;
  place.textContent = text;
  place.title = text;
}

const root = document.getElementById("scene");
if (root) {
  open(root).then(
    // Scripts that measure the editor in a browser, such as tests/stress/studio_paint.py, use this
    // to find a vertex on the screen.
    (page) => Object.assign(window, { segarena: page }),
    (error) => {
      part("waiting").textContent = error instanceof RangeError ? "The saved drawing of this picture cannot be read." : String(error.message ?? error);
      part("waiting").setAttribute("role", "alert");
    },
  );
}
