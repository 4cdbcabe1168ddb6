// The translator in the page, part 5: beam search as a tree.  A column is a step; in it stand
// the extensions that were looked at, the best on top.
"use strict";

{
  const [LETTER, HIGH, TOP] = [8, 26, 22];
  const FATES = { kept: "", finished: " ✓", dropped: " ×" };

  // Draw the first steps of a search in a box.  `name` turns a token into what is written.
  live.drawBeam = (box, { tree, finished }, steps, name) => {
    const shown = tree.slice(0, steps);
    const places = new Map();
    shown.forEach((column, t) => column.forEach((one, i) => places.set(one, [t, i])));
    const alive = new Set(); // what leads to an unfinished or a finished hypothesis
    const ends = shown.flat().filter(({ fate }) => fate === "finished");
    const last = (shown.at(-1) ?? []).filter(({ fate }) => fate === "kept");
    for (let one of [...ends, ...last]) {
      for (; one.parent; one = one.parent) alive.add(one);
    }
    const best = new Set();
    if (steps >= tree.length) for (let one = finished[0]; one?.parent; one = one.parent) best.add(one);
    const texts = new Map([...places.keys()].map((one) => [one, name(one.tokens.at(-1)) + FATES[one.fate]]));
    const wide = 48 + LETTER * Math.max(6, ...[...texts.values()].map(({ length }) => length));
    const svg = drawn("svg", {
      width: wide * (shown.length + 1),
      height: TOP + HIGH * Math.max(1, ...shown.map((column) => column.length)),
      role: "img",
      "aria-label": `After step ${shown.length}: ${last.length} unfinished and ${ends.length} finished.`,
    });
    svg.append(node(0, 0, "<bos>", "tr-alive"));
    for (const [one, [t, i]] of places) {
      const [, from] = places.get(one.parent) ?? [0, 0];
      const state = best.has(one) ? "tr-best" : alive.has(one) ? "tr-alive" : "tr-dead";
      const begin = wide * t + 10 + LETTER * (texts.get(one.parent)?.length ?? 5);
      svg.append(edge([begin, from], [wide * (t + 1), i], state));
      svg.append(node(wide * (t + 1), i, texts.get(one), state));
    }
    const scroll = element("div", { class: "live-scroll" }, svg);
    Object.assign(scroll, { tabIndex: 0, role: "region", ariaLabel: "Tree of the search" });
    box.replaceChildren(scroll, listed(last, ends, finished, name, steps >= tree.length));
    scroll.scrollLeft = scroll.scrollWidth;
    watchBox(scroll, markEdge);
  };

  // The same as text: the finished ones by their score, then those that live.
  function listed(last, ends, finished, name, over) {
    const text = ({ tokens }) => window.attnbook.translator.subwords.join(tokens);
    const rows = (over ? finished : [...ends].sort((a, b) => b.score - a.score)).map((one) => [
      text(one), live.number(one.logProb), live.number(one.score), "finished",
    ]);
    const open = over ? [] : last.map((one) => [`${text(one)} …`, live.number(one.logProb), "", "alive"]);
    const table = element("table");
    const heads = ["Hypothesis", "log p", "score", "state"];
    table.append(
      element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { scope: "col" }, h)))),
      element("tbody", {}, ...[...rows, ...open].map(([first, ...rest]) => {
        const german = element("td", { lang: "de" }, first);
        return element("tr", {}, german, ...rest.map((cell) => element("td", {}, cell)));
      })),
    );
    return table;
  }

  function node(x, row, text, state) {
    const place = { x: x + 6, y: TOP + HIGH * row - 4, class: state };
    return drawn("text", place, text);
  }

  function edge([x1, from], [x2, to], state) {
    const [y1, y2] = [from, to].map((row) => TOP + HIGH * row - 9);
    const middle = (x1 + x2) / 2;
    const d = `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`;
    return drawn("path", { d, class: state });
  }
}
