// Landmarks of a page that is read from top to bottom: the minutes that are left, and a
// link at each exercise, as figures and sections have it.  A link that is pressed is copied.
"use strict";

{
  const article = document.querySelector("article.bd-article");

  // --- Minutes left: the rule of CONTRIBUTING.md, and the sum of the chapter's box ---

  const WORDS_PER_MINUTE = 150;
  const ELSEWHERE = "figure, .predict, .exercise, .solution, .chapter-box, .glossary-notes";
  const AFTER_THE_TEXT = "#exercises, #further-reading, #references";

  function minutesOf(block) {
    if (block.matches(".cell_input")) return 0.75;
    if (block.matches("figure, .predict")) return 1;
    return block.textContent.trim().split(/\s+/).length / WORDS_PER_MINUTE;
  }

  function timedBlocks() {
    const isText = (block) =>
      !block.parentElement.closest(ELSEWHERE) && !block.closest(AFTER_THE_TEXT);
    const blocks = [...article.querySelectorAll("p, figure, .predict, .cell_input")]
      .filter(isText)
      .map((element) => ({ element, minutes: minutesOf(element) }));
    const sum = blocks.reduce((total, { minutes }) => total + minutes, 0);
    const promised = article.querySelector(".chapter-box")?.textContent.match(/Time (\d+) min/);
    const scale = promised ? promised[1] / sum : 1;
    for (const block of blocks) block.minutes *= scale;
    return blocks;
  }

  function showMinutesLeft() {
    const shown = document.createElement("span");
    shown.className = "minutes-left";
    document.querySelector(".header-article-items__start .standing").before(shown);
    const blocks = timedBlocks();
    // What is above this line counts as read: it moves from the top of the window to its
    // bottom, so that all is left at the start of the page, and nothing at its end.
    const update = () => {
      const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
      const line = clientHeight * (scrollTop / Math.max(1, scrollHeight - clientHeight));
      const left = blocks.reduce((total, { element, minutes }) => {
        const isUnread = element.getBoundingClientRect().bottom > line;
        return isUnread ? total + minutes : total;
      }, 0);
      const words = left >= 0.5 ? `about ${Math.round(left)} min left` : "";
      if (shown.textContent !== words) shown.textContent = words;
    };
    let isWaiting = false;
    const soon = () => {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => requestAnimationFrame(() => {
        isWaiting = false;
        update();
      }), 200);
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon, { passive: true });
    update();
  }

  // --- Links to places ---

  function linkExercises() {
    for (const exercise of article.querySelectorAll(".exercise[id]")) {
      const link = document.createElement("a");
      Object.assign(link, { className: "headerlink", href: `#${exercise.id}`, textContent: "#" });
      link.title = "Link to this exercise";
      exercise.querySelector(".caption-number").append(link);
    }
  }

  function copyLinks() {
    const said = document.createElement("p");
    said.className = "link-copied";
    said.setAttribute("role", "status");
    article.append(said);
    let timer;
    article.addEventListener("click", async ({ target }) => {
      const link = target.closest("a.headerlink");
      if (!link || !navigator.clipboard) return;
      try {
        await navigator.clipboard.writeText(link.href);
      } catch {
        return; // not allowed here: the address bar has it
      }
      said.textContent = "Link copied";
      clearTimeout(timer);
      timer = setTimeout(() => { said.textContent = ""; }, 1500);
    });
  }

  if (article.querySelector(".read-mark")) showMinutesLeft(); // ticks.js: it is to be read
  linkExercises();
  copyLinks();
}
