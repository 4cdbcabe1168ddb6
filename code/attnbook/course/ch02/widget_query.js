// What `weigh`, `result` and `picture` of widget_query.py do, in the page.
import { put, softmax, sum } from "../kit/widgets/content.js";
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, { pushed, turn, v, words, panel, reach, unit }) => {
  const figure = wake(image);
  const all = (name) => parts(figure, name);
  const slider = figure.querySelector("[type=range]");
  const box = figure.querySelector("[type=checkbox]");
  const bars = all("bar");
  const left = Number(bars[0].firstElementChild.getAttribute("x"));
  const nouns = [2, 5];
  const order = [...words.keys()].filter((j) => !nouns.includes(j)).concat(nouns);

  const across = (x) => (panel * (x + reach) / (2 * reach)).toFixed(1);
  const down = (y) => (panel * (1 - y) / 2).toFixed(1);
  const height = (x) => 0.9 * (box.checked ? Math.tanh(x) : x / reach);

  const drawPanel = (group, xs) => {
    const ticks = Array.from({ length: 8 * reach + 1 }, (_, i) => i / 4 - reach);
    const points = ticks.map((x) => `${across(x)},${down(height(x))}`).join(" ");
    put(group.querySelector(".book-curve"), { points });
    group.querySelectorAll(".book-dot").forEach((dot, i) => {
      const x = xs[order[i]];
      put(dot, { transform: `translate(${across(x)},${down(height(x))})` });
    });
  };

  const drawBar = (bar, weight) => {
    const [rect, text] = bar.children;
    put(rect, { width: (unit * weight).toFixed(1) });
    put(text, { x: (left + unit * weight + 6).toFixed(1) });
    text.textContent = weight.toFixed(2);
  };

  figure.addEventListener("input", () => {
    const side = slider.value / 10;
    // The first state has side 1: a query turned by so much moves all words alike.
    const before = pushed.map((row) => row.map((x, k) => x + turn[k] * (side - 1)));
    const after = before.map((row) => row.map((x) => box.checked ? Math.tanh(x) : x));
    const scores = after.map((row) => sum(row.map((x, k) => x * v[k])));
    const weights = softmax(scores, scores.map(() => true));
    all("panel").forEach((group, k) => drawPanel(group, before.map((row) => row[k])));
    bars.forEach((bar, j) => drawBar(bar, weights[j]));
    const said = `${box.checked ? "With" : "Without"} the tanh, farmer gets `
      + `${weights[2].toFixed(2)} and bird ${weights[5].toFixed(2)}.`;
    all("result")[0].textContent = said;
    put(figure.querySelector("svg"), { "aria-label": said });
    tell(slider, side.toFixed(1).replace("-", "\u2212"));
  });
};
