"use strict";
(() => {
  const store = "segarena review " + document.title + " " + location.pathname;
  const findings = [...document.querySelectorAll(".annotation .finding")];
  let current = null;

  const read = () => { try { return JSON.parse(localStorage.getItem(store)) || {}; } catch { return {}; } };
  const write = (value) => { try { localStorage.setItem(store, JSON.stringify(value)); } catch { /* private window */ } };
  let decisions = read();

  const zoomOut = (scene) => scene.setAttribute("viewBox", scene.dataset.whole);

  function zoom(section) {
    const scene = section.querySelector(".drawing"), mark = scene.querySelector(".place");
    if (mark.hasAttribute("hidden") || scene.getAttribute("viewBox") !== scene.dataset.whole) { zoomOut(scene); return; }
    const [, , width, height] = scene.dataset.whole.split(" ").map(Number);
    const x = Number(mark.getAttribute("cx")), y = Number(mark.getAttribute("cy"));
    scene.setAttribute("viewBox", `${x - width / 10} ${y - height / 10} ${width / 5} ${height / 5}`);
  }

  function pick(finding) {
    const section = finding.closest(".annotation"), scene = section.querySelector(".drawing");
    document.querySelectorAll(".finding[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
    finding.setAttribute("aria-current", "true");
    const wanted = new Set(finding.dataset.regions.split(" ").filter(Boolean));
    scene.querySelectorAll(".region").forEach((region) => region.classList.toggle("on", wanted.has(region.dataset.region)));
    scene.classList.toggle("picked", wanted.size > 0);
    const mark = scene.querySelector(".place");
    mark.toggleAttribute("hidden", !finding.dataset.x);
    if (finding.dataset.x) { mark.setAttribute("cx", finding.dataset.x); mark.setAttribute("cy", finding.dataset.y); }
    zoomOut(scene);
    current = finding;
  }

  function show(section) {
    const made = decisions[section.dataset.key] || {};
    section.querySelectorAll("input[type=radio]").forEach((input) => { input.checked = input.value === made.status; });
    section.querySelector("textarea").value = made.comment || "";
    document.querySelector(`[data-decision="${section.dataset.number}"]`).textContent = made.status || "";
  }

  const sections = [...document.querySelectorAll(".annotation")];
  const count = () => {
    const made = sections.filter((section) => (decisions[section.dataset.key] || {}).status).length;
    document.querySelector(".progress").textContent = `${made} of ${sections.length} decided`;
  };

  sections.forEach((section) => {
    section.querySelector(".zoom").addEventListener("click", () => zoom(section));
    section.querySelector(".fills").addEventListener("change", (event) =>
      section.querySelector(".drawing").classList.toggle("bare", !event.target.checked));
    section.querySelector(".decision").addEventListener("input", () => {
      const chosen = section.querySelector("input[type=radio]:checked");
      decisions[section.dataset.key] = {
        image_id: section.dataset.image, author: section.dataset.author,
        status: chosen ? chosen.value : "", comment: section.querySelector("textarea").value,
      };
      write(decisions);
      document.querySelector(`[data-decision="${section.dataset.number}"]`).textContent = chosen ? chosen.value : "";
      count();
    });
    show(section);
  });

  count();

  function decide(status) {
    const section = sections.find((one) => one.getBoundingClientRect().bottom > innerHeight / 3);
    if (!section) return;
    const input = section.querySelector(`input[value=${status}]`);
    input.checked = true;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const next = sections[sections.indexOf(section) + 1];
    if (next) next.scrollIntoView();
  }

  findings.forEach((finding) => finding.addEventListener("click", () => pick(finding)));

  document.addEventListener("keydown", (event) => {
    if (event.target.matches("textarea, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key.toLowerCase()];
    if (step && findings.length) {
      const next = current ? findings.indexOf(current) + step : 0;
      const finding = findings[Math.min(Math.max(next, 0), findings.length - 1)];
      pick(finding);
      finding.focus({ preventScroll: true });
      finding.scrollIntoView({ block: "center" });
    }
    if (event.key.toLowerCase() === "a") decide("approved");
    if (event.key.toLowerCase() === "z" && current) zoom(current.closest(".annotation"));
  });

  document.querySelector(".save").addEventListener("click", () => {
    const made = Object.values(decisions).filter((decision) => decision.status || decision.comment);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(made, null, 1)], { type: "application/json" }));
    link.download = "decisions.json";
    link.click();
    document.querySelector("output").textContent = `${made.length} ${made.length === 1 ? "decision" : "decisions"} saved`;
  });
})();
