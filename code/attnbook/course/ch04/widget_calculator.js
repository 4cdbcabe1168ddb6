// What `attend` and `result` of calculator.py do, in the page.
import { list, softmax, sum } from "../kit/widgets/content.js";
import { parts, show, wake } from "../kit/widgets/controls.js";

export const start = (image, { asking, offering, most, lack }) => {
  const figure = wake(image);
  const all = (name) => parts(figure, name);
  const fields = [...figure.querySelectorAll("[type=number]")];
  const good = new Map(fields.map((field) => [field, field.valueAsNumber]));
  fields.forEach((field) => { field.readOnly = false; });
  figure.querySelectorAll("[hidden]").forEach(show);

  const minus = (text) => `${text}`.replace("-", "\u2212");
  const text = (x) => minus(x.toFixed(2).replace(/^-0.00$/, "0.00"));
  const quote = (word) => `“${word}”`;

  // What a field holds; as long as that does not count, the last that did, and a warning.
  const read = (field, said) => {
    const fine = Math.abs(field.valueAsNumber) <= most;
    if (fine) good.set(field, field.valueAsNumber);
    else said.push(`The ${field.getAttribute("aria-label")} must be a number from `
      + `\u2212${most} to ${most}; until then ${minus(good.get(field))} counts.`);
    field.setAttribute("aria-invalid", !fine);
    field.style.borderStyle = fine ? "solid" : "dashed";
    return good.get(field);
  };
  const pairs = (name, said) => {
    const x = all(name).map((field) => read(field, said));
    return x.flatMap((a, i) => i % 2 ? [] : [[a, x[i + 1]]]);
  };

  const draw = (i, scores, open, weights, output) => {
    const row = (name) => all(name).slice(i * scores.length, (i + 1) * scores.length);
    row("score").forEach((cell, j) => {
      cell.textContent = text(scores[j]);
      cell.style.textDecoration = open[j] ? "none" : "line-through";
    });
    row("weight").forEach((cell, j) => {
      cell.textContent = open[j] ? text(weights[j]) : "0";
      cell.style.backgroundColor = `rgb(${lack.map((c) => 255 - weights[j] * c)})`;
    });
    all("output")[i].textContent = output.join("\n");
  };

  const sentence = (i, open, weights, output) => {
    const count = open.filter(Boolean).length;
    const word = quote(asking[i]);
    if (!count) return `${word} may attend to nothing: its weights and its output are 0.`;
    const highest = Math.max(...weights);
    const best = offering.filter((_, j) => open[j] && highest - weights[j] < 1e-9);
    const share = best.length === count ? "all" : "most", each = best[1] ? " each" : "";
    return `${word} gives ${share} to ${list(best.map(quote))}, `
      + `${text(highest)}${each}; output (${output.join(",\u00a0")}).`;
  };

  figure.addEventListener("input", () => {
    const said = [];
    const [Q, K, V] = ["query", "key", "value"].map((name) => pairs(name, said));
    const may = all("may").map((box) => box.checked);
    const root = all("scaled")[0].checked ? Math.SQRT2 : 1;
    Q.forEach((q, i) => {
      const scores = K.map((k) => sum(q.map((x, d) => x * k[d])) / root);
      const open = may.slice(i * K.length, (i + 1) * K.length);
      const weights = softmax(scores, open);
      const output = [0, 1].map((d) => text(sum(weights.map((w, j) => w * V[j][d]))));
      draw(i, scores, open, weights, output);
      said.push(sentence(i, open, weights, output));
    });
    all("result")[0].textContent = said.join("\n");
  });

  // A field is left with something that does not count: the last good number returns.
  figure.addEventListener("change", ({ target }) => {
    if (target.getAttribute("aria-invalid") !== "true") return;
    target.value = good.get(target);
    target.dispatchEvent(new Event("input", { bubbles: true }));
  });

  figure.querySelector("button").addEventListener("click", () => {
    figure.querySelectorAll("input").forEach((e) => {
      e.value = e.defaultValue;
      e.checked = e.defaultChecked;
    });
    figure.dispatchEvent(new Event("input"));
  });
};
