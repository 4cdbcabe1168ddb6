// The playground, part 1: a small Transformer that trains.  One function that uses no name
// from outside, so that its text can be handed to a Worker as a Blob: a page opened from a
// file may start no other.  attnbook.course.kit.playground is the same in PyTorch.
"use strict";

globalThis.playgroundEngine = function (data) {
  const SYMBOLS = 16;

  // --- Random numbers: mulberry32, seeded by a text, as in random_numbers.py ---

  function stream(name) {
    let state = 0x811c9dc5; // FNV-1a
    for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  // --- Tasks, as in tasks.py: a target of -1 asks nothing ---

  // From the symbols s of a sequence, the answers at position t.
  const TASKS = {
    reverse: (s, t) => [s[s.length - 1 - t]],
    sort: (s, t) => [[...s].sort((a, b) => a - b)[t]],
    previous_two: (s, t) => [s[t - 1] ?? -1, s[t - 2] ?? -1],
    add_previous: (s, t) => [t ? (s[t] + s[t - 1]) % SYMBOLS : -1],
    count_positions: (s, t) => [t],
    next_word: (s, t) => [s[t + 1] ?? -1], // what follows the last word is in no input
  };

  const { words, kinds, grammar } = data;
  const pick = (list, random) => list[Math.floor(list.length * random())];

  function nextWords(random, length) {
    const ids = [];
    let kind;
    let state = 0;
    while (ids.length < length) {
      [kind, state] = pick(grammar[state], random);
      ids.push(pick(kinds[kind], random));
    }
    return ids;
  }

  // Are these words a sentence, or do they begin one?
  function parses(ids) {
    let state = 0;
    return ids.every((word) => {
      const option = grammar[state].find(([kind]) => kinds[kind].includes(word));
      if (option) state = option[1];
      return option;
    });
  }

  function sequence(task, random, length) {
    if (task === "next_word") return nextWords(random, length);
    const symbols = Array.from({ length }, () => Math.floor(SYMBOLS * random()));
    if (task !== "count_positions") return symbols;
    return symbols.map((symbol, t) => (t ? Math.max(1, symbol) : 0));
  }

  // Endless fresh batches: ids (B · T) and targets (B · T · K).
  function batches(task, name, batch, length) {
    const random = stream(name);
    return () => {
      const rows = Array.from({ length: batch }, () => sequence(task, random, length));
      const targets = rows.flatMap((s) => s.flatMap((_, t) => TASKS[task](s, t)));
      return { ids: rows.flat(), targets };
    };
  }

  // --- Matrices ---

  // A view of numbers: `down` leads to the next row, `across` to the next column.
  class Matrix {
    constructor(numbers, rows, columns, at = 0, down = columns, across = 1) {
      Object.assign(this, { numbers, rows, columns, at, down, across });
    }

    get T() {
      return new Matrix(this.numbers, this.columns, this.rows, this.at, this.across, this.down);
    }

    top(rows) {
      return new Matrix(this.numbers, rows, this.columns);
    }

    part(row, rows, column, columns) {
      const at = this.at + row * this.down + column * this.across;
      return new Matrix(this.numbers, rows, columns, at, this.down, this.across);
    }
  }

  const zeros = (rows, columns) => new Matrix(new Float32Array(rows * columns), rows, columns);

  function clear({ numbers, rows, columns, at, down }) {
    for (let i = 0; i < rows; i++) numbers.fill(0, at + i * down, at + i * down + columns);
  }

  // C = A B, or C += A B.  Four rows meet four columns at a time, so that each number read
  // serves four products; that is where the time goes.
  function multiply(A, B, C, adds = false) {
    if (!adds) clear(C);
    const { numbers: a, down: ad, across: aa } = A;
    const { numbers: b, down: bd, across: ba } = B;
    const { numbers: c, down: cd, rows: n, columns: m } = C;
    const depth = A.columns;
    const n4 = n - (n % 4);
    const m4 = m - (m % 4);
    const [a2, a3, b2, b3] = [2 * ad, 3 * ad, 2 * ba, 3 * ba];
    for (let i = 0; i < n4; i += 4) {
      for (let j = 0; j < m4; j += 4) {
        let x00 = 0, x01 = 0, x02 = 0, x03 = 0;
        let x10 = 0, x11 = 0, x12 = 0, x13 = 0;
        let x20 = 0, x21 = 0, x22 = 0, x23 = 0;
        let x30 = 0, x31 = 0, x32 = 0, x33 = 0;
        let p = A.at + i * ad;
        let q = B.at + j * ba;
        for (let l = 0; l < depth; l++) {
          const v0 = b[q];
          const v1 = b[q + ba];
          const v2 = b[q + b2];
          const v3 = b[q + b3];
          let u = a[p];
          x00 += u * v0;
          x01 += u * v1;
          x02 += u * v2;
          x03 += u * v3;
          u = a[p + ad];
          x10 += u * v0;
          x11 += u * v1;
          x12 += u * v2;
          x13 += u * v3;
          u = a[p + a2];
          x20 += u * v0;
          x21 += u * v1;
          x22 += u * v2;
          x23 += u * v3;
          u = a[p + a3];
          x30 += u * v0;
          x31 += u * v1;
          x32 += u * v2;
          x33 += u * v3;
          p += aa;
          q += bd;
        }
        const r = C.at + i * cd + j;
        const block = [x00, x01, x02, x03, x10, x11, x12, x13, x20, x21, x22, x23, x30, x31, x32, x33];
        for (let k = 0; k < 16; k++) c[r + (k >> 2) * cd + (k & 3)] += block[k];
      }
    }
    // The edges, if a size is no multiple of four.
    for (let i = 0; i < n; i++) {
      for (let j = i < n4 ? m4 : 0; j < m; j++) {
        let sum = 0;
        let p = A.at + i * ad;
        let q = B.at + j * ba;
        for (let l = 0; l < depth; l++, p += aa, q += bd) sum += a[p] * b[q];
        c[C.at + i * cd + j] += sum;
      }
    }
  }

  function add(x, y) {
    for (let i = 0; i < x.rows * x.columns; i++) x.numbers[i] += y.numbers[i];
  }

  // --- Parts.  Each has a forward and a backward, which takes the gradient with respect to
  // what came out, keeps those of its weights, and returns that of what went in. ---

  class Parts {
    constructor(seed, rows) {
      this.seed = seed;
      this.rows = rows; // the most that any batch has
      this.list = [];
    }

    // Weights start as in model.py: the name leads to their numbers.
    parameter(name, [rows, columns], bound, constant = 0) {
      const value = zeros(rows, columns);
      const { numbers } = value;
      const random = stream(`${this.seed}/${name}`);
      if (bound) for (let i = 0; i < numbers.length; i++) numbers[i] = bound * (2 * random() - 1);
      else numbers.fill(constant);
      const [mean, square] = [new Float32Array(numbers.length), new Float32Array(numbers.length)];
      const part = { name, value, gradient: zeros(rows, columns), mean, square };
      this.list.push(part);
      return part;
    }
  }

  class Linear {
    constructor(parts, name, from, to) {
      this.weight = parts.parameter(`${name}.weight`, [to, from], Math.sqrt(6 / (from + to)));
      this.bias = parts.parameter(`${name}.bias`, [1, to]);
      this.y = zeros(parts.rows, to);
      this.dx = zeros(parts.rows, from);
    }

    forward(x) {
      this.x = x;
      const y = this.y.top(x.rows);
      for (let i = 0; i < y.rows; i++) y.numbers.set(this.bias.value.numbers, i * y.columns);
      multiply(x, this.weight.value.T, y, true);
      return y;
    }

    backward(dy) {
      multiply(dy.T, this.x, this.weight.gradient);
      const sums = this.bias.gradient.numbers.fill(0);
      const { numbers, rows, columns } = dy;
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) sums[j] += numbers[i * columns + j];
      }
      const dx = this.dx.top(rows);
      multiply(dy, this.weight.value, dx);
      return dx;
    }
  }

  class LayerNorm {
    constructor(parts, name, width) {
      this.weight = parts.parameter(`${name}.weight`, [1, width], 0, 1);
      this.bias = parts.parameter(`${name}.bias`, [1, width]);
      [this.normed, this.y, this.dx] = [1, 2, 3].map(() => zeros(parts.rows, width));
      this.inverse = new Float32Array(parts.rows); // 1 / standard deviation
    }

    forward({ numbers: x, rows, columns }) {
      const [gain, shift] = [this.weight.value.numbers, this.bias.value.numbers];
      const [normed, y] = [this.normed.numbers, this.y.numbers];
      for (let i = 0; i < rows; i++) {
        const start = i * columns;
        let mean = 0;
        for (let j = 0; j < columns; j++) mean += x[start + j];
        mean /= columns;
        let variance = 0;
        for (let j = 0; j < columns; j++) variance += (x[start + j] - mean) ** 2;
        const inverse = 1 / Math.sqrt(variance / columns + 1e-5);
        this.inverse[i] = inverse;
        for (let j = 0; j < columns; j++) {
          const h = (x[start + j] - mean) * inverse;
          normed[start + j] = h;
          y[start + j] = h * gain[j] + shift[j];
        }
      }
      return this.y.top(rows);
    }

    backward({ numbers: dy, rows, columns }) {
      const gain = this.weight.value.numbers;
      const [normed, dx] = [this.normed.numbers, this.dx.numbers];
      const dGain = this.weight.gradient.numbers.fill(0);
      const dShift = this.bias.gradient.numbers.fill(0);
      for (let i = 0; i < rows; i++) {
        const start = i * columns;
        let [mean, along] = [0, 0];
        for (let j = 0; j < columns; j++) {
          const d = dy[start + j];
          const h = normed[start + j];
          dGain[j] += d * h;
          dShift[j] += d;
          mean += d * gain[j];
          along += d * gain[j] * h;
        }
        mean /= columns;
        along /= columns;
        for (let j = 0; j < columns; j++) {
          const d = dy[start + j] * gain[j] - mean - normed[start + j] * along;
          dx[start + j] = d * this.inverse[i];
        }
      }
      return this.dx.top(rows);
    }
  }

  class FeedForward {
    constructor(parts, name, width) {
      this.first = new Linear(parts, `${name}.0`, width, 4 * width);
      this.second = new Linear(parts, `${name}.2`, 4 * width, width);
    }

    forward(x) {
      const h = this.first.forward(x);
      for (let i = 0; i < h.rows * h.columns; i++) if (h.numbers[i] < 0) h.numbers[i] = 0;
      return this.second.forward(h);
    }

    backward(dy) {
      const dh = this.second.backward(dy);
      const h = this.first.y.numbers;
      for (let i = 0; i < dh.rows * dh.columns; i++) if (!h[i]) dh.numbers[i] = 0;
      return this.first.backward(dh);
    }
  }

  class Attention {
    constructor(parts, name, setting, length) {
      const { width, heads, key_width } = setting;
      this.setting = setting;
      this.factor = setting.scaled ? 1 / Math.sqrt(key_width) : 1;
      const linear = (part, from, to) => new Linear(parts, `${name}.${part}`, from, to);
      this.W_Q = linear("W_Q", width, heads * key_width);
      this.W_K = linear("W_K", width, heads * key_width);
      this.W_V = linear("W_V", width, width);
      this.W_O = linear("W_O", width, width);
      const { rows } = parts;
      [this.z, this.dv] = [zeros(rows, width), zeros(rows, width)];
      [this.dq, this.dk] = [zeros(rows, heads * key_width), zeros(rows, heads * key_width)];
      this.weights = zeros(rows * heads, length); // T rows for each sequence and head
      this.scores = zeros(length, length);
      const half = key_width / 2; // rotary: pairs of features turn with the position
      this.angles = Array.from({ length: length * half }, (_, i) => {
        return Math.floor(i / half) * 10000 ** (-(2 * (i % half)) / key_width);
      });
    }

    // For each sequence and head: its part of a matrix, by the number of its columns.
    eachHead(rows, length, visit) {
      const { heads } = this.setting;
      for (let start = 0; start < rows; start += length) {
        for (let head = 0; head < heads; head++) {
          const part = (matrix) => {
            const columns = matrix.columns / heads;
            return matrix.part(start, length, head * columns, columns);
          };
          const at = (start * heads + head * length) * length;
          visit(part, new Matrix(this.weights.numbers, length, length, at));
        }
      }
    }

    forward(x, length) {
      const [q, k, v] = [this.W_Q, this.W_K, this.W_V].map((W) => W.forward(x));
      Object.assign(this, { q, k, v, length });
      if (this.setting.positions === "rotary") for (const m of [q, k]) this.rotate(m, 1);
      this.eachHead(x.rows, length, (part, weights) => {
        multiply(part(q), part(k).T, weights);
        this.softmax(weights);
        multiply(weights, part(v), part(this.z));
      });
      return this.W_O.forward(this.z.top(x.rows));
    }

    // Row by row; behind the causal mask, row t ends at position t.
    softmax({ numbers, at, columns }) {
      const { factor, setting } = this;
      for (let t = 0; t < columns; t++) {
        const start = at + t * columns;
        const end = start + (setting.causal ? t + 1 : columns);
        let largest = -Infinity;
        for (let i = start; i < end; i++) largest = Math.max(largest, numbers[i]);
        let sum = 0;
        for (let i = start; i < end; i++) {
          numbers[i] = Math.exp((numbers[i] - largest) * factor);
          sum += numbers[i];
        }
        for (let i = start; i < end; i++) numbers[i] /= sum;
        numbers.fill(0, end, start + columns);
      }
    }

    backward(dy) {
      const dz = this.W_O.backward(dy);
      const { q, k, v, length, factor } = this;
      const [dq, dk, dv] = [this.dq, this.dk, this.dv].map((m) => m.top(dy.rows));
      const ds = new Matrix(this.scores.numbers, length, length);
      this.eachHead(dy.rows, length, (part, weights) => {
        multiply(weights.T, part(dz), part(dv));
        multiply(part(dz), part(v).T, ds); // with respect to the weights, and then …
        for (let t = 0; t < length; t++) {
          const [start, row] = [weights.at + t * length, t * length];
          let mean = 0;
          for (let i = 0; i < length; i++) {
            mean += weights.numbers[start + i] * ds.numbers[row + i];
          }
          for (let i = 0; i < length; i++) {
            // … with respect to the scores before the division by √d_k
            ds.numbers[row + i] =
              weights.numbers[start + i] * (ds.numbers[row + i] - mean) * factor;
          }
        }
        multiply(ds, part(k), part(dq));
        multiply(ds.T, part(q), part(dk));
      });
      if (this.setting.positions === "rotary") for (const m of [dq, dk]) this.rotate(m, -1);
      const dx = this.W_Q.backward(dq);
      add(dx, this.W_K.backward(dk));
      add(dx, this.W_V.backward(dv));
      return dx;
    }

    rotate({ numbers, rows, columns }, sign) {
      const half = this.setting.key_width / 2;
      for (let i = 0; i < rows; i++) {
        const turn = (i % this.length) * half;
        for (let pair = 0; pair < columns / 2; pair++) {
          const angle = sign * this.angles[turn + (pair % half)];
          const sin = Math.sin(angle);
          const cos = Math.cos(angle);
          const at = i * columns + 2 * pair;
          const u = numbers[at];
          const w = numbers[at + 1];
          numbers[at] = u * cos - w * sin;
          numbers[at + 1] = u * sin + w * cos;
        }
      }
    }
  }

  // Attention or a feed-forward network, with its norm and its skip connection.
  class Sublayer {
    constructor(parts, name, setting, inner) {
      this.setting = setting;
      this.inner = inner;
      this.norm = setting.norm === "none" ? null : new LayerNorm(parts, `${name}.norm`, setting.width);
      this.sum = zeros(parts.rows, setting.width);
    }

    forward(x, length) {
      const before = this.setting.norm === "before";
      let y = this.inner.forward(before ? this.norm.forward(x) : x, length);
      if (this.setting.skip) {
        const sum = this.sum.top(x.rows);
        sum.numbers.set(x.numbers.subarray(0, x.rows * x.columns));
        add(sum, y);
        y = sum;
      }
      return this.setting.norm === "after" ? this.norm.forward(y) : y;
    }

    backward(dy) {
      if (this.setting.norm === "after") dy = this.norm.backward(dy);
      let dx = this.inner.backward(dy);
      if (this.setting.norm === "before") dx = this.norm.backward(dx);
      if (this.setting.skip) add(dx, dy);
      return dx;
    }
  }

  // --- The model ---

  class Model {
    constructor(setting, batch = 32, length = 12) {
      Object.assign(this, { setting, batch, length, steps: 0 });
      this.V = setting.task === "next_word" ? words.length : SYMBOLS;
      this.K = setting.task === "previous_two" ? 2 : 1;
      const { width, positions, seed } = setting;
      const parts = new Parts(seed, batch * length);
      this.embedding = parts.parameter("embedding.weight", [this.V, width], Math.sqrt(3));
      if (positions === "learned") {
        this.position = parts.parameter("position.weight", [length, width], Math.sqrt(1.5));
      }
      this.fixed = Float32Array.from({ length: length * width }, (_, i) => {
        const j = i % width;
        const angle = Math.floor(i / width) * 10000 ** (-(j - (j % 2)) / width);
        if (positions !== "sinusoidal") return 0;
        return j % 2 ? Math.cos(angle) : Math.sin(angle);
      });
      this.layers = [];
      const layer = (make) => {
        const name = `layers.${this.layers.length}`;
        const inner = make(`${name}.inner`);
        this.layers.push(new Sublayer(parts, name, setting, inner));
      };
      for (let n = 0; n < setting.layers; n++) {
        layer((name) => new Attention(parts, name, setting, length));
        if (setting.feed_forward) layer((name) => new FeedForward(parts, name, width));
      }
      if (setting.norm === "before") this.norm = new LayerNorm(parts, "norm", width);
      this.out = new Linear(parts, "out", width, this.K * this.V);
      this.parameters = parts.list;
      this.x = zeros(parts.rows, width);
      this.gradient = zeros(parts.rows, this.K * this.V); // with respect to the logits
      this.next = batches(setting.task, `${seed}/batches`, batch, length);
    }

    // Ids of sequences of a length, one after the other, to their logits.
    forward(ids, length = this.length) {
      this.ids = ids;
      const { width } = this.setting;
      const table = this.embedding.value.numbers;
      const added = this.position ? this.position.value.numbers : this.fixed;
      let x = this.x.top(ids.length);
      ids.forEach((id, i) => {
        const t = i % length;
        for (let j = 0; j < width; j++) {
          x.numbers[i * width + j] = table[id * width + j] + added[t * width + j];
        }
      });
      for (const part of this.layers) x = part.forward(x, length);
      return (this.logits = this.out.forward(this.norm ? this.norm.forward(x) : x));
    }

    // Mean cross-entropy in nats, and the share of answers that are right.
    loss(targets) {
      const { V, logits, gradient } = this;
      gradient.rows = logits.rows;
      const asked = targets.reduce((count, target) => count + (target >= 0), 0);
      let [sum, right] = [0, 0];
      targets.forEach((target, i) => {
        const scores = logits.numbers.subarray(i * V, (i + 1) * V);
        const shares = gradient.numbers.subarray(i * V, (i + 1) * V);
        if (target < 0) return shares.fill(0);
        const best = largest(scores);
        let total = 0;
        for (let v = 0; v < V; v++) total += shares[v] = Math.exp(scores[v] - scores[best]);
        for (let v = 0; v < V; v++) shares[v] /= total * asked;
        shares[target] -= 1 / asked;
        sum += Math.log(total) + scores[best] - scores[target];
        right += best === target;
      });
      return { loss: sum / asked, accuracy: right / asked };
    }

    backward() {
      let dx = this.out.backward(this.gradient);
      if (this.norm) dx = this.norm.backward(dx);
      for (const part of [...this.layers].reverse()) dx = part.backward(dx);
      const { width } = this.setting;
      const scatter = (parameter, rowOf) => {
        const sums = parameter.gradient.numbers.fill(0);
        this.ids.forEach((id, i) => {
          const row = rowOf(id, i) * width;
          for (let j = 0; j < width; j++) sums[row + j] += dx.numbers[i * width + j];
        });
      };
      scatter(this.embedding, (id) => id);
      if (this.position) scatter(this.position, (_, i) => i % this.length);
    }

    // Adam, with PyTorch's defaults.
    update(rate) {
      this.steps += 1;
      const step = rate / (1 - 0.9 ** this.steps);
      const correction = 1 / Math.sqrt(1 - 0.999 ** this.steps);
      for (const { value, gradient, mean, square } of this.parameters) {
        const [weights, gradients] = [value.numbers, gradient.numbers];
        for (let i = 0; i < weights.length; i++) {
          const g = gradients[i];
          mean[i] += 0.1 * (g - mean[i]);
          square[i] = 0.999 * square[i] + 0.001 * g * g;
          weights[i] -= (step * mean[i]) / (Math.sqrt(square[i]) * correction + 1e-8);
        }
      }
    }

    // The learning rate rises over the warm-up, and falls to 0 at the end.
    get rate() {
      const { rate, warm_up, steps } = this.setting;
      const rise = Math.min(1, (this.steps + 1) / Math.max(warm_up, 1));
      return rate * rise * (1 - this.steps / steps);
    }

    step() {
      const { ids, targets } = this.next();
      this.forward(ids);
      const found = this.loss(targets);
      this.backward();
      this.update(this.rate);
      return found;
    }

    // One sequence: what is answered at each position, and the attention of each head.
    look(ids) {
      const { V, K, setting } = this;
      const { numbers } = this.forward(ids);
      const answers = ids.map((_, t) =>
        Array.from({ length: K }, (_, k) => {
          const start = (t * K + k) * V;
          return largest(numbers.subarray(start, start + V));
        }),
      );
      const maps = this.layers
        .filter(({ inner }) => inner instanceof Attention)
        .map(({ inner }) => inner.weights.numbers.slice(0, setting.heads * ids.length ** 2));
      return { answers, maps };
    }

    // Word by word from <bos>, which is word 0 and isn't drawn again; the others are drawn as
    // the model finds them probable.  It is shown what has been written, and nothing else.
    generate(count, name) {
      const random = stream(name);
      let rows = Array.from({ length: count }, () => [0]);
      for (let length = 1; length < this.length; length++) {
        const { numbers } = this.forward(rows.flat(), length);
        rows = rows.map((row, i) => {
          const start = ((i + 1) * length - 1) * this.V;
          const scores = numbers.subarray(start + 1, start + this.V);
          return [...row, 1 + draw(scores, random())];
        });
      }
      return rows.map((row) => {
        const end = row.indexOf(1) + 1; // after <eos>
        const sentence = end ? row.slice(0, end) : row;
        return { sentence, parses: parses(sentence) };
      });
    }
  }

  function largest(scores) {
    let best = 0;
    for (let v = 1; v < scores.length; v++) if (scores[v] > scores[best]) best = v;
    return best;
  }

  function draw(scores, uniform) {
    const top = scores[largest(scores)];
    const shares = Array.from(scores, (score) => Math.exp(score - top));
    let left = uniform * shares.reduce((sum, share) => sum + share);
    const chosen = shares.findIndex((share) => (left -= share) < 0);
    return chosen < 0 ? shares.length - 1 : chosen;
  }

  // --- In a Worker: `scope` is its `self` ---

  // Train until a step, in portions of some 60 ms, and tell after each.
  function serve(scope) {
    let [model, until, probe, busy] = [null, 0, null, false];
    const tell = (results) => {
      scope.postMessage({ results, steps: model.steps, ...model.look(probe) });
    };
    function portion() {
      const results = [];
      const end = performance.now() + 60;
      while (model.steps < until && performance.now() < end) results.push(model.step());
      tell(results);
      busy = model.steps < until;
      if (busy) setTimeout(portion);
    }
    scope.onmessage = ({ data: order }) => {
      if (order.setting) model = new Model(order.setting);
      if (order.probe) probe = order.probe;
      if (order.generate) {
        scope.postMessage({ generated: model.generate(32, order.generate), steps: model.steps });
      }
      if (order.until !== undefined) until = order.until;
      if (order.generate || busy) return;
      busy = true;
      portion();
    };
  }

  return { stream, sequence, batches, TASKS, Model, parses, serve };
};
