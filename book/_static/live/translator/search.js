// The translator in the page, part 2: from probabilities to a sentence, as in
// attnbook.decoding.  A `state` has step(word), which reads a word and returns the scores
// (logits) of the next, and fork().
"use strict";

{
  const { BOS, EOS } = live;

  // log p of each next word; PAD, BOS and UNK are never generated.
  live.logProbs = (logits) => {
    let largest = -Infinity;
    for (const x of logits) if (x > largest) largest = x;
    let sum = 0;
    for (const x of logits) sum += Math.exp(x - largest);
    const logSum = largest + Math.log(sum);
    const found = Float64Array.from(logits);
    for (let id = 0; id < found.length; id++) found[id] -= logSum;
    return live.writable(found);
  };

  // The n largest of a list, the largest first: [{id, logProb}, …].
  live.best = (list, n) => {
    const found = [];
    for (let id = 0; id < list.length; id++) {
      if (found.length === n && list[id] <= found[n - 1].logProb) continue;
      if (list[id] === -Infinity) continue;
      let place = found.length;
      while (place && found[place - 1].logProb < list[id]) place--;
      found.splice(place, 0, { id, logProb: list[id] });
      if (found.length > n) found.pop();
    }
    return found;
  };

  // Temperature, top-k and top-p: the words that are left with their probabilities, which sum
  // to 1, the most probable first: [{id, p}, …].
  live.tokenProbabilities = (logProbs, { temperature = 1, topK = Infinity, topP = 1 } = {}) => {
    if (!(temperature > 0 && temperature < Infinity && topK >= 1 && topP > 0 && topP <= 1)) {
      throw new Error("temperature and top-p are above 0, top-p is at most 1, top-k at least 1");
    }
    const order = Array.from(logProbs, (logProb, id) => ({ id, logProb }));
    order.sort((a, b) => b.logProb - a.logProb);
    const largest = order[0].logProb;
    const scaled = (list) => {
      const sum = list.reduce((total, { p }) => total + p, 0);
      return list.map(({ id, p }) => ({ id, p: p / sum }));
    };
    const all = scaled(
      order.map(({ id, logProb }) => ({ id, p: Math.exp((logProb - largest) / temperature) })),
    );
    const first = topK < all.length ? scaled(all.slice(0, topK)) : all;
    if (topP >= 1) return first;
    let before = 0; // total probability of the more probable words
    const end = first.findIndex(({ p }) => {
      if (before >= topP) return true;
      before += p;
      return false;
    });
    return end < 0 ? first : scaled(first.slice(0, end));
  };

  // Choose at random; `random` returns numbers from 0 up to 1.
  live.sampler = (options, random) => (logProbs) => {
    const left = live.tokenProbabilities(logProbs, options);
    let rest = random();
    return (left.find(({ p }) => (rest -= p) < 0) ?? left[0]).id;
  };

  // A generator of random numbers from a seed (mulberry32, public domain).
  live.randomNumbers = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  // Equation 10.3, eq-length-penalty.
  live.lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

  // Keep `width` beginnings.  Returns the finished translations, the best first, and `tree`:
  // for each step the 2 · width best extensions, in their order, each with what became of it:
  // "kept", "finished" or "dropped".
  live.beam = function* (start, { width = 4, alpha = 0.6, longest }) {
    const tree = [];
    let alive = [{ state: start, tokens: [], logProbs: [], logProb: 0 }];
    let finished = [];
    for (let length = 1; length <= longest; length++) {
      let extended = [];
      for (const hypothesis of alive) {
        extended.push(...extensions(hypothesis, 2 * width, length === longest));
        yield;
      }
      extended = extended.sort((a, b) => b.logProb - a.logProb).slice(0, 2 * width);
      const penalty = live.lengthPenalty(length, alpha);
      for (const one of extended) one.score = one.logProb / penalty;
      const ends = extended.slice(0, width).filter(({ tokens }) => tokens.at(-1) === EOS);
      for (const one of ends) one.fate = "finished";
      finished = [...finished, ...ends].sort((a, b) => b.score - a.score).slice(0, width);
      alive = extended.filter(({ tokens }) => tokens.at(-1) !== EOS).slice(0, width);
      for (const one of alive) {
        one.fate = "kept";
        one.state = one.parent.state.fork();
      }
      tree.push(extended);
      // log p can only fall, and no penalty is larger than that of the longest.
      const bound = (alive[0]?.logProb ?? -Infinity) / live.lengthPenalty(longest, alpha);
      if (bound <= (finished[0]?.score ?? -Infinity) || !alive.length) break;
    }
    return { finished, tree };
  };

  function extensions(parent, n, last) {
    const logProbs = live.logProbs(parent.state.step(parent.tokens.at(-1) ?? BOS));
    const next = last ? [{ id: EOS, logProb: logProbs[EOS] }] : live.best(logProbs, n);
    return next.map(({ id, logProb }) => ({
      parent,
      state: parent.state,
      tokens: [...parent.tokens, id],
      logProbs: [...parent.logProbs, logProb],
      logProb: parent.logProb + logProb,
      fate: "dropped",
    }));
  }
}
