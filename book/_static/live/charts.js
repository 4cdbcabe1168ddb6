// The explorers, part 1: charts as SVG, drawn from the data that attnbook.course.kit.explorers
// makes (charts.py).  Colours are classes of live.css.  Texts keep their size: a chart is
// drawn anew for each width.
"use strict";

window.attnbook ??= {};

{
  const LETTER = 8; // pixels, about as wide as a letter
  const LINE = 18; // and as high as a line

  const widest = (texts) => Math.max(0, ...texts.map((text) => text.length)) * LETTER;
  const lines = (text) => `${text}`.split("\n");
  const range = (count) => Array.from({ length: count }, (_, i) => i);

  const label = (text, x, y, more = {}) => {
    const { role = "ink", anchor = "middle", turn = 0, ...others } = more;
    const made = drawn("text", { x, y, class: `role-${role}`, "text-anchor": anchor, ...others });
    if (turn) made.setAttribute("transform", `rotate(${turn} ${x} ${y})`);
    const parts = lines(text);
    if (parts.length === 1) made.textContent = text;
    else made.append(...parts.map((part, i) => drawn("tspan", { x, dy: i ? LINE : 0 }, part)));
    return made;
  };

  // Where the names of a map stand; a small one, of letters or numbers, is one of several.
  const large = (rows, columns, [ofRows, ofColumns]) => ({
    left: 30 + widest(rows),
    top: 34 + 0.87 * widest(columns),
    beyond: 0.5 * widest(columns.slice(-1)) + 12,
    share: 0.6,
    gap: 6,
    above: { anchor: "start", turn: -60, role: ofColumns },
    beside: { anchor: "end", role: ofRows },
  });
  const SMALL = {
    left: 18,
    top: 18,
    beyond: 0,
    share: 0.5,
    gap: 4,
    above: { "font-size": 11 },
    beside: { anchor: "end", "font-size": 11 },
  };

  // A number of an axis as a place between 0 and 1.
  const share = ({ low, high, log }, value) => {
    const of = log ? Math.log : (x) => x;
    return (of(value) - of(low)) / (of(high) - of(low));
  };

  const path = (points) => `M${points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L")}`;

  // Above a chart: its title, and what its colours mean.
  function head(drawing, { title }, marks, left, width) {
    let [x, y] = [left, LINE];
    if (title) {
      drawing.append(label(title, left, y - 4, { anchor: "start" }));
      y += LINE + 2;
    }
    const named = marks.filter((mark) => mark.label);
    for (const mark of named) {
      const wide = 26 + LETTER * mark.label.length;
      if (x > left && x + wide > width) [x, y] = [left, y + LINE + 2];
      const look = { x, y: y - 13, width: 14, height: 10, class: fill(mark) };
      drawing.append(drawn("rect", look), label(mark.label, x + 20, y - 4, { anchor: "start" }));
      x += wide + 12;
    }
    return y - LINE + (named.length ? LINE + 6 : 4);
  }

  const fill = ({ colour, pale }) => `chart-fill role-${colour}${pale ? " chart-pale" : ""}`;

  // An axis with its label: below a box, or upright at its left.
  function drawAxis(drawing, axis, { left, top, right, bottom }, at, isUpright) {
    drawing.append(drawn("path", { d: `M${left},${bottom}${isUpright ? `V${top}` : `H${right}`}` }));
    axis.ticks.forEach((tick, i) => {
      const [x, y] = isUpright ? [left, at(tick)] : [at(tick), bottom];
      drawing.append(drawn("path", { d: `M${x},${y}${isUpright ? "h-5" : "v5"}` }));
      if (isUpright) drawing.append(label(axis.names[i], x - 8, y + 5, { anchor: "end" }));
      else drawing.append(label(axis.names[i], x, y + 20));
    });
    if (!axis.label) return;
    if (isUpright) drawing.append(label(axis.label, 14, (top + bottom) / 2, { turn: -90 }));
    else drawing.append(label(axis.label, (left + right) / 2, bottom + 42));
  }

  // Points are counted from 0, if a line doesn't say where they stand.
  const curve = (line, x, y) => {
    const points = line.y.map((value, i) => [x(line.x?.[i] ?? i), y(value)]);
    return drawn("path", { class: `chart-line role-${line.colour}`, d: points.length ? path(points) : "" });
  };

  const band = ({ x: places, low, high, colour }, x, y) => {
    const edge = (list) => list.map((value, i) => [x(places[i]), y(value)]);
    const outline = [...edge(low), ...edge(high).reverse()];
    return drawn("path", { class: `chart-band role-${colour}`, d: outline.length ? `${path(outline)}Z` : "" });
  };

  // A level that is named at its right end, below it if curves come down to it.
  const level = ({ y: value, label: name, below }, { left, right }, y) => [
    drawn("path", { class: "chart-level", d: `M${left},${y(value)}H${right}` }),
    label(name, right, y(value) + (below ? 16 : -5), { anchor: "end", class: "chart-note" }),
  ];

  const dot = ({ x, y, letter, colour }, across, up) => {
    const [cx, cy, r] = [across(x), up(y), letter ? 9.5 : 5];
    const made = drawn("g", {}, drawn("circle", { cx, cy, r, class: `chart-dot role-${colour}` }));
    if (letter) made.append(label(letter, cx, cy + 4.5, { class: "chart-letter" }));
    return made;
  };

  // --- The kinds of charts ---

  const draw = {
    Lines(chart, width, height) {
      const drawing = drawn("svg");
      const left = (chart.y.label ? 34 : 12) + widest(chart.y.names);
      const top = head(drawing, chart, chart.lines, left, width) + 6;
      const bottom = height - (chart.x.label ? 50 : 28);
      const box = { left, top, right: width - 12, bottom };
      const x = (value) => left + share(chart.x, value) * (box.right - left);
      const y = (value) => bottom - share(chart.y, value) * (bottom - top);
      drawAxis(drawing, chart.y, box, y, true);
      drawAxis(drawing, chart.x, box, x, false);
      const { levels = [], bands = [] } = chart;
      drawing.append(...bands.map((one) => band(one, x, y)), ...chart.lines.map((line) => curve(line, x, y)));
      drawing.append(...levels.flatMap((one) => level(one, box, y)));
      const inFront = (a, b) => a.letter.length - b.letter.length;
      drawing.append(...[...chart.points].sort(inFront).map((point) => dot(point, x, y)));
      return drawing;
    },

    // Bars stand; or they lie, and their names stand at the left.
    Bars(chart, width, height) {
      const { across, names, notes, role, series, value } = chart;
      const drawing = drawn("svg");
      const left = across ? widest(names) + 10 : 34 + widest(value.names);
      const right = width - (across && !notes.length ? 14 : 8);
      const above = notes.length && !across ? 12 : 4;
      const top = head(drawing, chart, series, across ? 0 : left, width) + above;
      const rows = names.map(lines);
      const turned = !across && widest(rows.flat()) > (right - left) / names.length;
      const tall = turned ? widest(names) + 10 : LINE * Math.max(...rows.map((row) => row.length));
      const below = across ? (value.label ? 48 : 26) : tall + (chart.label ? 26 : 6);
      const box = { left, top, right, bottom: height - below };
      const [start, end] = across ? [top, box.bottom] : [left, right];
      const slot = (end - start) / names.length;
      const at = (place) => start + slot * (place + 0.5);
      const to = (number) =>
        across ? left + share(value, number) * (right - left) : box.bottom - share(value, number) * (box.bottom - top);
      drawAxis(drawing, value, box, to, !across);
      const size = (series.length === 1 ? 0.6 : 0.8 / series.length) * slot;
      series.forEach((one, k) => {
        one.values.forEach((number, j) => {
          if (number === null) return;
          const [low, high] = [to(0), to(number)].sort((a, b) => a - b);
          const edge = at(j) + (k - series.length / 2) * size;
          const place = across
            ? { x: low, y: edge, width: high - low, height: size }
            : { x: edge, y: low, width: size, height: high - low };
          drawing.append(drawn("rect", { ...place, class: fill(one) }));
        });
      });
      const zero = across ? `M${to(0)},${top}V${box.bottom}` : `M${left},${to(0)}H${right}`;
      drawing.append(drawn("path", { d: zero }));
      notes.forEach((note, j) => {
        const number = series.at(-1).values[j];
        const [back, place] = [number < 0, to(number)];
        const anchor = across ? (back ? "end" : "start") : "middle";
        const [x, y] = across ? [place + (back ? -6 : 6), at(j) + 5] : [at(j), place + (back ? 16 : -5)];
        drawing.append(label(note, x, y, { anchor, class: "chart-note" }));
      });
      names.forEach((name, j) => {
        if (across) drawing.append(label(name, left - 8, at(j) + 5, { anchor: "end", role }));
        else if (!turned) drawing.append(label(name, at(j), box.bottom + LINE, { role }));
        else drawing.append(label(name.replace("\n", " "), at(j) + 5, box.bottom + 8, { turn: -90, anchor: "end", role }));
      });
      if (chart.label && !across) drawing.append(label(chart.label, (left + right) / 2, height - 6, { role }));
      return drawing;
    },

    Map({ rows, columns, cells, texts = [], labels, roles, frames = [], size: small }, room) {
      const place = small ? SMALL : large(rows, columns, roles);
      const { left, top, beyond } = place;
      const paler = texts.length ? 0.35 : 1;
      // Cells are smaller where a phone has no room.
      const fitting = Math.max(15, Math.min(26, (room - left - beyond) / columns.length));
      const size = small ?? (texts.length ? 42 : fitting);
      const high = small ?? (texts.length ? 36 : Math.max(18, size));
      const [width, height] = [left + size * columns.length, top + high * rows.length];
      const drawing = drawn("svg", { "data-width": width + beyond, "data-height": height + 4 });
      if (labels) {
        drawing.append(label(labels[0], 14, (top + height) / 2, { turn: -90, role: roles[0] }));
        drawing.append(label(labels[1], left, 14, { anchor: "start", role: roles[1] }));
      }
      columns.forEach((name, j) => {
        if (small && name > 9 && name % 2) return; // two digits need the room of two cells
        drawing.append(label(name, left + size * (j + place.share), top - 6, place.above));
      });
      rows.forEach((name, i) => {
        const y = top + high * i;
        drawing.append(label(name, left - place.gap, y + high / 2 + place.gap - 1, place.beside));
        cells[i].forEach((weight, j) => {
          const kind = weight === null ? "chart-masked" : "chart-cell";
          const box = { x: left + size * j, y, width: size, height: high, class: kind };
          const text = texts[i]?.[j];
          const told = `${name} to ${columns[j]}: ${text ?? weight.toFixed(2)}`;
          const shade = { style: `--weight: ${Math.round(100 * paler * weight) || 0}` };
          const hint = small ? [] : [drawn("title", {}, told)]; // small ones are drawn often
          drawing.append(drawn("rect", { ...box, ...shade }, ...hint));
          const middle = [box.x + size / 2, y + high / 2 + 5.5];
          if (text) drawing.append(label(text, ...middle, { "font-size": 16 }));
        });
      });
      for (const [i, j] of frames) {
        const box = { x: left + size * j, y: top + high * i, width: size, height: high };
        drawing.append(drawn("rect", { ...box, class: "chart-box chart-line role-target" }));
      }
      return drawing;
    },

    // Vectors as rows; the numbers come up over their cells.
    Grid({ rows, cells, most, label: text, role, chosen }, width) {
      const [high, top] = [27, 8];
      const left = widest(rows) + 8;
      const size = Math.max(4, (width - left - 4) / cells[0].length);
      const wide = size * cells[0].length;
      const bottom = top + high * rows.length;
      const drawing = drawn("svg", { "data-width": left + wide + 4, "data-height": bottom + 48 });
      rows.forEach((name, i) => {
        const y = top + high * i;
        drawing.append(label(name, left - 6, y + 18, { anchor: "end", role }));
        cells[i].forEach((value, j) => {
          const place = { x: left + size * j, y: y + 1, width: size, height: high - 2 };
          const told = `${name}, feature ${j}: ${value.toFixed(1)}`;
          const sign = `chart-signed role-${value < 0 ? "target" : "source"}`;
          const shade = { style: `--weight: ${Math.round((100 * Math.abs(value)) / most)}` };
          drawing.append(drawn("rect", { ...place, ...shade, class: sign }, drawn("title", {}, told)));
        });
      });
      const frame = { x: left, y: top + high * chosen, width: wide, height: high };
      drawing.append(drawn("rect", { ...frame, class: "chart-box", "stroke-width": 1.5 }));
      const scale = `${text}\norange: to −${most}; blue: to ${most}`;
      drawing.append(label(scale, left, bottom + 22, { anchor: "start" }));
      return drawing;
    },

    // Columns of boxes from the bottom up, one of them lit.
    Stages({ columns, titles, lit }, width, height) {
      const drawing = drawn("svg");
      const slot = width / columns.length;
      columns.forEach((names, i) => {
        const x = slot * i;
        drawing.append(label(titles[i], x + slot / 2, height - 20 * names.length - 16));
        names.forEach((name, j) => {
          const on = lit[0] === i && lit[1] === j;
          const y = height - 20 * (j + 1) - 4;
          const place = { x: x + 2, y, width: slot - 6, height: 17, rx: 3 };
          drawing.append(drawn("rect", { ...place, class: `chart-box ${on ? "chart-lit" : "role-pale"}` }));
          drawing.append(label(name, x + slot / 2, y + 13, { "font-size": 12 }));
        });
      });
      // Boxes are counted through all columns, from 1.
      drawing.pick = (x, y) => {
        const [i, j] = [Math.floor(x / slot), Math.floor((height - 4 - y) / 20)];
        if (columns[i]?.[j] === undefined) return [];
        return [1 + j + columns.slice(0, i).flat().length];
      };
      return drawing;
    },

    Arrows({ reach, arrows }, width, height) {
      const drawing = drawn("svg");
      const size = Math.min(width, height) - 30;
      const [left, top] = [24, 6];
      const x = (value) => left + (size * (value + reach)) / (2 * reach);
      const y = (value) => top + (size * (reach - value)) / (2 * reach);
      const whole = Math.floor(reach);
      for (const tick of range(2 * whole + 1).map((i) => i - whole)) {
        const text = `${tick}`.replace("-", "−");
        drawing.append(label(text, x(tick), top + size + 20));
        drawing.append(label(text, left - 6, y(tick) + 5, { anchor: "end" }));
      }
      const cross = `M${x(-reach)},${y(0)}H${x(reach)}M${x(0)},${y(-reach)}V${y(reach)}`;
      drawing.append(drawn("path", { class: "chart-grid role-pale", d: cross }));
      const frame = `M${left},${top}V${top + size}H${left + size}`;
      drawing.append(drawn("path", { d: frame }));
      for (const arrow of arrows) drawing.append(...arrowTo(arrow, x, y));
      // The direction, in degrees, and the length.
      drawing.pick = (px, py) => {
        const at = [px - x(0), y(0) - py].map((pixels) => (pixels * 2 * reach) / size);
        return [(Math.atan2(at[1], at[0]) * 180) / Math.PI, Math.hypot(...at)];
      };
      return drawing;
    },
  };

  function arrowTo(arrow, x, y) {
    const [x0, y0, x1, y1] = [x(0), y(0), x(arrow.x), y(arrow.y)];
    const long = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [dx, dy] = [(x1 - x0) / long, (y1 - y0) / long];
    const back = (along, aside) => [x1 - along * dx + aside * dy, y1 - along * dy - aside * dx];
    const tip = `${path([[x1, y1], back(12, 5), back(12, -5)])}Z`;
    const shaft = path([[x0, y0], back(8, 0)]);
    const role = arrow.colour;
    return [
      drawn("path", { class: `chart-line role-${role}`, d: shaft }),
      drawn("path", { class: `chart-fill role-${role}`, d: tip }),
      label(arrow.label, x1 + 14 * dx, y1 + 14 * dy + 5, { role }),
    ];
  }

  // A chart in so many pixels; `alt` says what it shows.
  // What can be pressed or dragged has a function `pick`: from a place in it to the numbers
  // that the explorer's first controls are to take.
  attnbook.charts = {
    draw(chart, width, alt) {
      const drawing = draw[chart.kind](chart, width, chart.height);
      const wide = Number(drawing.dataset.width ?? width);
      const high = Number(drawing.dataset.height ?? chart.height);
      const look = { class: `chart chart-of-${chart.kind}`, width: wide, height: high, viewBox: `0 0 ${wide} ${high}` };
      for (const [name, value] of Object.entries(look)) drawing.setAttribute(name, value);
      if (alt) {
        drawing.setAttribute("role", "img");
        drawing.setAttribute("aria-label", alt);
      } else drawing.setAttribute("aria-hidden", "true");
      return drawing;
    },
  };
}
