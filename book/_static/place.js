// Where the reader is: the chapter and the section in view, kept with the rest of the
// progress, so that the front page can offer to go on there.
"use strict";

{
  const page = DOCUMENTATION_OPTIONS.pagename;

  // The last heading above the middle of the window.
  function section() {
    const above = [...document.querySelectorAll(".bd-article h2")].filter(
      (heading) => heading.getBoundingClientRect().top < window.innerHeight / 2,
    );
    return above.at(-1);
  }

  const titleOf = (heading) =>
    [...heading.childNodes]
      .filter((node) => !node.classList?.contains("headerlink"))
      .map((node) => node.textContent)
      .join("")
      .trim();

  function keep() {
    const heading = section();
    const here = { page, title: titleOf(document.querySelector(".bd-article h1")) };
    if (heading) {
      here.section = titleOf(heading);
      here.id = heading.closest("section").id;
    }
    progress.set("places", "last", here);
  }

  const parts = JSON.parse(document.getElementById("course-parts").textContent);
  if (page in parts && !page.startsWith("book/lab")) {
    document.addEventListener("visibilitychange", () => document.hidden && keep());
    window.addEventListener("pagehide", keep);
  }
}
