"use strict";
// A board: shows the ranking that the reader selects, and draws the curves of the selected runs.
{
  const FIRST_CURVES = 5; // as in board_figures.py, which draws the curves for readers without JavaScript
  const WHISKER_PX = [4, 66];
  const board = JSON.parse(document.getElementById("board-data").textContent);
  const panels = new Map(board.panels.map((panel) => [JSON.stringify(panel.key), panel]));
  const rankings = new Map(board.rankings.map((ranking) => [JSON.stringify(ranking.key), ranking]));
  const curves = new Map(board.curves.map(({ key, title, of }) => [JSON.stringify([...key, title]), of]));
  const boardMeasure = board.first[3];
  const form = document.querySelector("form.ranking");
  const curvesForm = document.querySelector("form.curves");
  const { measure, data, user, group, choice } = form.elements;
  const table = document.querySelector("#ranking table");
  const { fill, filter } = sortableTables.get(table);
  const heads = new Map([...table.querySelectorAll("th")].map((head) => [head.dataset.key, head]));
  const whiskerHead = Object.assign(document.createElement("th"), { scope: "col", textContent: "Interval" });
  whiskerHead.dataset.kind = "whisker";
  const selected = new Map(); // run number -> colour number
  let nodesOfRuns = new Map(); // run number -> its check box, swatch and whisker
  let rows = [];

  const isFloor = (run) => board.runs[run].floor;
  const keyOf = (name, ofGroup) => JSON.stringify([data.value, user.value, ofGroup, name]);
  const currentRanking = () => rankings.get(JSON.stringify([data.value, user.value, group.value, measure.value, choice.value]));

  function svgElement(name, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // --- ranking ---

  function showRanking() {
    const ranking = currentRanking();
    const others = group.value ? [] : board.statistics.filter((name) => name !== measure.value);
    const [own, ...columns] = [measure.value, ...others].map((name) => panels.get(keyOf(name, group.value)));
    for (const panel of [own, ...columns]) panel.places ??= new Map(panel.entries.map((run, place) => [run, place]));
    rows = ranking.rows.map(([run]) => run);
    nodesOfRuns = new Map();
    const scale = whiskerScale(own, rows);
    const newRows = ranking.rows.map(([run, rank, range]) => {
      const { name, page, note, failures, seconds, finished, control } = board.runs[run];
      const failed = failures[user.value] ?? 0;
      return {
        cells: [
          [rank, `${rank ?? "–"}`, "", range],
          [page, name, "", note],
          valueCell(own, run),
          "",
          ...columns.map((panel) => valueCell(panel, run)),
          [failed, `${failed}`, failed ? "alarm" : ""],
          seconds[user.value] ?? [null, "–"],
          finished,
        ],
        isMuted: Boolean(control),
        finish: (row) => addControls(row, run, own, scale),
      };
    });
    const heading = (name) => heads.get(name);
    fill([heading("rank"), heading("run"), heading(measure.value), whiskerHead, ...others.map(heading), heading("failures"), heading("seconds"), heading("finished")], newRows);
    document.getElementById("verdict").textContent = ranking.leader;
    document.getElementById("shared").textContent = ranking.shared;
  }

  function valueCell(panel, run) {
    const place = panel.places.get(run);
    return place === undefined ? [null, "–"] : [panel.mean[place], panel.text[place], "", panel.bounds[place]];
  }

  function whiskerScale(panel, runs) {
    const ends = runs.flatMap((run) => intervalOf(panel, run));
    const low = Math.min(...ends);
    const high = Math.max(...ends);
    const [start, stop] = WHISKER_PX;
    return (value) => start + ((stop - start) * (value - low)) / (high - low || 1);
  }

  function intervalOf(panel, run) {
    const place = panel.places.get(run);
    const mean = panel.mean[place];
    return [panel.low[place] ?? mean, mean, panel.high[place] ?? mean];
  }

  // Add a check box and a swatch before the name of a run, and draw its interval as a whisker.
  function addControls(row, run, panel, scale) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", ariaLabel: `draw ${board.runs[run].name}` });
    box.dataset.run = run;
    const swatches = Object.assign(document.createElement("label"), { className: "swatches" });
    swatches.append(box, document.createElement("i"));
    row.cells[1].prepend(swatches);
    const [low, mean, high] = intervalOf(panel, run).map((value) => scale(value).toFixed(1));
    const whisker = svgElement("svg", { class: "chart interval", viewBox: "0 0 70 16", "aria-hidden": "true" },
      svgElement("path", { d: `M${low} 8H${high}` }), svgElement("circle", { cx: mean, cy: 8, r: 3.6 }));
    row.cells[3].append(whisker);
    nodesOfRuns.set(run, { box, whisker });
    paint(run);
  }

  // Give the row of a run the colour of its curve.
  function paint(run) {
    const nodes = nodesOfRuns.get(run);
    if (!nodes) return; // the table draws further rows only on request
    nodes.box.checked = selected.has(run);
    const unselected = Object.assign(document.createElement("i"), { className: "swatch" });
    // The check box stays where it is, because it may have the focus.
    nodes.box.nextSibling.replaceWith(selected.has(run) ? swatch(cssOf(run), selected.get(run)) : unselected);
    const css = selected.has(run) ? cssOf(run) : "plain";
    const [line, dot] = nodes.whisker.children;
    line.setAttribute("class", `whisker ${css}`);
    dot.setAttribute("class", `dot ${css}`);
  }

  // --- curves ---

  // The run's colour and dash; grey with its own dash for a control that ignores the image.
  function cssOf(run) {
    const number = selected.get(run);
    return isFloor(run) ? `floor d${number % 4}` : `c${number % 7} d${number % 4}`;
  }

  function outline(points) {
    return points.length ? `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` : "";
  }

  function markerOutline(x, y, number, radius) {
    const corners = board.markers[number % board.markers.length];
    return `${outline(corners.map(([across, down]) => [x + radius * across, y + radius * down]))}Z`;
  }

  function swatch(css, number) {
    return svgElement("svg", { class: "chart swatch", width: 26, height: 12, "aria-hidden": "true" },
      svgElement("path", { class: `curve ${css}`, d: "M0 6L26 6" }),
      svgElement("path", { class: `dot ${css}`, d: markerOutline(13, 6, number, 3.5) }));
  }

  // The scales of a chart, as `Scale.ends` in axes.py writes them.
  function scaleOf(ends) {
    const [low, high, start, stop] = ends.split(" ").map(Number);
    return (value) => start + ((stop - start) * (value - low)) / (high - low || 1);
  }

  function drawCurves(chart, lines) {
    const x = scaleOf(chart.dataset.x);
    const y = scaleOf(chart.dataset.y);
    const word = board.word;
    chart.querySelectorAll(".band, .curve, .dot").forEach((mark) => mark.remove());
    // All bands lie below all curves.
    for (const { css, low, high, run } of lines) {
      const known = [...low.keys()].filter((index) => low[index] !== null && high[index] !== null);
      const upper = known.map((index) => [x(index + 1), y(high[index])]);
      const lower = known.map((index) => [x(index + 1), y(low[index])]);
      if (!isFloor(run)) chart.append(svgElement("path", { class: `band ${css}`, d: outline([...upper, ...lower.reverse()]) }));
    }
    for (const { css, number, label, mean, low, high, run } of lines) {
      const known = [...mean.keys()].filter((index) => mean[index] !== null);
      chart.append(svgElement("path", { class: `curve ${css}`, d: outline(known.map((index) => [x(index + 1), y(mean[index])])) }));
      const radius = isFloor(run) || known.length > 24 ? 1.6 : 3.2;
      for (const index of known) {
        const bounds = low[index] === null ? "" : ` [${low[index]}, ${high[index]}]`;
        const title = svgElement("title", {}, `${word} ${index + 1}: ${label} ${mean[index]}${bounds}`);
        chart.append(svgElement("path", { class: `dot ${css}`, d: markerOutline(x(index + 1), y(mean[index]), number, radius) }, title));
      }
    }
    const items = lines.map(({ css, number, label }) => {
      const item = document.createElement("li");
      item.append(swatch(css, number), label);
      return item;
    });
    chart.closest(".panel").querySelector(".legend").replaceChildren(...(items.length ? items : ["No run is selected."]));
    chart.dispatchEvent(new Event("redrawn"));
  }

  function drawCharts() {
    for (const chart of document.querySelectorAll("svg[data-key][data-x]")) {
      const key = JSON.parse(chart.dataset.key);
      const isShown = key[0] === data.value && key[1] === user.value;
      chart.closest(".panel").hidden = !isShown;
      if (!isShown) continue;
      const ends = curves.get(JSON.stringify(key));
      const lineOf = (run, css, number) => {
        const [mean, low, high] = ends[run];
        return { run, css, number, mean, low, high, label: `${isFloor(run) ? board.floorLabel : ""}${board.runs[run].name}` };
      };
      const lines = [...selected].filter(([run]) => ends[run]).map(([run, number]) => lineOf(run, cssOf(run), number));
      // The best control that ignores the image is always drawn: a model that does not beat it has
      // learnt nothing from the image.
      const { floor } = currentRanking();
      if (floor !== null && ends[floor] && !selected.has(floor)) lines.push(lineOf(floor, "floor", 0));
      drawCurves(chart, lines);
    }
    drawHistory();
  }

  // Show the history of the selected data and user, with the selected runs in the colours of their curves.
  function drawHistory() {
    const key = JSON.stringify([data.value, user.value]);
    const charts = [...document.querySelectorAll("svg[data-key]:not([data-x])")];
    const isShown = (chart) => JSON.stringify(JSON.parse(chart.dataset.key)) === key;
    for (const chart of charts) {
      chart.closest(".float").hidden = !charts.some(isShown);
      chart.closest(".panel").hidden = !isShown(chart);
      for (const point of chart.querySelectorAll("[data-run]")) {
        const run = Number(point.dataset.run);
        const [x, y] = point.dataset.place.split(" ").map(Number);
        const isSelected = selected.has(run);
        point.setAttribute("class", `dot ${isSelected ? cssOf(run) : "plain"}`);
        point.setAttribute("d", isSelected ? markerOutline(x, y, selected.get(run), 4.2) : markerOutline(x, y, 0, 2.8));
      }
    }
  }

  // --- selection of runs ---

  function select(run, isSelected) {
    if (!isSelected) selected.delete(run);
    else if (!selected.has(run)) {
      const taken = new Set(selected.values());
      let number = 0;
      while (taken.has(number)) number += 1;
      selected.set(run, number);
    }
  }

  function selectRuns(runs) {
    const changed = [...selected.keys(), ...runs];
    selected.clear();
    runs.forEach((run) => select(run, true));
    changed.forEach(paint);
    drawCharts();
  }

  function selectFirst() {
    selectRuns(rows.filter((run) => !isFloor(run)).slice(0, FIRST_CURVES));
  }

  table.addEventListener("input", ({ target }) => {
    const run = Number(target.dataset.run);
    select(run, target.checked);
    paint(run);
    drawCharts();
  });
  table.addEventListener("keydown", (event) => {
    const boxes = [...table.querySelectorAll("input")];
    const place = boxes.indexOf(event.target);
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: boxes.length - 1 }[event.key];
    if (place < 0 || next === undefined) return;
    event.preventDefault();
    boxes[next]?.focus();
  });
  curvesForm?.elements.five.addEventListener("click", selectFirst);
  curvesForm?.elements.none.addEventListener("click", () => selectRuns([]));

  // --- selection of a ranking, which the address of the page contains ---

  const fields = { measure, data, user, group, choice, words: filter };
  const initial = { measure: boardMeasure, data: board.first[0], user: board.first[1], group: "", choice: form.dataset.choice, words: "" };

  function showSelection(selectsFirst) {
    enableOptions(user, (name) => panels.has(JSON.stringify([data.value, name, "", boardMeasure])));
    enableOptions(group, (name) => panels.has(keyOf(boardMeasure, name)));
    // Groups have a ranking by the board's own measure only.
    if (group.value) measure.value = boardMeasure;
    measure.disabled = Boolean(group.value);
    showRanking();
    if (selectsFirst) selectFirst();
    else drawCharts();
    writeAddress();
  }

  // Hide the options for which there are no data; the empty option always remains.
  function enableOptions(field, isKnown) {
    for (const option of field.options) option.disabled = option.hidden = Boolean(option.value) && !isKnown(option.value);
    if (field.selectedOptions[0]?.disabled) field.selectedIndex = [...field.options].findIndex((option) => !option.disabled);
  }

  function writeAddress() {
    const changed = Object.entries(fields).filter(([name, field]) => field.value !== initial[name]);
    const selection = new URLSearchParams(changed.map(([name, field]) => [name, field.value])).toString();
    // Keep an anchor such as #targets, but drop an earlier selection.
    const anchor = location.hash.includes("=") ? "" : location.hash;
    history.replaceState(null, "", selection ? `#${selection}` : location.pathname + location.search + anchor);
  }

  function readAddress() {
    const wanted = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const [name, field] of Object.entries(fields)) {
      field.value = wanted.get(name) ?? initial[name];
      if (field.options && field.selectedIndex < 0) field.value = initial[name];
    }
    filter.dispatchEvent(new Event("input"));
  }

  form.addEventListener("input", ({ target }) => showSelection(target === data || target === user));
  for (const one of [form, curvesForm]) one?.addEventListener("submit", (event) => event.preventDefault());
  form.elements.reset.addEventListener("click", () => {
    history.replaceState(null, "", location.pathname + location.search);
    readAddress();
    showSelection(true);
  });
  filter.addEventListener("input", writeAddress);
  addEventListener("hashchange", () => {
    if (!location.hash.includes("=")) return;
    readAddress();
    showSelection(true);
  });

  readAddress();
  form.hidden = false;
  if (curvesForm) curvesForm.hidden = false;
  showSelection(true);
  document.documentElement.dataset.ready = Math.round(performance.now());
}
