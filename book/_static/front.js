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
    line.replaceChildren("Where you left off: ", element("a", { href }, named));
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
