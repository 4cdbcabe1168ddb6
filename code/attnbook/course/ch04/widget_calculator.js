// Attention with small numbers: the reader changes any of them, and the weights follow.
const TABLE = "margin: 0; padding: 0; border: 0; border-collapse: separate; border-spacing: 3px; "
  + "width: auto; table-layout: auto; background: #FFF; font-size: 15px; line-height: 1.3; "
  + "font-variant-numeric: tabular-nums";
const CELL = "padding: 2px 0; border: 0; background: #FFF; color: inherit; text-align: center; "
  + "vertical-align: middle; min-width: 52px; font-weight: 400";
const HIGH = `${CELL}; height: 56px`;
const FIELD = "font: inherit; color: inherit; background: #FFF; box-sizing: border-box; "
  + "width: 50px; height: 28px; margin: 1px; padding: 0; text-align: center; border-radius: 4px";
const BUTTON = "font: inherit; color: inherit; background: transparent; cursor: pointer; "
  + "border: 1px solid currentColor; border-radius: 6px; min-height: 2.2em; padding: 0 0.8em";
const ROW = "display: flex; flex-wrap: wrap; align-items: center; gap: 0.6em";
const KEYS = { "data-lm-suppress-shortcuts": "true", autocomplete: "off" };

const make = (tag, attributes, ...inside) => {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...inside);
  return made;
};

const table = (title, width, ...rows) => {
  const head = make("th", { colspan: width, scope: "colgroup", style: CELL }, title);
  const lines = [[head], ...rows].map((cells) => make("tr", {}, ...cells));
  return make("table", { style: TABLE }, make("tbody", {}, ...lines));
};
const cell = (...inside) => make("td", { style: HIGH }, ...inside);
const head = (scope, ...inside) => make("th", { scope, style: CELL }, ...inside);

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// Softmax over the scores that are open; zeros if none is.
const softmax = (scores, open) => {
  const raw = scores.map((e, j) => open[j] ? Math.exp(e) : 0);
  const total = sum(raw) || 1;
  return raw.map((r) => r / total);
};

// Two decimals, with a real minus, and none before a zero.
const minus = (text) => `${text}`.replace("-", "\u2212");
const decimals = (x) => minus(x.toFixed(2).replace(/^-0.00$/, "0.00"));
const quote = (word) => `“${word}”`;
// One; one and two; one, two and three.
const list = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

