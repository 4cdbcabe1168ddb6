// What a small screen needs: wide things scroll in a box of their own, the keyboard
// reaches the box, and its edge fades where it goes on.
"use strict";

const BOXES =
  ".scroll-box, .book-picture, .bd-article pre, div.math > math, .pst-scrollable-table-container";

function markEdge(box) {
  const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
  box.classList.toggle("goes-on", rest > 1);
}

function fitBox(box) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
  markEdge(box);
}

function watchBox(box) {
  box.addEventListener("scroll", () => markEdge(box), { passive: true });
  new ResizeObserver(() => fitBox(box)).observe(box);
}

window.addEventListener("load", () => {
  document.querySelectorAll(BOXES).forEach(watchBox);
});

