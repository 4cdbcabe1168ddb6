// The translator in the page, part 3: loading it, and what it offers to figures.
//
//   const { translator, back } = window.attnbook;    English to German; German to English
//   translator.bytes              what loading it costs, compressed
//   await translator.load(tell)   once, on request; tell(share) hears how far it is, 0 to 1
//   translator.ready
//
//   translator.subwords           a live.Subwords: split(text), join(ids), pieces[id]
//   translator.glosses            German word, in lower case → English word (not of back)
//
//   translator.work(text, options): for live.inSlices, or live.atOnce, which returns {
//     text,         the German, as a reader would write it
//     tokens,       ids, up to the end of the sentence (2) if it was reached
//     logProbs,     of each token, in nats
//     logProb,      their sum
//     steps,        for each token the log-probabilities of all 8,000 (not of a beam)
//     state,        its maps: {encoder, decoder, cross}[layer][head], each with {queries, keys,
//                   values, scores, weights}.  Rows of `decoder` and `cross` belong to the
//                   tokens; row t of `decoder` has t + 1 columns: BOS and the tokens before
//     beam,         of a beam search: {finished, tree}, see live.beam
//   }
//   A text may be a list of ids as well, which ends with 2.
//
//   Options, all of them optional:
//     method        "greedy", "beam" or "sample"
//     width, alpha  of a beam: its width W, and α of the length penalty
//     temperature, topK, topP, random    of a sample; random() is from 0 up to 1, such as
//                   live.randomNumbers(seed)
//     prefix        tokens that the German begins with (greedy and sample)
//     attends       does the decoder attend to the source?
//     keeps         keeps(p, t): is token p still in the cache when t tokens have been read?
//     longest       the most tokens: else the source's and 50
"use strict";

window.attnbook ??= {};

{
  const { src, dataset } = document.currentScript;
  const FOLDER = src.replace(/[^/]*$/, "data/");
  const BYTES = { translator: dataset.bytes, back: dataset.back };

  for (const name of Object.keys(BYTES)) window.attnbook[name] = makeTranslator(name);

  function makeTranslator(name) {
    const received = new Map();
    let model = null;
    let loading = null;

    const translator = {
      bytes: Number(BYTES[name]),
      ready: false,
      subwords: null,

      // Files hand over what they hold: "head", or a part of the matrices by its number.
      receive: (part, value) => received.set(part, value),

      load: (tell = () => {}) => {
        let failed = false; // what comes later is not told
        loading ??= loadAll((share) => failed || tell(share)).catch(() => {
          failed = true;
          loading = null; // so that the next try is one
          throw new Error("The translator could not be loaded; press the button to try again.");
        });
        return loading;
      },

      *work(text, options = {}) {
        const ids = () => translator.subwords.split(text).map(({ id }) => id);
        const source = Array.isArray(text) ? text : [...ids(), live.EOS];
        const { method = "greedy", prefix, longest = source.length + 50 } = options;
        const state = live.start.transformer(model, source, options);
        if (method === "beam") {
          const beam = yield* live.beam(state, { ...options, longest });
          return { ...told(beam.finished[0]), beam };
        }
        const choose =
          method === "sample"
            ? live.sampler(options, options.random ?? Math.random)
            : live.likeliest;
        const found = yield* live.generate(state, choose, longest, { prefix, read: live.logProbs });
        const logProbs = found.tokens.map((token, t) => found.steps[t][token]);
        return told({ ...found, state, logProbs });
      },
    };
    return translator;

    function told(found) {
      const logProb = found.logProbs.reduce((sum, x) => sum + x, 0);
      return { ...found, text: translator.subwords.join(found.tokens), logProb };
    }

    async function loadAll(tell) {
      const files = ["head", ...Array(Number(dataset.parts)).keys()];
      let there = 0;
      tell(0);
      await Promise.all(
        files.map(async (part) => {
          const file = part === "head" ? "head" : `part-${part}`;
          const path = `${FOLDER}${name}/${file}.js?v=${dataset.version}`;
          if (!received.has(part)) await loadScript(path);
          there += 1;
          tell(there / files.length);
        }),
      );
      const head = received.get("head");
      const parts = files.slice(1).map((part) => received.get(part));
      model = { n_heads: head.n_heads, weights: unpack(head, parts) };
      received.clear();
      Object.assign(translator, {
        subwords: new live.Subwords(head),
        glosses: head.glosses,
        ready: true,
      });
    }
  }

  // The matrices hold whole numbers from −127 to 127, times the scale of their row.
  function unpack(head, parts) {
    const numbers = new Int8Array(live.fromBase64(parts.join("")));
    const scales = new Float32Array(live.fromBase64(head.scales));
    const halves = live.fromHalf(new Uint16Array(live.fromBase64(head.halves)));
    const weights = {};
    let [start, row] = [0, 0];
    for (const [path, [height, width]] of head.matrices) {
      const rows = [];
      for (let i = 0; i < height; i++, start += width) {
        const vector = new Float32Array(numbers.subarray(start, start + width));
        for (let j = 0; j < width; j++) vector[j] *= scales[row];
        rows.push(vector);
        row += 1;
      }
      live.place(weights, path, rows);
    }
    if (start !== numbers.length) throw new Error("the translator's weights are incomplete");
    start = 0;
    for (const [path, shape] of head.vectors) {
      live.place(weights, path, halves.slice(start, (start += live.size(shape))));
    }
    live.tie(weights, head.tied);
    return weights;
  }
}
