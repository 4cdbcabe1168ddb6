// The search: results as one types, in the dialog that Ctrl+K opens and on the page
// search.html.  The index (book/_ext/book_search.py) is loaded when a search field is first
// used.  It is small enough to be read through for each query: a query becomes a few
// patterns, one for each thing that it names, and each entry is scored by where they occur.
"use strict";

const search = {};

{
  const ROOT = document.documentElement.dataset.content_root;

  // --- What comes first ---

  const STOP = new Set(
    "a an and are by can do does for how i in is of on or the to vs what when why with".split(" "),
  );
  const USUAL_LENGTH = 700; // of a section, in characters

  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}_√]+/gu, " ").trim();

  // A word stands for its plural, too, and for its American or British spelling.
  function wordPattern(word) {
    const stem = word.length > 3 ? word.replace(/ies$/, "y").replace(/(?<![su])s$/, "") : word;
    return stem
      .replace(/i[sz](?=[aei])/, "i[sz]")
      .replace(/our$/, "ou?r")
      .replace(/(?<=.{3})y$/, "(?:y|ie)");
  }

  // Finds each of the names, and longer words that begin so: then group 2 is the rest.
  function patternOf(names) {
    const alternatives = names.map((name) => {
      const start = /^\w/.test(name) ? "(?<!non-)\\b" : "";
      return start + plain(name).split(" ").map(wordPattern).join("[\\s\\-–]*");
    });
    return new RegExp(`(${alternatives.join("|")})(?:e?s(?!\\w))?(\\w*)`, "gi");
  }

  // The things that a query names: those with other names first, then word by word.
  function readQuery(query, names) {
    let rest = ` ${plain(query)} `;
    const patterns = [];
    for (const [name, ...others] of names) {
      const known = ` ${plain(name)} `;
      if (!rest.includes(known)) continue;
      rest = rest.replace(known, " ");
      patterns.push(patternOf([name, ...others]));
    }
    const words = rest.split(" ").filter(Boolean);
    const telling = words.filter((word) => !STOP.has(word));
    const asked = telling.length || patterns.length ? telling : words;
    patterns.push(...asked.map((word) => patternOf([word])));
    return { patterns, phrase: asked.length > 1 ? [patternOf([words.join(" ")])] : [] };
  }

  function scoreOf(pattern, [, , title, keys, text]) {
    const inTitle = title.match(pattern);
    const named = inTitle ? 3 + (4 * inTitle.join("").length) / title.length : 0;
    const isWhole = (key) => [...key.matchAll(pattern)].some(([all, , rest]) => !rest && all === key);
    const inKeys = [...keys.matchAll(pattern)];
    const explained = inKeys.some(([, , rest]) => !rest) ? 3 : 0;
    const defined = explained && keys.split(";").some(isWhole) ? 4 : 0;
    let count = 0; // a longer word counts less
    for (const [, , rest] of text.matchAll(pattern)) count += rest ? 0.3 : 1;
    const expected = 0.45 + (1.05 * text.length) / USUAL_LENGTH;
    return named + explained + defined + (3 * count) / (count + expected);
  }

  // How much two words look alike, from 0 to 1, by their pairs of letters, ends included.
  function alike(one, other) {
    const [a, b] = [one, other].map((word) => new Set([...` ${word}`].map((_, i) => ` ${word} `.slice(i, i + 2))));
    return (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size);
  }

  // The query, with a word of a title for each that occurs nowhere and looks like it; few
  // mistype the first letter.
  search.corrected = ({ entries, names }, query) => {
    const others = new Set(names.flatMap(([name]) => plain(name).split(" ")));
    const titles = new Set(entries.flatMap(([, , title, keys]) => plain(`${title} ${keys}`).split(" ")));
    const known = (word) => others.has(word) || entries.some((entry) => scoreOf(patternOf([word]), entry));
    const words = plain(query).split(" ").map((word) => {
      if (word.length < 4 || known(word)) return word;
      const near = [...titles].filter((other) => other[0] === word[0] && alike(word, other) > 0.5);
      const [best = word] = near.sort((a, b) => alike(word, b) - alike(word, a));
      return best;
    });
    return words.join(" ");
  };

  // The entries that a query finds, best first, and the patterns to mark in them.
  search.find = ({ pages, entries, names }, query) => {
    const { patterns, phrase } = readQuery(query, names);
    const scores = [...patterns, ...phrase].map((pattern) => {
      const all = entries.map((entry) => scoreOf(pattern, entry));
      // What few sections speak of says more than what all do.
      const rarity = Math.log(1 + all.length / (1 + all.filter(Boolean).length));
      return all.map((score) => score * rarity);
    });
    const results = entries.map(([page, anchor, title, , text, weight], place) => {
      const [url, pageTitle, kind] = pages[page];
      const each = scores.map((all) => all[place]);
      const score = weight * each.reduce((one, other) => one + other, 0);
      const hasAll = each.slice(0, patterns.length).every(Boolean) || each[patterns.length] > 0;
      return { url, pageTitle, kind, anchor, title, text, score, hasAll };
    });
    const found = results.filter(({ score }) => score > 0);
    const complete = found.filter(({ hasAll }) => hasAll);
    const best = complete.length ? complete : found;
    return { found: best.sort((one, other) => other.score - one.score), patterns };
  };

  // --- What is shown ---

  const [GLOSSARY, PAPER] = [1, 4]; // see KINDS in book_search.py
  // Headings of the groups, each with its kind, and its first result and how many.
  const GROUPS = [
    ["Chapters", 0, 0, 1],
    ["Glossary", GLOSSARY, 0, 1],
    ["More in the chapters", 0, 1, 4],
    ["Works that are cited", PAPER, 0, 3],
    ["Laboratory and playground", 2, 0, 3],
    ["Reference", 3, 0, 3],
  ];
  const ALL = 25; // in a group, on the page of the search
  const EXCERPT = 160; // characters

  // A text in pieces, what is Chinese as such.
  const spoken = (text) =>
    text.split(/([\p{Script=Han}：、。]+)/u).map((part, i) => (i % 2 ? element("span", { lang: "zh" }, part) : part));

  // A text in pieces, with the words that were asked for in marks.
  function marked(text, patterns) {
    const any = new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), "gi");
    const pieces = [];
    let end = 0;
    for (const { 0: word, index } of text.matchAll(any)) {
      pieces.push(...spoken(text.slice(end, index)), element("mark", {}, ...spoken(word)));
      end = index + word.length;
    }
    return [...pieces, ...spoken(text.slice(end))];
  }

  // From the sentence in which most of the words stand.
  function excerpt(text, patterns) {
    const sentences = text.match(/.+?(?:[.!?:](?=\s[^a-z])|$)/g) ?? [];
    const hits = sentences.map((line) => patterns.filter((one) => line.search(one) >= 0).length);
    const rest = sentences.slice(hits.indexOf(Math.max(...hits))).join("").trim();
    const start = Math.max(0, rest.search(patterns[0]) - EXCERPT / 2);
    const from = start && rest.length > EXCERPT ? rest.indexOf(" ", start) + 1 : 0;
    const to = from + EXCERPT < rest.length ? rest.lastIndexOf(" ", from + EXCERPT) : rest.length;
    return `${from ? "… " : ""}${rest.slice(from, to)}${to < rest.length ? " …" : ""}`;
  }

  // The page is to mark the words that were found (sphinx_highlight.js), but in no formula,
  // which would fall apart.
  if (location.search.includes("highlight=")) {
    for (const part of document.querySelectorAll("math *")) part.classList.add("nohighlight");
  }

  function resultItem({ url, anchor, title, pageTitle, kind, text }, patterns) {
    const words = patterns
      .flatMap((one) => [...`${title} ${text}`.matchAll(one)])
      .flatMap(([, name]) => name.toLowerCase().split(/[\s–]+/));
    const address = new URL(ROOT + url, document.baseURI);
    address.searchParams.set("highlight", [...new Set(words)].join(" "));
    address.hash = anchor;
    const item = element("li", {}, element("a", { href: address.href }, ...marked(title, patterns)));
    if (kind !== GLOSSARY && anchor) item.append(element("span", { class: "search-page" }, pageTitle));
    const shown = kind === GLOSSARY ? text : excerpt(text, patterns);
    item.append(element("p", {}, ...marked(shown, patterns)));
    return item;
  }

  function show(place, query, isPage) {
    const asked = search.corrected(bookIndex, query);
    const { found, patterns } = search.find(bookIndex, asked);
    // Whoever writes a title looks for the work.
    const rank = ([, kind]) => (kind === PAPER && found[0]?.kind === PAPER ? 0 : 1);
    const groups = [...GROUPS].sort((a, b) => rank(a) - rank(b)).flatMap(([heading, kind, first, count]) => {
      const all = found.filter((result) => result.kind === kind);
      const some = all.slice(first, first + (isPage && count > 1 ? ALL : count));
      if (!some.length) return [];
      const list = element("ul", {}, ...some.map((result) => resultItem(result, patterns)));
      return [element("section", {}, element("h2", {}, heading), list)];
    });
    place.replaceChildren(...groups);
    if (!found.length) return "Nothing found. Try fewer words, or another one.";
    const other = asked === plain(query) ? "" : `Did you mean “${asked}”? `;
    return `${other}${found.length} ${found.length === 1 ? "result" : "results"}.${isPage ? "" : " Enter shows all."}`;
  }

  // --- The fields ---

  const load = () => loadScript(`${ROOT}_static/search_index.js`);

  function connect(form) {
    const isPage = !form.closest("dialog");
    const field = form.querySelector("input[type=search]");
    const status = element("p", { class: "search-status", role: "status" });
    const place = element("div", { class: "search-results" });
    if (isPage) place.id = "search-results";
    form.after(status, place);

    async function ask() {
      const query = field.value.trim();
      if (isPage) history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : "?");
      if (query) await load();
      if (query !== field.value.trim()) return;
      if (!query) place.replaceChildren();
      status.textContent = query && show(place, query, isPage);
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
    field.addEventListener("input", ask);
    form.parentElement.addEventListener("keydown", step);
    if (isPage) {
      field.value = new URLSearchParams(location.search).get("q") ?? "";
      field.focus();
      ask();
    }
  }

  document.querySelectorAll("form.bd-search").forEach(connect);
}
