// The live models, appendix A1: fill gaps.  A model that reads on both sides says what fits
// into a gap, and the reader takes a word or has one drawn.  The figure of class live-gaps,
// with its controls and a first answer, is made by book/_ext/live.py.
"use strict";

{
  const GAP = "[M]";
  const END = "<eos>";
  const BEST = 5; // words that are offered for a gap
  const LONGEST = 20; // tokens, as in attnbook.course.a1.writing

  class Gaps {
    constructor(figure) {
      const find = (selector) => figure.querySelector(selector);
      this.version = figure.dataset.version;
      [this.menu, this.text, this.bars] = ["select", ".gaps-text", ".tr-bars"].map(find);
      this.said = find("[role=status]");
      this.draws = figure.querySelectorAll("[data-does^=draw]");
      this.menu.addEventListener("change", () => this.change(() => this.begin()));
      figure.addEventListener("click", ({ target }) => {
        const { does, place, word } = target.closest("button")?.dataset ?? {};
        if (does) this.change(() => this[does]());
        if (place) this.change(() => this.hide(Number(place)));
        if (word) this.change(() => this.write(word));
      });
      this.begin();
    }

    // The model is loaded when the reader asks for something, and not before.
    async change(act) {
      if (!(await live.loaded(this.version, "reader", this.said))) return;
      act();
      this.show();
    }

    begin() {
      this.tokens = this.menu.value.split(" ");
      this.appends = this.tokens.length === 1; // and so the text has no end in sight
      this.at = this.tokens.indexOf(GAP);
    }

    // What the model says of the gap: [{word, p}, …], the most probable first.
    guesses() {
      const model = live.models.reader;
      const ids = this.tokens.map((word) => (word === GAP ? model.source.length : model.source.indexOf(word)));
      const p = live.gap(model, ids, this.at);
      return model.source.map((word, id) => ({ word, p: p[id] })).sort((a, b) => b.p - a.p);
    }

    write(word) {
      this.tokens[this.at] = word;
      const goesOn = word !== END && this.tokens.length < LONGEST;
      if (this.appends && goesOn && !this.tokens.includes(GAP)) this.tokens.push(GAP);
      this.at = this.tokens.indexOf(GAP);
    }

    draw() {
      let left = Math.random();
      this.write(this.guesses().find(({ p }) => (left -= p) < 0).word);
    }

    drawRest() {
      while (this.at >= 0) this.draw();
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
        return element("button", { type: "button", "data-place": place, ...current }, word);
      });
      this.text.replaceChildren(...words);
      for (const one of this.draws) one.disabled = finished;
      this.bars.replaceChildren(...(finished ? [] : this.guesses().slice(0, BEST).map(bar)));
      const asked = `Word ${this.at + 1}: the model’s best guesses. Press one to write it.`;
      this.said.textContent = finished ? verdict(this.tokens) : asked;
      // What had the focus is there no more.
      if (guessed) (this.bars.firstChild ?? this.menu).focus();
      this.text.children[pressed]?.focus();
    }
  }

  function bar({ word, p }) {
    const look = { class: "tr-bar", style: `--weight: ${(100 * p).toFixed(1)}` };
    const percent = element("span", { class: "tr-p" }, `${Math.round(100 * p)} %`);
    return element("button", { type: "button", "data-word": word, ...look }, element("span", {}, word), percent);
  }

  function verdict(tokens) {
    const end = tokens.indexOf(END);
    const words = end < 0 ? tokens : tokens.slice(0, end);
    if (live.isSentence(words)) return "A sentence of the toy language.";
    return words.length ? `No sentence. ${live.fault(words)}.` : "No sentence: the text is empty.";
  }

  document.querySelectorAll(".live-gaps").forEach((figure) => new Gaps(figure));
}
