// Charts of a board, drawn at their displayed width: curves of ticked entries, and all runs by
// finishing time.

const SPACE = "http://www.w3.org/2000/svg";
const MARKERS = [
  Array.from({ length: 16 }, (_, turn) => [Math.cos((turn * Math.PI) / 8), Math.sin((turn * Math.PI) / 8)]),
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]],
  [[0, -1.4], [1.2, 0], [0, 1.4], [-1.2, 0]],
  [[0, 1.3], [1.2, -0.9], [-1.2, -0.9]],
];

function svg(name, attributes, ...inside) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

function colourOf(number) {
  return `c${number % 7} d${number % 4}`;
}

function outline(points) {
  return points.length ? `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` : "";
}

function marker(x, y, number, css, radius, text) {
  const corners = MARKERS[number % MARKERS.length].map(([across, down]) => [x + radius * across, y + radius * down]);
  const made = svg("path", { class: `dot ${css}`, d: `${outline(corners)}Z` });
  if (text) made.append(svg("title", {}, text));
  return made;
}

function swatch(css, number) {
  return svg("svg", { class: "chart swatch", width: 26, height: 12, "aria-hidden": "true" },
    svg("path", { class: `curve ${css}`, d: "M0 6L26 6" }), marker(13, 6, number, css, 3.5));
}

function niceTicks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).reduce((a, b) => (Math.abs(Math.log(b / raw)) < Math.abs(Math.log(a / raw)) ? b : a));
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index += 1) ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

function padded(values, within) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = (high - low) * 0.06 || 0.05 * Math.max(1, Math.abs(high));
  const ends = [low - pad, high + pad];
  return within && low >= 0 && high <= 1 ? [Math.max(0, ends[0]), Math.min(1, ends[1])] : ends;
}

