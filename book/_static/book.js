// What a small screen needs: wide things scroll in a box of their own, the keyboard
// reaches the box, and its edge fades where it goes on.  Without scripts pictures shrink.
"use strict";

// The text of a picture is never shown smaller than 11 pixels.  attnbook.pages draws it
// in these sizes; on a narrower screen the picture scrolls (book.css).
const SMALLEST_TEXT = 11;
const TEXT_OF_DIAGRAMS = 16; // SVG
const TEXT_OF_PLOTS = 17.4; // 12.5 points at 100 dots per inch

const BOXES =
  ".scroll-box, .book-picture, .bd-article pre, div.math > math, .pst-scrollable-table-container";

function boxPicture(picture) {
  const text = picture.src.endsWith(".svg") ? TEXT_OF_DIAGRAMS : TEXT_OF_PLOTS;
  const width =
    picture.getAttribute("width") ?? (parseFloat(picture.style.width) || picture.naturalWidth);
  picture.style.setProperty("--smallest-width", `${(width * SMALLEST_TEXT) / text}px`);
  const box = document.createElement("div");
  box.className = "scroll-box";
  const outermost = picture.closest("a") ?? picture;
  outermost.replaceWith(box);
  box.append(outermost);
}

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
  document.querySelectorAll(".cell_output figure img").forEach(boxPicture);
  document.querySelectorAll(BOXES).forEach(watchBox);
});

// What is folded on the screen is printed; without scripts book.css opens it.
const shut = "details.book-fold:not([open])";
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(shut)];
  opened.forEach((fold) => (fold.open = true));
});
window.addEventListener("afterprint", () => opened.forEach((fold) => (fold.open = false)));
