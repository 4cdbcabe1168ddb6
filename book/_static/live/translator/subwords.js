// The translator in the page, part 1: subwords, as in attnbook.data.subwords, plain text, as in
// attnbook.translation.plain_text, and signs that a text is beyond what the model has learned,
// as in attnbook.translation.doubts.
"use strict";

{
  const SPACE = "▁"; // stands for the space before a word
  const UNK = 3;
  // Each of these is a token of its own: Unicode's punctuation, and that of ASCII.
  const PUNCTUATION = /([\p{P}$+<=>^`|~])/u;
  const NUMBER = /\p{Nd}+(?:[.,:]\p{Nd}+)*/gu;
  const ENTITY = /&#?[A-Za-z0-9]+;/;
  const UNDECIDED = 4; // the level of a subword that is as frequent in both languages
  const FOREIGN = 4; // from this sum of levels on, a text is one of the target's language
  const REPEATED = /(.{2,40}?)\1\1/gu; // two to forty characters, three times in a row

  live.Subwords = class {
    constructor({ special, characters, merges, usual, plain }) {
      const pairs = merges.split("\n").map((pair) => pair.split(" "));
      this.pieces = [...special, ...characters, ...pairs.map((pair) => pair.join(""))];
      this.ids = new Map(this.pieces.map((piece, id) => [piece, id]).slice(special.length));
      this.ranks = new Map(pairs.map((pair, rank) => [pair.join(" "), rank]));
      this.usual = usual;
      this.signs = plain.signs;
      this.and = plain.and[usual.languages[0]] ?? "&";
      this.invisible = new RegExp(`[${plain.invisible}]`, "gu");
    }

    // White space, as Python knows it, as single spaces.
    // oxlint-disable-next-line no-control-regex
    static clean = (text) => text.replace(/[^\S\ufeff]|[\x1c-\x1f\x85]/gu, " ").trim().replace(/ +/g, " ");

    // A text as the model has learned to read it.
    plain(text) {
      const box = document.createElement("textarea"); // it reads HTML's entities
      box.innerHTML = text.replaceAll("\0", "").replaceAll("<", "&lt;");
      const whole = Subwords.clean(box.value.replace(/\p{Cs}/gu, "\ufffd"));
      const seen = whole.replace(this.invisible, "").normalize("NFC");
      const written = [...seen].map((c) => this.form(c)).join("").normalize("NFC");
      return Subwords.clean(written).replace(/ &(?= )/g, ` ${this.and}`);
    }

    // The plain form of a character, unless it is known, and before that.
    form(character) {
      const form = this.signs[character] ?? character.normalize("NFKC");
      const known = [...this.usual.characters];
      const [at, before] = [character, [...form.trim()][0]].map((c) => known.indexOf(c));
      return at >= 0 && !(before >= 0 && before < at) ? character : form;
    }

    // A text as subwords: [{piece, id}, …].  A character that the model lacks is UNK.
    split(text) {
      const marked = this.plain(text).replaceAll(" ", SPACE);
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

    // Reasons why the model will hardly translate a text well.
    doubts(text) {
      const clean = this.plain(text);
      const { languages, many_subwords, longest, characters, numbers, sides } = this.usual;
      const [source, target] = languages;
      const count = (string) => this.split(string).length;
      const levels = this.split(clean)
        .filter(({ piece, id }) => id !== UNK && /\p{L}/u.test(piece))
        .map(({ id }) => Number(sides[id]) - UNDECIDED);
      const foreign = levels.reduce((sum, x) => sum + x, 0) >= FOREIGN;
      const unknown = [...new Set(clean.replaceAll(" ", ""))].filter(
        (c) => !characters.includes(c) || this.split(c).some(({ id }) => id === UNK),
      );
      const words = (clean.match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => !/\p{Nd}/u.test(word));
      const parts = words.map((word) =>
        this.split(word).map(({ piece }) => piece.replace(SPACE, "")).filter(Boolean),
      );
      const mean = parts.flat().length / words.length;
      const isUpper = clean === clean.toUpperCase() && clean !== clean.toLowerCase();
      const found = [];
      if (unknown.length && !foreign) {
        found.push(`this model has no ${unknown.map(named).join(" ")} and cannot read it`);
      }
      if (isUpper && count(clean.toLowerCase()) < count(clean)) {
        found.push("it is in capitals, which this model hardly knows; use lower case");
      } else if (foreign) {
        found.push(`it reads more like ${target} than like ${source}, which this model translates`);
      } else if (mean > many_subwords && !unknown.length) {
        const most = Math.max(...parts.map((list) => list.length));
        const worst = parts.findIndex((list) => list.length === most);
        const reading = `which reads it as ${parts[worst].join("-")}`;
        found.push(`words such as ${words[worst]} are hardly known to this model, ${reading}`);
      }
      if (count(clean) > longest) {
        found.push(`it has ${count(clean)} subwords, and hardly a text it learned from has more than ${longest}`);
      }
      const known = numbers.split(" ");
      const strange = (clean.match(NUMBER) ?? []).find((number) => !known.includes(number));
      if (strange) found.push(`numbers such as ${strange} are new to this model`);
      const entity = clean.match(ENTITY);
      if (entity) found.push(`it holds ${entity[0]}, which stands for no character`);
      return found;
    }

    // Reasons why a translation is hardly a good one; logProb is that of a token, on average,
    // and method what found it: "greedy" or "beam".
    translationDoubts(text, output, logProb, method) {
      const found = this.doubts(text);
      const part = repeatedPart(output);
      if (part && !repeatedPart(this.plain(text))) {
        found.push(`the translation repeats itself (${part} …); it is wrong there`);
      }
      if (!found.length && logProb < this.usual.unsure[method]) {
        found.push("the model is less sure of this translation than of those of 97 captions in 100");
      }
      return found;
    }
  };
  const { Subwords } = live;

  // What shows nothing by itself is named by its code point.
  function named(c) {
    if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(c)) return c;
    return `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  }

  // What a translation repeats again and again, or "".
  function repeatedPart(output) {
    for (const [, part] of `${output} `.matchAll(REPEATED)) {
      if (/[\p{L}_]/u.test(part)) return part.trim();
    }
    return "";
  }
}
