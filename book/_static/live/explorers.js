// The explorers, part 2: controls that the reader moves, and what follows.  A page holds
// figures with the attribute data-explorer, their first view as a picture, and their
// controls (book/_ext/explorers.py).  What each setting shows was computed when the book
// was built, and comes as a script when the reader comes near.  Should it be missing, the
// picture stays.
"use strict";

window.attnbook ??= {};

{
  const FOLDER = document.currentScript.src.replace(/live\/[^/]*$/, "explorers/");
  const NEAR = "600px";

  // --- Data ---

  // One of the views that attnbook.course.kit.explorers.packed has put together.
  const unpack = ([kind, value, at], number) => {
    if (kind === "=") return value;
    if (kind === "?") return value[at[number]];
    if (kind === "-") return value[number];
    if (kind === "[") return value.map((part) => unpack(part, number));
    const parts = Object.entries(value).map(([key, part]) => [key, unpack(part, number)]);
    return Object.fromEntries(parts);
  };

  const packed = {};

  // Settings are counted like the digits of a number, the last control fastest.
  const count = (places) => places.reduce((number, [place, of]) => number * of + place, 0);

  attnbook.explorers = {
    receive: (name, data) => (packed[name] = data),
    view: (name, places) => unpack(packed[name], count(places)),
  };

  // --- Controls ---

  // Where each control is, and among how many choices.
  function placeOf(control) {
    if (control.type === "range") return [Number(control.value), Number(control.max) + 1];
    if (control.type === "checkbox") return [Number(control.checked), 2];
    return [control.selectedIndex, control.length];
  }

  // A slider counts its stops; what they mean stands beside it.
  function tellPlace(control) {
    if (control.type !== "range") return;
    const text = control.dataset.stops.split("|")[control.value];
    control.setAttribute("aria-valuetext", text);
    control.closest("label").querySelector(".explorer-value").textContent = text;
  }

  // A button plays a slider like a film, until the reader moves something.
  function playing(button, form, said) {
    const slider = button.parentElement.querySelector("input");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const [stops, pause] = calm ? [10, 1200] : [1, 110]; // milliseconds
    const atEnd = () => slider.value === slider.max;
    const moveTo = (place) => {
      slider.value = place;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      return !atEnd();
    };
    const { stop } = film(button, pause, {
      begin() {
        if (atEnd()) moveTo(0);
        said.ariaLive = "off"; // not every picture is read out
      },
      next: () => moveTo(Number(slider.value) + stops),
      end: () => (said.ariaLive = "polite"),
    });
    form.addEventListener("input", ({ isTrusted }) => isTrusted && stop());
  }

  // --- A figure ---

  class Explorer {
    constructor(figure) {
      this.name = figure.dataset.explorer;
      this.version = figure.dataset.version;
      this.form = figure.querySelector(".explorer-controls");
      this.controls = [...this.form.elements].filter((e) => e.matches("input, select"));
      this.picture = figure.querySelector(".book-picture");
      // On paper some explorers show another picture than the one that moves.
      this.printed = figure.matches(".explorer-printed") ? [...this.picture.children] : [];
      this.said = figure.querySelector(".book-said");
      this.more = figure.querySelector(".book-more");
      this.form.addEventListener("submit", (event) => event.preventDefault());
      this.form.addEventListener("input", ({ target }) => {
        tellPlace(target);
        this.show();
      });
      // A browser may keep what was chosen on the last visit.
      this.form.reset();
      this.controls.forEach(tellPlace);
      this.said.setAttribute("role", "status");
      const play = this.form.querySelector(".explorer-play");
      if (play) playing(play, this.form, this.said);
      const seen = new IntersectionObserver(
        (found) => {
          if (!found.some((one) => one.isIntersecting)) return;
          seen.disconnect();
          this.show();
        },
        { rootMargin: NEAR },
      );
      seen.observe(figure);
      new ResizeObserver(() => this.onWidth()).observe(this.picture);
      this.picture.addEventListener("pointerdown", (event) => {
        this.pressed = [...this.picture.children].indexOf(event.target.closest("svg"));
        if (!this.picture.children[this.pressed]?.pick) return;
        this.picture.setPointerCapture(event.pointerId); // the chart is drawn anew while it is dragged
        this.pick(event);
      });
      this.picture.addEventListener("pointermove", (event) => {
        if (this.picture.hasPointerCapture(event.pointerId)) this.pick(event);
      });
    }

    // Sliders go to the stops next to what a place in a chart means.
    pick({ clientX, clientY }) {
      const chart = this.picture.children[this.pressed];
      const { left, top } = chart.getBoundingClientRect();
      chart.pick(clientX - left, clientY - top).forEach((wanted, i) => {
        const slider = this.controls[i];
        const far = slider.dataset.stops
          .split("|")
          .map((stop) => Math.abs(Number(stop.replace("−", "-")) - wanted));
        slider.value = far.indexOf(Math.min(...far));
        tellPlace(slider);
      });
      this.show();
    }

    async show() {
      try {
        await loadScript(`${FOLDER}${this.name}.js?v=${this.version}`);
      } catch {
        this.said.textContent = "The figure's data could not be loaded; it shows one setting.";
        return;
      }
      this.view = attnbook.explorers.view(this.name, this.controls.map(placeOf));
      this.draw();
      if (this.said.textContent !== this.view.said) {
        this.said.replaceChildren(element("p", {}, this.view.said));
      }
      if (!this.view.table) return;
      this.more.innerHTML = this.view.table;
      globalThis.watchBox?.(this.more.firstChild); // book.js
    }

    onWidth() {
      const wide = this.picture.clientWidth;
      if (this.view && wide && this.width !== wide) this.draw();
    }

    draw() {
      const { charts, alt } = this.view;
      this.width = this.picture.clientWidth;
      const columns = this.width > 480 ? this.view.columns : 1;
      // The first chart has the text for all.
      const drawn = charts.map((chart, i) => {
        const first = i - (i % columns);
        const row = charts.slice(first, first + columns);
        const shares = row.reduce((sum, { share }) => sum + share, 0);
        const wide = Math.floor((this.width * chart.share) / shares);
        return attnbook.charts.draw(chart, wide, i ? "" : alt);
      });
      this.picture.replaceChildren(...this.printed, ...drawn);
      this.picture.classList.add("explorer-drawn");
      globalThis.fitBox?.(this.picture); // book.js
    }
  }

  document.querySelectorAll(".explorer").forEach((figure) => new Explorer(figure));
}
