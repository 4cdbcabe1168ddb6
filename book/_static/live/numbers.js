// The live models, part 1: weights and the arithmetic that all models share.
//
// A vector is a list of numbers, a matrix a list of rows, as in the book's formulas.  All
// files of the live models are plain scripts, which a page opened from a file may load
// too; what they share lies in `live`.
"use strict";

const live = { models: {} };

{
  const SLICE = 30; // ms

  // --- Weights ---

  // A file below data/ hands over its model: `live.receive({name: …, data: …})`.
  live.receive = ({ name, n_heads, source, target, tensors, tied, data }) => {
    const numbers = live.fromHalf(new Uint16Array(live.fromBase64(data)));
    const weights = {};
    let start = 0;
    for (const [path, shape] of tensors) {
      const end = start + live.size(shape);
      live.place(weights, path, rows(numbers.slice(start, end), shape));
      start = end;
    }
    if (start !== numbers.length) throw new Error(`the weights of ${name} are incomplete`);
    live.tie(weights, tied);
    live.models[name] = { name, n_heads, source, target, weights };
  };

  live.fromBase64 = (text) => {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes.buffer;
  };

  // float16, of 1 sign bit, 5 bits of exponent and 10 of fraction, to numbers.
  live.fromHalf = (halves) =>
    Array.from(halves, (half) => {
      const sign = half & 0x8000 ? -1 : 1;
      const exponent = (half >> 10) & 31;
      const fraction = (half & 1023) / 1024;
      const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
      return sign * size;
    });

  live.size = (shape) => shape.reduce((product, size) => product * size);

  function rows(numbers, [height, width]) {
    if (width === undefined) return numbers; // a vector
    return Array.from({ length: height }, (_, i) => numbers.slice(i * width, (i + 1) * width));
  }

  // "decoder.0.norm.weight" is `weights.decoder[0].norm.weight`, as in the Python class.
  live.place = (weights, path, tensor) => {
    const names = path.split(".");
    const last = names.pop();
    let branch = weights;
    for (const name of names) branch = branch[name] ??= {};
    branch[last] = tensor;
  };

  // A matrix with two uses: pairs of its other name and its name.
  live.tie = (weights, pairs) => {
    const find = (path) => path.split(".").reduce((branch, name) => branch[name], weights);
    for (const [path, original] of pairs) live.place(weights, path, find(original));
  };

  // With a real minus.
  live.number = (x, digits = 2) => x.toFixed(digits).replace("-", "−");

  // --- Arithmetic ---

  live.BOS = 1;
  live.EOS = 2;

  live.add = (x, y) => x.map((number, i) => number + y[i]);

  // In four sums, so that a processor need not wait for one before it adds to the next.
  live.dot = (x, y) => {
    const whole = x.length - (x.length % 4);
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let i = 0;
    for (; i < whole; i += 4) {
      a += x[i] * y[i];
      b += x[i + 1] * y[i + 1];
      c += x[i + 2] * y[i + 2];
      d += x[i + 3] * y[i + 3];
    }
    for (; i < x.length; i++) a += x[i] * y[i];
    return a + b + c + d;
  };

  // x W + b.  PyTorch keeps W transposed: one row for each number that comes out.
  live.linear = (x, { weight, bias }) => {
    const y = [];
    for (let i = 0; i < weight.length; i++) {
      y.push(live.dot(weight[i], x) + (bias ? bias[i] : 0));
    }
    return y;
  };

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

  // Scores, or log p, of what can be written: PAD, BOS and UNK can't.
  live.writable = (scores) => scores.map((x, id) => ([0, 1, 3].includes(id) ? -Infinity : x));

  live.likeliest = (scores) => {
    const writable = live.writable(scores);
    return writable.indexOf(Math.max(...writable));
  };

  // One word after the other, until EOS.  `step` reads one word and returns the scores
  // (logits) of the next, from which, or from what `read` makes of them, `choose` takes one;
  // those of `prefix` are given.
  live.generate = function* ({ step }, choose, longest, { prefix = [], read = (scores) => scores } = {}) {
    const tokens = [];
    const steps = [];
    while (tokens.length < longest && tokens.at(-1) !== live.EOS) {
      const scores = read(step(tokens.at(-1) ?? live.BOS));
      steps.push(scores);
      tokens.push(prefix[tokens.length] ?? choose(scores));
      yield;
    }
    return { tokens, steps };
  };

  // Source ids, EOS included, to {ids, logits, maps}: maps.cross[layer][head] and so on.
  live.translate = (model, source, longest = 2 * source.length + 8) => {
    const state = live.start[model.name](model, source);
    const { tokens, steps } = live.atOnce(live.generate(state, live.likeliest, longest));
    return { ids: tokens, logits: steps, maps: state.maps };
  };

  // Work is a generator that stops now and then: do it without a stop, or let the page breathe
  // in between, and leave it when it is no longer wanted.
  live.atOnce = (work) => {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
    }
  };
  live.inSlices = async (work, wanted = () => true) => {
    let end = performance.now() + SLICE;
    while (wanted()) {
      const { done, value } = work.next();
      if (done) return value;
      if (performance.now() < end) continue;
      await new Promise((resolve) => setTimeout(resolve));
      end = performance.now() + SLICE;
    }
    return null;
  };

  live.start = {}; // for each model a function that reads the source: parts 2 and 3
}
