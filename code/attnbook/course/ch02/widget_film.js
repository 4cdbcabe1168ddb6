// What `picture` and `result` of widget_film.py do, in the page; and the film.
import { put } from "../kit/widgets/content.js";
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, given) => {
  const { every, shades, lack, weights, losses, alignments, outputs, gloss } = given;
  const { left, across, bottom, curve, high } = given;
  const figure = wake(image);
  const all = (name) => parts(figure, name);
  const slider = figure.querySelector("[type=range]");
  const [play] = all("play");
  const [said] = all("result");
  const [now] = all("now");
  const cells = all("weight");
  const last = weights.length - 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const sentence = (k) => {
    const words = outputs[k].split(" ").filter(Boolean);
    const english = words.map((word) => gloss[word]).join(" ");
    const reached = `Step ${every * k}: loss ${losses[k].toFixed(2)} nats; largest weight on `
      + `the aligned word: ${alignments[k]} % of the words.`;
    const below = words.length ? `\nWord by word: ${english}` : "";
    return `${reached}\nOutput: ${outputs[k] || "nothing"}${below}`;
  };

  const draw = () => {
    const k = slider.valueAsNumber;
    cells.forEach((cell, i) => {
      const w = shades.indexOf(weights[k][i]) / (shades.length - 1);
      put(cell, { fill: `rgb(${lack.map((c) => Math.round(255 - w * c)).join(", ")})` });
    });
    const y = bottom + curve * (1 - losses[k] / high);
    put(now, { cx: (left + across * k / last).toFixed(1), cy: y.toFixed(1) });
    said.textContent = sentence(k);
    put(figure.querySelector("svg"), { "aria-label": sentence(k).replaceAll("\n", " ") });
    tell(slider, `${every * k}`);
  };

  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
    put(said, { "aria-live": "polite" });
  };
  const next = () => {
    slider.value = Math.min(slider.valueAsNumber + (calm ? 10 : 1), last);
    draw();
    if (slider.valueAsNumber === last) stop();
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.valueAsNumber === last) slider.value = 0;
    put(said, { "aria-live": "off" });
    play.textContent = "Pause";
    draw();
    timer = setInterval(next, calm ? 1200 : 110);
  });
  figure.addEventListener("input", () => {
    stop();
    draw();
  });
};
