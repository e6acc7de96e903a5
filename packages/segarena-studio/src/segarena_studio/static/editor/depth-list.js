// The regions of a scene from front to back: reorder by dragging or by keys, rename, hide, lock.

import { colourOf } from "./region-colours.js";
import { moveRegion, setField } from "./region-commands.js";
import { flipField, keyFor, nameOf, putInFront, remove, run } from "./actions.js";
import { AttributeFields, describeValues } from "./attribute-fields.js";
import { RegionFilter } from "./region-filter.js";
import { nameFrom } from "./name-prompt.js";
import { button, find, icon, labelButton } from "../common/dom.js";
import { area, boxOf, isHole } from "../common/geometry.js";
import { ringsOf } from "./scene.js";
import { deleteOutline } from "./vertex-editing.js";

/** @typedef {import("./editor.js").Editor} Editor */

/** A smaller movement of the pointer is a click. */
const DRAG_THRESHOLD_PX = 4;
/** The actions (actions.js) that move the selected region in depth. */
const DEPTH_BUTTONS = [
  { action: "front", text: "Front", title: "Move to the front" },
  { action: "forward", text: "Up", title: "Move up, one step forward" },
  { action: "back", text: "Down", title: "Move down, one step back" },
  { action: "rear", text: "Back", title: "Move to the back" },
];

/** The actions (timeline.js) on proposals for the selected region, with text and title of their buttons. */
const PROPOSAL_BUTTONS = [
  ["accept", "Accept", "Accept the proposal in this frame"],
  ["accept-track", "Accept in all frames", "Accept the proposals for this region in all frames"],
  ["remove-track", "Remove from all frames", "Remove the proposals for this region from all frames"],
];

/** Further actions whose keys the buttons of a row show. */
const BUTTON_ACTIONS = ["stuff", "show", "duplicate", "delete", "extend", "swap", ...DEPTH_BUTTONS.map(({ action }) => action)];

export class DepthList {
  /**
   * @param {HTMLElement} place an <ol>
   * @param {Editor} editor
   * @param {HTMLDataListElement} names the suggested names
   */
  constructor(place, editor, names) {
    this.place = place;
    this.editor = editor;
    this.names = names;
    /**
     * Names that the project suggests.
     * @type {string[]}
     */
    this.labels = [];
    /**
     * Attributes that the project asks for.
     * @type {import("./attribute-fields.js").Attribute[]}
     */
    this.attributes = [];
    this.suggested = "";
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {string | null} */
    this.dragged = null;
    /** @type {string | null} */
    this.last = null;
    /** The filter that selects the regions to show. */
    this.filter = new RegionFilter();
    /** Whether a click adds a region to the selection. */
    this.selectsSeveral = false;
    /** Whether rows may ask for areas and overlaps; otherwise they show those measured last. */
    this.isMeasured = true;
    editor.listeners.add(() => this.update());
    editor.listed = () => this.listed();
    this.update();
  }

  /** Update the list; existing rows are reused, so that text being typed is kept. */
  update() {
    const { scene, depth } = this.editor;
    const { regions } = scene;
    // After an edit by the pointer the picture comes first: areas are measured a moment later (`Editor.measureDepth`).
    this.isMeasured = depth.isCurrent || this.place.contains(document.activeElement);
    for (const [id, row] of this.rows) if (!scene.has(id)) this.drop(id, row);
    regions.forEach((region, place) => {
      const row = this.rows.get(region.id) ?? this.make(region.id);
      row.show(region, place);
      row.item.hidden = !this.filter.shows(region, place);
      if (this.dragged === null && this.place.children[place] !== row.item) this.place.insertBefore(row.item, this.place.children[place] ?? null);
    });
    const { selected } = this.editor;
    if (selected !== this.last && selected) this.rows.get(selected)?.item.scrollIntoView({ block: "nearest" });
    this.last = selected;
    this.suggest();
  }

  /** @param {string} id */
  make(id) {
    const row = new Row(this.editor, this, id);
    this.rows.set(id, row);
    return row;
  }

