// The mask and the weights that follow from the controls, and what they mean in words.
import { list, softmax, sum } from "../kit/widgets/content.js";
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, { scores, words, kinds, colours, lack, shade }) => {
  const figure = wake(image);
  const inputs = (type) => [...figure.querySelectorAll(`[type=${type}]`)];
  const [source, target, near] = inputs("range"), sliders = { source, target };
  const [masked, left] = inputs("checkbox");
  const n = scores.length, range = [...Array(n).keys()];
  figure.querySelector("form").addEventListener("submit", (e) => e.preventDefault());

  // The positions of a side: its tokens and padding.
  const sequence = (side) => {
    const real = words[side].slice(0, sliders[side].value);
    const pads = Array.from({ length: n - real.length }, () => "pad");
    return left.checked ? pads.concat(real) : real.concat(pads);
  };

  const label = (place, texts, side) => parts(figure, place).forEach((e, i) => {
    e.textContent = texts[i];
    e.style.color = colours[texts[i] === "pad" ? "pad" : side];
  });
  const draw = (open, weights) => parts(figure, "cell").forEach((cell, at) => {
    const weight = weights.flat()[at], may = open.flat()[at];
    cell.textContent = may ? weight.toFixed(2) : "";
    cell.style.background = may ? `rgb(${lack.map((c) => 255 - weight * c)})` : shade;
  });

  const named = (rows) => (rows.length > 1 ? "Rows " : "Row ")
    + list(rows.map((i) => i + 1)) + (rows.length > 1 ? " are" : " is");
  const withMask = (causal, wanted, rows) => {
    const cut = near.value < n, deep = causal || cut ? n : 1;
    const name = (causal ? "target_mask" : "key_mask") + (cut ? " and window" : "");
    const empty = range.filter((i) => !wanted[i].some(Boolean));
    const pads = range.filter((i) => rows[i] === "pad" && wanted[i].some(Boolean));
    return `${name} of shape (1, 1, ${deep}, ${n}): `
      + `${wanted.flat().filter(Boolean).length} of ${n * n} cells are allowed. `
      + (empty.length ? `${named(empty)} fully masked: zeros.`
        : "No row is fully masked.")
      + (pads.length ? ` ${named(pads)} padding, but may still attend.` : "");
  };
  const withoutMask = (wanted, weights) => {
    const hidden = weights.map((row, i) => sum(row.filter((_, j) => !wanted[i][j])));
    const most = hidden.indexOf(Math.max(...hidden));
    return `No mask: all ${n * n} cells are allowed. ` + (hidden[most]
      ? `Row ${most + 1} gives ${hidden[most].toFixed(2)} of its weight to positions `
        + "that the mask would hide." : "The mask would hide nothing.");
  };

  figure.addEventListener("input", () => {
    const [asks, offers, causal] = kinds[inputs("radio").findIndex((e) => e.checked)];
    const rows = sequence(asks), columns = sequence(offers);
    const wanted = range.map((i) => range.map((j) => columns[j] !== "pad"
      && (!causal || j <= i) && Math.abs(i - j) < near.value));
    const open = wanted.map((row) => row.map((may) => may || !masked.checked));
    const weights = scores.map((row, i) => softmax(row, open[i]));
    draw(open, weights);
    label("row", rows, asks);
    label("column", columns, offers);
    parts(figure, "result")[0].textContent = masked.checked
      ? withMask(causal, wanted, rows) : withoutMask(wanted, weights);
    inputs("range").forEach((slider) => { tell(slider, slider.value); });
    Object.entries(sliders).forEach(([side, slider]) => {
      const row = slider.parentElement.parentElement;
      row.style.display = [asks, offers].includes(side) ? "flex" : "none";
    });
  });
};
