"use strict";
// Everything on the page can be read without scripts.

// What scrolls sideways can be scrolled with the keyboard.
for (const scroller of document.querySelectorAll(".scroll, nav, pre")) {
  new ResizeObserver(() => {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
  }).observe(scroller);
}
