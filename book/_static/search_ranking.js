// Which sections of the book teach what is asked for, best first.
//
// The index (book/_ext/search_index.py) is small enough to be read through for each
// query, so nothing is prepared: a query becomes a few patterns, one for each thing that
// it names, and each entry is scored by where they occur.
"use strict";

const ranking = {};

{
  const STOP = new Set(
    "a an and are by can do does for how i in is of on or the to what when why with".split(" "),
  );
  // Other names, besides those that the glossary gives (bookIndex.names).
  const NAMES = [
    ["sqrt", "square root", "√"],
    ["square root", "√"],
    ["warmup", "warm-up"],
    ["key value cache", "cache"],
    ["mha", "multi-head attention"],
    ["gpt", "decoder-only"],
    ["bert", "encoder-only"],
    ["complexity", "operations"],
    ["weight tying", "tied weights"],
  ];
  const USUAL_LENGTH = 700; // of a section, in characters

  const plain = (text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}√]+/gu, " ")
      .trim();

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
    for (const [name, ...others] of [...NAMES, ...names]) {
      const known = ` ${plain(name)} `;
      if (!rest.includes(known)) continue;
      rest = rest.replace(known, " ");
      patterns.push(patternOf([name, ...others]));
    }
    const words = rest.split(" ").filter(Boolean);
    const telling = words.filter((word) => !STOP.has(word));
    const asked = telling.length || patterns.length ? telling : words;
    patterns.push(...asked.map((word) => patternOf([word])));
    return { patterns, phrase: asked.length > 1 ? patternOf([asked.join(" ")]) : null };
  }

  // How often a pattern occurs; a longer word counts less.
  function occurrences(pattern, text) {
    let count = 0;
    for (const [, , rest] of text.matchAll(pattern)) count += rest ? 0.3 : 1;
    return count;
  }

  const isAll = (pattern, text) =>
    [...text.matchAll(pattern)].some(([all, , rest]) => !rest && all.length === text.length);

  function scoreOf(pattern, [, , title, keys, text]) {
    const inTitle = title.match(pattern);
    const named = inTitle ? 3 + (4 * inTitle.join("").length) / title.length : 0;
    let explained = 0;
    if (occurrences(pattern, keys) >= 1)
      explained = keys.split(";").some((key) => isAll(pattern, key)) ? 7 : 3;
    const count = occurrences(pattern, text);
    const expected = 0.45 + (1.05 * text.length) / USUAL_LENGTH;
    return named + explained + (3 * count) / (count + expected);
  }

  // Returns the entries that a query finds, best first, and the patterns to mark in them.
  ranking.find = (index, query) => {
    const { patterns, phrase } = readQuery(query, index.names);
    const scores = [...patterns, phrase].filter(Boolean).map((pattern) => {
      const all = index.entries.map((entry) => scoreOf(pattern, entry));
      // What few sections speak of says more than what all do.
      const rarity = Math.log(1 + all.length / (1 + all.filter(Boolean).length));
      return all.map((score) => score * rarity);
    });
    const results = index.entries.map((entry, place) => {
      const [url, pageTitle, kind] = index.pages[entry[0]];
      const [, anchor, title, , text, weight] = entry;
      const each = scores.map((all) => all[place]);
      const score = weight * each.reduce((one, other) => one + other, 0);
      const hasAll = each.slice(0, patterns.length).every(Boolean) || each[patterns.length] > 0;
      return { url, pageTitle, kind, anchor, title, text, score, hasAll };
    });
    const found = results.filter(({ score }) => score > 0);
    const complete = found.filter(({ hasAll }) => hasAll);
    const best = complete.length ? complete : found;
    best.sort((one, other) => other.score - one.score);
    return { found: best, patterns };
  };
}
