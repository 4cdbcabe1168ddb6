// The front page, for a reader who comes back: where to go on, and which parts of
// `my_transformer.py` are written.  What is kept stands in progress.js.
"use strict";

{
  // The place that was left; after a page that was read to its end, the next one that wasn't.
  function offerToGoOn() {
    const place = progress.get("places", "last");
    const line = document.querySelector(".front-continue p");
    if (!place || !line) return;
    const links = [...document.querySelectorAll(".front-chapters a")];
    const pages = links.map(({ pathname }) => pathname.replace(/.*(book\/.*)\.html$/, "$1"));
    const last = pages.indexOf(place.page);
    const isRead = (page) => progress.get("pages", page);
    if (!isRead(place.page)) {
      const root = document.documentElement.dataset.content_root;
      const href = `${root}${place.page}.html${place.id ? `#${place.id}` : ""}`;
      const named = [place.title, place.section].filter(Boolean).join(", ");
      return offer(line, "Where you left off: ", href, named, links[last]);
    }
    const next = links.find((_, i) => i > last && !isRead(pages[i]));
    if (next) offer(line, "Next: ", next.href, parts(next)[1], next);
  }

  const parts = (chapter) => chapter.firstChild.textContent.split(" · "); // number, title

  // In the line, and if it is in a chapter, as the large button, too.
  function offer(line, lead, href, named, chapter) {
    line.replaceChildren(lead, element("a", { href }, named));
    if (!chapter) return;
    const start = document.querySelector(".front-start a");
    start.href = href;
    start.textContent = `Go on with ${parts(chapter)[0].replace(/^\d/, "chapter $&")}`;
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
