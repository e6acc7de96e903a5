// The fields of a selected region for the attributes of the project.

import { setAttribute } from "./region-commands.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./scene.js").Attributes} Attributes */
/** @typedef {{name: string, kind: "checkbox" | "choice" | "text", choices: string[]}} Attribute */

const LONGEST_TEXT = 200;

export class AttributeFields {
  /**
   * @param {Editor} editor
   * @param {string} id of the region
   * @param {Attribute[]} attributes of the project
   */
  constructor(editor, id, attributes) {
    this.editor = editor;
    this.id = id;
    this.place = document.createElement("div");
    this.place.className = "attributes";
    /** @type {{attribute: Attribute, field: HTMLInputElement | HTMLSelectElement}[]} */
    this.fields = attributes.map((attribute) => ({ attribute, field: fieldOf(attribute) }));
    for (const { attribute, field } of this.fields) this.add(attribute, field);
  }

  /**
   * @param {Attribute} attribute
   * @param {HTMLInputElement | HTMLSelectElement} field
   */
  add(attribute, field) {
    const label = document.createElement("label");
    const name = Object.assign(document.createElement("span"), { textContent: attribute.name });
    label.append(...(attribute.kind === "checkbox" ? [field, name] : [name, field]));
    this.place.append(label);
    field.addEventListener("change", () => {
      const { editor, id } = this;
      const value = valueOf(field);
      if (editor.scene.has(id)) editor.edit("attribute", id, (steps) => setAttribute(steps, id, attribute.name, value));
    });
    field.addEventListener("keydown", (event) => {
      const { key } = /** @type {KeyboardEvent} */ (event);
      if (attribute.kind !== "text" || (key !== "Enter" && key !== "Escape")) return;
      event.stopPropagation();
      if (key === "Escape") this.show(this.editor.scene.region(this.id).attributes, true);
      this.editor.picture.overlay.focus();
    });
  }

  /**
   * Show the values of the region; text that is being typed stays unless `isForced`.
   * @param {Attributes | undefined} values
   * @param {boolean} [isForced]
   */
  show(values, isForced = false) {
    for (const { attribute, field } of this.fields) {
      const value = values?.[attribute.name] ?? "";
      if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = value === true;
      else if (field instanceof HTMLSelectElement) choose(field, String(value));
      else if (isForced || document.activeElement !== field) field.value = String(value);
    }
  }
}

/** @param {Attribute} attribute */
function fieldOf({ kind, choices }) {
  if (kind === "checkbox") return Object.assign(document.createElement("input"), { type: "checkbox" });
  if (kind === "text") return Object.assign(document.createElement("input"), { maxLength: LONGEST_TEXT, autocomplete: "off" });
  const select = document.createElement("select");
  select.append(new Option("not set", ""), ...choices.map((value) => new Option(value)));
  return select;
}

/** @param {HTMLInputElement | HTMLSelectElement} field */
function valueOf(field) {
  if (field instanceof HTMLInputElement && field.type === "checkbox") return field.checked;
  return field.value.trim().normalize("NFC");
}

/**
 * Select a value; add it if the project no longer offers it.
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(new Option(value));
  select.value = value;
}

/**
 * Return the values of a region as text, such as "occluded, colour: red".
 * @param {Attributes | undefined} values
 */
export function describeValues(values) {
  const parts = Object.entries(values ?? {}).map(([name, value]) => (value === true ? name : `${name}: ${value}`));
  return parts.join(", ");
}
