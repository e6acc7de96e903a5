"use strict";
for (const block of document.querySelectorAll("pre.copy")) {
  // Browsers offer the clipboard only over TLS and on localhost.
  if (!navigator.clipboard) break;
  const text = block.textContent, button = document.createElement("button");
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.trim());
    button.textContent = "Copied";
  });
  block.append(button);
}
for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.ask)) event.preventDefault();
  });
}
// Turn sections into tabs, with the keyboard control of the WAI-ARIA tabs pattern.
for (const box of document.querySelectorAll("[data-tabs]")) {
  const panels = [...box.children], list = document.createElement("div"), tabs = [];
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", box.dataset.tabs);
  const select = (number) => {
    tabs.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === number));
      tab.tabIndex = other === number ? 0 : -1;
      panels[other].hidden = other !== number;
    });
  };
  const steps = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};
  panels.forEach((panel, number) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `${panel.id}-tab`;
    tab.textContent = panel.querySelector("h2").textContent;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.tabIndex = 0;
    tab.addEventListener("click", () => select(number));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      const step = steps[event.key], last = tabs.length - 1;
      let to = (number + step + tabs.length) % tabs.length;
      if (!Number.isFinite(step)) to = step < 0 ? 0 : last;
      select(to);
      tabs[to].focus();
    });
    tabs.push(tab);
    list.append(tab);
  });
  box.prepend(list);
  // An address with the name of a section opens its tab.
  const named = panels.findIndex((panel) => `#${panel.id}` === location.hash);
  select(Math.max(named, 0));
}
// The server writes times in UTC; show them in the visitor's time zone, in the same format.
// The Swedish locale formats dates as 2026-06-01 12:00.
{
  const here = new Intl.DateTimeFormat("sv-SE", {dateStyle: "short", timeStyle: "short"});
  const showLocalTimes = () => {
    for (const time of document.querySelectorAll("time[datetime]:not([title])")) {
      time.title = time.textContent;
      time.textContent = here.format(new Date(time.dateTime));
    }
  };
  showLocalTimes();
  // Scripts of other packages send this event after they have replaced a part of the page.
  document.addEventListener("segarena:replaced", showLocalTimes);
  document.getElementById("zone").textContent = `Times are in your zone, ${here.resolvedOptions().timeZone}.`;
}
// Reload pages that wait for a result, such as images that are being rendered.
for (const waiting of document.querySelectorAll("[data-again]")) {
  setTimeout(() => location.reload(), 1000 * waiting.dataset.again);
}
// Add a check box that selects all; without scripts, visitors tick each one separately.
for (const form of document.querySelectorAll("form[data-select]")) {
  const label = document.createElement("label"), all = document.createElement("input");
  all.type = "checkbox";
  all.addEventListener("change", () => {
    for (const one of form.elements) if (one !== all && one.type === "checkbox") one.checked = all.checked;
  });
  label.append(all, form.dataset.select);
  form.append(label);
}
