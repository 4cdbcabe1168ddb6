// The live models, chapter 2: be the attention.  At each step the reader clicks the source
// word that the decoder is to read; the decoder, trained, writes.  The connective and the
// end are left to the model.
"use strict";

{
  const ITS_OWN = -1; // a step that reads by the model's own attention

  const longest = (source) => 2 * source.length + 6; // the source ends with EOS

  // The output of a decoder that reads only what is clicked: a list of {id, click}, where
  // click is missing if the model attended by itself.  It stops when clicks run out.
  live.byClicks = (model, source, clicks) => {
    const ends = new Set([live.EOS, model.target.indexOf(live.language.and[1])]);
    const waiting = [...clicks];
    const steps = [];
    const next = (click) => {
      const { step } = live.start[model.name](model, source);
      let word = live.BOS;
      for (const done of steps) {
        step(word, done.click);
        word = done.id;
      }
      return live.likeliest(step(word, click));
    };
    while (steps.length < longest(source) && steps.at(-1)?.id !== live.EOS) {
      const id = next();
      if (ends.has(id)) {
        steps.push({ id });
      } else if (waiting.length) {
        const click = waiting.shift();
        steps.push(click === ITS_OWN ? { id } : { id: next(click), click });
      } else {
        break;
      }
    }
    return steps;
  };

  class Clicks {
    constructor(box, index) {
      this.gloss = JSON.parse(box.dataset.gloss);
      this.version = document.querySelector("[data-version]")?.dataset.version ?? "";
      const sentences = JSON.parse(box.dataset.sentences);
      this.menu = element("select", { id: `clicks-${index}` });
      this.menu.append(...sentences.map((text) => element("option", {}, text)));
      this.menu.addEventListener("change", () => this.begin());
      const label = element("label", { for: this.menu.id }, "Sentence");
      this.source = element("div", { class: "live-row clicks-source", role: "group" });
      this.source.setAttribute("aria-label", "Source words: click the one to read");
      this.said = element("p", { class: "clicks-said", role: "status" });
      this.output = element("p", { class: "clicks-output" });
      this.right = element("p", {});
      this.back = button("Undo", () => this.take(this.clicks.slice(0, -1)));
      this.again = button("Start again", () => this.begin());
      this.rest = button("The model chooses", () => this.take([...this.clicks, ITS_OWN]));
      const controls = element("div", { class: "live-row" }, this.back, this.again, this.rest);
      const row = element("p", { class: "live-row" }, label, this.menu);
      box.replaceChildren(row, this.source, this.said, this.output, this.right, controls);
      this.begin();
    }

    begin() {
      this.words = live.words(this.menu.value);
      this.clicks = [];
      const buttons = this.words.map((word, j) =>
        button(word, () => this.take([...this.clicks, j])),
      );
      this.source.replaceChildren(...buttons);
      this.output.replaceChildren();
      this.right.replaceChildren();
      this.offer(false);
      this.said.textContent =
        "Click the word that is to be translated first. The noun of a phrase goes first, " +
        "then its adjective, then its article; the verb ends the clause.";
    }

    // What can be pressed: nothing more at the end, nothing to undo at the beginning.
    offer(finished) {
      for (const one of [...this.source.children, this.rest]) one.disabled = finished;
      this.back.disabled = !this.clicks.length;
    }

    async take(clicks) {
      this.clicks = clicks;
      if (!clicks.length) return this.begin();
      const current = clicks;
      if (!(await live.loaded(this.version, "bahdanau", this.said))) this.clicks = [];
      else if (this.clicks === current) this.show();
    }

    show() {
      const model = live.models.bahdanau;
      const source = live.encode(this.words, model.source);
      const steps = live.byClicks(model, source, this.clicks);
      const ended = steps.at(-1)?.id === live.EOS;
      const finished = ended || steps.length === longest(source);
      const written = steps.filter(({ id }) => id !== live.EOS);
      const words = written.map(({ id }) => model.target[id]);
      const cards = words.map((word, i) => live.card(word, this.below(word, written[i].click)));
      this.output.replaceChildren(...cards.flatMap((card) => [card, " "]));
      this.right.replaceChildren();
      this.said.textContent = finished ? this.verdict(ended, words) : this.told(written.at(-1), model);
      // Each source word has the numbers of what was written by it.
      [...this.source.children].forEach((one, j) => {
        one.dataset.times = written.flatMap(({ click }, i) => (click === j ? [i + 1] : [])).join(" ");
      });
      this.offer(finished);
    }

    // In English, and what was clicked if that differs.
    below(word, click) {
      const english = this.gloss[word] ?? word;
      const clicked = this.words[click] === "an" ? "a" : this.words[click];
      if (click === undefined) return `${english} (its own)`;
      return english === clicked ? english : `${english} (clicked: ${clicked})`;
    }

    told({ id, click }, model) {
      const word = model.target[id];
      const english = this.gloss[word] ?? word;
      const cause = click === undefined ? "The model itself" : `Reading “${this.words[click]}”, it`;
      return `${cause} wrote ${word} (${english}). Click the word for the next step.`;
    }

    verdict(ended, written) {
      const right = live.rightTranslation(this.words);
      const end = ended ? "The model ended the sentence." : "The output may not grow longer.";
      if (written.join(" ") === right.join(" ")) return `${end} It is right.`;
      const slip = right.findIndex((word, i) => word !== written[i]);
      this.right.append("Right would be: ", ...right.flatMap((word) => [live.card(word, this.gloss[word]), " "]));
      return `${end} Words that are right before the first slip: ${slip < 0 ? right.length : slip}.`;
    }
  }

  document.querySelectorAll(".live-clicks").forEach((box, i) => new Clicks(box, i));
}
