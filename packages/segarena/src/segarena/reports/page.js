"use strict";
// The page is fully readable without scripts.

// Make horizontally scrolling elements focusable, to allow scrolling by keyboard.
for (const scroller of document.querySelectorAll(".scroll, nav, pre")) {
  new ResizeObserver(() => {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
  }).observe(scroller);
}
