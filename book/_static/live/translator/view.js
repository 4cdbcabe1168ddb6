// The translator in the page, part 7: figures of class live-translator.  Each holds a stored
// example, made by book/_ext/live.py; this adds the controls and replaces it.
// data-form says which: "light" (front page), "caption" (chapter 12), "search" (chapter 10),
// "cache" (appendix A3).
// What belongs to a step of a translation says so in data-step: German words, the right
// column, its lines.
"use strict";

{
  const { translator, back } = window.attnbook;
  const BEST = 5; // next subwords that are listed
  const PAUSE = 550; // ms from word to word
  const MOST = 200; // subwords
  const REST = 7; // steps that the whole translation stays, while the example moves
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const megabytes = ({ bytes }) => `${(bytes / 1e6).toFixed(1)} MB`;

  // What the decoder's cache holds, as A3's masks have it: of t tokens read, the place p?
  const CACHES = {
    all: () => true,
    six: (p, t) => p >= t - 6,
    sink: (p, t) => p >= t - 5 || p === 0 || t === 6,
  };

  const paragraph = (name, ...children) => element("p", { class: name }, ...children);
  const percent = (p) => {
    if (p < 0.0005) return "< 0.1 %";
    return `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;
  };

  // A subword as it is written: what goes on a word begins with a dot.
  const label = (piece) => {
    if (piece.startsWith("▁")) return piece.slice(1) || "␣";
    return /^[\p{L}\p{N}]/u.test(piece) ? `·${piece}` : piece;
  };

  // Tokens in words, each with its parts and the step of its last letters:
  // [{parts: [{text, step}, …], gloss, step}, …].
  live.glossed = (pieces) => {
    const words = [];
    pieces.forEach((piece, step) => {
      if (piece.startsWith("<")) return;
      if (piece.startsWith("▁") || !words.length) words.push([]);
      words.at(-1).push({ text: piece.replace("▁", ""), step });
    });
    return words.map((parts) => {
      const { step } = parts.findLast(({ text }) => /[\p{L}\p{N}]/u.test(text)) ?? parts[0];
      return { parts, step, gloss: glossOf(parts.map(({ text }) => text).join("")) };
    });
  };

  // An English word for a German one; "?" for what the captions of the training lack.
  function glossOf(word) {
    const bare = word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
    if (!bare || !Object.keys(translator.glosses).length) return "";
    return translator.glosses[bare] ?? "?";
  }

  class TranslatorFigure {
    constructor(figure) {
      this.figure = figure;
      this.form = figure.dataset.form;
      this.said = this.find(".tr-said");
      this.result = null; // until then, the stored example is shown
      this.seed = 0;
      this.wireForm();
      this.wirePlayer();
      this.candidates = this.find(".tr-candidates");
      this.tree = this.find(".tr-tree");
      this.map = new live.Links(figure, () => this.translate());
      this.map.onDraw = () => this.mark();
      // A second model translates the German back, for readers who don't know any.
      this.backward = this.find(".tr-back");
      [this.ask, this.english] = this.backward.children;
      this.ask.addEventListener("click", () => this.readBack());
      if (this.form === "light") this.wireLight();
      this.listMethod();
      this.pauseAt(this.length);
    }

    find(selector) {
      return this.figure.querySelector(selector);
    }

    // --- Controls ---

    // The page holds them: book/_templates/live_translator.html.
    wireForm() {
      const all = (selector, visit) => this.figure.querySelectorAll(selector).forEach(visit);
      this.input = this.find("[type=text]");
      this.input.value = this.figure.dataset.sentence;
      this.submit = this.find("[type=submit]");
      this.bar = this.find("progress");
      this.alert = this.find(".live-alert");
      this.doubts = this.find(".tr-doubts");
      this.spoken = this.find(".tr-spoken");
      this.find("form").addEventListener("submit", (event) => {
        event.preventDefault();
        this.translate(this.input.value);
      });
      all(".tr-chip", (chip) => chip.addEventListener("click", () => this.take(chip.textContent)));
      all("[type=radio]", (radio) => {
        radio.addEventListener("change", () => {
          this.listMethod();
          this.anew();
        });
      });
      all("[type=range]", (slider) => this.wire(slider));
      this.find(".tr-again")?.addEventListener("click", () => {
        this.seed += 1;
        this.anew();
      });
      this.nameSubmit();
    }

    // The light form: an example that moves, word by word, until the reader touches the figure,
    // and a switch for the attention to the English.
    wireLight() {
      const german = this.find(".tr-german");
      const stored = [[...german.childNodes], [...this.find(".tr-without").content.firstElementChild.childNodes]];
      this.attends = this.find(".tr-switch input");
      this.attends.addEventListener("change", () => {
        this.figure.classList.toggle("tr-cut", !this.attends.checked);
        if (this.result) return this.anew(Infinity);
        german.replaceChildren(...stored[Number(!this.attends.checked)]);
        this.pauseAt(this.length);
      });
      if (calm.matches) return;
      this.moves = true;
      const watch = new IntersectionObserver(([{ isIntersecting }]) => {
        if (isIntersecting !== this.film.isPlaying()) this.play.click();
      });
      watch.observe(german);
      const rest = ({ target }) => {
        watch.disconnect();
        this.moves = false;
        if (!this.player.contains(target)) this.pauseAt(this.length);
      };
      calm.addEventListener("change", () => rest({ target: null }), { once: true });
      for (const touch of ["pointerdown", "focusin"]) {
        this.figure.addEventListener(touch, rest, { once: true });
      }
    }

    nameSubmit() {
      const load = `Translate (loads ${megabytes(translator)})`;
      this.submit.textContent = translator.ready ? "Translate" : load;
    }

    take(text) {
      this.input.value = text;
      this.translate(text);
    }

    // A slider says what it stands for.
    wire(slider) {
      const tell = () => {
        slider.nextElementSibling.textContent = this.option(slider);
        slider.setAttribute("aria-valuetext", this.option(slider));
      };
      slider.addEventListener("input", () => {
        tell();
        if (this.method === "sample" && this.result) this.listCandidates();
      });
      slider.addEventListener("change", () => this.anew());
      tell();
    }

    option({ name, value, max }) {
      if (name === "topK" && value === max) return "all";
      return name === "width" || name === "topK" ? value : Number(value).toFixed(name === "topP" ? 2 : 1);
    }

    get method() {
      return this.find("[name=method]:checked")?.value ?? "greedy";
    }

    // Show what belongs to the method chosen.
    listMethod() {
      if (this.form !== "search") return;
      for (const part of this.figure.querySelectorAll("[data-of]")) {
        part.hidden = part.dataset.of !== this.method;
      }
      this.tree.hidden = this.method !== "beam";
      this.candidates.hidden = this.method === "beam";
    }

    options() {
      const options = { method: this.method };
      for (const { name, value, max } of this.figure.querySelectorAll("[type=range]")) {
        options[name] = name === "topK" && value === max ? Infinity : Number(value);
      }
      options.random = live.randomNumbers(this.seed);
      options.keeps = CACHES[this.find("[name=cache]:checked")?.value ?? "all"];
      options.attends = this.attends?.checked ?? true;
      return options;
    }

    wirePlayer() {
      this.player = this.find(".tr-player");
      [this.back, this.play, this.on, this.count] = this.player.children;
      this.film = film(this.play, PAUSE, {
        begin: () => this.at >= this.length && this.show(0),
        next: () => this.next(),
      });
      this.back.addEventListener("click", () => this.pauseAt(this.at - 1));
      this.on.addEventListener("click", () => this.pauseAt(this.at + 1));
      this.player.addEventListener("keydown", (event) => {
        const to = {
          ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.length,
        }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.pauseAt(to);
      });
    }

    // --- Translating ---

    async ready() {
      if (translator.ready) return;
      this.bar.hidden = false;
      this.submit.disabled = true;
      try {
        this.submit.textContent = "Loading …";
        await translator.load((share) => {
          if (this.bar.hidden) return; // another part has failed
          this.bar.value = share;
          this.submit.textContent = `Loading ${Math.round(100 * share)} % of ${megabytes(translator)}`;
        });
      } finally {
        this.bar.hidden = true;
        this.submit.disabled = false;
        figures.forEach((figure) => figure.nameSubmit());
      }
    }

    // Another setting: the same text anew, shown as far as it was.
    anew(at = this.at < this.length ? this.at : Infinity) {
      if (this.result) this.translate(this.text, { at });
    }

    // What is translated stays with its translation: the reader may be writing another text.
    // It plays from its prefix on, unless it is to be shown `at` a step.
    async translate(text = this.text ?? this.input.value, { prefix = [], at } = {}) {
      this.alert.textContent = "";
      this.input.removeAttribute("aria-invalid");
      const asked = (this.asked = {}); // the last one counts
      this.figure.ariaBusy = "true";
      try {
        await this.ready();
        const refused = this.refuse(text);
        if (refused) throw new Error(refused);
        const options = { ...this.options(), prefix };
        const result = await live.inSlices(translator.work(text, options), () => this.asked === asked);
        if (!result) return;
        // From the first translation on: whose cache it is.
        if (this.form === "cache" && !this.result) this.find("[name=kind]").value = "decoder";
        Object.assign(this, { text, result });
        // How sure the model is counts where neither chance nor the reader has chosen.
        const isUsual = options.keeps === CACHES.all && options.attends && !prefix.length;
        this.doubt(isUsual ? options.method : "");
        this.present(prefix.length, at);
      } catch (problem) {
        this.alert.textContent = problem.message;
      }
      this.figure.ariaBusy = "false";
    }

    // Why a text can't be translated, or "".
    refuse(text) {
      const { length } = translator.subwords.split(text);
      if (length && length <= MOST) return "";
      this.input.setAttribute("aria-invalid", "true");
      return length
        ? `This has ${length} subwords; at most ${MOST} can be translated at once. Divide it into sentences.`
        : "Write a sentence first.";
    }

    // Show a new result, and have it in view: a phone's keyboard goes, too.
    present(from, at) {
      const read = translator.subwords.split(this.text);
      this.source = [...read.map(({ piece, id }) => (id === 3 ? `${piece}\u00a0?` : label(piece))), this.name("<eos>")];
      this.player.hidden = false;
      this.film.stop();
      this.draw(this.result);
      // A beam's hypotheses are drawn one after another, in the room of the last.
      this.said.style.minHeight = "";
      this.said.style.minHeight = `${this.said.offsetHeight}px`;
      if (at !== undefined || calm.matches) this.pauseAt(at ?? Infinity);
      else {
        this.show(from);
        this.film.start();
      }
      if (at !== undefined) return;
      if (matchMedia("(pointer: coarse)").matches) this.input.blur();
      const { top, bottom } = this.said.getBoundingClientRect();
      if (top < 60 || bottom > 0.8 * innerHeight) this.said.scrollIntoView();
    }

    async readBack() {
      this.ask.disabled = true;
      this.ask.textContent = "Loading …";
      this.alert.textContent = "";
      try {
        await back.load();
      } catch (problem) {
        this.alert.textContent = problem.message;
      }
      this.ask.disabled = false;
      this.show(this.at);
      // A disabled button loses the focus; whoever is typing elsewhere by now keeps it.
      if ([document.body, this.ask].includes(document.activeElement)) {
        (back.ready ? this.play : this.ask).focus({ preventScroll: true });
      }
    }

    // What the second model makes of the German, once it is loaded and the German is whole.
    async tellBack(over) {
      const { result } = this;
      this.backward.hidden = false;
      this.backward.inert = !over; // its room stays
      this.ask.hidden = back.ready;
      this.ask.textContent = `Say it in English (loads ${megabytes(back)})`;
      if (!result.back) this.english.replaceChildren();
      if (!over || !back.ready) return;
      result.back ??= (await live.inSlices(back.work(result.text))).text;
      if (this.result !== result || this.at < this.length) return;
      this.english.replaceChildren("In English, by a second model: ", element("q", {}, result.back));
    }

    // Say where the text, or its translation, is beyond what the model has learned.
    doubt(method) {
      const { text: output, logProb, tokens } = this.result;
      const found = translator.subwords.translationDoubts(this.text, output, logProb / tokens.length, method);
      this.doubts.replaceChildren(
        ...found.map((reason) => paragraph("live-unlike", `Don't expect a good translation: ${reason}.`)),
      );
    }

    // --- Playing ---

    get length() {
      const { beam, tokens } = this.result ?? {};
      if (this.result) return beam ? beam.tree.length : tokens.length;
      const steps = [...this.figure.querySelectorAll(".tr-german [data-step]")].map(({ dataset }) => Number(dataset.step));
      return 2 + Math.max(...steps); // and the end
    }

    // The example, before it is touched, rests at the end and begins again.
    next() {
      if (this.at < this.length) this.show(this.at + 1);
      if (this.at < this.length) return true;
      this.rested = (this.rested ?? 0) + 1;
      if (this.moves && this.rested % REST === 0) this.show(0);
      return this.moves;
    }

    pauseAt(at) {
      this.film.stop();
      this.show(Math.max(0, Math.min(this.length, at)));
    }

    // Show the translation as it is after so many steps.
    show(at) {
      this.at = at;
      const over = at >= this.length;
      this.back.setAttribute("aria-disabled", at === 0);
      this.on.setAttribute("aria-disabled", over);
      this.count.textContent = `step ${at} of ${this.length}`;
      if (this.result) this.showResult(over);
      this.mark();
    }

    showResult(over) {
      const { beam, text, logProbs } = this.result;
      this.tellBack(over && text !== "");
      this.spoken.textContent = over ? text : "";
      if (beam) {
        const found = over ? this.result : leading(beam.tree[this.at - 1]);
        this.draw(found ?? { tokens: [], state: beam.tree[0][0].parent.state });
        live.drawBeam(this.tree, beam, this.at, (id) => label(translator.subwords.pieces[id]));
      } else if (this.form !== "light") {
        this.listCandidates();
        const sum = logProbs.slice(0, this.at).reduce((total, x) => total + x, 0);
        this.score.textContent = `log p ${over ? "of this translation" : "so far"}: ${live.number(sum)}`;
      }
    }

    // What has been written is shown, and the step at hand stands out; a beam's is drawn anew.
    mark() {
      const at = this.result?.beam ? Infinity : this.at;
      for (const part of this.figure.querySelectorAll("[data-step]")) {
        const step = Number(part.dataset.step);
        part.classList.toggle("tr-later", step >= at);
        part.classList.toggle("tr-now", at < this.length && step === at - 1);
      }
    }

    // A subword in the columns; the light form's readers know no special tokens.
    name(piece) {
      return this.form === "light" && piece === "<eos>" ? "(end)" : label(piece);
    }

    // The German, each word with its gloss, and its lines.
    draw({ tokens, state }) {
      const pieces = tokens.map((id) => translator.subwords.pieces[id]);
      const words = live.glossed(pieces).map(({ parts, gloss, step }) =>
        element("span", { class: "tr-word" },
          element("span", { lang: "de" }, ...parts.map((part) => element("span", { "data-step": part.step }, part.text))),
          element("span", { class: "tr-gloss", "data-step": step }, gloss || "\u00a0")),
      );
      this.score = paragraph("live-score");
      this.said.replaceChildren(paragraph("tr-english", this.text), paragraph("tr-german", ...words), this.score);
      const target = this.attends?.checked === false ? [] : pieces.map((piece) => this.name(piece));
      this.map.show(state.maps, this.source, target);
    }

    // The most probable subwords of the step at hand, each a button that steers.
    listCandidates() {
      const { steps, tokens, beam } = this.result;
      if (beam) return;
      const t = Math.min(this.at, tokens.length - 1);
      const options = this.method === "sample" ? this.options() : {};
      const left = new Map(live.tokenProbabilities(steps[t], options).map(({ id, p }) => [id, p]));
      const rows = live.best(steps[t], BEST).map(({ id }) => this.candidate(id, t, left.get(id) ?? 0, tokens[t]));
      this.candidates.replaceChildren(
        paragraph("tr-after", "The most probable next subwords. Choose one to steer:"),
        element("div", { class: "tr-bars", role: "group", "aria-label": "Next subwords" }, ...rows),
      );
    }

    candidate(id, t, p, chosen) {
      const piece = translator.subwords.pieces[id];
      const [gloss] = piece.startsWith("▁") ? live.glossed([piece]) : [];
      const text = label(piece) + (id === live.EOS ? " (end)" : "");
      const row = button("", () => this.translate(this.text, { prefix: [...this.result.tokens.slice(0, t), id] }), {
        class: "tr-bar", style: `--weight: ${(100 * p).toFixed(1)}`,
      });
      row.append(
        element("span", { lang: "de" }, text),
        element("span", { class: "tr-gloss" }, gloss?.gloss ?? ""),
        element("span", { class: "tr-p" }, p ? percent(p) : "cut off"),
      );
      if (id === chosen) row.setAttribute("aria-current", "true");
      return row;
    }
  }

  // The best unfinished hypothesis of a step, or the best finished one.
  function leading(column = []) {
    return column.find(({ fate }) => fate === "kept") ?? column.find(({ fate }) => fate === "finished");
  }

  const figures = [...document.querySelectorAll("figure.live-translator")].map(
    (figure) => new TranslatorFigure(figure),
  );
}
