// The translator in the page, part 4: attention as lines between two columns of words, or as
// the live models' map.
"use strict";

{
  const SEEN = 0.03; // a line of less weight is left out

  live.Links = class extends live.Map {
    // On the front page there are lines alone, with a caption of their own.
    chosen(name, otherwise) {
      return super.chosen(name, { layer: "later", head: "all" }[name] ?? otherwise);
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
      this.put(this.lines());
      if (!this.views) return;
      this.views.querySelector("[name=numbers]").parentElement.hidden = true;
      this.caption.textContent = this.linesText();
    }

    lines() {
      const [rows, columns] = [this.rows.length, this.columns.length];
      const height = Math.max(rows, columns, 1);
      const [reader, read] =
        this.kind === "encoder"
          ? ["role-source", "role-source"]
          : ["role-target", this.kind === "cross" ? "role-source" : "role-target"];
      const list = (words, name, from) => {
        const items = words.map((word, i) => {
          const item = element("li", name === "role-target" ? { "data-step": i + from } : {}, word);
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
