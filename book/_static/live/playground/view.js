// The playground, part 2: what the reader sees and touches.  Two runs train side by side,
// each in a Worker of its own; the page only draws what they tell.
"use strict";

globalThis.playground = (() => {
  const data = globalThis.playgroundData;
  const LETTERS = "abcdefghijklmnop";
  const MEAN = 10; // steps over which a loss is averaged
  const SIDES = ["a", "b"]; // colours: that of a solid line and of a dashed one
  const SHARED = ["task", "steps", "seed"]; // the same for both
  let active = null; // the figure that trains: one at a time

  // What stands for a symbol, a word or a position.
  function token(task, id, answer) {
    if (id < 0) return "·";
    if (task === "next_word") return data.words[id];
    if (task === "count_positions" && answer) return String(id + 1);
    return task === "add_previous" ? String(id) : LETTERS[id];
  }

  const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

  function running(losses) {
    return losses.map((_, i) => mean(losses.slice(Math.max(0, i + 1 - MEAN), i + 1)));
  }

  const shown = (loss) => (Number.isFinite(loss) ? loss.toFixed(loss < 100 ? 2 : 0) : "not a number");

  // --- Settings in code and in the address ---

  const python = (value) =>
    typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);

  // A cell that repeats a run in PyTorch, from the same weights and batches.
  function cell(setting) {
    const changed = Object.entries(setting).filter(([name, value]) => value !== data.defaults[name]);
    const given = changed.map(([name, value]) => `${name}=${python(value)}`).join(", ");
    return `import torch
from attnbook.course.kit.playground import Model, Setting, batches, loss_of

setting = Setting(${given})
model = Model(setting)  # it starts from the page's weights
optimizer = torch.optim.Adam(model.parameters())
losses = []
for ids, targets in batches(setting.task, f"{setting.seed}/batches"):  # (B, T), (B, T, K)
    optimizer.param_groups[0]["lr"] = setting.rate_at(len(losses))
    loss = loss_of(model(ids), targets)  # from logits (B, T, K, V)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if len(losses) % 20 == 0:
        print(f"step {len(losses)}: loss {losses[-1]:.4f}")
    if len(losses) == setting.steps:
        break
`;
  }

  // "#free&task=sort&b.scaled=false": what differs from the defaults, of both runs or one.
  function toAddress(settings) {
    const [a, b] = settings;
    const parts = [];
    for (const [name, usual] of Object.entries(data.defaults)) {
      if (a[name] === b[name] && a[name] !== usual) parts.push(`${name}=${a[name]}`);
      if (a[name] === b[name]) continue;
      for (const side of [0, 1]) {
        const value = settings[side][name];
        if (value !== usual) parts.push(`${SIDES[side]}.${name}=${value}`);
      }
    }
    return ["#free", ...parts].join("&");
  }

  // Unknown names and values are passed over: an address may be old, or mistyped.
  function fromAddress(hash) {
    const settings = [{ ...data.defaults }, { ...data.defaults }];
    for (const [key, text] of new URLSearchParams(hash.slice(1))) {
      const [, side, name] = key.match(/^(?:([ab])\.)?(\w+)$/) ?? [];
      if (!Object.hasOwn(data.options, name ?? "")) continue;
      const value = data.options[name].choices.find((known) => String(known) === text);
      if (value === undefined) continue;
      settings.forEach((setting, i) => {
        if (!side || SHARED.includes(name) || SIDES[i] === side) setting[name] = value;
      });
    }
    return settings;
  }

  // --- One run ---

  class Run {
    constructor(box, told) {
      this.told = told; // called when something has come
      [this.title, this.line, this.outputs, this.maps, this.words, this.sentences] = box.children;
    }

    begin(setting, example) {
      this.stop();
      Object.assign(this, { setting, example, losses: [], accuracies: [], look: null });
      this.sentences.replaceChildren();
      const { words, kinds, grammar } = data;
      const text = `"use strict"; (${globalThis.playgroundEngine})(${JSON.stringify({ words, kinds, grammar })}).serve(self);`;
      this.address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      this.worker = new Worker(this.address);
      this.worker.onmessage = ({ data: told }) => this.take(told);
      this.worker.onerror = () => this.told(this, "A run has stopped: this browser could not go on.");
      this.worker.postMessage({ setting, probe: example.ids, until: 0 });
    }

    stop() {
      this.worker?.terminate();
      if (this.address) URL.revokeObjectURL(this.address);
    }

    get steps() {
      return this.losses.length;
    }

    take(told) {
      if (told.generated) {
        this.tellSentences(told.generated);
        return;
      }
      for (const { loss, accuracy } of told.results) {
        this.losses.push(loss);
        this.accuracies.push(accuracy);
      }
      this.look = told;
      this.told(this);
    }

    draw(layer) {
      const { steps } = this;
      const [loss, right] = [this.losses, this.accuracies].map((list) => mean(list.slice(-MEAN)));
      this.line.textContent = steps
        ? `Step ${steps}: loss ${shown(loss)}, ${Math.round(100 * right)} % right`
        : "Not trained yet";
      if (!this.look) return;
      this.tellOutputs();
      this.drawMaps(Math.min(layer, this.look.maps.length - 1));
    }

    tellOutputs() {
      const { task } = this.setting;
      const { ids, targets } = this.example;
      const questions = targets.length / ids.length;
      const row = (name, cells) =>
        element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((c) => element("td", {}, c)));
      const rows = [row("Input", ids.map((id) => token(task, id)))];
      for (let k = 0; k < questions; k++) {
        const right = ids.map((_, t) => targets[t * questions + k]);
        const said = this.look.answers.map((answers, t) => {
          const text = token(task, right[t] < 0 ? -1 : answers[k], true);
          return answers[k] === right[t] || right[t] < 0 ? text : element("s", {}, text);
        });
        const which = questions > 1 ? [" 1 back", " 2 back"][k] : "";
        rows.push(row(`Right${which}`, right.map((id) => token(task, id, true))));
        rows.push(row(`Output${which}`, said));
      }
      const scrolled = this.outputs.scrollLeft;
      this.outputs.replaceChildren(element("table", {}, element("tbody", {}, ...rows)));
      this.outputs.scrollLeft = scrolled;
      globalThis.fitBox?.(this.outputs); // book.js
    }

    // A map for each head of a layer, and the largest weight of each row in words.
    drawMaps(layer) {
      const { setting: { heads, task }, example: { ids } } = this;
      const size = ids.length;
      const names = ids.map((id, i) => (task === "next_word" ? `${i + 1}` : token(task, id)));
      const told = Array.from({ length: heads }, (_, head) => {
        const cells = ids.map((_, i) => {
          const start = (head * size + i) * size;
          return [...this.look.maps[layer].subarray(start, start + size)];
        });
        const words = `Head ${head + 1}: ${mapInWords(cells)}`;
        const map = { kind: "Map", rows: names, columns: names, cells, size: 12 };
        return [words, attnbook.charts.draw(map, 0, `Attention of layer ${layer + 1}. ${words}`)];
      });
      this.maps.replaceChildren(...told.map(([, map]) => map));
      this.words.textContent = told.map(([words]) => words).join(" ");
    }

    tellSentences(sentences) {
      const items = sentences.slice(0, 4).map(({ sentence, parses }) => {
        const text = sentence.slice(1).filter((id) => id !== 1).map((id) => data.words[id]).join(" ");
        return element("li", {}, parses ? "✓ " : "✗ ", text || "(nothing)", parses ? "" : " (no sentence)");
      });
      const good = sentences.filter(({ parses }) => parses).length;
      items.push(element("li", {}, `${good} of ${sentences.length} follow the grammar`));
      this.sentences.replaceChildren(...items);
      this.sentences.scrollIntoView({ block: "nearest" });
    }
  }

  function mapInWords(cells) {
    const tops = cells.map((row) => Math.max(...row));
    const places = cells.map((row, i) => row.indexOf(tops[i]) + 1 || "none").join(", ");
    const most = `largest weight ${shown(mean(tops))} on average`;
    return `positions 1 to ${cells.length} attend most to ${places}; ${most}.`;
  }

  // --- The two curves, for attnbook.charts ---

  function chartOf(runs, stored = []) {
    const { task, steps } = runs[0].setting;
    const { guess } = data.lines[task];
    // Above guessing, and above where runs have come to; what explodes leaves the chart.
    const ends = runs.map(({ losses }) => mean(losses.slice(-MEAN)));
    const reached = [...ends, ...stored.map((band) => band.mean.at(-1))].filter((loss) => loss < 6 * guess);
    const top = Math.max(1.4 * guess, ...reached.map((loss) => 1.2 * loss));
    const inside = (losses) => losses.map((loss) => (loss < top ? loss : top)); // no number: above
    const ticks = Array.from({ length: 1 + Math.floor(top) }, (_, i) => i).filter((i) => top < 6 || i % 2 === 0);
    const bests = [...new Set(runs.map(({ setting }) => data.lines[task][setting.causal]))];
    const above = runs.flatMap(({ title }, side) => {
      return ends[side] > top ? [`${title.textContent} ${shown(ends[side])}`] : [];
    });
    return {
      kind: "Lines",
      height: 260,
      title: above.length ? `above the chart: ${above.join(", ")}` : "loss, nats per answer",
      x: { label: "step", low: 0, high: steps, ticks: [0, steps / 2, steps], names: [0, steps / 2, steps].map(String) },
      y: { label: "", low: 0, high: top, ticks, names: ticks.map(String) },
      levels: [
        { y: guess, label: "guessing" },
        ...bests.map((y) => ({ y, label: bests.length > 1 && y ? "best possible, causal" : "best possible", below: y })),
      ],
      // Stored runs appear as far as the reader's have come.
      bands: stored.map(({ low, high }, side) => {
        const size = steps / low.length;
        const count = Math.floor(runs[side].steps / size);
        const [x, lowest, highest] = [low.map((_, i) => (i + 0.5) * size), inside(low), inside(high)].map((list) => list.slice(0, count));
        return { x, low: lowest, high: highest, colour: `run-${SIDES[side]}` };
      }),
      // A mean stands at the middle of its steps, as those of the bands do.
      lines: runs.map(({ losses, title }, side) => ({
        label: title.textContent,
        x: losses.map((_, i) => i + 1 - Math.min(i + 1, MEAN) / 2),
        y: inside(running(losses)),
        colour: `run-${SIDES[side]}`,
      })),
      points: [],
    };
  }

  function wordsOf(runs) {
    const { guess } = data.lines[runs[0].setting.task];
    const told = runs.map(({ title, line }) => `${title.textContent}: ${line.textContent}.`);
    return `Loss against step. ${told.join(" ")} Guessing: ${guess.toFixed(2)}.`;
  }

  // --- The figure ---

  class Figure {
    constructor(root) {
      this.root = root;
      this.preset = data.presets[root.dataset.preset];
      this.free = !this.preset;
      this.layer = Infinity; // the last one: what is learned shows there
      this.until = this.third = 0;
      this.examples = 0;
      const addressed = location.hash.startsWith("#free");
      // Free play begins with two models that differ in one choice.
      this.settings = this.free
        ? fromAddress(addressed ? location.hash : "#free&b.positions=none")
        : this.preset.runs.map((run) => ({ ...data.defaults, ...this.preset.setting, ...run.setting }));
      this.runs = this.all(".play-run").map((box) => new Run(box, (...told) => this.take(...told)));
      this.wire();
      this.find(".play-live").hidden = false;
      this.find(".play-open").remove();
      this.reset();
      this.train.focus();
      if (this.free && addressed) root.scrollIntoView();
    }

    find(selector) {
      return this.root.querySelector(selector);
    }

    all(selector) {
      return [...this.root.querySelectorAll(selector)];
    }

    // The page holds all controls: book/_templates/train_here.html.
    wire() {
      const press = (name, act) => {
        const found = this.find(`.play-${name}`);
        found.addEventListener("click", act);
        return found;
      };
      this.train = press("train", () => (this.training ? this.pause("Paused.") : this.start()));
      this.step = press("step", () => this.go(Math.max(...this.runs.map((run) => run.steps)) + 1));
      press("again", () => this.reset());
      this.generate = press("generate", () => {
        this.examples += 1;
        for (const run of this.runs) run.worker.postMessage({ generate: `${this.seed}/${this.examples}` });
      });
      press("other", () => {
        this.examples += 1;
        const example = this.example();
        for (const run of this.runs) {
          run.example = example;
          run.worker.postMessage({ probe: example.ids });
        }
      });
      this.layers = this.find(".play-layers");
      this.layers.addEventListener("change", () => {
        this.layer = this.layers.selectedIndex;
        this.draw();
      });
      // Each for one run, or for both.
      this.choices = this.all("select[name]");
      for (const select of this.choices) {
        select.addEventListener("change", () => {
          for (const side of select.dataset.sides) this.settings[side][select.name] = JSON.parse(select.value);
          this.reset();
        });
      }
      // Pairs to begin with, each with something to reach.
      this.all(".tr-chip").forEach((chip, i) => {
        chip.addEventListener("click", () => {
          this.dare = data.dares[i];
          this.find(".play-dare").textContent = this.dare.says;
          const { both } = this.dare;
          this.settings = SIDES.map((side) => ({ ...data.defaults, seed: this.seed, ...both, ...this.dare[side] }));
          this.reset();
        });
      });
      this.status = this.find(".play-status");
      this.chart = this.find("div.play-chart");
      new ResizeObserver(() => this.plan()).observe(this.chart);
      document.addEventListener("visibilitychange", () => {
        if (document.hidden && this.training) this.pause("Paused, since the page was hidden.");
      });
    }

    get seed() {
      return this.settings[0].seed;
    }

    // What has become of a dare, in words.
    judge() {
      const { dare, runs: [, run] } = this;
      if (!dare) return "";
      const began = { ...data.defaults, ...dare.both, ...dare.b };
      const changed = dare.keep.find((name) => run.setting[name] !== began[name]);
      if (changed) return ` For the dare, leave B’s choice of “${data.options[changed].label}”.`;
      const [loss, right] = [run.losses, run.accuracies].map((list) => mean(list.slice(-MEAN)));
      const { guess } = data.lines[run.setting.task];
      const won = dare.loss ? !(loss <= dare.loss * guess) : 100 * right >= dare.right;
      return won ? " The dare is won!" : " The dare isn’t won yet: change something of B.";
    }

    // A sequence to look at, with its right answers.
    example() {
      const { task } = this.settings[0];
      this.engine ??= globalThis.playgroundEngine(data);
      return this.engine.batches(task, `${this.seed}/example ${this.examples}`, 1, 12)();
    }

    reset() {
      this.training = false;
      this.until = 0;
      const example = this.example();
      this.runs.forEach((run, side) => run.begin({ ...this.settings[side] }, example));
      const layers = Math.max(...this.settings.map((setting) => setting.layers));
      this.layers.replaceChildren(...Array.from({ length: layers }, (_, i) => new Option(i + 1)));
      this.layer = Math.min(this.layer, layers - 1);
      this.layers.selectedIndex = this.layer;
      this.layers.parentElement.hidden = layers === 1;
      this.generate.hidden = this.settings[0].task !== "next_word";
      const [a, b] = this.settings;
      for (const select of this.choices) {
        const { name } = select;
        select.value = JSON.stringify(this.settings[select.dataset.sides[0]][name]);
        select.closest("tr")?.classList.toggle("play-differs", a[name] !== b[name]);
      }
      this.all("pre").forEach((pre, i) => (pre.textContent = cell(this.settings[i])));
      const address = toAddress(this.settings);
      if (this.free) history.replaceState(null, "", address);
      else this.find(".play-link").href = `${this.root.dataset.page}${address}`;
      this.say("Ready: press “Train both”.");
      this.draw();
    }

    start() {
      if (active !== this) active?.pause("Paused, since another pair trains.");
      active = this;
      if (this.free && innerWidth < 1100) this.find(".play-form").open = false;
      this.chart.scrollIntoView({ block: "nearest" });
      this.go(this.settings[0].steps);
    }

    pause(why) {
      if (!this.training) return;
      this.go(Math.max(...this.runs.map((run) => run.steps))); // the slower one catches up
      this.say(why);
    }

    // Train both until a step.
    go(step) {
      this.trainUntil(Math.min(step, this.settings[0].steps));
      this.training = this.until === this.settings[0].steps && this.runs.some((run) => run.steps < this.until);
      this.say(this.training ? "Training …" : "");
    }

    trainUntil(step) {
      this.until = step;
      for (const run of this.runs) run.worker.postMessage({ until: step });
    }

    take(run, problem) {
      if (problem) return this.say(problem);
      const limit = this.settings[0].steps;
      if (this.training && this.runs.every(({ steps }) => steps === limit)) this.finish(limit);
      // One was already further when it heard of a pause: the other follows.
      if (run.steps > this.until) this.trainUntil(run.steps);
      this.plan();
    }

    // Draw soon, not too often, and a third at a time, or the page would stand still.
    plan(thirds = 3) {
      this.thirds = thirds;
      if (this.planned) return;
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches && this.training;
      this.planned = setTimeout(() => {
        this.planned = 0;
        this.third = (this.third + 1) % 3;
        this.drawThird(this.third);
        if (this.thirds > 1) this.plan(this.thirds - 1);
      }, calm ? 700 : 70);
    }

    finish(limit) {
      this.training = false;
      const right = this.preset?.right;
      const guess = this.find(".play-answers :checked")?.value;
      let words = `Both have trained for ${limit} steps.${this.judge()}`;
      if (right !== undefined) {
        const said = guess === undefined ? "" : `You predicted (${"abc"[guess]}). `;
        words += ` ${said}The stored runs say (${"abc"[right]}).`;
        this.find(".play-stored").open = true;
      }
      this.say(words);
    }

    say(words) {
      this.status.textContent = words;
      const done = this.runs.every(({ steps }) => steps >= this.settings[0].steps);
      this.train.textContent = this.training ? "Pause" : this.runs[0].steps ? "Train on" : "Train both";
      this.train.disabled = done;
      this.step.disabled = done || this.training;
    }

    draw() {
      [0, 1, 2].forEach((third) => this.drawThird(third));
    }

    // Each run, and the curves.
    drawThird(third) {
      if (third < 2) return this.runs[third].draw(this.layer);
      const width = Math.max(260, this.chart.clientWidth);
      const chart = chartOf(this.runs, this.preset?.stored);
      this.chart.replaceChildren(attnbook.charts.draw(chart, width, wordsOf(this.runs)));
      if (!this.training) this.say(this.status.textContent);
    }
  }

  return { Figure, cell, toAddress, fromAddress };
})();