export const start = (image, { asking, offering, q, k, v, most, colours }) => {
  const frame = image.closest(".book-stepper").querySelector(".book-frame");
  image.remove();
  const each = (what) => asking.map((query) => offering.map((key) => what(query, key)));
  const coloured = (role, text) => make("span", { style: `color: ${colours[role].text}` }, text);

  // --- What can be changed ---

  const tick = (attributes) => make("input", {
    type: "checkbox", checked: "", style: `width: 24px; height: 24px; margin: 0; accent-color: ${colours.tick}`,
    ...attributes, ...KEYS,
  });
  const fields = (role, words, pairs) => words.map((word, i) => pairs[i].map((x, d) => make("input", {
    type: "number", value: x.toFixed(1), step: 0.1, min: -most, max: most, ...KEYS,
    "aria-label": `${d ? "second" : "first"} number of the ${role} of ${quote(word)}`,
    style: `${FIELD}; border: 2px solid ${colours[role].line}`,
  })));
  const queries = fields("query", asking, q);
  const keys = fields("key", offering, k);
  const values = fields("value", offering, v);
  const ticks = each((query, key) => tick({ "aria-label": `${quote(query)} may attend to ${quote(key)}` }));
  const scaled = tick({});
  const reset = make("button", { type: "button", style: BUTTON, ...KEYS }, "Reset");

  // --- What follows, in tables ---

  const scores = each(() => make("span"));
  const weights = each(() => cell());
  const outputs = asking.map(() => make("td", { style: `${HIGH}; white-space: pre-line; background: ${colours.value.pale}` }));
  const said = make("p", { class: "book-result", "aria-live": "polite", style: "margin: 0.3em 0; white-space: pre-line; min-height: 7.3em" });
  const columns = (pairs) => pairs.map(([one, two], j) => head("col", offering[j], make("br"), one, make("br"), two));
  const scoreRows = asking.map((word, i) => [
    head("row", word, make("br"), ...queries[i]),
    ...scores[i].map((score, j) => cell(score, make("br"), ticks[i][j])),
  ]);
  const weightRows = asking.map((word, i) => [head("row", word), ...weights[i], outputs[i]]);
  const corner = cell(coloured("key", "keys →"), make("br"), coloured("query", "queries ↓"));
  const tables = [
    table("Scores (untick a key to hide it from a query)", 5, [corner, ...columns(keys)], ...scoreRows),
    table("Weights, and what they mix", 6, [
      cell(coloured("value", "values →")), ...columns(values), head("col", coloured("value", "output")),
    ], ...weightRows),
  ];
  const root = make("span", {}, "divide the scores by √", make("i", {}, "d", make("sub", {}, "k")), " = √2");
  // What is said stands next to what is touched.
  const [above, below] = tables.map((table) => make("div", { class: "book-live", style: "display: inline-block; "
    + `padding: 4px; background: #FFF; color: ${colours.ink}; border-radius: 6px; color-scheme: light` }, table));
  frame.replaceChildren(
    make("div", { class: "book-controls", style: `${ROW}; justify-content: space-between` },
      make("label", { style: `${ROW}; min-height: 24px` }, scaled, root), reset),
    above, said, below,
  );

  // --- The computation ---

  // What a field holds; as long as that does not count, the last that did, and a warning.
  const good = new Map();
  const read = (field, warnings) => {
    const fine = Math.abs(field.valueAsNumber) <= most;
    if (fine) good.set(field, field.valueAsNumber);
    else warnings.push(`The ${field.getAttribute("aria-label")} must be a number from `
      + `\u2212${most} to ${most}; until then ${minus(good.get(field))} counts.`);
    field.setAttribute("aria-invalid", !fine);
    field.style.borderStyle = fine ? "solid" : "dashed";
    return good.get(field);
  };

  const sentence = (word, open, shares, output) => {
    const count = open.filter(Boolean).length;
    if (!count) return `${quote(word)} may attend to nothing: its weights and its output are 0.`;
    const highest = Math.max(...shares);
    const best = offering.filter((_, j) => open[j] && highest - shares[j] < 1e-9);
    const share = best.length === count ? "all" : "most", both = best[1] ? " each" : "";
    return `${quote(word)} gives ${share} to ${list(best.map(quote))}, `
      + `${decimals(highest)}${both}; output (${output.join(",\u00a0")}).`;
  };

  const update = () => {
    const lines = [];
    const [Q, K, V] = [queries, keys, values].map((rows) => rows.map((row) => row.map((field) => read(field, lines))));
    asking.forEach((word, i) => {
      const open = ticks[i].map((box) => box.checked);
      const found = K.map((key) => sum(key.map((x, d) => x * Q[i][d])) / (scaled.checked ? Math.SQRT2 : 1));
      const shares = softmax(found, open);
      const output = [0, 1].map((d) => decimals(sum(shares.map((w, j) => w * V[j][d]))));
      offering.forEach((_, j) => {
        scores[i][j].textContent = decimals(found[j]);
        scores[i][j].style.textDecoration = open[j] ? "none" : "line-through";
        weights[i][j].textContent = open[j] ? decimals(shares[j]) : "0";
        weights[i][j].style.background = `color-mix(in srgb, ${colours.weight} ${70 * shares[j]}%, #FFF)`;
      });
      outputs[i].textContent = output.join("\n");
      lines.push(sentence(word, open, shares, output));
    });
    said.textContent = lines.join("\n");
  };

  frame.addEventListener("input", update);
  // A field is left with something that does not count: the last good number returns.
  frame.addEventListener("change", ({ target }) => {
    if (target.getAttribute("aria-invalid") !== "true") return;
    const [refused] = said.textContent.split("; until");
    target.value = good.get(target);
    update();
    said.textContent = `${refused}: ${minus(target.value)} again.\n${said.textContent}`;
  });
  reset.addEventListener("click", () => {
    for (const field of frame.querySelectorAll("input")) {
      field.value = field.defaultValue;
      field.checked = field.defaultChecked;
    }
    update();
  });
  update();
};
