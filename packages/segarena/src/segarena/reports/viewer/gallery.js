// Galleries: the viewers of a page, and the controls that filter cards and set how they are drawn.

import { CardViewer } from "./card-viewer.js";

/** @typedef {import("./pane.js").Mode} Mode */

/** Distance from the visible part of the page at which a card shows its pictures. */
const NEAR = "800px";
/** If there are more runs, their checkboxes are collapsed, with one checkbox for all. */
const MOST_OPEN_RUNS = 6;

/** @type {Map<Element, CardViewer>} */
const viewers = new Map();
const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) viewers.get(target)?.drawPictures();
  },
  { rootMargin: NEAR },
);

/**
 * Set up the viewers below an element.
 * @param {ParentNode} root
 * @param {ConstructorParameters<typeof CardViewer>[1]} choices
 */
function setUpViewers(root, choices) {
  for (const element of root.querySelectorAll(".viewer")) {
    if (!(element instanceof HTMLElement) || viewers.has(element)) continue;
    viewers.set(element, new CardViewer(element, choices));
    observer.observe(element);
  }
}

class Gallery {
  /**
   * @param {HTMLElement} root
   * @param {HTMLFormElement} form
   */
  constructor(root, form) {
    this.root = root;
    this.form = form;
    /**
     * @param {string} name
     * @returns {any}
     */
    this.control = (name) => form.elements.namedItem(name);
    this.output = /** @type {HTMLOutputElement} */ (form.querySelector("output"));
    this.total = this.output.value;
    /** @type {HTMLInputElement[]} */
    this.boxes = [];
    setUpViewers(root, () => this.choices);
    this.fillControls();
    this.control("fold").addEventListener("click", () => this.foldAll());
    this.control("other")?.addEventListener("change", () => void this.fetchCard());
    form.addEventListener("input", () => this.filter());
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    this.filter();
    window.addEventListener("hashchange", () => this.openLinkedCard());
    this.openLinkedCard();
  }

  get cards() {
    return /** @type {HTMLElement[]} */ ([...this.root.querySelectorAll(".card")]);
  }

  get choices() {
    const hidden = new Set(this.boxes.filter((box) => !box.checked).map((box) => box.value));
    return {
      mode: /** @type {Mode} */ (this.control("mode").value),
      opacity: Number(this.control("opacity").value),
      marks: this.control("marks").checked,
      hidden,
    };
  }

  /**
   * @param {ParentNode} root
   * @returns {CardViewer[]}
   */
  viewersIn(root) {
    return [...root.querySelectorAll(".viewer")].flatMap((element) => viewers.get(element) ?? []);
  }

  fillControls() {
    const every = this.viewersIn(this.root);
    const user = this.control("user");
    for (const name of new Set(this.cards.map((card) => card.dataset.user ?? ""))) user.add(new Option(name, name));
    user.closest("label").hidden = user.options.length < 3;
    const field = this.control("runs");
    for (const name of new Set(every.flatMap((viewer) => viewer.runs))) {
      const box = checkedBox(name);
      this.boxes.push(box);
      field.append(ticked(box, name));
    }
    field.hidden = this.boxes.length < 2;
    if (this.boxes.length > MOST_OPEN_RUNS) this.foldRuns(field);
    this.control("marks").closest("label").hidden = !every.some((viewer) => viewer.hasPrompts);
  }

  /** @param {HTMLElement} field */
  foldRuns(field) {
    const all = checkedBox("");
    all.addEventListener("input", () => {
      for (const box of this.boxes) box.checked = all.checked;
    });
    field.querySelector("legend")?.after(ticked(all, "all"));
    const folded = document.createElement("details");
    const summary = Object.assign(document.createElement("summary"), { textContent: `${this.boxes.length} runs` });
    field.replaceWith(folded);
    folded.append(summary, field);
  }

  /**
   * Return the outcomes of a card in the selected runs; each is a filter value.
   * @param {HTMLElement} card
   */
  outcomesOf(card) {
    const states = this.viewersIn(card).flatMap((viewer) => viewer.outcomes);
    const ended = states.filter((state) => state !== "failed");
    const found = ended.length < states.length ? ["failed"] : [];
    if (!ended.length) return found;
    const solved = ended.filter((state) => state === "solved").length;
    if (solved === states.length) return [...found, "all"];
    return [...found, solved ? "some" : "none"];
  }

  filter() {
    const text = this.control("words").value.trim().toLowerCase();
    const result = this.control("result");
    const user = this.control("user").value;
    const available = new Set();
    let shown = 0;
    for (const card of this.cards) {
      const outcomes = this.outcomesOf(card);
      for (const outcome of outcomes) available.add(outcome);
      const hasResult = !result.value || outcomes.includes(result.value);
      const hasUser = !user || user === card.dataset.user;
      card.hidden = !(hasResult && hasUser && card.dataset.words?.includes(text));
      if (!card.hidden) shown++;
    }
    for (const option of result.options) option.disabled = Boolean(option.value) && !available.has(option.value) && !option.selected;
    result.closest("label").hidden = !available.size && !result.value;
    this.output.value = shown < this.cards.length ? `${shown} of ${this.cards.length} pass the filter; ${this.total}` : this.total;
    for (const viewer of this.viewersIn(this.root)) viewer.update();
  }

  foldAll() {
    const isAnyOpen = Boolean(this.root.querySelector("details[open]"));
    for (const details of this.root.querySelectorAll(".card > details")) details.toggleAttribute("open", !isAnyOpen);
    this.control("fold").textContent = isAnyOpen ? "open all" : "fold all";
  }

  /** Request another card; only pages of `segarena report --open` have this field. */
  async fetchCard() {
    const field = this.control("other");
    const answer = await fetch(`card/${parseInt(field.value, 10)}`);
    if (!answer.ok) {
      this.output.value = "there is no picture of this target";
      return;
    }
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    const card = /** @type {HTMLElement} */ (made.content.querySelector(".card"));
    document.getElementById(card.id)?.remove();
    this.root.querySelector(".cards")?.prepend(card);
    setUpViewers(card, () => this.choices);
    field.value = "";
    this.filter();
    card.scrollIntoView();
  }

  /** Open the card that the address of the page points to, even if the filter hides it. */
  openLinkedCard() {
    const card = document.getElementById(location.hash.slice(1));
    if (!card?.classList.contains("card") || !this.root.contains(card)) return;
    if (card.hidden) {
      this.form.reset();
      this.filter();
    }
    card.querySelector("details")?.toggleAttribute("open", true);
    card.scrollIntoView();
  }
}

/** @param {string} value */
function checkedBox(value) {
  return Object.assign(document.createElement("input"), { type: "checkbox", checked: true, value });
}

/**
 * Return a checkbox followed by its label.
 * @param {HTMLInputElement} box
 * @param {string} name
 */
function ticked(box, name) {
  const label = document.createElement("label");
  label.append(box, ` ${name}`);
  return label;
}

for (const root of document.querySelectorAll(".gallery")) {
  const form = root.querySelector("form.controls");
  if (root instanceof HTMLElement && form instanceof HTMLFormElement) new Gallery(root, form);
}
// Viewers outside of galleries have no controls.
setUpViewers(document, () => ({ mode: "fill", opacity: 0.45, marks: true, hidden: new Set() }));
window.addEventListener("beforeprint", () => {
  for (const viewer of viewers.values()) viewer.drawPictures();
});