// Draw a chart with axes, as wide as its container; `labels` are names at the right ends of curves.
function framed(place, { title, xLabel, yLabel, x, y, xTicks, room }) {
  const width = Math.max(300, Math.min(1120, place.clientWidth || 700));
  const height = Math.round(Math.max(250, Math.min(430, width * 0.42)));
  const [left, right, top, bottom] = [52, room ?? 14, 12, 42];
  const at = {
    x: (value) => left + ((width - left - right) * (value - x[0])) / (x[1] - x[0] || 1),
    y: (value) => height - bottom - ((height - top - bottom) * (value - y[0])) / (y[1] - y[0] || 1),
    right: width - right,
    top,
    bottom: height - bottom,
  };
  const chart = svg("svg", { class: "chart drawn-here", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title });
  for (const tick of niceTicks(y[0], y[1], 5)) {
    chart.append(svg("path", { class: "grid", d: `M${left} ${at.y(tick).toFixed(1)}H${width - right}` }));
    chart.append(svg("text", { class: "tick", x: left - 7, y: (at.y(tick) + 4).toFixed(1), "text-anchor": "end" }, `${tick}`));
  }
  chart.append(svg("path", { class: "axis", d: `M${left} ${height - bottom}H${width - right}` }));
  for (const [value, text] of xTicks) {
    chart.append(svg("path", { class: "axis", d: `M${at.x(value).toFixed(1)} ${height - bottom}v4` }));
    chart.append(svg("text", { class: "tick", x: at.x(value).toFixed(1), y: height - bottom + 17, "text-anchor": "middle" }, text));
  }
  chart.append(svg("text", { class: "label", x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, xLabel));
  chart.append(svg("text", { class: "label", transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yLabel));
  return { chart, at, width };
}

function placed(place, chart, ...below) {
  place.replaceChildren(chart, ...below);
  setUpChart(chart);
}

function short(name, most = 28) {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

function drawCurves(place, { lines, word, title }) {
  const rounds = Math.max(1, ...lines.map(({ ends }) => ends[0].length));
  const values = lines.flatMap(({ ends }) => ends.flat()).filter((value) => value !== null);
  if (!values.length) return void place.replaceChildren(Object.assign(document.createElement("p"), { className: "note", textContent: "Nothing is ticked." }));
  const step = rounds <= 10 ? 1 : 5 * Math.ceil(rounds / 40);
  const xTicks = Array.from({ length: rounds }, (_, index) => index + 1).filter((round) => round === 1 || round % step === 0).map((round) => [round, `${round}`]);
  const hasNames = place.clientWidth > 620;
  const room = hasNames ? Math.max(...lines.map(({ label }) => short(label).length)) * 8.2 + 18 : 14;
  const { chart, at } = framed(place, { title: `${title} against ${word}s`, xLabel: word, yLabel: title, x: [1, rounds], y: padded(values, true), xTicks, room });
  for (const { ends: [, low, high], css } of lines.filter(({ isFloor }) => !isFloor)) {
    const inside = low.map((_, index) => index).filter((index) => low[index] !== null && high[index] !== null);
    const around = [...inside.map((index) => [at.x(index + 1), at.y(high[index])]), ...inside.reverse().map((index) => [at.x(index + 1), at.y(low[index])])];
    chart.append(svg("path", { class: `band ${css}`, d: outline(around) }));
  }
  for (const { ends: [mean, low, high], css, label, marker: sign, isFloor } of lines) {
    const known = mean.map((_, index) => index).filter((index) => mean[index] !== null);
    chart.append(svg("path", { class: `curve ${css}`, d: outline(known.map((index) => [at.x(index + 1), at.y(mean[index])])) }));
    for (const index of known) {
      const ends = low[index] === null ? "" : ` [${low[index]}, ${high[index]}]`;
      chart.append(marker(at.x(index + 1), at.y(mean[index]), sign, css, isFloor || known.length > 24 ? 1.6 : 3.2, `${word} ${index + 1}: ${label} ${mean[index]}${ends}`));
    }
  }
  if (hasNames) endLabels(chart, at, lines);
  placed(place, chart, ...(hasNames ? [] : [legend(lines)]));
}

// Place names at the ends of curves, moved apart to avoid overlap.
function endLabels(chart, at, lines) {
  const ends = lines.map(({ ends: [mean], css, label }) => ({ y: at.y(mean.findLast((value) => value !== null)), css, label })).filter(({ y }) => Number.isFinite(y)).sort((a, b) => a.y - b.y);
  const step = Math.min(15, (at.bottom - at.top) / Math.max(1, ends.length - 1));
  const places = [];
  for (const { y } of ends) places.push(Math.max(y + 4, places.length ? places.at(-1) + step : at.top + 4));
  for (let index = places.length - 1; index >= 0; index -= 1) places[index] = Math.min(places[index], at.bottom + 4 - step * (places.length - 1 - index));
  ends.forEach(({ css, label }, index) => chart.append(svg("text", { class: `end ${css}`, x: at.right + 8, y: places[index].toFixed(1) }, short(label))));
}

function legend(lines) {
  const list = Object.assign(document.createElement("ul"), { className: "legend" });
  for (const { label, css, marker: sign } of lines) {
    const item = document.createElement("li");
    const sample = svg("svg", { class: "chart swatch", width: 26, height: 12, "aria-hidden": "true" }, svg("path", { class: `curve ${css}`, d: "M0 6L26 6" }), marker(13, 6, sign, css, 3.5));
    item.append(sample, label);
    list.append(item);
  }
  return list;
}

function drawHistory(place, { points, title, higher }) {
  const known = points.filter(({ at, mean }) => Number.isFinite(at) && mean !== null).sort((a, b) => a.at - b.at);
  const section = place.closest("section");
  section.hidden = new Set(known.map(({ at }) => at)).size < 2;
  if (section.hidden) return;
  const [first, last] = [known[0].at, known.at(-1).at];
  const isLong = last - first > 2 * 86_400_000;
  const text = (time) => new Date(time).toISOString().slice(...(isLong ? [0, 10] : last - first > 600_000 ? [11, 16] : [11, 19]));
  const count = place.clientWidth < 520 ? 2 : 5;
  const times = Array.from({ length: count + 1 }, (_, index) => first + ((last - first) * index) / count).map((time) => [time, text(time)]);
  const xTicks = times.filter(([, told], index) => index === 0 || told !== times[index - 1][1]);
  const { chart, at } = framed(place, { title: `${title} of each run by time`, xLabel: isLong ? "finished" : "finished, UTC", yLabel: title, x: [first, last], y: padded(known.map(({ mean }) => mean)), xTicks, room: 36 });
  let best = null;
  const steps = [];
  for (const point of known.filter(({ control }) => !control)) {
    if (best !== null && !(higher ? point.mean > best : point.mean < best)) continue;
    if (best !== null) steps.push([at.x(point.at), at.y(best)]);
    best = point.mean;
    steps.push([at.x(point.at), at.y(best)]);
  }
  if (best !== null) steps.push([at.right, at.y(best)]);
  chart.append(svg("path", { class: "curve best-yet", d: outline(steps) }));
  const blind = known.filter(({ control }) => control === "blind").map(({ mean }) => mean);
  if (blind.length) {
    const level = at.y((higher ? Math.max : Math.min)(...blind)).toFixed(1);
    chart.append(svg("path", { class: "mark", d: `M52 ${level}H${at.right}` }), svg("text", { class: "tick", x: at.right, y: Number(level) - 5, "text-anchor": "end" }, "image-blind"));
  }
  for (const point of known) chart.append(marker(at.x(point.at), at.y(point.mean), point.marker, point.css, point.css === "plain" ? 2.8 : 4.2, `${new Date(point.at).toISOString().slice(0, 16).replace("T", " ")}: ${point.name} ${point.text}`));
  placed(place, chart);
}