  /**
   * @param {string} id
   * @param {Row} row
   */
  drop(id, row) {
    row.item.remove();
    this.rows.delete(id);
  }

  /** Update the suggested names: those of the project, then those in this scene. */
  suggest() {
    const used = this.editor.scene.regions.map((region) => region.name).filter(Boolean);
    const all = [...new Set([...this.labels, ...used])];
    if (all.join("\n") === this.suggested) return;
    this.suggested = all.join("\n");
    this.names.replaceChildren(...all.map((value) => Object.assign(document.createElement("option"), { value })));
  }

  /** Ids of the regions that the list shows, front first. */
  listed() {
    return this.editor.scene.regions.filter((region, place) => this.filter.shows(region, place)).map((region) => region.id);
  }

  /**
   * @param {string} id
   * @param {number} by
   * @param {boolean} [isExtending] whether to add the next region to the selection
   */
  focusFrom(id, by, isExtending = false) {
    const ids = this.listed();
    const next = ids[Math.min(Math.max(ids.indexOf(id) + by, 0), ids.length - 1)];
    if (isExtending) this.choose(next, { isRange: true });
    else this.editor.select(next);
    this.rows.get(next)?.grip.focus();
  }

  /**
   * Select a region; `isAdded` adds it to the selection or removes it, `isRange` adds all between it
   * and the selected region.
   * @param {string} id
   * @param {{isAdded?: boolean, isRange?: boolean}} way
   */
  choose(id, { isAdded = false, isRange = false }) {
    const { editor } = this;
    if (isRange && editor.selected !== null) {
      const others = new Set([...editor.selection, ...between(this.listed(), editor.selected, id)]);
      others.delete(id);
      editor.selectAll([...others, id]);
    } else if (isAdded) editor.toggleSelected(id);
    else editor.select(id);
  }

  /**
   * Let a row follow the pointer once it has moved a few pixels; dropping it sets its position. The
   * rows collapse meanwhile, and the row lands where the pointer is. Escape cancels.
   * @param {PointerEvent} event
   * @param {Row} row
   */
  drag(event, row) {
    if (this.editor.isReadOnly) return;
    if (this.filter.isActive) return this.editor.say("Clear the search to change the order by dragging.");
    const { grip } = row;
    /** @type {Drag | null} */
    let drag = null;
    const move = (/** @type {PointerEvent} */ now) => {
      if (!drag && Math.abs(now.clientY - event.clientY) < DRAG_THRESHOLD_PX) return;
      drag ??= new Drag(this, row);
      drag.follow(now.clientY);
    };
    const finish = (/** @type {boolean} */ isDropped) => {
      grip.removeEventListener("pointermove", move);
      grip.removeEventListener("pointerup", drop);
      grip.removeEventListener("pointercancel", cancel);
      grip.removeEventListener("keydown", cancelByKey);
      drag?.end(isDropped);
    };
    const drop = () => finish(true);
    const cancel = () => finish(false);
    const cancelByKey = (/** @type {KeyboardEvent} */ pressed) => {
      if (pressed.key !== "Escape" || !drag) return;
      pressed.stopPropagation();
      cancel();
    };
    grip.setPointerCapture(event.pointerId);
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", drop);
    grip.addEventListener("pointercancel", cancel);
    grip.addEventListener("keydown", cancelByKey);
  }
}

/** A row that is being dragged, and the gap in which it would land. */
class Drag {
  /**
   * @param {DepthList} list
   * @param {Row} row
   */
  constructor(list, row) {
    this.list = list;
    this.row = row;
    list.dragged = row.id;
    // On a phone the panel is attached to the lower edge of the window: with fewer lines it would
    // move away from under the finger.
    list.place.style.height = `${list.place.offsetHeight}px`;
    list.place.classList.add("is-dragging");
    row.item.classList.add("is-dragged");
    // Measured after the rows have collapsed, and by offsets, which transforms do not change.
    this.items = /** @type {HTMLElement[]} */ ([...list.place.children]);
    this.grips = this.items.map((item) => find(".grip", HTMLElement, item));
    this.tops = this.items.map((item) => item.offsetTop);
    this.heights = this.items.map((item) => item.offsetHeight);
    this.from = this.items.indexOf(row.item);
    this.to = this.from;
    this.pointerY = 0;
    this.landing = document.createElement("li");
    this.landing.className = "landing";
    this.landing.setAttribute("role", "presentation");
    this.landing.style.height = `${this.heights[this.from]}px`;
    list.place.append(this.landing);
    this.frame = requestAnimationFrame(() => this.scroll());
  }

