// The live models, part 6: what the reader types and what the models say.  A page holds
// figures of class live-model with a stored example, made by book/_ext/live.py; this
// adds the controls, and replaces the example.  Should anything fail, the example stays.
"use strict";

{
  const FOLDER = document.currentScript.src.replace(/[^/]*$/, "data/");
  const toyWords = (...words) => element("span", { lang: "art-x-toy" }, ...words);

  // The toy language, and models that know it.
  live.load = (version, ...models) => {
    const files = ["toy_language", ...models].map((name) => `${FOLDER}${name}.js?v=${version}`);
    return Promise.all(files.map(loadScript));
  };

  // The same for a figure of one model, which says how it goes; returns whether it is there.
  live.loaded = async (version, model, said) => {
    said.textContent = "Loading the model, 0.3 MB …";
    try {
      await live.load(version, model);
      return true;
    } catch {
      said.textContent = "The model could not be loaded; try again.";
      return false;
    }
  };

  class LiveFigure {
    constructor(figure) {
      const find = (selector) => figure.querySelector(selector);
      this.titles = JSON.parse(figure.dataset.models);
      this.names = Object.keys(this.titles); // the attention of the first is drawn, if it has one
      this.gloss = JSON.parse(figure.dataset.gloss ?? "null"); // for readers of chapter 1
      this.version = figure.dataset.version;
      this.said = find(".live-said");
      if (!this.gloss) this.map = new live.Map(figure, () => this.run());
      this.input = find("input");
      this.input.value = figure.dataset.sentence;
      this.clauses = find("form select");
      this.known = find(".live-words");
      this.loading = find(".live-loading");
      this.alert = find(".live-alert");
      find("form").addEventListener("submit", (event) => {
        event.preventDefault();
        this.run();
      });
      const draw = find("button[type=button]");
      draw.addEventListener("click", () => this.run(Number(this.clauses.value)));
      // The weights are fetched when the reader comes near, and not before.
      figure.addEventListener("focusin", () => this.ready().catch(() => {}), { once: true });
    }

    async ready() {
      this.loading.textContent = "Loading …";
      try {
        await live.load(this.version, ...this.names);
      } finally {
        this.loading.textContent = "";
      }
      if (this.known.childElementCount > 1) return;
      const lines = live.language.words.map((kind) => element("p", {}, kind.join(", ")));
      this.known.append(...lines);
    }

    // Translate what stands in the field, or what is drawn: a sentence of so many clauses.
    async run(clauses = 0) {
      this.alert.textContent = "";
      this.input.removeAttribute("aria-invalid");
      try {
        await this.ready();
      } catch {
        this.alert.textContent = "The model could not be loaded. The example below is a stored one.";
        return;
      }
      try {
        if (clauses) this.input.value = live.draw(clauses);
        this.translate(live.words(this.input.value));
      } catch (problem) {
        this.refuse(problem);
      }
    }

    // Say what is wrong, mark the words, and name the sentence that is still shown.
    refuse({ message, unknown = [] }) {
      const marked = this.input.value.split(/([a-z]+)/i).map((part) => {
        return unknown.includes(part.toLowerCase()) ? element("mark", {}, part) : part;
      });
      this.alert.replaceChildren(message, ...(unknown.length ? [" ", ...marked] : []));
      this.input.setAttribute("aria-invalid", "true");
      if (!this.last || this.said.querySelector(".live-stale")) return;
      const still = element("p", { class: "live-stale" }, "Still shown: ");
      still.append(element("em", {}, this.last));
      this.said.prepend(still);
    }

    translate(words) {
      const models = this.names.map((name) => live.models[name]);
      const source = live.encode(words, models[0].source);
      const outputs = models.map((model) => live.translate(model, source));
      this.tell(words, outputs.map(({ ids }, i) => live.decode(ids, models[i].target)));
      this.last = words.join(" ");
      if (!this.map) return;
      const [{ ids, maps }] = outputs;
      const target = ids.map((id) => models[0].target[id]);
      this.map.show(maps, [...words, "<eos>"], target, alignmentOf(words, target));
    }

    // What each model says, and what is right, or what is lost of the sentence.
    tell(words, translations) {
      const unlike = live.unlikeTraining(words);
      const right = live.isSentence(words) ? live.rightTranslation(words) : null;
      const list = element("dl");
      const row = (title, told) => list.append(element("dt", {}, title), element("dd", {}, ...told));
      if (this.gloss) row("Your sentence", [element("span", {}, ...kept(words, translations[0]))]);
      translations.forEach((said, i) => {
        const marks = this.gloss ? common(said, right ?? said) : live.mark(said, right ?? said);
        const score = `${marks.filter((mark) => mark.right).length} of ${right?.length} words right`;
        const told = this.gloss ? this.cards(marks) : [toyWords(...spaced(marks.map(struck)))];
        if (right) told.push(element("span", { class: "live-score" }, score));
        row(this.titles[this.names[i]], told);
      });
      if (right && !this.gloss) row("Right", [toyWords(right.join(" "))]);
      this.said.replaceChildren(list);
      if (unlike) this.said.prepend(element("p", { class: "live-unlike" }, unlike));
    }

    cards(marks) {
      return marks.map((mark) => live.card(struck(mark), this.gloss[mark.word]));
    }
  }

  const spaced = (words) => words.flatMap((word) => [" ", word]).slice(1);
  const struck = ({ word, right }) => (right ? word : element("s", {}, word));

  // Which words does another text have, too, in the same order?
  function common(words, others) {
    const found = new Set(live.inCommon(words, others).map(([i]) => i));
    return words.map((word, i) => ({ word, right: found.has(i) }));
  }

  // The words of a sentence, crossed out where its translation has lost them.
  function kept(words, said) {
    const { target, alignment } = live.isSentence(words) ? live.parse(words) : { target: [] };
    const lost = common(target, said).map(({ right }, i) => !right && alignment[i]);
    return spaced(words.map((word, j) => (lost.includes(j) ? element("del", {}, word) : word)));
  }

  // Where each word of a right translation comes from; of another one, nobody knows.
  function alignmentOf(words, said) {
    if (!live.isSentence(words)) return [];
    const { target, alignment } = live.parse(words);
    return said.join(" ") === [...target, "<eos>"].join(" ") ? alignment : [];
  }

  const figures = document.querySelectorAll("figure.live-model[data-models]");
  figures.forEach((figure) => new LiveFigure(figure));
}
