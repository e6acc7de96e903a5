// The bar above the list of regions: search, filter by state, and actions on several selected
// regions.

import { find } from "../common/dom.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./depth-list.js").DepthList} DepthList */
/** @typedef {import("./region-filter.js").Choice} Choice */

export class ListSearch {
  /**
   * @param {HTMLElement} place
   * @param {Editor} editor
   * @param {DepthList} list
   */
  constructor(place, editor, list) {
    this.place = place;
    this.editor = editor;
    this.list = list;
    this.input = find("input[type=search]", HTMLInputElement, place);
    this.choice = find("select", HTMLSelectElement, place);
    this.several = find("#several", HTMLButtonElement, place);
    this.found = find("#found", HTMLElement, place);
    this.chosen = find("#selected-regions", HTMLElement, place);
    this.input.addEventListener("input", () => this.filter());
    this.choice.addEventListener("change", () => this.filter());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.several.addEventListener("click", () => {
      list.selectsSeveral = !list.selectsSeveral;
      if (!list.selectsSeveral) editor.select(editor.selected);
      this.update();
    });
    const { onSearch } = editor;
    editor.onSearch = () => {
      onSearch();
      this.input.focus();
    };
    editor.listeners.add(() => this.update());
    this.update();
  }

  filter() {
    const { filter } = this.list;
    filter.text = this.input.value;
    filter.choice = /** @type {Choice} */ (this.choice.value);
    this.list.update();
    this.update();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const [first] = this.list.listed();
    if (event.key === "Escape") {
      this.input.value = "";
      this.filter();
      this.editor.picture.overlay.focus();
    } else if ((event.key === "Enter" || event.key === "ArrowDown") && first !== undefined) {
      this.editor.select(first);
      this.list.rows.get(first)?.grip.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  update() {
    const { editor, list } = this;
    const all = editor.scene.regions.length;
    const isActive = list.filter.isActive;
    this.place.hidden = all < 2 && !isActive;
    this.found.textContent = isActive ? `${list.listed().length} of ${all} regions` : "";
    this.several.setAttribute("aria-pressed", String(list.selectsSeveral));
    const count = editor.selection.length;
    this.chosen.hidden = count < 2 || editor.isReadOnly;
    find("strong", HTMLElement, this.chosen).textContent = `${count} selected`;
  }
}
