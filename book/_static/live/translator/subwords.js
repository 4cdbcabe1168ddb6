// The translator in the page, part 1: subwords, as in attnbook.data.subwords, and signs that
// a text is beyond what the model has learned, as in attnbook.translation.doubts.
"use strict";

{
  const SPACE = "▁"; // stands for the space before a word
  const UNK = 3;
  // Each of these is a token of its own: Unicode's punctuation, and that of ASCII.
  const PUNCTUATION = /([\p{P}$+<=>^`|~])/u;
  const REPEATED = /(.{2,40}?)\1\1/gu; // two to forty characters, three times in a row

  live.Subwords = class {
    constructor({ special, characters, merges }) {
      const pairs = merges.split("\n").map((pair) => pair.split(" "));
      this.pieces = [...special, ...characters, ...pairs.map((pair) => pair.join(""))];
      this.ids = new Map(this.pieces.map((piece, id) => [piece, id]).slice(special.length));
      this.ranks = new Map(pairs.map((pair, rank) => [pair.join(" "), rank]));
    }

    // White space as single spaces, and characters as one code point where that is possible.
    static clean = (text) => text.trim().replace(/[\s\u0085]+/g, " ").normalize("NFC");

    // A text as subwords: [{piece, id}, …].  A character that the model lacks is UNK.
    split(text) {
      const marked = Subwords.clean(text).replaceAll(" ", SPACE);
      if (!marked) return [];
      const words = (SPACE + marked.replace(/^▁/u, "")).split(/(?=▁)/u);
      return words
        .flatMap((word) => word.split(PUNCTUATION).filter(Boolean))
        .flatMap((part) => this.merge([...part]))
        .map((piece) => ({ piece, id: this.ids.get(piece) ?? UNK }));
    }

    // Merge two neighbours at a time: the pair that was learned first, at its leftmost place.
    merge(symbols) {
      const rank = (i) => this.ranks.get(`${symbols[i]} ${symbols[i + 1]}`) ?? Infinity;
      for (;;) {
        let best = 0;
        for (let i = 1; i < symbols.length - 1; i++) if (rank(i) < rank(best)) best = i;
        if (symbols.length < 2 || rank(best) === Infinity) return symbols;
        symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
      }
    }

    // Ids as a text, without special tokens, up to the end of the sentence.
    join(ids) {
      const end = ids.indexOf(live.EOS);
      const pieces = (end < 0 ? ids : ids.slice(0, end))
        .filter((id) => id > UNK)
        .map((id) => this.pieces[id]);
      if (pieces.length) pieces[0] = pieces[0].replaceAll(SPACE, "");
      return pieces.join("").replaceAll(SPACE, " ");
    }

    // Reasons why the model will hardly translate a text well; `many` subwords a word are many.
    doubts(text, many) {
      const clean = Subwords.clean(text);
      const unknown = [...new Set(clean.replaceAll(" ", ""))].filter((c) => this.lacks(c));
      const count = (string) => this.split(string).length;
      const found = [];
      if (unknown.length) {
        found.push(`this model has no ${unknown.join(" ")} and cannot read it`);
      }
      const words = clean.match(/[\p{L}\p{N}_]+/gu) ?? [];
      const parts = words.map((word) =>
        this.split(word).map(({ piece }) => piece.replace(SPACE, "")).filter(Boolean),
      );
      const mean = parts.flat().length / words.length;
      const isUpper = clean === clean.toUpperCase() && clean !== clean.toLowerCase();
      if (isUpper && count(clean.toLowerCase()) < count(clean)) {
        found.push("it is in capitals, which this model hardly knows; use lower case");
      } else if (mean > many && !unknown.length) {
        const longest = Math.max(...parts.map((list) => list.length));
        const worst = parts.findIndex((list) => list.length === longest);
        const reading = `which reads it as ${parts[worst].join("-")}`;
        found.push(`words such as ${words[worst]} are new to this model, ${reading}`);
      }
      return found;
    }

    lacks(character) {
      return this.split(character).some(({ id }) => id === UNK);
    }
  };
  const { Subwords } = live;

  // What a translation repeats again and again, or "".
  live.repeatedPart = (output) => {
    for (const [, part] of `${output} `.matchAll(REPEATED)) {
      if (/[\p{L}_]/u.test(part)) return part.trim();
    }
    return "";
  };
}