  /** @param {number} y of the pointer, in the window */
  follow(y) {
    const { items, tops, heights, from, list, row } = this;
    this.pointerY = y;
    const at = y - list.place.getBoundingClientRect().top - list.place.clientTop + list.place.scrollTop;
    this.to = placeAt(at, tops);
    row.item.style.transform = `translateY(${at - tops[from] - heights[from] / 2}px)`;
    items.forEach((item, other) => {
      if (other === from) return;
      const isPassedUp = other < from && other >= this.to;
      const isPassedDown = other > from && other <= this.to;
      let places = 0;
      if (isPassedUp) places = 1;
      if (isPassedDown) places = -1;
      item.style.transform = places ? `translateY(${places * heights[from]}px)` : "";
      this.grips[other].textContent = String(other + places + 1);
    });
    row.grip.textContent = String(this.to + 1);
    const bottom = tops[this.to] + heights[this.to];
    this.landing.style.top = `${this.to > from ? bottom - heights[from] : tops[this.to]}px`;
  }

  /** Scroll while the pointer is near an end of the list, even if it does not move. */
  scroll() {
    const { place } = this.list;
    const { top, bottom } = place.getBoundingClientRect();
    const before = place.scrollTop;
    if (this.pointerY < top + 30) place.scrollTop -= 8;
    if (this.pointerY > bottom - 30) place.scrollTop += 8;
    if (place.scrollTop !== before) this.follow(this.pointerY);
    this.frame = requestAnimationFrame(() => this.scroll());
  }

  /** @param {boolean} isDropped false leaves the row where it was */
  end(isDropped) {
    const { list, row, from, to } = this;
    const { editor } = list;
    cancelAnimationFrame(this.frame);
    this.landing.remove();
    for (const item of this.items) item.style.transform = "";
    this.grips.forEach((grip, place) => (grip.textContent = String(place + 1)));
    row.item.classList.remove("is-dragged");
    list.place.classList.remove("is-dragging");
    list.place.style.height = "";
    list.dragged = null;
    if (editor.scene.has(row.id)) {
      editor.select(row.id);
      if (isDropped && to !== from) editor.edit("reorder", row.id, (steps) => moveRegion(steps, row.id, to));
    }
    list.update();
    row.item.scrollIntoView({ block: "nearest" });
    row.grip.focus({ preventScroll: true });
  }
}

/**
 * Return the index at which a row lands: that of the row under the pointer before rows make room; 0
 * above the first row, and the last index below the last row.
 * @param {number} at position of the pointer in the list
 * @param {number[]} tops of the collapsed rows, ascending
 */
export function placeAt(at, tops) {
  const passed = tops.filter((top) => top <= at).length;
  return Math.max(passed - 1, 0);
}

