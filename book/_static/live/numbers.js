// The live models, part 1: weights and the arithmetic that all models share.
//
// A vector is a list of numbers, a matrix a list of rows, as in the book's formulas.  All
// files of the live models are plain scripts, which a page opened from a file may load
// too; what they share lies in `live`.
"use strict";

const live = { models: {} };

{
  // --- Weights ---

  // A file below data/ hands over its model: `live.receive({name: …, data: …})`.
  live.receive = ({ name, n_heads, source, target, tensors, tied, data }) => {
    const numbers = fromHalf(new Uint16Array(fromBase64(data)));
    const weights = {};
    let start = 0;
    for (const [path, shape] of tensors) {
      const end = start + shape.reduce((product, size) => product * size);
      place(weights, path, rows(numbers.slice(start, end), shape));
      start = end;
    }
    if (start !== numbers.length) throw new Error(`the weights of ${name} are incomplete`);
    for (const [path, original] of tied) place(weights, path, find(weights, original));
    live.models[name] = { name, n_heads, source, target, weights };
  };

  function fromBase64(text) {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  }

  // float16, of 1 sign bit, 5 bits of exponent and 10 of fraction, to numbers.
  function fromHalf(halves) {
    return Array.from(halves, (half) => {
      const sign = half & 0x8000 ? -1 : 1;
      const exponent = (half >> 10) & 31;
      const fraction = (half & 1023) / 1024;
      const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
      return sign * size;
    });
  }

  function rows(numbers, [height, width]) {
    if (width === undefined) return numbers; // a vector
    return Array.from({ length: height }, (_, i) => numbers.slice(i * width, (i + 1) * width));
  }

  // "decoder.0.norm.weight" is `weights.decoder[0].norm.weight`, as in the Python class.
  function place(weights, path, tensor) {
    const names = path.split(".");
    const last = names.pop();
    let branch = weights;
    for (const name of names) branch = branch[name] ??= {};
    branch[last] = tensor;
  }

  function find(weights, path) {
    return path.split(".").reduce((branch, name) => branch[name], weights);
  }

  // --- Arithmetic ---

  live.BOS = 1;
  live.EOS = 2;

  live.add = (x, y) => x.map((number, i) => number + y[i]);

  live.dot = (x, y) => {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
    return sum;
  };

  // x W + b.  PyTorch keeps W transposed: one row for each number that comes out.
  live.linear = (x, { weight, bias }) =>
    weight.map((row, i) => live.dot(row, x) + (bias ? bias[i] : 0));

  // Equation 2.2, eq-weights.  The largest score is taken away first, which changes
  // nothing but keeps the exponentials from overflowing.
  live.softmax = (scores) => {
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((total, power) => total + power);
    return powers.map((power) => power / sum);
  };

  // Equation 2.1, eq-context: the sum of weight times row.
  live.weightedMean = (weights, matrix) => {
    const mean = Array.from(matrix[0], () => 0);
    matrix.forEach((row, j) => {
      for (let m = 0; m < mean.length; m++) mean[m] += weights[j] * row[m];
    });
    return mean;
  };

  // What a head remembers and what it did: the map is drawn from it.
  live.newHead = () => ({ queries: [], keys: [], values: [], scores: [], weights: [] });

  // --- Decoding ---

  // Say the most probable word, read it, say the next, until EOS.  `step` reads one word
  // and returns the scores (logits) of the next.
  live.greedy = (step, longest) => {
    const ids = [];
    const logits = [];
    let word = live.BOS;
    while (ids.length < longest && word !== live.EOS) {
      const scores = step(word);
      word = scores.indexOf(Math.max(...scores));
      logits.push(scores);
      ids.push(word);
    }
    return { ids, logits };
  };

  // Source ids, EOS included, to {ids, logits, maps}: maps.cross[layer][head] and so on.
  live.translate = (model, source, longest = 2 * source.length + 8) => {
    const { step, maps } = live.start[model.name](model, source);
    return { ...live.greedy(step, longest), maps };
  };

  live.start = {}; // for each model a function that reads the source: parts 2 and 3
}
