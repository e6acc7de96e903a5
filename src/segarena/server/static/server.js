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
