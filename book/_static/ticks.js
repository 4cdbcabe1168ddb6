// Ticks: "I have read this page", a box and a link at each exercise, how far the reader is in
// the table of contents, the place where the page was left, and the button that clears it
// all.  What each page has to offer is written into the page by book/_ext/course_parts.py.
"use strict";

{
  const PARTS = JSON.parse(document.getElementById("course-parts").textContent);
  const PAGE = DOCUMENTATION_OPTIONS.pagename;
  const LINKS = ".bd-links a.reference.internal, .front-chapters a";
  const KEPT =
    "Your answers and ticks are kept in this browser only. Nothing is sent anywhere.";
  const NOT_KEPT =
    "This browser keeps nothing: your answers and ticks last until you leave the page.";

  // --- Pages and exercises ---

  function tickBox(kind, name, words, described) {
    const box = element("input", { type: "checkbox" });
    if (described) box.setAttribute("aria-label", described);
    box.addEventListener("change", () => progress.set(kind, name, box.checked || undefined));
    progress.follow(() => {
      box.checked = progress.get(kind, name) === true;
    });
    return element("label", { class: "tick" }, box, ` ${words}`);
  }

  function whereKept(className) {
    const note = element("span", { class: className });
    progress.follow(() => {
      note.textContent = progress.lasting ? KEPT : NOT_KEPT;
    });
    return note;
  }

  function addTicks() {
    for (const exercise of document.querySelectorAll("div.exercise")) {
      const title = exercise.querySelector(".admonition-title");
      title.append(tickBox("exercises", exercise.id, "done", `${title.textContent.trim()} done`));
      const link = element("a", { class: "headerlink", href: `#${exercise.id}` }, "#");
      link.title = "Link to this exercise"; // as figures and sections have it
      exercise.querySelector(".caption-number").append(link);
    }
    for (const row of document.querySelectorAll("tr[data-exercise]")) {
      const name = `${row.cells[0].textContent} done`;
      row.insertCell().append(tickBox("exercises", row.dataset.exercise, "done", name));
    }
    const read = tickBox("pages", PAGE, "I have read this page");
    document
      .querySelector("article.bd-article")
      .append(element("p", { class: "read-mark" }, read, " ", whereKept("tick-note")));
  }

  // In the page's header.
  function addStanding() {
    const line = element("span", { class: "standing" });
    document.querySelector(".header-article-items__start").append(line);
    progress.follow(() => {
      const [short, long] = howFar(PAGE);
      line.textContent = short && long;
    });
  }

  // The last heading above the middle of the window: the front page offers to go on there.
  function keepPlace() {
    const titleOf = (heading) => heading?.textContent.replace(/#$/, "").trim();
    const heading = [...document.querySelectorAll(".bd-article section > h2")].findLast(
      (one) => one.getBoundingClientRect().top < window.innerHeight / 2,
    );
    const [title, section] = [document.querySelector(".bd-article h1"), heading].map(titleOf);
    progress.set("places", "last", { page: PAGE, title, section, id: heading?.parentElement.id });
  }

  // --- The table of contents, and the cards of the front page ---

  const isDone = (label) =>
    progress.get("exercises", label) || progress.get("answers", label) !== undefined;

  // What stands next to a page, and the same in words.
  function howFar(page) {
    const done = PARTS[page].filter(isDone).length;
    const all = PARTS[page].length;
    const words = `${done} of ${all} predictions and exercises done`;
    if (progress.get("pages", page)) return ["✓", all ? `read; ${words}` : "read"];
    return done ? [`${done}/${all}`, words] : ["", ""];
  }

  function markContents() {
    const root = new URL(document.documentElement.dataset.content_root, document.baseURI).href;
    for (const link of document.querySelectorAll(LINKS)) {
      const page = link.href.replace(/[?#].*/, "").slice(root.length).replace(/\.html$/, "");
      if (!(page in PARTS)) continue;
      const sign = element("span", { "aria-hidden": "true" });
      const words = element("span", { class: "visually-hidden" });
      const mark = element("span", { class: "how-far" }, sign, words);
      link.append(mark);
      progress.follow(() => {
        const [short, long] = howFar(page);
        sign.textContent = short;
        words.textContent = long && ` (${long})`;
        mark.title = long;
      });
    }
  }

  function addClearing() {
    const status = element("span", { role: "status" });
    const clear = button("Clear my progress", () => {
      if (!confirm("Forget all your answers and ticks in this book?")) return;
      progress.clear();
      status.textContent = "Cleared.";
      note.focus(); // the button is gone
    });
    const note = element("div", { class: "sidebar-primary-item progress-note", tabindex: -1 });
    note.append(whereKept(""), " ", status, clear);
    progress.follow(() => {
      clear.hidden = progress.isEmpty();
      if (!clear.hidden) status.textContent = "";
    });
    document.querySelector(".bd-docs-nav").parentElement.after(note);
  }

  if (PAGE in PARTS) {
    addTicks();
    addStanding();
    if (!PAGE.startsWith("book/lab")) {
      document.addEventListener("visibilitychange", () => document.hidden && keepPlace());
      window.addEventListener("pagehide", keepPlace);
    }
  }
  markContents();
  addClearing();
}
