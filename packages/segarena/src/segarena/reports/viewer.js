// Galleries: all panes of a card share one zoom, round and plane; display settings apply to all
// cards.

function control(text, input) {
  const label = document.createElement("label");
  label.append(text, " ", input);
  return label;
}

function range(attributes) {
  return Object.assign(document.createElement("input"), { type: "range" }, attributes);
}

function button(text, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.addEventListener("click", act);
  return made;
}

function setUp(viewer) {
  const stacks = [...viewer.querySelectorAll(".stack")];
  stacks.forEach((stack) => setUpStack(stack, viewer));
  if (stacks.length < 2) return;
  const select = document.createElement("select");
  stacks.forEach((stack) => select.add(new Option(stack.dataset.name)));
  const choose = () => stacks.forEach((stack, index) => (stack.hidden = index !== select.selectedIndex));
  select.addEventListener("input", choose);
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.append(control("View", select));
  viewer.prepend(bar);
  choose();
}

function setUpStack(stack, viewer) {
  const numbers = (text) => (text ? text.split(" ").map(Number) : []);
  const { anchor, first } = stack.dataset;
  const rounds = Number(stack.dataset.rounds);
  const plates = stack.querySelectorAll(".shared image").length;
  const panes = [...stack.querySelectorAll(".pane")].map((pane) => ({
    pane,
    kept: numbers(pane.dataset.kept),
    most: Number(pane.dataset.rounds),
    uses: [...pane.querySelectorAll("use")],
    marks: [...pane.querySelectorAll("[data-round]")],
    value: pane.querySelector(".value"),
  }));
  const round = range({ min: Math.min(1, rounds), max: rounds, value: rounds });
  const plate = range({ min: 0, max: Math.max(0, plates - 1), value: first });
  const [roundTold, plateTold] = [document.createElement("output"), document.createElement("output")];

  function draw() {
    const now = Number(round.value);
    const z = Number(plate.value);
    for (const { pane, kept, most, uses, marks, value } of panes) {
      const moment = momentOf(most, kept, now);
      const { at, last } = moment;
      for (const use of uses) {
        const { layer, object } = use.dataset;
        const name = layer === pane.dataset.name ? `${layer}.${last}` : layer;
        use.setAttribute("href", `#${anchor}-${name}-${z}-${object}`);
      }
      for (const mark of marks) {
        const number = Number(mark.dataset.round);
        const isHere = !mark.dataset.plates || numbers(mark.dataset.plates).includes(z);
        const isNow = "brief" in mark.dataset ? number === at : number <= now;
        mark.toggleAttribute("hidden", !(isHere && isNow));
        mark.classList.toggle("newest", number === now && most > 1);
        mark.classList.toggle("older", number <= now - 4); // their numbers appear in the enlarged view
      }
      const told = noteOf(moment, viewer.dataset.word);
      if (value && kept.length && at) value.textContent = [value.getAttribute(`data-r${at}`), told].filter(Boolean).join(", ");
    }
    roundTold.value = `${now} of ${rounds}`;
    const label = document.getElementById(`${anchor}-i-${z}-0`).dataset.label;
    plateTold.value = label;
    stack.querySelectorAll(".plate").forEach((told) => (told.textContent = label));
    round.setAttribute("aria-valuetext", roundTold.value);
    plate.setAttribute("aria-valuetext", label);
  }

  const bar = document.createElement("div");
  bar.className = "bar";
  if (rounds > 1) bar.append(control(viewer.dataset.word, round), roundTold);
  if (plates > 1) bar.append(control("moving" in stack.dataset ? "frame" : "slice", plate), plateTold);
  if (plates > 1 && "moving" in stack.dataset) bar.append(player(plate, plates, draw));
  if (stack.dataset.levels) bar.append(...windowed(stack, numbers(stack.dataset.levels)));
  bar.append(button("enlarge", () => enlarge(viewer)));
  bar.addEventListener("input", draw);
  stack.append(bar);
  stack.querySelectorAll(".picture").forEach((picture) => {
    picture.addEventListener("click", () => enlarge(viewer));
    // The wheel over a slice scrolls through slices, unless it is zooming the page.
    if (plates > 1 && !("moving" in stack.dataset)) {
      picture.addEventListener("wheel", (event) => {
        if (event.ctrlKey || !document.querySelector("dialog[open]")?.contains(stack)) return;
        event.preventDefault();
        plate.value = Number(plate.value) + Math.sign(event.deltaY);
        draw();
      }, { passive: false });
    }
  });
  draw();
}

function player(plate, plates, draw) {
  let timer = 0;
  const made = button("play", () => {
    if (timer) {
      clearInterval(timer);
      timer = 0;
    } else {
      timer = setInterval(() => {
        plate.value = (Number(plate.value) + 1) % plates;
        draw();
      }, 150);
    }
    made.textContent = timer ? "pause" : "play";
  });
  return made;
}

function short(value) {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(Number(value).toPrecision(3));
}

function windowed(stack, [low, high]) {
  // Express slope and intercept of a window as CSS filters: brightness multiplies, contrast scales
  // about mid-grey.
  const step = (high - low) / 200;
  const level = range({ min: low, max: high, step, value: (low + high) / 2 });
  const width = range({ min: step, max: high - low, step, value: high - low });
  const told = document.createElement("output");
  const apply = () => {
    const slope = (high - low) / width.value;
    const dark = (level.value - width.value / 2 - low) / (high - low);
    const contrast = Math.max(0, 1 + 2 * dark * slope);
    const lift = Math.max(0, -dark) * slope; // a window below the darkest grey: a uniform overlay is the closest approximation
    stack.style.setProperty("--window", `brightness(${slope / Math.max(contrast, 1e-6)}) contrast(${contrast + 2 * lift})`);
    told.value = `${short(level.value)} / ${short(width.value)}`;
  };
  for (const input of [level, width]) input.addEventListener("input", apply);
  apply();
  return [control("level", level), control("window", width), told];
}