/** One region in the list. */
class Row {
  /**
   * @param {Editor} editor
   * @param {DepthList} list
   * @param {string} id
   */
  constructor(editor, list, id) {
    this.editor = editor;
    this.list = list;
    this.id = id;
    this.item = document.createElement("li");
    this.grip = button("grip", "", "");
    this.name = Object.assign(document.createElement("input"), { placeholder: "Name", autocomplete: "off", maxLength: 200, spellcheck: true });
    this.name.setAttribute("list", list.names.id);
    this.part = document.createElement("span");
    this.part.className = "part";
    this.hide = icon("eye", "Hide", keyFor("hide"));
    this.lock = icon("lock", "Lock", keyFor("lock"));
    this.hide.dataset.action = "hide";
    this.lock.dataset.action = "lock";
    this.more = document.createElement("div");
    this.more.className = "more";
    /** @type {AttributeFields | null} fields of the selected region */
    this.fields = null;
    /** The current content of `more`. */
    this.shown = "";
    /** The current content of the row. */
    this.line = "";
    /** The hidden share, as measured last. */
    this.hidden = 0;
    /**
     * The overlapping regions, as measured last.
     * @type {string[]}
     */
    this.overlaps = [];
    const line = document.createElement("div");
    line.className = "line";
    line.append(this.grip, this.name, this.part, this.hide, this.lock);
    this.item.append(line, this.more);
    this.listen();
  }

