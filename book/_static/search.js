// The search: results as one types, in the dialog that Ctrl+K opens and on the page
// search.html.  What it needs is loaded when a search field is first used.
"use strict";

{
  const ROOT = document.documentElement.dataset.content_root;
  const GLOSSARY = 1; // see KINDS in book/_ext/search_index.py
  // Headings of the groups, each with its kind, and its first result and how many.
  const GROUPS = [
    ["Chapters", 0, 0, 1],
    ["Glossary", GLOSSARY, 0, 1],
    ["More in the chapters", 0, 1, 4],
    ["Laboratory and playground", 2, 0, 3],
    ["Reference", 3, 0, 3],
  ];
  const ALL = 25; // in a group, on the page of the search
  const EXCERPT = 160; // characters

  let loaded = null;

  function loadScript(name) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.async = false; // the index runs after what reads it
      Object.assign(script, { src: `${ROOT}_static/${name}`, onload: done, onerror: failed });
      document.head.append(script);
    });
  }

  function load() {
    loaded ??= Promise.all(["search_ranking.js", "search_index.js"].map(loadScript));
    return loaded;
  }

  function element(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  // A text in pieces, with the words that were asked for in marks.
  function marked(text, patterns) {
    const any = new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), "gi");
    const pieces = [];
    let end = 0;
    for (const { 0: word, index } of text.matchAll(any)) {
      pieces.push(text.slice(end, index), element("mark", "", word));
      end = index + word.length;
    }
    return [...pieces, text.slice(end)];
  }

  // The sentence in which most of the words stand.
  function excerpt(text, patterns) {
    const sentences = text.match(/.+?(?:[.!?:](?=\s[^a-z])|$)/g) ?? [];
    const hits = sentences.map((line) => patterns.filter((one) => line.search(one) >= 0).length);
    const best = Math.max(0, hits.indexOf(Math.max(...hits)));
    const rest = sentences.slice(best).join("").trim();
    const start = Math.max(0, rest.search(patterns[0]) - EXCERPT / 2);
    const from = start && rest.length > EXCERPT ? rest.indexOf(" ", start) + 1 : 0;
    const shown = rest.slice(from, from + EXCERPT).replace(/\s+\S*$/, "");
    const isWhole = shown.length >= rest.length - from - 1;
    return `${from ? "… " : ""}${isWhole ? rest.slice(from) : `${shown} …`}`;
  }

  // The words of a result that its page is to mark (sphinx_highlight.js).
  function wordsFound({ title, text }, patterns) {
    const found = patterns.flatMap((one) => [...`${title} ${text}`.matchAll(one)]);
    const words = found.flatMap(([, name]) => name.toLowerCase().split(/[\s\-–]+/));
    return [...new Set(words)].join(" ");
  }

  function resultItem(result, patterns) {
    const { url, anchor, title, pageTitle, kind, text } = result;
    const address = new URL(ROOT + url, location.href);
    address.searchParams.set("highlight", wordsFound(result, patterns));
    address.hash = anchor;
    const link = element("a", "", ...marked(title, patterns));
    link.href = address.href;
    const shown = kind === GLOSSARY ? text : excerpt(text, patterns);
    const item = element("li", "", link);
    if (kind !== GLOSSARY && anchor) item.append(element("span", "search-page", pageTitle));
    item.append(element("p", "", ...marked(shown, patterns)));
    return item;
  }

  function show(place, query, isPage) {
    const { found, patterns } = ranking.find(bookIndex, query);
    const groups = GROUPS.flatMap(([heading, kind, first, count]) => {
      const all = found.filter((result) => result.kind === kind);
      const some = all.slice(first, first + (isPage && count > 1 ? ALL : count));
      if (!some.length) return [];
      const list = element("ul", "", ...some.map((result) => resultItem(result, patterns)));
      return [element("section", "", element("h2", "", heading), list)];
    });
    place.replaceChildren(...groups);
    if (!found.length) return "Nothing found. Try fewer words, or another one.";
    return `${found.length} results.${isPage ? "" : " Enter shows all."}`;
  }

  function connect(form) {
    const isPage = !form.closest("dialog");
    const field = form.querySelector("input[type=search]");
    const status = element("p", "search-status");
    status.role = "status";
    const place = element("div", "search-results");
    if (isPage) place.id = "search-results";
    form.after(status, place);

    async function search() {
      const query = field.value.trim();
      if (isPage) history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : "?");
      if (!query) {
        place.replaceChildren();
        status.textContent = "";
        return;
      }
      await load();
      if (query === field.value.trim()) status.textContent = show(place, query, isPage);
    }

    // The arrow keys go through the results, from the field and back.
    function step(event) {
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const stops = [field, ...place.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + move];
      if (!next || !stops.includes(document.activeElement)) return;
      event.preventDefault();
      next.focus();
    }

    field.addEventListener("focus", load, { once: true });
    field.addEventListener("input", search);
    form.parentElement.addEventListener("keydown", step);
    if (isPage) {
      field.value = new URLSearchParams(location.search).get("q") ?? "";
      field.focus();
      search();
    }
  }

  document.querySelectorAll("form.bd-search").forEach(connect);
}
