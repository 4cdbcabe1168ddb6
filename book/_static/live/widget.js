// The live models, part 6: what the reader types and what the models say.  A page holds
// figures of class live-model with a stored example, made by book/_ext/live.py; this
// adds the controls, and replaces the example.  Should anything fail, the example stays.
"use strict";

{
  const FOLDER = document.currentScript.src.replace(/[^/]*$/, "data/");
  const CONTROLS = `
    <form>
      <p><label for="ID-sentence">A sentence of the toy language</label></p>
      <p class="live-row">
        <input id="ID-sentence" type="text" autocomplete="off" autocapitalize="none"
          spellcheck="false" aria-describedby="ID-alert">
        <button type="submit">Translate</button>
      </p>
      <p class="live-row">
        <label for="ID-clauses">or one at random, with</label>
        <select id="ID-clauses">
          <option value="1">1 clause</option>
          <option value="2" selected>2 clauses</option>
          <option value="3">3 clauses</option>
          <option value="4">4 clauses</option>
          <option value="5">5 clauses</option>
        </select>
        <button type="button">Draw</button>
      </p>
    </form>
    <p class="live-loading" role="status"></p>
    <details class="live-words"><summary>The words it knows</summary></details>
    <p class="live-alert" id="ID-alert" role="alert"></p>`;
  const toyWords = (...words) => element("span", { lang: "art-x-toy" }, ...words);

  live.load = (file) => loadScript(FOLDER + file);

  class LiveFigure {
    constructor(figure, index) {
      const find = (selector) => figure.querySelector(selector);
      this.titles = JSON.parse(figure.dataset.models);
      this.names = Object.keys(this.titles); // the attention of the first is drawn
      this.version = figure.dataset.version;
      this.said = find(".live-said");
      this.said.insertAdjacentHTML("beforebegin", CONTROLS.replaceAll("ID", `live-${index}`));
      this.map = new live.Map(figure, `live-${index}`, () => this.run());
      figure.classList.add("live-ready");
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
      const files = ["toy_language", ...this.names];
      this.loading.textContent = "Loading …";
      try {
        await Promise.all(files.map((name) => live.load(`${name}.js?v=${this.version}`)));
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
      const [{ ids, maps }] = outputs;
      const target = ids.map((id) => models[0].target[id]);
      this.map.show(maps, [...words, "<eos>"], target, alignmentOf(words, target));
      this.last = words.join(" ");
    }

    // What each model says, and what is right.
    tell(words, translations) {
      const unlike = live.unlikeTraining(words);
      const right = live.isSentence(words) ? live.rightTranslation(words) : null;
      const list = element("dl");
      translations.forEach((said, i) => {
        const told = right ? marked(said, right) : [toyWords(said.join(" "))];
        list.append(element("dt", {}, this.titles[this.names[i]]), element("dd", {}, ...told));
      });
      if (right) {
        list.append(element("dt", {}, "Right"), element("dd", {}, toyWords(right.join(" "))));
      }
      this.said.replaceChildren(list);
      if (unlike) this.said.prepend(element("p", { class: "live-unlike" }, unlike));
    }
  }

  // Where each word of a right translation comes from; of another one, nobody knows.
  function alignmentOf(words, said) {
    if (!live.isSentence(words)) return [];
    const { target, alignment } = live.parse(words);
    return said.join(" ") === [...target, "<eos>"].join(" ") ? alignment : [];
  }

  // The words said, the wrong ones struck, and how many are right.
  function marked(said, expected) {
    const marks = live.mark(said, expected);
    const words = marks.flatMap(({ word, right }) => [right ? word : element("s", {}, word), " "]);
    const hits = marks.filter((mark) => mark.right).length;
    const score = `${hits} of ${expected.length} words right`;
    return [toyWords(...words.slice(0, -1)), element("span", { class: "live-score" }, score)];
  }

  const figures = document.querySelectorAll("figure.live-model[data-models]");
  figures.forEach((figure, i) => new LiveFigure(figure, i));
}