  listen() {
    const { editor, id } = this;
    this.item.addEventListener("pointerdown", (event) => {
      const isButton = event.target instanceof Element && event.target.closest("button") !== null;
      if (isButton && editor.isSelected(id)) return;
      this.list.choose(id, waysOf(event, this.list.selectsSeveral && !isButton));
    });
    this.item.addEventListener("mousedown", (event) => {
      // A press that selects several regions must not begin to edit a name.
      if (event.ctrlKey || event.metaKey || event.shiftKey || this.list.selectsSeveral) event.preventDefault();
    });
    this.grip.addEventListener("pointerdown", (event) => {
      // Selecting the row here would expand it under the pointer before a drag.
      event.stopPropagation();
      event.preventDefault();
      this.grip.focus();
      const isAlone = !(event.ctrlKey || event.metaKey || event.shiftKey || this.list.selectsSeveral);
      if (event.button === 0 && isAlone) this.list.drag(event, this);
    });
    this.grip.addEventListener("click", (event) => this.list.choose(id, waysOf(event, this.list.selectsSeveral)));
    this.grip.addEventListener("keydown", (event) => this.key(event));
    this.name.addEventListener("focus", () => {
      if (!editor.isSelected(id)) editor.select(id);
    });
    this.name.addEventListener("change", () => this.rename());
    this.name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      if (event.key === "Escape") this.name.value = editor.scene.region(id).name;
      this.rename();
      editor.picture.overlay.focus();
    });
    this.hide.addEventListener("click", () => flipField(editor, "is_hidden", id));
    this.lock.addEventListener("click", () => flipField(editor, "is_locked", id));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.altKey) {
      // The tab key comes to rows that are not selected.
      if (this.editor.selected !== this.id) this.editor.select(this.id);
      run(this.editor, by < 0 ? "forward" : "back");
      this.grip.focus();
    } else this.list.focusFrom(this.id, by, event.shiftKey);
  }

  rename() {
    const { editor, id } = this;
    const name = nameFrom(this.name.value);
    if (!editor.scene.has(id) || editor.scene.region(id).name === name) return;
    editor.edit("name", id, (steps) => setField(steps, id, "name", name));
  }

  /**
   * @param {import("./scene.js").Region} region
   * @param {number} place
   */
  show(region, place) {
    const { editor, id } = this;
    const isSelected = editor.selected === id;
    const isAlso = editor.alsoSelected.has(id);
    this.showMore(isSelected, region);
    this.fields?.show(region.attributes);
    if (this.list.isMeasured) this.hidden = editor.depth.occlusion(id);
    const { hidden } = this;
    const key = [place, isSelected, isAlso, region.name, region.is_hidden, region.is_locked, region.propagation, hidden, editor.isReadOnly].join();
    if (key === this.line) return;
    this.line = key;
    const { fill, text } = colourOf(id, false);
    this.item.classList.toggle("is-selected", isSelected);
    this.item.classList.toggle("is-also-selected", isAlso);
    this.item.classList.toggle("is-hidden", region.is_hidden);
    this.grip.textContent = String(place + 1);
    this.grip.style.background = fill;
    this.grip.style.color = text;
    const called = nameOf(editor, id);
    this.grip.setAttribute("aria-label", `${place + 1}: ${called}. Alt with an arrow key moves it in depth.`);
    if (isSelected || isAlso) this.grip.setAttribute("aria-current", "true");
    else this.grip.removeAttribute("aria-current");
    if (document.activeElement !== this.name) this.name.value = region.name;
    this.name.setAttribute("aria-label", `Name of region ${place + 1}`);
    this.name.readOnly = editor.isReadOnly;
    const isProposed = region.propagation === "proposed";
    const share = hidden >= 0.005 ? `${Math.round(100 * hidden)} % hidden` : "";
    this.part.textContent = isProposed ? "proposed" : share;
    this.part.title = isProposed ? "Propagated from another frame, and not accepted yet" : "";
    if (!isProposed && hidden) this.part.title = "Share of the region behind others";
    this.item.classList.toggle("is-proposed", isProposed);
    pressed(this.hide, region.is_hidden, `Hide ${called}`);
    pressed(this.lock, region.is_locked, `Lock ${called}`);
  }

  /**
   * Show the details of the selected region: thing or stuff, zoom and delete buttons, and its
   * overlaps.
   * @param {boolean} isSelected
   * @param {import("./scene.js").Region} region
   */
  showMore(isSelected, region) {
    const { editor, id } = this;
    const isSeveral = editor.alsoSelected.size > 0;
    if (this.list.isMeasured) this.overlaps = isSelected && !isSeveral ? editor.depth.overlapping(id) : [];
    const overlaps = isSelected && !isSeveral ? this.overlaps.filter((other) => editor.scene.has(other)) : [];
    // The buttons of outlines refer to outlines by index, so the buttons are rebuilt whenever outlines change.
    const outlines = isSelected && !isSeveral && region.starts ? editor.scene.outlines(id) : [];
    const key = isSelected ? JSON.stringify([outlines.length && editor.scene.revisionOf(id), BUTTON_ACTIONS.map(keyFor), region.is_stuff, region.propagation, editor.isReadOnly, isSeveral, overlaps.map((other) => [other, nameOf(editor, other), editor.scene.place(other) < editor.scene.place(id)])]) : "";
    if (key === this.shown) return;
    this.shown = key;
    this.more.replaceChildren();
    this.fields = null;
    if (!isSelected || isSeveral) return;
    if (editor.isReadOnly) return void this.more.append(describeValues(region.attributes));
    const zoom = labelButton("Zoom", "Zoom to the region", keyFor("show"), () => run(editor, "show"));
    const copy = labelButton("Duplicate", "Duplicate the region", keyFor("duplicate"), () => run(editor, "duplicate"));
    const away = labelButton("Delete", "Delete the region", keyFor("delete"), () => remove(editor, id));
    away.className = "danger";
    const ways = document.createElement("div");
    ways.className = "ways";
    const extend = labelButton("Hole or part", "Draw a hole in the region, or a further part of it", keyFor("extend"), () => {
      run(editor, "extend");
      editor.picture.overlay.focus();
    });
    ways.append(this.kindChoice(region.is_stuff), extend, zoom, copy, away);
    const list = document.createElement("div");
    list.className = "overlaps";
    list.append(...outlines.map((_, index) => this.outline(outlines, index)), ...overlaps.map((other) => this.overlap(other)));
    this.fields = this.list.attributes.length ? new AttributeFields(editor, id, this.list.attributes) : null;
    if (region.propagation === "proposed") this.more.append(this.proposalButtons());
    this.more.append(ways, this.depthButtons(), ...(this.fields ? [this.fields.place] : []), list);
  }

  /**
   * Build the choice between thing and stuff; the pressed button shows the kind of the region.
   * @param {boolean} isStuff
   */
  kindChoice(isStuff) {
    const group = document.createElement("div");
    group.className = "choices";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Kind of region");
    for (const [text, isChosen] of /** @type {[string, boolean][]} */ ([["Thing", !isStuff], ["Stuff", isStuff]])) {
      const made = labelButton(text, text, keyFor("stuff"), () => {
        if (isChosen) return;
        flipField(this.editor, "is_stuff", this.id);
        // The buttons have been replaced.
        /** @type {HTMLElement | null} */ (this.more.querySelector('.choices [aria-pressed="true"]'))?.focus();
      });
      made.setAttribute("aria-pressed", String(isChosen));
      group.append(made);
    }
    return group;
  }

  /** Build the buttons that accept or remove proposals for the region. */
  proposalButtons() {
    const group = document.createElement("div");
    group.className = "ways proposal";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Proposal");
    for (const [action, text, title] of PROPOSAL_BUTTONS) {
      group.append(labelButton(text, title, keyFor(action), () => run(this.editor, action)));
    }
    return group;
  }

  /** Build the buttons that move the region in depth; the pressed one keeps the focus. */
  depthButtons() {
    const group = document.createElement("div");
    group.className = "ways depth";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Depth order");
    for (const { action, text, title } of DEPTH_BUTTONS) {
      const made = labelButton(text, title, keyFor(action), () => {
        run(this.editor, action);
        // The row has moved in the list, and its buttons may have been replaced.
        /** @type {HTMLElement | null} */ (this.more.querySelector(`[data-depth="${action}"]`))?.focus();
        this.item.scrollIntoView({ block: "nearest" });
      });
      made.dataset.depth = action;
      group.append(made);
    }
    return group;
  }

  /**
   * Build the line of a hole or part, with buttons to show and to delete it.
   * @param {import("../common/geometry.js").Polygon[]} outlines
   * @param {number} index
   */
  outline(outlines, index) {
    const { editor, id } = this;
    const line = document.createElement("div");
    line.className = "overlap";
    const said = document.createElement("span");
    const kind = isHole(outlines, index) ? "Hole" : "Part";
    said.textContent = `${kind} of ${Math.round(area(outlines[index])).toLocaleString("en")} px`;
    const title = said.textContent.toLowerCase();
    const zoom = labelButton("Zoom", `Zoom to the ${title}`, "", () => editor.showBox(boxOf(outlines[index]), 50));
    const away = labelButton("Delete", `Delete the ${title}`, "", () => {
      editor.edit("delete", id, (steps) => deleteOutline(steps, id, ringsOf(editor.scene.region(id))[index][0]));
      this.grip.focus();
    });
    away.className = "danger";
    line.append(said, zoom, away);
    return line;
  }

  /**
   * Build "in front of dog" with a button that swaps the two.
   * @param {string} other
   */
  overlap(other) {
    const { editor, id } = this;
    const isInFront = editor.scene.place(id) < editor.scene.place(other);
    const line = document.createElement("div");
    line.className = "overlap";
    const said = document.createElement("span");
    said.textContent = `${isInFront ? "in front of" : "behind"} ${nameOf(editor, other)}`;
    const turn = labelButton("Swap", `Put ${nameOf(editor, isInFront ? other : id)} in front of ${nameOf(editor, isInFront ? id : other)}`, keyFor("swap"), () =>
      isInFront ? putInFront(editor, other, id) : putInFront(editor, id, other),
    );
    line.append(said, turn);
    return line;
  }
}

/**
 * Return how a press on a row changes the selection.
 * @param {MouseEvent} event
 * @param {boolean} selectsSeveral
 */
function waysOf(event, selectsSeveral) {
  return { isAdded: event.ctrlKey || event.metaKey || selectsSeveral, isRange: event.shiftKey };
}

/**
 * Return the entries from one id to another, in the order of the list.
 * @param {string[]} ids
 * @param {string} one
 * @param {string} other
 */
function between(ids, one, other) {
  const [first, last] = [ids.indexOf(one), ids.indexOf(other)].sort((a, b) => a - b);
  return ids.slice(Math.max(first, 0), last + 1);
}

/**
 * @param {HTMLButtonElement} made
 * @param {boolean} isOn
 * @param {string} label
 */
function pressed(made, isOn, label) {
  made.setAttribute("aria-pressed", String(isOn));
  made.setAttribute("aria-label", label);
}
