// Buttons that save charts, and a readout of chart values, which follows the pointer, or the arrow
// keys while a chart has the focus.

for (const chart of document.querySelectorAll("svg.chart:not(.swatch)")) setUpChart(chart);

function setUpChart(chart) {
  const panel = chart.closest(".panel");
  if (panel && chart.querySelector("title")) readable(chart, panel);
  if (panel) panel.append(...["svg", "png"].map((kind) => saver(chart, kind)));
}

function saver(chart, kind) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "save", textContent: kind.toUpperCase() });
  button.setAttribute("aria-label", `save ${chart.getAttribute("aria-label")} as ${kind.toUpperCase()}`);
  button.addEventListener("click", () => save(chart, kind));
  return button;
}

// Save the chart as displayed: computed styles are copied to attributes of each element.
function save(chart, kind) {
  const copy = chart.cloneNode(true);
  const { width, height } = chart.viewBox.baseVal;
  const from = [chart, ...chart.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(from[index]);
    const paint = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"];
    const letters = ["font-family", "font-size", "font-weight"];
    // Use attributes, because a strict Content Security Policy rejects inline styles.
    for (const name of [...paint, ...letters]) element.setAttribute(name, style.getPropertyValue(name).replaceAll('"', "'"));
  });
  // Include the page's heading above the chart.
  const heading = chart.closest(".panel").querySelector("h3")?.textContent;
  const above = heading ? 24 : 0;
  if (heading) {
    const text = document.createElementNS(copy.namespaceURI, "text");
    const ink = getComputedStyle(document.body);
    Object.entries({ x: 4, y: -9, fill: ink.color, "font-family": "sans-serif", "font-size": "12px", "font-weight": 600 }).forEach(([name, value]) => text.setAttribute(name, value));
    text.textContent = heading;
    copy.prepend(text);
  }
  copy.setAttribute("viewBox", `0 ${-above} ${width} ${height + above}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height + above);
  const ground = document.createElementNS(copy.namespaceURI, "rect");
  const fill = getComputedStyle(document.body).backgroundColor;
  Object.entries({ y: -above, width, height: height + above, fill }).forEach(([name, value]) => ground.setAttribute(name, value));
  copy.prepend(ground);
  const address = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  const name = chart.getAttribute("aria-label").replace(/[^\w]+/g, "-").slice(0, 60);
  const keep = (href) => Object.assign(document.createElement("a"), { href, download: `${name}.${kind}` }).click();
  if (kind === "svg") return keep(address);
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 3 * width, height: 3 * (height + above) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    keep(canvas.toDataURL("image/png"));
  });
  image.src = address;
}

// A script that redraws the marks of a chart sends it the event "redrawn".
function readable(chart, panel) {
  const readout = document.createElement("output");
  readout.className = "readout";
  readout.hidden = true;
  panel.append(readout);
  chart.tabIndex = 0;
  let groups = null;
  let place = -1;

  // Group the marks by x, unless there are very many. The titles of a group can begin with the same
  // text, up to a colon.
  function prepare() {
    const titles = [...chart.querySelectorAll("title")];
    const found = new Map();
    for (const title of titles) {
      const mark = title.parentElement;
      const box = mark.getBBox();
      const x = Math.round(box.x + box.width / 2);
      const key = titles.length > 400 ? mark : x;
      found.set(key, { x, marks: [...(found.get(key)?.marks ?? []), mark], y: box.y });
    }
    groups = [...found.values()].sort((a, b) => a.x - b.x);
    // The readout replaces the browser's tooltip.
    for (const title of titles) {
      title.parentElement.setAttribute("data-text", title.textContent);
      title.remove();
    }
  }

  function show(index) {
    groups ?? prepare();
    if (!groups.length) return;
    place = Math.max(0, Math.min(groups.length - 1, index));
    chart.querySelectorAll(".here").forEach((mark) => mark.classList.remove("here"));
    const { x, marks } = groups[place];
    marks.forEach((mark) => mark.classList.add("here"));
    const texts = marks.map((mark) => mark.dataset.text);
    const head = texts[0].split(": ")[0];
    const isShared = texts.length > 1 && texts.every((text) => text.startsWith(`${head}: `));
    readout.textContent = isShared ? [head, ...texts.map((text) => text.slice(head.length + 2))].join("\n") : texts.join("\n");
    readout.hidden = false;
    const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
    const left = chart.offsetLeft || chart.getBoundingClientRect().left - panel.getBoundingClientRect().left;
    const room = panel.clientWidth - readout.offsetWidth;
    const right = left + x * scale + 12;
    readout.style.left = `${Math.max(0, right > room ? left + x * scale - 12 - readout.offsetWidth : right)}px`;
    readout.style.top = `${chart.getBoundingClientRect().top - panel.getBoundingClientRect().top + 8}px`;
  }

  function hide() {
    readout.hidden = true;
    chart.querySelectorAll(".here").forEach((mark) => mark.classList.remove("here"));
  }

  chart.addEventListener("pointermove", (event) => {
    groups ?? prepare();
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const away = groups.map((group) => Math.abs(group.x - x));
    show(away.indexOf(Math.min(...away)));
  });
  chart.addEventListener("redrawn", () => {
    groups = null;
    hide();
  });
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("blur", hide);
  chart.addEventListener("focus", () => chart.matches(":focus-visible") && show(Math.max(0, place)));
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") hide();
    if (step === undefined) return;
    event.preventDefault();
    show(Number.isFinite(step) ? place + step : step);
  });
}
