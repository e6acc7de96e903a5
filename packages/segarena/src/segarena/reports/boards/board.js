"use strict";
// A board: rank, sort and filter the entries of the selected panel; draw the ticked ones as curves.
{
  const FIRST_TICKED = 5;
  const AT_ONCE = 80; // rows drawn before the page is ready; the others follow when the browser is idle
  const told = JSON.parse(document.getElementById("told").textContent);
  const panels = new Map(told.panels.map((panel) => [JSON.stringify(panel.key), panel]));
  const [, , , measure] = told.first;
  const form = document.querySelector(".board form.controls");
  const table = document.querySelector(".board table.ranks");
  const tools = document.querySelector("#curves form");
  const { data, user, group, choice, words } = form.elements;
  const ranking = form.elements.measure;
  const metric = tools.elements.metric;
  const ticked = new Map(); // index of an entry -> its colour
  let by = null;
  let waiting = 0;

  const isFloor = (entry) => told.entries[entry].floor;
  // Style of a ticked entry: its own colour, or grey with its own dash for a floor.
  const lookOf = (entry) => (isFloor(entry) ? `floor d${ticked.get(entry) % 4}` : colourOf(ticked.get(entry)));
  const statistic = (name) => told.statistics.find((one) => one.name === name);
  const panelOf = (name, of = group.value) => panels.get(JSON.stringify([data.value, user.value, of, name]));
  const made = (name, attributes = {}, ...inside) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...inside);
    return element;
  };

  // Select which runs of each participant to show; "best" refers to the board's own measure in
  // every column.
  function chosen(entries) {
    const judged = panelOf(measure, "");
    const sign = statistic(measure).higher ? 1 : -1;
    const worth = (entry) => {
      const place = judged.entries.indexOf(entry);
      return place < 0 ? -Infinity : sign * judged.mean[place];
    };
    const groups = new Map();
    for (const entry of entries) {
      const whose = told.entries[entry].participant || entry;
      groups.set(whose, [...(groups.get(whose) ?? []), entry]);
    }
    return [...groups.values()].flatMap((group) => {
      const placed = group.filter((one) => !told.entries[one].unranked);
      const whole = placed.length ? placed : group;
      if (choice.value === "best") return [whole.reduce((best, one) => (worth(one) > worth(best) ? one : best))];
      if (choice.value === "last") return whole.slice(-1);
      if (choice.value === "chosen") return (group.filter((one) => told.entries[one].chosen).slice(-1).concat(whole.slice(-1))).slice(0, 1);
      return group;
    });
  }

  // Bit row of the entries that an entry beats, decoded on first use.
  function isAhead(panel, one, other) {
    panel.bits ??= [];
    const row = (panel.bits[one] ??= Uint8Array.from(atob(panel.ahead[one]), (letter) => letter.charCodeAt(0)));
    return (row[other >> 3] >> (7 - (other & 7))) & 1;
  }

  function ranked(panel) {
    const sign = statistic(ranking.value).higher ? 1 : -1;
    const shown = new Set(chosen(panelOf(measure, "").entries));
    const inside = panel.entries.map((_, place) => place).filter((place) => shown.has(panel.entries[place]));
    inside.sort((a, b) => sign * (panel.mean[b] - panel.mean[a]) || a - b);
    const isPlaced = (place) => !told.entries[panel.entries[place]].unranked;
    const placed = inside.filter(isPlaced);
    return [...placed, ...inside.filter((place) => !isPlaced(place))].map((place, order) => ({
      place,
      entry: panel.entries[place],
      rank: isPlaced(place) ? 1 + placed.findIndex((other) => panel.mean[other] === panel.mean[place]) : 0,
      order,
      first: 1 + placed.filter((other) => isAhead(panel, other, place)).length,
      last: placed.length - placed.filter((other) => isAhead(panel, place, other)).length,
    }));
  }

  // --- table ---

  function columns(panel) {
    const others = group.value ? [] : told.statistics.filter((one) => one.name !== ranking.value);
    const about = (entry) => told.entries[entry];
    const value = (one) => {
      const own = panelOf(one.name);
      const at = (row) => own.entries.indexOf(row.entry);
      return {
        name: one.name, heading: `${one.name} ${one.higher ? "↑" : "↓"}`, about: one.definition, isNumber: true, isDown: one.higher,
        of: (row) => own.mean[at(row)] ?? NaN,
        cell: (row) => numbers(own.text[at(row)] ?? "–", own.bounds[at(row)]),
      };
    };
    return [
      { name: "rank", heading: "Rank", isNumber: true, about: document.getElementById("ranks-note").textContent, of: (row) => row.order, cell: (row) => Object.assign(numbers(`${row.rank || "–"}`, row.rank ? range(row) : ""), { className: "num rank" }) },
      { name: "run", heading: "Run", of: (row) => about(row.entry).name, cell: who },
      value(statistic(ranking.value)),
      { name: "interval", heading: "Interval", cell: (row) => made("td", { className: "interval" }, whisker(row, panel)) },
      ...others.map(value),
      { name: "failures", heading: "Failures", isNumber: true, of: (row) => about(row.entry).failures[user.value],
        cell: (row) => made("td", { className: about(row.entry).failures[user.value] ? "num alarm" : "num" }, `${about(row.entry).failures[user.value]}`) },
      { name: "seconds", heading: `Time / ${told.words[0]}`, isNumber: true, of: (row) => about(row.entry).seconds[user.value][0] ?? NaN, cell: (row) => numbers(about(row.entry).seconds[user.value][1]) },
      { name: "at", heading: "Finished", isDown: true, of: (row) => about(row.entry).at, cell: (row) => made("td", { className: "when" }, about(row.entry).at.slice(0, 10)) },
    ];
  }

  function range({ first, last }) {
    return first === last ? `${first}` : `${first} to ${last}`;
  }

  function numbers(text, below) {
    return made("td", { className: "num" }, text, ...(below ? [made("small", {}, below)] : []));
  }

  function who(row) {
    const { name, page } = told.entries[row.entry];
    const told_ = notes(row.entry);
    const box = made("input", { type: "checkbox", checked: ticked.has(row.entry), ariaLabel: `draw ${name}` });
    box.dataset.entry = row.entry;
    const sign = ticked.has(row.entry) ? swatch(lookOf(row.entry), ticked.get(row.entry)) : made("i", { className: "swatch" });
    const label = made("label", {}, box, sign, made("span", {}, name));
    const more = page ? [made("a", { href: page, ariaLabel: `all about ${name}` }, "all about it")] : [];
    const below = [told_, ...more].filter(Boolean).flatMap((one, place) => (place ? [" · ", one] : [one]));
    return made("td", { className: "who" }, label, ...(below.length ? [made("small", {}, ...below)] : []));
  }

  function notes(entry) {
    const { participant, name, done, control, unranked } = told.entries[entry];
    return [
      participant === name ? "" : participant,
      control === "blind" ? "looks at no image" : control === "truth" ? "sees the truth" : "",
      done[0] < done[1] ? `partial: ${done[0]} of ${done[1]}` : "",
      unranked ? `no place: ${unranked}` : "",
    ].filter(Boolean).join(", ");
  }

  let scale = [0, 1];
  let blind = null;
  function whisker(row, panel) {
    const at = (value) => 4 + (132 * (value - scale[0])) / (scale[1] - scale[0] || 1);
    const [low, high] = [panel.low[row.place] ?? panel.mean[row.place], panel.high[row.place] ?? panel.mean[row.place]];
    const colour = ticked.has(row.entry) ? lookOf(row.entry) : "plain";
    return svg("svg", { class: "chart whisk", viewBox: "0 0 140 16", "aria-hidden": "true" },
      ...(blind === null ? [] : [svg("path", { class: "mark", d: `M${at(blind.mean).toFixed(1)} 0V16` })]),
      svg("path", { class: `whisker ${colour}`, d: `M${at(low).toFixed(1)} 8H${at(high).toFixed(1)}` }),
      svg("circle", { class: `dot ${colour}`, cx: at(panel.mean[row.place]).toFixed(1), cy: 8, r: 3.6 }));
  }

  // The best control that ignores the image: an entry that does not beat it has learnt nothing from
  // the picture.
  function blindest(panel) {
    const sign = statistic(ranking.value).higher ? 1 : -1;
    const blind = panel.entries.map((entry, place) => ({ entry, mean: panel.mean[place] })).filter(({ entry }) => isFloor(entry));
    return blind.length ? blind.reduce((best, one) => (sign * one.mean > sign * best.mean ? one : best)) : null;
  }

  function leader(rows, panel) {
    if (!rows.length) return "";
    const placed = rows.filter(({ rank }) => rank);
    const [first, ...others] = placed.length ? placed : rows;
    const { name } = told.entries[first.entry];
    const bounds = panel.bounds[first.place];
    const found = `${panel.text[first.place]}${bounds ? ` ${bounds}` : ""}`;
    const level = `${name} is first in ${ranking.value} with ${found}`;
    const behind = others.filter((other) => isAhead(panel, first.place, other.place)).length;
    if (!others.length) return `${name}: ${ranking.value} ${found}.`;
    if (behind === others.length) return `${level}, ahead of ${others.length === 1 ? "the other" : `all ${others.length} others`}.`;
    const open = others.length - behind;
    return `${level}; ${open === 1 ? "one other" : `${open} others`} of ${others.length} cannot be told apart from it.`;
  }

  // Count the samples that rows share, if they cover different ones; the initial text is the
  // template.
  const bitsOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);
  const sum = (bytes) => bytes.reduce((sum, byte) => sum + ONES[byte], 0);
  function shared(rows) {
    const found = told.samples.find(({ key }) => key[0] === data.value && key[1] === user.value);
    if (!found || rows.length < 2) return "";
    const bits = rows.map(({ entry }) => (found.bits ??= found.of.map(bitsOf))[entry]);
    if (bits.every((one) => one.every((byte, place) => byte === bits[0][place]))) return "";
    const between = bits.flatMap((one, place) => bits.slice(place + 1).map((other) => sum(one.map((byte, at) => byte & other[at]))));
    const every = sum(bits.reduce((a, b) => a.map((byte, at) => byte & b[at])));
    const ends = (counts) => [...new Set([counts.reduce((a, b) => Math.min(a, b)), counts.reduce((a, b) => Math.max(a, b))])].join(" to ");
    const fill = { own: ends(bits.map(sum)), two: ends(between), every, sample: told.words[2] };
    const both = told.shared[0].replace(/\{(\w+)\}/g, (_, name) => fill[name]);
    return between.includes(0) ? `${both} ${told.shared[1]}` : both;
  }

  function show(rows = ranked(panelOf(ranking.value))) {
    const panel = panelOf(ranking.value);
    const every = rows.map((row) => row.place);
    scale = [Math.min(...every.map((place) => panel.low[place] ?? panel.mean[place])), Math.max(...every.map((place) => panel.high[place] ?? panel.mean[place]))];
    blind = blindest(panel);
    document.getElementById("leader").textContent = leader(rows, panel);
    document.getElementById("shared").textContent = shared(rows);
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const sifted = rows.filter(({ entry }) => asked.every((word) => `${told.entries[entry].name} ${told.entries[entry].participant}`.toLowerCase().includes(word)));
    const shown = columns(panel);
    const column = shown.find((one) => one.name === by?.name);
    if (column) sifted.sort((a, b) => compare(column.of(a), column.of(b), by.sign));
    table.tHead.rows[0].replaceChildren(...shown.map(heading));
    const drawn = (row) => made("tr", { className: told.entries[row.entry].control ? "control" : "" }, ...shown.map((one) => one.cell(row)));
    table.tBodies[0].replaceChildren(...sifted.slice(0, AT_ONCE).map(drawn));
    clearTimeout(waiting);
    const more = (from) => {
      if (from >= sifted.length) return;
      table.tBodies[0].append(...sifted.slice(from, from + AT_ONCE).map(drawn));
      waiting = setTimeout(more, 0, from + AT_ONCE);
    };
    waiting = setTimeout(more, 50, AT_ONCE);
    table.caption.textContent = `Runs by ${ranking.value}`;
    form.querySelector("output").value = `${sifted.length} of ${told.entries.length} runs`;
  }

  function heading(column) {
    const th = made("th", { scope: "col", className: column.isNumber ? "num" : "" });
    if (!column.of) {
      th.textContent = column.heading;
      return th;
    }
    const button = made("button", { type: "button", title: column.about ?? "" }, column.heading);
    const sorted = by?.name === column.name ? by.sign : !by && column.name === "rank" ? 1 : 0;
    if (sorted) th.ariaSort = sorted > 0 ? "ascending" : "descending";
    button.addEventListener("click", () => {
      by = { name: column.name, sign: sorted ? -sorted : column.isDown ? -1 : 1 };
      show();
      [...table.querySelectorAll("th button")].find((one) => one.textContent === column.heading)?.focus();
    });
    th.append(button);
    return th;
  }

  // Sort missing values last in either direction.
  function compare(a, b, sign) {
    if (typeof a === "string") return sign * a.localeCompare(b, undefined, { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return sign * (a - b);
  }

  // --- ticked entries ---

  function tick(entry, isOn) {
    if (!isOn) ticked.delete(entry);
    else if (!ticked.has(entry)) {
      const taken = new Set(ticked.values());
      let colour = 0;
      while (taken.has(colour)) colour += 1;
      ticked.set(entry, colour);
    }
  }

  function tickFirst(rows) {
    ticked.clear();
    rows.filter(({ entry }) => !isFloor(entry)).slice(0, FIRST_TICKED).forEach(({ entry }) => tick(entry, true));
  }

  function draw() {
    const there = told.curves.filter(({ key }) => key[0] === data.value && key[1] === user.value);
    const titles = there.map(({ title }) => title);
    if (titles.join() !== [...metric.options].map((one) => one.value).join()) metric.replaceChildren(...titles.map((title) => new Option(title, title)));
    metric.closest("label").hidden = titles.length < 2;
    const lines = there.find(({ title }) => title === metric.value)?.of ?? {};
    const named = (entry) => (isFloor(entry) ? `image-blind: ${told.entries[entry].name}` : told.entries[entry].name);
    const line = (entry, css, marker) => ({ label: named(entry), css, marker, isFloor: isFloor(entry), ends: lines[entry] });
    const drawn = [...ticked].filter(([entry]) => lines[entry]).map(([entry, colour]) => line(entry, lookOf(entry), colour));
    const panel = panelOf(measure, "");
    if (blind && lines[blind.entry] && !ticked.has(blind.entry)) drawn.push(line(blind.entry, "floor", 0));
    drawCurves(document.querySelector("[data-chart=curves]"), { lines: drawn, word: told.words[0], title: metric.value });
    const points = panel.entries.map((entry, place) => ({ entry, at: Date.parse(told.entries[entry].at), mean: panel.mean[place], text: panel.text[place], name: told.entries[entry].name, control: told.entries[entry].control, css: ticked.has(entry) ? lookOf(entry) : "plain", marker: ticked.get(entry) ?? 0 }));
    drawHistory(document.querySelector("[data-chart=history]"), { points, title: measure, higher: statistic(measure).higher });
  }

  // --- selection, kept in the address ---

  const asked = { measure: ranking, data, user, group, choice, words };

  function renew(isFresh) {
    const known = (select, of) => {
      for (const option of select.options) option.disabled = option.hidden = Boolean(option.value) && !of(option.value);
      if (select.selectedOptions[0]?.disabled) select.selectedIndex = [...select.options].findIndex((option) => !option.disabled);
    };
    known(user, (name) => panels.has(JSON.stringify([data.value, name, "", measure])));
    known(group, (name) => panels.has(JSON.stringify([data.value, user.value, name, measure])));
    if (group.value) ranking.value = measure;
    ranking.disabled = Boolean(group.value);
    const rows = ranked(panelOf(ranking.value));
    if (isFresh) tickFirst(rows);
    show(rows);
    draw();
    const changed = Object.entries(asked).filter(([name, field]) => field.value !== initial[name]);
    const address = new URLSearchParams(changed.map(([name, field]) => [name, field.value])).toString();
    history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search + (location.hash.includes("=") ? "" : location.hash));
  }

  const begin = form.dataset.choice;
  const initial = { measure, data: told.first[0], user: told.first[1], group: "", choice: begin, words: "" };

  function fromAddress() {
    const wanted = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const [name, field] of Object.entries(asked)) {
      field.value = wanted.get(name) ?? initial[name];
      if (field.options && field.selectedIndex < 0) field.value = initial[name];
    }
  }

  form.addEventListener("input", (event) => {
    if (event.target !== words) by = null;
    renew(event.target === data || event.target === user);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.fresh.addEventListener("click", () => {
    Object.entries(asked).forEach(([name, field]) => (field.value = initial[name]));
    by = null;
    renew(true);
  });
  table.addEventListener("input", ({ target }) => {
    const entry = Number(target.dataset.entry);
    tick(entry, target.checked);
    show();
    draw();
    table.querySelector(`input[data-entry="${entry}"]`)?.focus();
  });
  table.addEventListener("keydown", (event) => {
    const boxes = [...table.querySelectorAll("input")];
    const place = boxes.indexOf(event.target);
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: boxes.length - 1 }[event.key];
    if (place < 0 || next === undefined) return;
    event.preventDefault();
    boxes[next]?.focus();
  });
  tools.addEventListener("input", draw);
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.elements.five.addEventListener("click", () => (tickFirst(ranked(panelOf(ranking.value))), show(), draw()));
  tools.elements.none.addEventListener("click", () => (ticked.clear(), show(), draw()));
  addEventListener("hashchange", () => location.hash.includes("=") && (fromAddress(), renew(true)));
  let width = innerWidth;
  addEventListener("resize", () => width !== innerWidth && ((width = innerWidth), draw()));

  for (const [name, field] of Object.entries({ data, user, group })) field.closest("label").hidden = field.options.length < 2;
  ranking.closest("label").hidden = ranking.options.length < 2;
  choice.closest("label").hidden = new Set(told.entries.map(({ participant }, entry) => participant || entry)).size === told.entries.length;
  fromAddress();
  form.hidden = tools.hidden = false;
  renew(true);
  document.documentElement.dataset.ready = Math.round(performance.now());
}