const stage = document.createElement("dialog");
stage.className = "stage";
stage.setAttribute("aria-label", "enlarged");
document.body.append(stage);
let home = null;

function enlarge(viewer) {
  if (stage.open) {
    stage.close();
    return;
  }
  home = document.createComment("");
  const { mode, marks } = viewer.closest(".gallery")?.dataset ?? {};
  Object.assign(stage.dataset, { mode: mode ?? "fill", marks: marks ?? "on" });
  stage.style.setProperty("--opacity", getComputedStyle(viewer).getPropertyValue("--opacity"));
  viewer.replaceWith(home);
  stage.replaceChildren(button("close", () => stage.close()), viewer);
  stage.showModal();
}

stage.addEventListener("close", () => {
  const viewer = stage.querySelector(".viewer");
  if (viewer) home.replaceWith(viewer);
  viewer?.querySelector(".stack:not([hidden]) .bar button:last-of-type")?.focus();
});
stage.addEventListener("click", (event) => {
  if (event.target === stage) stage.close();
});

for (const gallery of document.querySelectorAll(".gallery")) setUpGallery(gallery);

function setUpGallery(gallery) {
  const controls = gallery.querySelector("form.controls");
  const { mode, opacity, marks, user, result, words, runs, fold } = controls.elements;
  const cards = () => [...gallery.querySelectorAll(".card")];
  const panes = (card) => [...card.querySelectorAll(".pane[data-run]")];
  const names = (of) => [...new Set(cards().flatMap(of))];
  for (const name of names((card) => card.dataset.user)) user.add(new Option(name, name));
  for (const name of names((card) => panes(card).map((pane) => pane.dataset.run))) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true, value: name });
    runs.append(control(name, box));
  }
  const boxes = [...runs.querySelectorAll("input")];
  runs.hidden = boxes.length < 2;
  if (boxes.length > 6) {
    // Many runs are folded, with one checkbox for all.
    const all = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    all.addEventListener("input", () => boxes.forEach((box) => (box.checked = all.checked)));
    runs.querySelector("legend").after(control("all", all));
    const folded = document.createElement("details");
    const summary = Object.assign(document.createElement("summary"), { textContent: `${boxes.length} runs` });
    runs.replaceWith(folded);
    folded.append(summary, runs);
  }
  user.closest("label").hidden = user.options.length < 3;
  marks.closest("label").hidden = !gallery.querySelector(".marks *");
  const told = controls.querySelector("output");
  const total = told.value;

  // Collect the outcomes of a card in the selected runs; each is a filter value.
  function results(card) {
    const states = panes(card).filter((pane) => !pane.hidden).map((pane) => pane.dataset.state).filter(Boolean);
    const failed = states.includes("failed") ? ["failed"] : [];
    if (!states.some((state) => state !== "failed")) return failed;
    const solved = states.filter((state) => state === "solved").length;
    return [...failed, solved === states.length ? "all" : solved ? "some" : "none"];
  }

  const filter = () => {
    const text = words.value.trim().toLowerCase();
    const off = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
    const there = new Set();
    for (const card of cards()) {
      for (const pane of panes(card)) pane.hidden = off.has(pane.dataset.run);
      const found = results(card);
      found.forEach((name) => there.add(name));
      const isKept = !result.value || found.includes(result.value);
      card.hidden = !(isKept && (!user.value || user.value === card.dataset.user) && card.dataset.words.includes(text));
    }
    for (const option of result.options) option.disabled = Boolean(option.value) && !there.has(option.value) && !option.selected;
    result.closest("label").hidden = !there.size && !result.value;
    const left = cards().filter((card) => !card.hidden).length;
    told.value = left < cards().length ? `${left} of ${cards().length} pass the filter; ${total}` : total;
    gallery.dataset.mode = mode.value;
    gallery.dataset.marks = marks.checked ? "on" : "off";
    gallery.style.setProperty("--opacity", opacity.value);
  };
  fold.addEventListener("click", () => {
    const isAnyOpen = Boolean(gallery.querySelector("details[open]"));
    gallery.querySelectorAll(".card > details").forEach((details) => (details.open = !isAnyOpen));
    fold.textContent = isAnyOpen ? "open all" : "fold all";
  });
  // Only a page of `segarena report --open` has this field: it requests a card from its server.
  controls.elements.other?.addEventListener("change", async ({ target }) => {
    const answer = await fetch(`card/${parseInt(target.value, 10)}`);
    if (!answer.ok) return void (told.value = "there is no picture of this target");
    const made = document.createElement("template");
    made.innerHTML = await answer.text();
    const card = made.content.querySelector(".card");
    document.getElementById(card.id)?.remove();
    gallery.querySelector(".cards").prepend(card);
    card.querySelectorAll(".viewer").forEach(setUp);
    target.value = "";
    filter();
    card.scrollIntoView();
  });
  controls.addEventListener("input", filter);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  filter();
  // A link from a table opens its card, even if the filter hides it.
  const arrive = () => {
    const card = document.getElementById(location.hash.slice(1));
    if (!card?.classList.contains("card") || !gallery.contains(card)) return;
    if (card.hidden) {
      controls.reset();
      filter();
    }
    card.querySelector("details").open = true;
    card.scrollIntoView();
  };
  window.addEventListener("hashchange", arrive);
  arrive();
}

document.querySelectorAll(".viewer").forEach(setUp);
