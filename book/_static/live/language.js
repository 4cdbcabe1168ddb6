// The live models, part 4: the toy language.  Its words, its phrases and their translations
// come from attnbook.toy.language, as a table; only the order of a clause is said here.
"use strict";

{
  const PHRASE = "a phrase (the, a, an or this; perhaps an adjective; a noun)";
  const quoted = (word) => `“${word}”`;

  // The file data/toy_language.js hands over the table.
  live.learn = (table) => {
    live.language = { ...table, phrases: new Map(Object.entries(table.phrases)) };
  };

  live.words = (text) => text.toLowerCase().replace(/[.,!?;]/g, " ").split(/\s+/).filter(Boolean);

  // A word of the toy language, and what stands below it.
  live.card = (word, below) => {
    const toy = element("span", { lang: "art-x-toy" }, word);
    return element("span", { class: "clicks-card" }, toy, element("br"), element("small", {}, below));
  };

  // Words to ids, with EOS at the end.  Throws an Error that says what is wrong.
  live.encode = (words, vocabulary) => {
    const known = live.language.words.flat();
    const unknown = words.filter((word) => !known.includes(word));
    const longest = 8 * live.language.max_clauses - 1; // seven words a clause, and the ands
    if (!words.length) throw new Error("Write a sentence first, or draw one.");
    if (unknown.length) {
      const told = `Not a word of the toy language: ${unknown.map(quoted).join(", ")}.`;
      throw Object.assign(new Error(told), { unknown });
    }
    if (words.length > longest) {
      const found = `this has ${words.length}. Cut it at an “and”.`;
      throw new Error(`A sentence has at most ${longest} words; ${found}`);
    }
    return [...words.map((word) => vocabulary.indexOf(word)), live.EOS];
  };

  live.decode = (ids, vocabulary) =>
    ids.filter((id) => id !== live.EOS).map((id) => vocabulary[id]);

  // The right translation, and for each of its words the place of the one that it
  // translates; null for “ul”.  Throws an Error if the words are no sentence.
  live.parse = (words) => {
    const { verbs, phrases } = live.language;
    const [and, andTarget] = live.language.and;
    const [target, alignment] = [[], []];
    let place = 0;
    const expected = (what) => {
      const word = words[place];
      const here = word ? `${quoted(word)}, word ${place + 1},` : "The end";
      return new Error(`${here} stands where ${what} must stand`);
    };
    const phrase = () => {
      const found = [3, 2]
        .map((length) => phrases.get(words.slice(place, place + length).join(" ")))
        .find((translation) => translation);
      if (!found) throw expected(PHRASE);
      const said = found.split(" "); // as many words as in the source, from the last on
      place += said.length;
      target.push(...said);
      alignment.push(...said.map((_, i) => place - 1 - i));
    };
    for (;;) {
      phrase();
      const [verb, at] = [verbs[words[place]], place];
      if (!verb) throw expected("a verb");
      place += 1;
      phrase();
      target.push(verb); // at the end
      alignment.push(at);
      if (place === words.length) return { target, alignment };
      if (words[place] !== and) throw expected(`${quoted(and)} or the end`);
      target.push(andTarget);
      alignment.push(null);
      place += 1;
    }
  };
  live.rightTranslation = (words) => live.parse(words).target;

  // What makes the words no sentence?  An empty text: nothing.
  live.fault = (words) => {
    try {
      live.rightTranslation(words);
      return "";
    } catch (problem) {
      return problem.message;
    }
  };

  live.isSentence = (words) => !live.fault(words);

  // In what is a sentence unlike all those of the training?  An empty text: in nothing.
  live.unlikeTraining = (words) => {
    const { and, trained_clauses: most } = live.language;
    const unlike = "Unlike anything it was trained on";
    const clauses = words.filter((word) => word === and[0]).length + 1;
    if (live.fault(words)) return `${unlike}: no sentence of the toy language. ${live.fault(words)}.`;
    if (clauses <= most) return "";
    return `${unlike}: ${clauses} clauses, where no sentence had more than ${most}.`;
  };

  // Which words are in their place?  Clauses are compared one by one, each word by word.
  live.mark = (said, right) => {
    const expected = new Set(places(right));
    return places(said).map((place, i) => ({ word: said[i], right: expected.has(place) }));
  };

  // The longest list of words that two texts have in the same order, as pairs of places.
  live.inCommon = (words, others) => {
    let row = Array(others.length + 1).fill([]);
    words.forEach((word, i) => {
      const next = [[]];
      others.forEach((other, j) => {
        const longer = row[j + 1].length >= next[j].length ? row[j + 1] : next[j];
        next.push(word === other ? [...row[j], [i, j]] : longer);
      });
      row = next;
    });
    return row.at(-1);
  };

  // Each word with its clause and its place in the clause, such as "1 0 kavon".
  function places(words) {
    let clause = 0;
    let place = 0;
    return words.map((word) => {
      if (word !== live.language.and[1]) return `${clause} ${place++} ${word}`;
      place = 0;
      return `${clause++} ${word}`;
    });
  }

  // A sentence at random, drawn as in Python: all phrases alike, all verbs alike.
  live.draw = (clauses) => {
    const { verbs, phrases, and } = live.language;
    const one = (list) => list[Math.floor(Math.random() * list.length)];
    const phrase = () => one([...phrases.keys()]);
    const clause = () => `${phrase()} ${one(Object.keys(verbs))} ${phrase()}`;
    return Array.from({ length: clauses }, clause).join(` ${and[0]} `);
  };
}
