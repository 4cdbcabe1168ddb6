// What all pages and scripts share, and what a small screen needs.
"use strict";

// An element of HTML with its attributes and children.
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

// An element of SVG.
function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function button(text, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

// A button that plays a film and pauses it.  `next` shows one picture more, and returns whether
// that goes on.
function film(play, pause, { begin = () => {}, next, end = () => {} }) {
  let timer = 0; // milliseconds between pictures: `pause`
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ Play";
    end();
  };
  const start = () => {
    begin();
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => next() || stop(), pause);
  };
  play.addEventListener("click", () => (timer ? stop() : start()));
  return { start, stop, isPlaying: () => timer > 0 };
}

// What comes on request comes as a script: a page opened from a file may load nothing else.
// Scripts run in the order in which they were asked for, each once; after a failure the next
// try is one.
const scriptsAsked = {}; // by address
function loadScript(src) {
  return (scriptsAsked[src] ??= new Promise((resolve, reject) => {
    const script = element("script", { src });
    script.async = false;
    script.onload = resolve;
    script.onerror = () => {
      script.remove();
      delete scriptsAsked[src];
      reject(new Error(`${src.replace(/.*\/|\?.*/g, "")} could not be loaded`));
    };
    document.head.append(script);
  }));
}

Object.assign(globalThis, { element, drawn, button, film, loadScript });

// --- On paper the page is light, and afterwards as it was: the rest is print.css ---

{
  const page = document.documentElement.dataset;
  let { theme } = page;
  addEventListener("beforeprint", () => ([theme, page.theme] = [page.theme, "light"]));
  addEventListener("afterprint", () => (page.theme = theme));
}

// --- Chromium makes each root as wide as one with its widest sign: a hole stands behind it ---

// Before the style sheets are there, there is no such font.
addEventListener("load", async () => {
  await document.fonts.load("1em STIX2");
  const holes = [...document.querySelectorAll("msqrt")].map((root) => {
    const [end, inside] = [root, root.lastElementChild].map((e) => e.getBoundingClientRect().right);
    return [root, (inside - end) / parseFloat(getComputedStyle(root).fontSize)];
  });
  for (const [root, hole] of holes) if (hole < -0.1) root.style.marginRight = `${hole}em`;
});

// --- Wide things scroll in a box of their own, which the keyboard reaches, and whose edge
// fades where it goes on ---

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

// What can be reached in another way is only to fade: `fit` is markEdge.
function watchBox(box, fit = fitBox) {
  box.addEventListener("scroll", () => markEdge(box), { passive: true });
  new ResizeObserver(() => fit(box)).observe(box);
}

window.addEventListener("load", () => {
  document.querySelectorAll(BOXES).forEach((box) => watchBox(box));
});

