// The translator in the page, part 4: attention as lines between two columns of words, or as
// the live models' map.
"use strict";

{
  const SEEN = 0.03; // a line of less weight is left out

  live.Links = class extends live.Map {
    constructor(...given) {
      super(...given);
      this.sum.hidden = true; // it belongs to the table
    }

    addViews(layers, heads) {
      this.light = !layers; // lines alone, and a caption of its own
      if (this.light) return;
      this.addView("as", "Show", [["lines", "lines"], ["table", "table of numbers"]]);
      super.addViews(layers, heads);
      const select = this.views.querySelector("[name=layer]");
      select.prepend(element("option", { value: "later" }, `mean of 2–${layers}`));
      select.value = "later";
    }

    chosen(name, otherwise) {
      const light = { layer: "later", head: "all" };
      return super.chosen(name, light[name] ?? otherwise);
    }

    draw() {
      const lines = this.chosen("as", "lines") === "lines";
      this.sum.hidden = lines;
      if (lines) this.drawLines();
      else this.drawTable();
      this.onDraw(); // marks what belongs to a step
    }

    drawTable() {
      if (!this.target.length) return this.box.replaceChildren(); // nothing is written yet
      super.draw();
      if (this.kind === "encoder") return;
      [...this.table.tBodies[0].rows].forEach((row, i) => (row.dataset.step = i));
    }

    drawLines() {
      this.choose();
      const numbers = this.views.querySelector("[name=numbers]");
      if (numbers) numbers.parentElement.hidden = true;
      this.table = null;
      for (const name of ["tabindex", "role", "aria-label"]) this.box.removeAttribute(name);
      this.box.replaceChildren(this.lines());
      if (!this.light) this.caption.textContent = this.linesText();
      this.caption.hidden = false;
      markEdge(this.box);
    }

    lines() {
      const [rows, columns] = [this.rows.length, this.columns.length];
      const height = Math.max(rows, columns, 1);
      const [reader, read] =
        this.kind === "encoder"
          ? ["live-source", "live-source"]
          : ["live-target", this.kind === "cross" ? "live-source" : "live-target"];
      const list = (words, name, from) => {
        const items = words.map((word, i) => {
          const item = element("li", name === "live-target" ? { "data-step": i + from } : {}, word);
          if (word.endsWith("\u00a0?")) item.classList.add("tr-unknown");
          return item;
        });
        return element("ol", { class: name }, ...items);
      };
      const look = { preserveAspectRatio: "none", "aria-hidden": "true" };
      const svg = drawn("svg", { viewBox: `0 0 100 ${height}`, ...look });
      for (let i = 0; i < rows; i++) {
        this.weights[i].forEach((weight, j) => svg.append(...this.line(i, j, weight)));
      }
      const box = element("div", { class: "tr-links", style: `--rows: ${height}` });
      box.append(list(this.columns, read, -1), svg, list(this.rows, reader, 0)); // <bos> is there first
      return box;
    }

    line(i, j, weight) {
      if (!(weight >= SEEN)) return [];
      const place = { x1: 0, y1: j + 0.5, x2: 100, y2: i + 0.5 };
      const step = this.kind === "encoder" ? {} : { "data-step": i };
      return [drawn("line", { ...place, ...step, style: `--weight: ${weight.toFixed(3)}` })];
    }

    linesText() {
      const whose = this.head ? "one head" : "mean of several heads";
      const rule =
        this.kind === "encoder"
          ? "The right column attends to the left one."
          : "A word on the right attends to those on the left as it is generated.";
      return `${rule} The wider a line, the larger the weight (${whose}).`;
    }
  };
}
