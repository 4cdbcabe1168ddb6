// The front page, for a reader who comes back: where to go on, and which parts of
// `my_transformer.py` are written.  What is kept stands in progress.js.
"use strict";

{
  function offerToGoOn() {
    const place = progress.get("places", "last");
    const line = document.querySelector(".front-continue p");
    if (!place || !line) return;
    const root = document.documentElement.dataset.content_root;
    const href = `${root}${place.page}.html${place.id ? `#${place.id}` : ""}`;
    const named = [place.title, place.section].filter(Boolean).join(", ");
    if (progress.get("pages", place.page)) return offerNext(line, place.page);
    line.replaceChildren("Where you left off: ", element("a", { href }, named));
  }

  // A page that has been read to its end: the next one that hasn't, and the large button, too.
  function offerNext(line, last) {
    const links = [...document.querySelectorAll(".front-chapters a")];
    const pageOf = ({ pathname }) => pathname.replace(/.*(book\/.*)\.html$/, "$1");
    const from = links.findIndex((link) => pageOf(link) === last);
    const next = links.slice(from + 1).find((link) => !progress.get("pages", pageOf(link)));
    if (!next) return;
    const [number, title] = next.firstChild.textContent.split(" · ");
    line.replaceChildren("Next: ", element("a", { href: next.href }, title));
    const start = document.querySelector(".front-start a");
    start.href = next.href;
    start.textContent = `Go on with ${/^\d/.test(number) ? "chapter " : ""}${number}`;
  }

  function markParts() {
    for (const part of document.querySelectorAll(".front-file li")) {
      const done = progress.get("exercises", part.dataset.exercise) === true;
      part.classList.toggle("front-done", done);
      part.querySelector(".front-mark")?.remove();
      if (!done) continue;
      part.querySelector("span").append(element("span", { class: "front-mark" }, " ✓ yours"));
    }
  }

  progress.follow(offerToGoOn);
  progress.follow(markParts);
}
