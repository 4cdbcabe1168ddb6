// The live models, appendix A1: fill gaps.  A model that reads on both sides says what fits
// into a gap, and the reader takes a word or has one drawn.  A figure of class live-gaps
// holds a stored example, made by book/_ext/live.py; this replaces it.
"use strict";

{
  const GAP = "[M]";
  const END = "<eos>";
  const BEST = 5; // words that are offered for a gap
  const LONGEST = 20; // tokens, as in attnbook.course.a1.writing

  class Gaps {
    constructor(figure, index) {
      this.version = figure.dataset.version;
      this.stored = JSON.parse(figure.dataset.guesses).map(([word, p]) => ({ word, p }));
      this.starts = {
        "one gap in a sentence": figure.dataset.text,
        "a row of gaps and its end": `${Array(6).fill(GAP).join(" ")} ${END}`,
        "each gap appended": GAP,
      };
      this.menu = element("select", { id: `gaps-${index}` });
      this.menu.append(...Object.keys(this.starts).map((title) => element("option", {}, title)));
      this.menu.addEventListener("change", () => this.change(() => this.begin()));
      const label = element("label", { for: this.menu.id }, "Begin with");
      this.one = button("Draw a word", () => this.change(() => this.write(this.drawn())));
      this.rest = button("Draw the rest", () => this.change(() => this.writeRest()));
      this.text = element("div", { class: "live-row gaps-text", role: "group", "aria-label": "The text" });
      this.said = element("p", { role: "status" });
      this.bars = element("div", { class: "tr-bars", role: "group", "aria-label": "Words that fit" });
      this.again = button("Begin again", () => this.change(() => this.begin()));
      const row = element("p", { class: "live-row" }, label, this.menu, this.again, this.one, this.rest);
      figure.querySelector(".gaps-example").replaceWith(row, this.text, this.said, this.bars);
      this.begin();
      this.show();
    }

    // The model is loaded when the reader asks for something new, and not before.
    async change(act) {
      this.said.textContent = "Loading the model, 0.3 MB …";
      try {
        const files = ["toy_language", "reader"];
        await Promise.all(files.map((name) => live.load(`${name}.js?v=${this.version}`)));
      } catch {
        this.said.textContent = "The model could not be loaded; try again.";
        return;
      }
      act();
      this.show();
    }

    begin() {
      this.tokens = this.starts[this.menu.value].split(" ");
      this.appends = this.tokens.length === 1; // and so the text has no end in sight
      this.at = this.tokens.indexOf(GAP);
    }

    // What the model says of the gap: [{word, p}, …], the most probable first.
    guesses() {
      const model = live.models.reader;
      if (!model) return this.stored;
      const ids = this.tokens.map((word) => (word === GAP ? model.source.length : model.source.indexOf(word)));
      const p = live.gap(model, ids, this.at);
      return model.source.map((word, id) => ({ word, p: p[id] })).sort((a, b) => b.p - a.p);
    }

    drawn() {
      let left = Math.random();
      return this.guesses().find(({ p }) => (left -= p) < 0).word;
    }

    write(word) {
      this.tokens[this.at] = word;
      const goesOn = word !== END && this.tokens.length < LONGEST;
      if (this.appends && goesOn && !this.tokens.includes(GAP)) this.tokens.push(GAP);
      this.at = this.tokens.indexOf(GAP);
    }

    writeRest() {
      while (this.at >= 0) this.write(this.drawn());
    }

    // A word that is pressed becomes a gap; the gap that is pressed is the one asked for.
    hide(place) {
      this.tokens[place] = GAP;
      this.at = place;
    }

    show() {
      const finished = this.at < 0;
      const pressed = [...this.text.children].indexOf(document.activeElement);
      const guessed = this.bars.contains(document.activeElement);
      const words = this.tokens.map((word, place) => {
        const current = place === this.at ? { "aria-current": "true" } : {};
        return button(word, () => this.change(() => this.hide(place)), current);
      });
      this.text.replaceChildren(...words);
      for (const one of [this.one, this.rest]) one.disabled = finished;
      const offered = finished ? [] : this.guesses().slice(0, BEST);
      this.bars.replaceChildren(...offered.map((guess) => this.bar(guess)));
      const asked = `Word ${this.at + 1}: the model’s best guesses. Press one to write it.`;
      this.said.textContent = finished ? this.verdict() : asked;
      // What had the focus is there no more.
      if (guessed) (this.bars.firstChild ?? this.again).focus();
      this.text.children[pressed]?.focus();
    }

    bar({ word, p }) {
      const made = button("", () => this.change(() => this.write(word)), { class: "tr-bar", style: `--weight: ${(100 * p).toFixed(1)}` });
      made.append(element("span", {}, word), element("span", { class: "tr-p" }, `${Math.round(100 * p)} %`));
      return made;
    }

    verdict() {
      const end = this.tokens.indexOf(END);
      const words = end < 0 ? this.tokens : this.tokens.slice(0, end);
      if (live.isSentence(words)) return "A sentence of the toy language.";
      return words.length ? `No sentence. ${live.fault(words)}.` : "No sentence: the text is empty.";
    }
  }

  document.querySelectorAll(".live-gaps").forEach((figure, i) => new Gaps(figure, i));
}
