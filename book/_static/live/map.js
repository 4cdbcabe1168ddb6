// The live models, part 5: the attention map, a table that the arrow keys walk through, and
// the sum behind each of its cells.
"use strict";

{
  const LARGEST_TERMS = 8;

  const paragraph = (text) => element("p", {}, text);
  const { number } = live;
  const mean = (list) => list.reduce((sum, x) => sum + x) / list.length;
  const clamp = (i, length) => Math.max(0, Math.min(length - 1, i));

  live.Map = class {
    // `figure` has a place for the map with its caption and, mostly, menus (live_views.html);
    // `ask` makes what is to be shown.
    constructor(figure, ask) {
      const find = (selector) => figure.querySelector(selector);
      Object.assign(this, { ask, maps: null, views: find(".live-views"), pair: find(".live-pair") });
      this.caption = find(".live-caption");
      [this.box, this.sum, this.spoken] = this.pair.children;
      this.views?.addEventListener("change", () => (this.maps ? this.draw() : this.ask()));
      watchBox(this.box, markEdge);
      this.box.addEventListener("click", ({ target }) => {
        const [row, cell] = [target.closest("tbody tr"), target.closest("td")];
        if (row && cell) this.onExample(row.sectionRowIndex, cell.cellIndex - 1);
      });
      this.box.addEventListener("keydown", ({ key, target }) => {
        if (key === "Enter" && target === this.box) this.onExample();
      });
    }

    // The stored example: compute, and explain the cell chosen, or else the one of the
    // largest weight in the first row.
    async onExample(...chosen) {
      if (this.maps) return;
      await this.ask();
      if (this.maps) this.reach(...(chosen.length ? chosen : this.place));
    }

    // Draw what a model did: its maps, the words it read, the words it said; and the place
    // of the word that each of these translates, where that is known.
    show(maps, source, target, alignment = []) {
      Object.assign(this, { maps, source, target, alignment });
      this.draw();
    }

    // --- Which map? ---

    chosen(name, otherwise) {
      return this.views?.querySelector(`[name=${name}]`)?.value ?? otherwise;
    }

    // Take the chosen heads, and of several the mean.
    choose() {
      const kind = this.chosen("kind", "cross");
      const take = (list, choice) => {
        if (choice === "later") return list.slice(1);
        return choice === "all" ? list : [list[choice - 1]];
      };
      const layers = take(this.maps[kind], this.chosen("layer", 1));
      const heads = layers.flatMap((layer) => take(layer, this.chosen("head", 1)));
      const meanOf = (i, j) => mean(heads.map((head) => head.weights[i][j]));
      this.kind = kind;
      this.head = heads.length === 1 ? heads[0] : null;
      this.rows = kind === "encoder" ? this.source : this.target;
      this.columns = kind === "decoder" ? ["<bos>", ...this.target.slice(0, -1)] : this.source;
      this.weights = heads[0].weights.map((row, i) => row.map((_, j) => meanOf(i, j)));
      this.scores = this.head && this.chosen("numbers") === "scores";
    }

    // --- The table ---

    draw() {
      this.choose();
      const numbers = this.views.querySelector("[name=numbers]");
      numbers.parentElement.hidden = !this.head; // a mean of scores says nothing
      const [reader, read] = {
        cross: ["role-target", "role-source"],
        encoder: ["role-source", "role-source"],
        decoder: ["role-target", "role-target"],
      }[this.kind];
      const heads = this.columns.map((word) =>
        element("th", { scope: "col", class: read }, element("span", {}, word)),
      );
      const rows = this.rows.map((word, i) => {
        const cells = this.columns.map((_, j) => this.cell(i, j));
        return element("tr", {}, element("th", { scope: "row", class: reader }, word), ...cells);
      });
      this.table = element("table", { role: "grid", "aria-label": "Attention map" });
      this.table.append(element("thead", {}, element("tr", {}, element("td"), ...heads)));
      this.table.append(element("tbody", {}, ...rows));
      this.put(this.table);
      this.caption.textContent = this.captionText();
      this.walk();
    }

    // The stored map was reached by the tab key itself, a new one is by its cells.
    put(drawing) {
      for (const name of ["tabindex", "role", "aria-label"]) this.box.removeAttribute(name);
      this.box.replaceChildren(drawing);
      markEdge(this.box);
    }

    cell(i, j) {
      const [reader, read, weight] = [this.rows[i], this.columns[j], this.weights[i][j]];
      if (weight === undefined) {
        const label = `${reader} may not read ${read}, a later word`;
        return element("td", { class: "live-masked", "aria-label": label });
      }
      const percent = Math.round(100 * weight);
      const text = this.scores ? number(this.head.scores[i][j], 1) : `${percent}`;
      const told = this.scores ? `score ${text}` : `${text} hundredths`;
      const label = `${reader} reads ${read}: ${told}`;
      const cell = element("td", { style: `--weight: ${percent}`, "aria-label": label }, text);
      if (this.framed(i, j)) {
        cell.classList.add("live-aligned");
        cell.ariaLabel += ", which it translates";
      }
      return cell;
    }

    framed(i, j) {
      return this.kind === "cross" && this.alignment[i] === j;
    }

    // How often does the largest weight of a row stand in its frame?
    framesText() {
      const rows = this.weights.filter((row, i) => row.some((_, j) => this.framed(i, j)));
      if (!rows.length) return "";
      const hits = this.weights.filter((row, i) => this.framed(i, row.indexOf(Math.max(...row))));
      return (
        " A frame marks the word that is translated: in " +
        `${hits.length} of ${rows.length} rows, the largest weight is there.`
      );
    }

    captionText() {
      const what = this.scores ? "Scores, before the softmax" : "Attention weights in hundredths";
      const whose = this.head ? "" : ", mean of several heads";
      const rule = " The query of a row comes from the token before it.";
      return (
        `${what}${whose}. One row per query, one column per token attended to.` +
        (this.kind === "encoder" ? "" : rule) +
        this.framesText()
      );
    }

    // --- Walking: one stop of the tab key, from there the arrow keys ---

    walk() {
      this.cells = [...this.table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
      for (const cell of this.cells.flat()) cell.tabIndex = -1;
      this.table.addEventListener("keydown", (event) => this.onKey(event));
      this.table.addEventListener("click", ({ target }) => {
        const i = this.cells.findIndex((row) => row.includes(target));
        if (i >= 0) this.reach(i, this.cells[i].indexOf(target));
      });
      this.place = [0, 0];
      this.go(0, this.weights[0].indexOf(Math.max(...this.weights[0])));
    }

    onKey(event) {
      const [i, j] = this.place;
      const [lastRow, lastColumn] = [this.rows.length - 1, this.columns.length - 1];
      const next = {
        ArrowRight: [i, j + 1],
        ArrowLeft: [i, j - 1],
        ArrowDown: [i + 1, j],
        ArrowUp: [i - 1, j],
        Home: [event.ctrlKey ? 0 : i, 0],
        End: [event.ctrlKey ? lastRow : i, lastColumn],
      }[event.key];
      if (next) this.reach(...next);
      else if (event.key === "Enter") this.spoken.textContent = this.sum.firstChild.textContent;
      else return;
      event.preventDefault();
    }

    // Go to a cell, and keep the map and its explanation in view.
    reach(i, j) {
      this.go(i, j).focus();
      this.pair.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    // Make a cell the one that the tab key reaches, and explain it.
    go(i, j) {
      const old = this.cells[this.place[0]][this.place[1]];
      old.tabIndex = -1;
      old.removeAttribute("aria-selected");
      this.place = [clamp(i, this.rows.length), clamp(j, this.columns.length)];
      const cell = this.cells[this.place[0]][this.place[1]];
      cell.tabIndex = 0;
      cell.setAttribute("aria-selected", "true");
      this.sum.replaceChildren(...this.explain(...this.place));
      this.sum.querySelectorAll(".live-scroll").forEach((box) => watchBox(box, markEdge));
      return cell;
    }

    // --- The sum behind a cell ---

    explain(i, j) {
      const [reader, read] = [`“${this.rows[i]}”`, `“${this.columns[j]}”`];
      const weight = this.weights[i][j];
      if (weight === undefined) {
        return [paragraph(`When ${reader} is generated, ${read} does not exist yet.`)];
      }
      if (!this.head) {
        const what = `${reader} reads ${read} with a mean weight of ${number(weight, 3)}.`;
        return [paragraph(`${what} Choose one layer and one head to see the sum behind it.`)];
      }
      const before = `the word before, “${i ? this.rows[i - 1] : "<bos>"}”`;
      const text =
        `${reader} reads ${read}: score ${number(this.head.scores[i][j])}, and by the softmax ` +
        `over the row a weight of ${number(weight, 3)}. ` +
        `The query comes from ${this.kind === "encoder" ? `${reader} itself` : before}.`;
      const sum = this.head.v ? additiveSum : productSum;
      return [paragraph(text), ...sum(this.head, i, j)];
    }
  };

  // q · k / √d_k, product by product: equation 4.3, eq-attention.
  function productSum({ queries, keys, scores }, i, j) {
    const [q, k, score] = [queries[i], keys[j], scores[i][j]];
    const root = Math.sqrt(q.length);
    const steps = [`q · k / √${q.length}`, `${number(score * root)} / ${number(root)}`];
    const products = q.map((x, m) => x * k[m]);
    return [
      paragraph(`Score = ${steps.join(" = ")} = ${number(score)}`),
      sumTable([["q", q, "role-query"], ["k", k, "role-key"], ["q × k", products]], q.map((_, m) => m)),
    ];
  }

  // v · tanh(W s + U h), the largest terms: equation 2.3, eq-additive.
  function additiveSum({ queries, keys, scores, v }, i, j) {
    const [Ws, Uh, score] = [queries[i], keys[j], scores[i][j]];
    const terms = v.map((x, m) => x * Math.tanh(Ws[m] + Uh[m]));
    const size = (m) => Math.abs(terms[m]);
    const order = terms.map((_, m) => m).sort((a, b) => size(b) - size(a));
    const largest = order.slice(0, LARGEST_TERMS);
    const rest = score - largest.reduce((sum, m) => sum + terms[m], 0);
    const text =
      `Score = v · tanh(W s + U h) = ${number(score)}, a sum of ${v.length} terms: ` +
      `the ${LARGEST_TERMS} largest below, and ${number(rest)} from the others.`;
    const lines = [["W s", Ws, "role-query"], ["U h", Uh, "role-key"], ["v", v], ["v × tanh", terms]];
    return [paragraph(text), sumTable(lines, largest)];
  }

  // Lines of [name, numbers, role], at the places asked for.
  function sumTable(lines, places) {
    const heads = places.map((m) => element("th", { scope: "col" }, `${m}`));
    const rows = lines.map(([name, numbers, role]) => {
      const head = element("th", { scope: "row", class: role ?? "" }, name);
      return element("tr", {}, head, ...places.map((m) => element("td", {}, number(numbers[m]))));
    });
    const table = element("table");
    table.append(element("thead", {}, element("tr", {}, element("td"), ...heads)));
    table.append(element("tbody", {}, ...rows));
    const reach = { tabindex: 0, role: "region", "aria-label": "Terms of the score" };
    return element("div", { class: "live-scroll", ...reach }, table);
  }
}
