"use strict";
for (const block of document.querySelectorAll("pre.copy")) {
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
// Times are written in UTC; here in the zone of whoever looks, in the same way.
{
  const here = new Intl.DateTimeFormat("sv-SE", {dateStyle: "short", timeStyle: "short"});
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = here.format(new Date(time.dateTime));
  }
  document.getElementById("zone").textContent = `Times are in your zone, ${here.resolvedOptions().timeZone}.`;
}
// What is not ready yet is looked for again.
for (const waiting of document.querySelectorAll("[data-again]")) {
  setTimeout(() => location.reload(), 1000 * waiting.dataset.again);
}
