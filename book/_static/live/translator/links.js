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

    // Which row is being generated, from 0; -1 for none.
    show(maps, source, target, active = -1) {
      this.active = active;
      super.show(maps, source, target);
    }

    draw() {
      const lines = this.chosen("as", "lines") === "lines";
      this.sum.hidden = lines;
      if (!lines) {
        super.draw();
        return;
      }
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
      const list = (words, name, active) =>
        element(
          "ol",
          { class: name },
          ...words.map((word, i) => {
            const item = element("li", i === active ? { class: "tr-now" } : {}, word);
            if (word.endsWith("\u00a0?")) item.classList.add("tr-unknown");
            return item;
          }),
        );
      const look = { preserveAspectRatio: "none", "aria-hidden": "true" };
      const svg = drawn("svg", { viewBox: `0 0 100 ${height}`, ...look });
      for (let i = 0; i < rows; i++) {
        this.weights[i].forEach((weight, j) => svg.append(...this.line(i, j, weight)));
      }
      const box = element("div", { class: "tr-links", style: `--rows: ${height}` });
      box.append(list(this.columns, read), svg, list(this.rows, reader, this.active));
      return box;
    }

    line(i, j, weight) {
      if (!(weight >= SEEN)) return [];
      const place = { x1: 0, y1: j + 0.5, x2: 100, y2: i + 0.5 };
      const now = i === this.active ? { class: "tr-now" } : {};
      return [drawn("line", { ...place, ...now, style: `--weight: ${weight.toFixed(3)}` })];
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
