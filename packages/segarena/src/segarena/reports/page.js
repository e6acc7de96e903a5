"use strict";
// Without scripts, the page shows all but pictures and the later rows of long tables.

// Make horizontally scrolling elements focusable, to allow scrolling by keyboard.
for (const scroller of document.querySelectorAll(".scroll, nav, pre")) {
  new ResizeObserver(() => {
    if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
  }).observe(scroller);
}
