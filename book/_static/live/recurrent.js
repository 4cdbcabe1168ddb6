// The live models, part 2: the recurrent models of chapters 1 and 2, as in
// attnbook.models.seq2seq and attnbook.models.bahdanau.  Weights have the names of the Python classes.
"use strict";

{
  const { add, dot, linear, softmax, weightedMean } = live;
  const tanh = (x) => x.map(Math.tanh);
  const sigmoid = (number) => 1 / (1 + Math.exp(-number));

  // Equation 1.3, eq-gru.  W x + b and U h + b' hold three parts, one below the other:
  // for the reset gate r, the update gate z and the candidate.
  function gru(x, h, weights, suffix = "") {
    const [W, U, b, b2] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map(
      (name) => weights[name + suffix],
    );
    const H = h.length;
    const fromInput = linear(x, { weight: W, bias: b });
    const fromState = linear(h, { weight: U, bias: b2 });
    return h.map((old, i) => {
      const r = sigmoid(fromInput[i] + fromState[i]);
      const z = sigmoid(fromInput[H + i] + fromState[H + i]);
      const candidate = Math.tanh(fromInput[2 * H + i] + r * fromState[2 * H + i]);
      return (1 - z) * candidate + z * old;
    });
  }

  // Two GRUs read the source, from the left and from the right.
  function encode({ embedding, gru: weights }, source) {
    const words = source.map((id) => embedding.weight[id]);
    const nothing = Array.from(weights.weight_hh_l0[0], () => 0); // the state before
    const read = (list, suffix) => {
      let h = nothing;
      return list.map((x) => (h = gru(x, h, weights, suffix)));
    };
    const forward = read(words, "_l0");
    const backward = read([...words].reverse(), "_l0_reverse").reverse();
    return {
      states: forward.map((h, j) => [...h, ...backward[j]]), // one for each word
      lastForward: forward.at(-1),
      lastBackward: backward[0],
    };
  }

  // Equation 1.6, eq-readout, without the softmax: one hidden layer.
  const readout = ({ hidden, out }, parts) => linear(tanh(linear(parts, hidden)), out);

  // The source vector is fed to every step: 1.8, eq-static-context.
  live.start.static_context = ({ weights }, source) => {
    const { lastForward, lastBackward } = encode(weights.encoder, source);
    const c = [...lastForward, ...lastBackward];
    let s = tanh(linear(c, weights.bridge));
    const step = (word) => {
      const y = weights.embedding.weight[word];
      s = gru([...y, ...c], s, weights.gru, "_l0");
      return readout(weights.readout, [...s, ...y, ...c]);
    };
    return { step, maps: {} };
  };

  // Each target word gets a context of its own.
  live.start.bahdanau = ({ weights }, source) => {
    const { W, U } = weights.score;
    const v = weights.score.v.weight[0];
    const { states, lastBackward } = encode(weights.encoder, source);
    const head = live.newHead();
    head.keys = states.map((h) => linear(h, U)); // U h_j, once a sentence
    head.v = v;
    let s = tanh(linear(lastBackward, weights.bridge));
    // A position, if one is given, gets all the weight.
    const step = (word, only) => {
      const y = weights.embedding.weight[word];
      const query = linear(s, W); // of s_{i-1}: the newest state there is
      const scores = head.keys.map((key) => dot(v, tanh(add(query, key)))); // 2.3, eq-additive
      const alpha =
        only === undefined ? softmax(scores) : scores.map((_, j) => Number(j === only));
      const c = weightedMean(alpha, states); // 2.1, eq-context
      s = gru([...y, ...c], s, weights.cell); // 2.4, eq-bahdanau-step
      head.queries.push(query);
      head.scores.push(scores);
      head.weights.push(alpha);
      return readout(weights.readout, [...s, ...y, ...c]);
    };
    return { step, maps: { cross: [[head]] } };
  };
}
