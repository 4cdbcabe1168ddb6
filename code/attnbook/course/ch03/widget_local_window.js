// What `weigh`, `result` and `picture` of local_window.py do, in the page.
import { put, softmax, sum } from "../kit/widgets/content.js";
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, { scores, place, margin, unit, width }) => {
  const figure = wake(image);
  const all = (name) => parts(figure, name);
  const [centre, half, bell] = figure.querySelectorAll("input");
  const x = (s) => margin + place * (s + 0.5);
  const down = (w) => unit * (1 - w);

  const drawRow = (row, values, near) => values.forEach((w, s) => {
    const [bar, number] = all("row")[row].children[s].children;
    put(bar, { y: down(w).toFixed(1), height: (unit * w).toFixed(1) });
    put(number, { y: (down(w) - 5).toFixed(1) });
    number.textContent = near[s] ? w.toFixed(2) : "";
  });

  const drawWindow = (p, d, factor) => {
    const tenths = Array.from({ length: 10 * scores.length - 9 }, (_, i) => i / 10);
    const points = tenths.map((s) => `${x(s).toFixed(1)},${down(factor(s)).toFixed(1)}`);
    put(all("bell")[0], { points: points.join(" ") });
    const left = Math.max(x(p - d), 0), right = Math.min(x(p + d), width);
    put(all("band")[0], { x: left.toFixed(1), width: (right - left).toFixed(1) });
    const here = x(p).toFixed(1);
    put(all("centre")[0], { x1: here, x2: here });
    put(all("mark")[0], { x: here });
  };

  const write = (p, d, near, weights) => {
    const total = sum(weights).toFixed(2);
    const positions = scores.map((_, s) => s).filter((s) => near[s]);
    const said = `${positions.length} positions, ${positions[0]} to ${positions.at(-1)}, lie `
      + `within ${d} of ${p.toFixed(1)}. Their weights sum to ${total}.`;
    all("title")[1].textContent = bell.checked
      ? `× Gaussian, σ = D/2 = ${(d / 2).toFixed(1)}` : "× 1 (no Gaussian)";
    all("total")[2].textContent = `sum ${total}`;
    all("result")[0].textContent = said;
    const shares = positions.map((s) => weights[s].toFixed(2)).join(", ");
    put(figure.querySelector("svg"), { "aria-label": `${said} They are ${shares}.` });
  };

  figure.addEventListener("input", () => {
    const p = centre.value / 10, d = half.valueAsNumber;
    const near = scores.map((_, s) => Math.abs(s - p) <= d);
    const soft = softmax(scores, near);
    const factor = (s) => bell.checked ? Math.exp(-((s - p) ** 2) / (2 * (d / 2) ** 2)) : 1;
    const weights = soft.map((w, s) => w * factor(s));
    drawRow(0, soft, near);
    drawRow(1, scores.map((_, s) => near[s] ? factor(s) : 0), near);
    drawRow(2, weights, near);
    drawWindow(p, d, factor);
    write(p, d, near, weights);
    tell(centre, p.toFixed(1));
    tell(half, `${d}`);
  });
};
