// The live models, part 3: the Transformer of chapter 9 and of the translator, pre-norm, as in
// attnbook.models.transformer and attnbook.nn.layers.  Weights have the names of the Python classes.
"use strict";

{
  const { add, dot, linear, softmax, weightedMean } = live;

  // --- Parts ---

  // Equation 7.1, eq-sinusoids.
  function position(p, D) {
    const angle = (i) => p * 10000 ** ((-2 * i) / D);
    return Array.from({ length: D }, (_, n) =>
      n % 2 ? Math.cos(angle((n - 1) / 2)) : Math.sin(angle(n / 2)),
    );
  }

  // A word's vector times √D, plus its position.
  function embed({ weight }, id, p) {
    const D = weight[id].length;
    return add(position(p, D), weight[id].map((number) => number * Math.sqrt(D)));
  }

  // Equation 8.3, eq-layer-norm: mean 0 and variance 1, then gain and bias.
  function layerNorm(x, { weight, bias }) {
    const mean = (list) => list.reduce((sum, number) => sum + number) / list.length;
    const mu = mean(x);
    const deviation = Math.sqrt(mean(x.map((number) => (number - mu) ** 2)) + 1e-5);
    return x.map((number, i) => ((number - mu) / deviation) * weight[i] + bias[i]);
  }

  // Equation 8.2, eq-ffn: max(0, x W_1 + b_1) W_2 + b_2.
  function feedForward(x, { W_1, W_2 }) {
    return linear(linear(x, W_1).map((number) => Math.max(0, number)), W_2);
  }

  // Equation 4.3, eq-attention, for one query: a mean of the values, weighted by how well
  // their keys fit.  A cache may have let go of some: `keeps` says for each place whether it
  // is there.
  function attend(q, head, keeps) {
    const score = (k, p) => (keeps(p) ? dot(q, k) / Math.sqrt(q.length) : -Infinity);
    const scores = head.keys.map(score);
    const weights = softmax(scores);
    head.queries.push(q);
    head.scores.push(scores);
    head.weights.push(weights);
    return head.off ? head.values[0].map(() => 0) : weightedMean(weights, head.values);
  }

  // Equation 5.1, eq-multi-head: each head has its part of the D numbers.
  function multiHead(x, layer, heads, keeps = () => true) {
    const queries = split(linear(x, layer.W_Q), heads.length);
    return linear(heads.flatMap((head, h) => attend(queries[h], head, keeps)), layer.W_O);
  }

  function split(x, n) {
    const width = x.length / n;
    return Array.from({ length: n }, (_, h) => x.slice(h * width, (h + 1) * width));
  }

  // Each head keeps the key and the value of one place more: the cache.
  function remember(x, layer, heads) {
    split(linear(x, layer.W_K), heads.length).forEach((k, h) => heads[h].keys.push(k));
    split(linear(x, layer.W_V), heads.length).forEach((v, h) => heads[h].values.push(v));
  }

  // Equation 8.1, eq-residual, in the form of pre-norm: what a sublayer finds in the normed x
  // is added to x.
  const residual = (x, norm, sublayer) => add(x, sublayer(layerNorm(x, norm)));

  // --- The model ---

  // All places of a text, rewritten layer by layer; `maps` has the heads of each layer.
  function encode(X, layers, norm, maps) {
    Object.values(layers).forEach((layer, l) => {
      const heads = maps[l];
      const { attention, feed_forward, norm_1, norm_2 } = layer;
      for (const x of X) remember(layerNorm(x, norm_1), attention, heads);
      X = X.map((x) => residual(x, norm_1, (y) => multiHead(y, attention, heads)));
      X = X.map((x) => residual(x, norm_2, (y) => feedForward(y, feed_forward)));
    });
    return X.map((x) => layerNorm(x, norm));
  }

  const newHeads = (layers, n_heads) =>
    Object.values(layers).map(() => Array.from({ length: n_heads }, live.newHead));

  // The encoder-only model of appendix A1, TokenModel: from ids to the probabilities of the
  // tokens that can be written at a place.
  live.gap = ({ weights: { W_e, W_p, stack }, n_heads }, ids, place) => {
    const X = ids.map((id, p) => add(W_e[id], W_p[p]));
    const h = encode(X, stack.layers, stack.norm, newHeads(stack.layers, n_heads))[place];
    const words = W_e.slice(0, -1); // the last is that of the gap itself
    return softmax(live.writable(linear(h, { weight: words })));
  };

  // One decoder layer for one place.  Later places are not in the cache yet, so that no
  // mask is needed.
  function decoderLayer(x, layer, ownHeads, sourceHeads, keeps) {
    const { self_attention, cross_attention, feed_forward } = layer;
    x = residual(x, layer.norm_1, (y) => {
      remember(y, self_attention, ownHeads);
      return multiHead(y, self_attention, ownHeads, keeps);
    });
    x = residual(x, layer.norm_2, (y) => multiHead(y, cross_attention, sourceHeads));
    return residual(x, layer.norm_3, (y) => feedForward(y, feed_forward));
  }

  // If it does not attend to the source, that gives zeros.  `keeps` says whether the place p is
  // in the decoder's cache when t places are.
  live.start.transformer = ({ weights, n_heads }, source, { attends = true, keeps } = {}) => {
    const layers = Object.values(weights.decoder);
    const heads = () => newHeads(layers, n_heads);
    const maps = { cross: heads(), encoder: heads(), decoder: heads() };
    for (const head of maps.cross.flat()) head.off = !attends;
    const X = source.map((id, p) => embed(weights.source_embedding, id, p));
    const memory = encode(X, weights.encoder, weights.encoder_norm, maps.encoder);
    layers.forEach((layer, l) => {
      for (const x of memory) remember(x, layer.cross_attention, maps.cross[l]);
    });
    return decoder(weights, maps, 0, keeps);
  };

  // What `p` words have been read by.  A fork goes on without changing this one.
  function decoder(weights, maps, p, keeps = () => true) {
    const layers = Object.values(weights.decoder);
    const step = (word) => {
      let x = embed(weights.target_embedding, word, p++);
      const kept = (place) => keeps(place, p);
      layers.forEach((layer, l) => (x = decoderLayer(x, layer, maps.decoder[l], maps.cross[l], kept)));
      return linear(layerNorm(x, weights.decoder_norm), weights.out);
    };
    const fork = () => {
      const copy = (kind, lists) =>
        maps[kind].map((heads) =>
          heads.map((head) => {
            const copies = lists.map((name) => [name, [...head[name]]]);
            return { ...head, ...Object.fromEntries(copies) };
          }),
        );
      const cross = copy("cross", ["queries", "scores", "weights"]); // the keys stay
      const own = copy("decoder", Object.keys(live.newHead()));
      return decoder(weights, { ...maps, cross, decoder: own }, p, keeps);
    };
    return { step, fork, maps };
  }
}
