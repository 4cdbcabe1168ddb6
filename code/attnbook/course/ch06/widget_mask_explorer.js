// What `grid`, `result` and `picture` of mask_explorer.py do, in the page.
import { list, put, softmax, sum } from "../kit/widgets/content.js";
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, { scores, words, kinds, colours, grey, depth }) => {
  const figure = wake(image);
  const inputs = (type) => [...figure.querySelectorAll(`[type=${type}]`)];
  const sliders = { source: inputs("range")[0], target: inputs("range")[1] };
  const [masked, left] = inputs("checkbox");
  const n = scores.length, range = [...Array(n).keys()];
  const form = figure.querySelector("form");
  form.addEventListener("submit", (event) => event.preventDefault());

  // The positions of a side: its tokens and padding.
  const sequence = (side) => {
    const real = words[side].slice(0, sliders[side].value);
    const pads = Array.from({ length: n - real.length }, () => "pad");
    return left.checked ? pads.concat(real) : real.concat(pads);
  };

  const draw = (open, weights) => parts(figure, "cell").forEach((cell, at) => {
    const [square, hatch, number] = cell.children;
    const shown = open.flat()[at], weight = weights.flat()[at];
    put(square, { "fill-opacity": (depth * weight).toFixed(2) });
    put(hatch, { opacity: shown ? 0 : 1 });
    number.textContent = shown ? weight.toFixed(2) : "";
  });

  const label = (name, texts, side) => parts(figure, name).forEach((e, i) => {
    e.textContent = texts[i];
    put(e, { fill: texts[i] === "pad" ? grey : colours[side] });
  });

  const named = (rows) => (rows.length > 1 ? "Rows " : "Row ")
    + list(rows.map((i) => i + 1));
  const verb = (rows) => rows.length > 1 ? "are" : "is";
  const withMask = (causal, open, rows) => {
    const shape = causal ? `target_mask of shape (1, 1, ${n}, ${n})`
      : `key_mask of shape (1, 1, 1, ${n})`;
    const empty = range.filter((i) => !open[i].some(Boolean));
    const pads = range.filter((i) => rows[i] === "pad" && open[i].some(Boolean));
    const said = [
      `${shape}: ${open.flat().filter(Boolean).length} of ${n * n} cells are allowed.`,
      empty.length ? `${named(empty)} ${verb(empty)} fully masked: zeros.`
        : "No row is fully masked.",
    ];
    if (pads.length) {
      said.push(`${named(pads)} ${verb(pads)} padding, but may still attend.`);
    }
    return said.join(" ");
  };
  const withoutMask = (wanted, weights) => {
    const hidden = weights.map((row, i) => sum(row.filter((_, j) => !wanted[i][j])));
    const most = hidden.indexOf(Math.max(...hidden));
    return `No mask: all ${n * n} cells are allowed. ` + (hidden[most]
      ? `Row ${most + 1} gives ${hidden[most].toFixed(2)} of its weight to positions `
        + "that the mask would hide." : "The mask would hide nothing.");
  };
  const say = (said, rows, open, weights) => {
    const cells = (i) => weights[i].map((w, j) => open[i][j] ? w.toFixed(2) : "hidden");
    const all = range.map((i) => ` ${i + 1}, ${rows[i]}: ${cells(i).join(", ")}.`);
    parts(figure, "result")[0].textContent = said;
    put(figure.querySelector("svg"), { "aria-label": said + all.join("") });
  };

  figure.addEventListener("input", () => {
    const [asks, offers, causal] = kinds[inputs("radio").findIndex((e) => e.checked)];
    const rows = sequence(asks), columns = sequence(offers);
    const wanted = range.map((i) => range.map(
      (j) => columns[j] !== "pad" && (!causal || j <= i)));
    const open = wanted.map((row) => row.map((allowed) => allowed || !masked.checked));
    const weights = scores.map((row, i) => softmax(row, open[i]));
    draw(open, weights);
    label("row", rows, asks);
    label("column", columns, offers);
    say(masked.checked ? withMask(causal, open, rows) : withoutMask(wanted, weights),
      rows, open, weights);
    Object.entries(sliders).forEach(([side, slider]) => {
      tell(slider, slider.value);
      const row = slider.parentElement.parentElement;
      row.style.display = [asks, offers].includes(side) ? "flex" : "none";
    });
  });
};
